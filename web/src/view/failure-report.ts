// What the server's log is told of a failure inside the page: its name, its sentence without what stands in quotes, and
// where in our files it happened. Nothing that a person or a model wrote. Pure.

const SENTENCE_CHARS_MAX = 200;
const FRAMES_MAX = 12;

/** A place in a file, as Chromium, Firefox and Safari write it at the end of a line. */
const PLACE = /\(?((?:https?|file|blob):[^\s()]*?):(\d+):(\d+)\)?$/;

/** None: it is expected, and said elsewhere. */
export function reportOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return typeof cause === "object" && cause !== null ? "something that is not an error" : typeof cause;
  const isExpected = cause.name === "CallError" || cause.name === "AbortError" || cause.message.startsWith("ResizeObserver loop");
  if (isExpected) return undefined;
  return [`${plain(cause.name)}: ${plain(cause.message)}`, ...framesOf(cause.stack ?? "")].join("\n");
}

/** Browsers quote values, and a piece of a text that is not JSON. */
function plain(sentence: string): string {
  const unquoted = sentence.replaceAll(/"[^"]*"?|'[^']*'?|`[^`]*`?|“[^”]*”?/g, "…").replaceAll(/\b[a-z]+:\/\/\S+/gi, "…");
  return unquoted.replaceAll(/\s+/g, " ").slice(0, SENTENCE_CHARS_MAX);
}

/** Lines of the stack that name a place; the sentence before them, in any number of lines, is none. */
function framesOf(stack: string): string[] {
  return stack.split("\n").flatMap((line) => {
    const found = PLACE.exec(line.trim());
    if (!found) return [];
    const file = (found[1] ?? "").split(/[?#]/)[0]?.split("/").at(-1) ?? "";
    const name = /^(?:at )?([\w$.<>]+)/.exec(line.trim())?.[1];
    const isNamed = name !== undefined && !/^(?:https?|file|blob)$/.test(name) && name !== "at";
    return [`${isNamed ? `${name} ` : ""}${file}:${found[2]}:${found[3]}`];
  }).slice(0, FRAMES_MAX);
}
