// What a search printed, line by line, with the file and the line that each one names. Pure.

export interface MatchLine {
  readonly text: string;
  readonly file?: string;
  readonly line?: number;
}

/** Files stand alone, or with a colon above the lines that matched in them. Anything else is a sentence. */
export function matchLines(output: string): MatchLine[] {
  let file: string | undefined;
  return output.split("\n").map((text) => {
    const named = /^(\/.*?):?$/.exec(text)?.[1];
    if (named !== undefined) {
      file = named;
      return { text, file };
    }
    const line = /^\s+(?:Line )?(\d+): /.exec(text)?.[1];
    return file === undefined || line === undefined ? { text } : { text, file, line: Number(line) };
  });
}
