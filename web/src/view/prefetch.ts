// The first requests of a page, sent while its scripts are still on their way: on a slow processor they are answered by the
// time somebody asks. Each answer is given to the first who asks for it, and never again.
//
// Not here: what is made of an answer (`live.ts`). Imports nothing, because it runs before everything else.

const answers = new Map<string, Promise<Response>>();

export const OVERVIEW = "/sturdy/overview?limit=60";

export function openingPath(sessionID: string): string {
  return `/sturdy/session/${encodeURIComponent(sessionID)}?limit=40&large=link`;
}

/** The session that an address shows. */
export function sessionIn(path: string): string | undefined {
  const [, first, second] = path.split("/");
  return first === "s" && second ? decoded(second) : undefined;
}

/** Of a text that is not encoded as it should be, the text itself: it names nothing, and the page says so. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Asks as `Api` does. */
export function prefetch(path: string): void {
  const answer = fetch(path, { headers: { "x-sturdy-page": "1", accept: "application/json" }, credentials: "same-origin" });
  // Whoever takes it hears of a failure; until then nobody does.
  answer.catch(() => {});
  answers.set(path, answer);
}

export function takePrefetched(path: string): Promise<Response> | undefined {
  const found = answers.get(path);
  answers.delete(path);
  return found;
}
