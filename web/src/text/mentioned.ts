// Where the words of a prompt name an agent or a file that went along with it. Pure.

/** A place in a text, as the part that went along says it. */
export interface MentionPlace {
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/** A piece of the text; `at` is which of the mentions it is. */
export interface TextRun {
  readonly text: string;
  readonly at: number | undefined;
}

/** Whether the text has there what the part says: another client may count differently. */
export function isAt(text: string, place: MentionPlace | undefined): place is MentionPlace {
  return place !== undefined && typeof place.value === "string" && place.value !== "" && text.slice(place.start, place.end) === place.value;
}

/** The text in pieces, none of it lost; a mention that is not there, is cut off or stands in another one is not one. */
export function runsIn(text: string, places: readonly (MentionPlace | undefined)[]): TextRun[] {
  const found = places
    .map((place, at) => ({ place, at }))
    .filter((one): one is { place: MentionPlace; at: number } => isAt(text, one.place))
    .sort((a, b) => a.place.start - b.place.start);
  const runs: TextRun[] = [];
  let done = 0;
  for (const { place, at } of found) {
    if (place.start < done) continue;
    if (place.start > done) runs.push({ text: text.slice(done, place.start), at: undefined });
    runs.push({ text: place.value, at });
    done = place.end;
  }
  if (done < text.length || runs.length === 0) runs.push({ text: text.slice(done), at: undefined });
  return runs;
}
