// A place in the server's log, as event ids and read headers spell it.
//
// The text of a place is opaque when it is sent back (`Last-Event-ID`). It is taken apart here and only
// here, because the one rule of `sync/` compares places: `<epoch>.<position>` or
// `<epoch>.<position>.<index>`, and a bare position from a server without epochs.

export interface Place {
  /** Which store; places of two stores cannot be compared. */
  readonly epoch: string;
  readonly position: number;
  /** Which of several events of one entry; infinite behind all of them. */
  readonly index: number;
  /** As the server wrote it, for when it is sent back. */
  readonly text: string;
}

/** Before everything. */
export const NOWHERE: Place = { epoch: "", position: 0, index: 0, text: "" };

/** A text without an index stands behind every event of its entry: so does a read, and an entry's last event. */
export function parsePlace(text: string | null | undefined): Place | undefined {
  if (text === null || text === undefined) return undefined;
  const words = text.trim().split(".");
  const [epoch = "", position = "", index] = words.length === 1 ? ["", words[0]] : words;
  const isWhole = [position, index ?? "0"].every((word) => /^[0-9]+$/.test(word) && Number.isSafeInteger(Number(word)));
  if (words.length > 3 || !isWhole) return undefined;
  return { epoch, position: Number(position), index: index === undefined ? Number.POSITIVE_INFINITY : Number(index), text: text.trim() };
}

/** Whether `a` comes after `b` in the same log. */
export function isAfter(a: Place, b: Place): boolean {
  return a.position > b.position || (a.position === b.position && a.index > b.index);
}
