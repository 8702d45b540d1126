// A place in the server's log, as event ids and read headers spell it.
//
// The text of a place is opaque when it is sent back (`Last-Event-ID`). It is taken apart here and only
// here, because the one rule of `sync/` compares places: `<epoch>.<position>` or
// `<epoch>.<position>.<index>`, and a bare position from a server without epochs.

export interface Place {
  /** Which store; places of two stores cannot be compared. */
  readonly epoch: string;
  readonly position: number;
  /** Which of several events of one entry. */
  readonly index: number;
  /** As the server wrote it, for when it is sent back. */
  readonly text: string;
}

/** Before everything. */
export const NOWHERE: Place = { epoch: "", position: 0, index: 0, text: "" };

export function parsePlace(text: string | null | undefined): Place | undefined {
  if (text === null || text === undefined) return undefined;
  const words = text.trim().split(".");
  const [epoch, position, index] = words.length === 1 ? ["", words[0], "0"] : words;
  const place = { epoch: epoch ?? "", position: Number(position), index: Number(index ?? "0"), text: text.trim() };
  const isWhole = Number.isSafeInteger(place.position) && Number.isSafeInteger(place.index);
  return words.length <= 3 && position !== "" && isWhole ? place : undefined;
}

/** The place of a read: after every event of the entry it names. */
export function readPlace(text: string | null | undefined): Place | undefined {
  const place = parsePlace(text);
  return place && { ...place, index: Number.POSITIVE_INFINITY };
}

/** Whether `a` comes after `b` in the same log. */
export function isAfter(a: Place, b: Place): boolean {
  return a.position > b.position || (a.position === b.position && a.index > b.index);
}
