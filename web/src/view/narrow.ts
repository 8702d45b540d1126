// What a search is narrowed to: in the address of the page, and as the server is asked for it. Pure.

export interface Narrowing {
  /** The id of a project. */
  readonly project: string;
  readonly role: string;
  readonly kind: string;
  readonly tool: string;
  /** At most so old. */
  readonly days: string;
}

/** Nothing is left out. */
export const EVERYTHING: Narrowing = { project: "", role: "", kind: "", tool: "", days: "" };
export const ROLES = ["user", "assistant"] as const;
export const AGES_DAYS = ["1", "7", "30", "365"] as const;

const NAMES = Object.keys(EVERYTHING) as (keyof Narrowing)[];
const DAY_MS = 24 * 60 * 60 * 1000;

export function narrowingOf(search: string): Narrowing {
  const said = new URLSearchParams(search);
  return Object.fromEntries(NAMES.map((name) => [name, said.get(name) ?? ""])) as unknown as Narrowing;
}

export function searchPath(query: string, narrowing: Narrowing): string {
  const set = NAMES.filter((name) => narrowing[name] !== "").map((name) => [name, narrowing[name]]);
  return `/search?${new URLSearchParams([["q", query], ...set] as [string, string][])}`;
}

export function isNarrowed(narrowing: Narrowing): boolean {
  return NAMES.some((name) => narrowing[name] !== "");
}

/** When the oldest that is wanted was written. */
export function sinceOf(narrowing: Narrowing, now: number): number {
  const days = Number(narrowing.days);
  return days > 0 ? now - days * DAY_MS : 0;
}

/** The server's own parameters. */
export function askedFor(narrowing: Narrowing, now: number): Record<string, string> {
  const { days: _, ...others } = narrowing;
  const set = Object.entries(others).filter(([, value]) => value !== "");
  const since = sinceOf(narrowing, now);
  return Object.fromEntries(since > 0 ? [...set, ["since", String(Math.floor(since))]] : set);
}

/** Who said it and in what is a question about contents: titles are looked at only without it. */
export function wantsTitles(narrowing: Narrowing): boolean {
  return narrowing.role === "" && narrowing.kind === "" && narrowing.tool === "";
}
