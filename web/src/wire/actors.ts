// Who did something, for a person to read: a browser by its name and system, a program by the name of its token.

/** What is known of those who may act, by what the log calls them: `device:…`, `token:…`. */
export type Actors = ReadonlyMap<string, string>;

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg/, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/(?:Chrome|CriOS)\//, "Chrome"],
  [/\b(?:Version|Safari)\//, "Safari"],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, "Android"],
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "Mac"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

/** A browser says what it is in a long line; one that nobody knows is shown as it is. */
export function browserName(label: string): string {
  const of = (names: readonly (readonly [RegExp, string])[]) => names.find(([sign]) => sign.test(label))?.[1];
  const browser = of(BROWSERS);
  const system = of(SYSTEMS);
  if (browser === undefined) return label;
  return system === undefined ? browser : `${browser}, ${system}`;
}

/** One that is logged out or taken back since is shown as the log has it. */
export function actorName(actor: string, known: Actors): string {
  return known.get(actor) ?? actor.replace(/^user:/, "");
}
