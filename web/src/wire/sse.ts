// The event stream's text, cut into frames. Chunks may end anywhere, also inside a character or a line end.

export interface Frame {
  readonly id: string | undefined;
  /** What the frame calls itself; our own streams say it in the data. */
  readonly event: string | undefined;
  readonly data: string;
}

/** A line longer than this is not ours; the stream is given up instead of growing for ever. */
const LINE_CHARS_MAX = 64 * 1024 * 1024;

export class FrameReader {
  /** Of a line that has not ended: joined once, when it does. Joined with every chunk, a line of 50 MB would take minutes. */
  #pieces: string[] = [];
  #pieceChars = 0;
  #decoder = new TextDecoder();
  #id: string | undefined;
  #event: string | undefined;
  #data: string[] = [];

  /** The frames that are complete with this chunk. */
  push(chunk: Uint8Array): Frame[] {
    const text = this.#decoder.decode(chunk, { stream: true });
    const frames: Frame[] = [];
    let start = 0;
    for (;;) {
      const end = text.indexOf("\n", start);
      if (end < 0) break;
      const line = this.#pieces.join("") + text.slice(start, end);
      this.#pieces = [];
      this.#pieceChars = 0;
      start = end + 1;
      this.#line(line.endsWith("\r") ? line.slice(0, -1) : line, frames);
    }
    if (start === text.length) return frames;
    this.#pieces.push(text.slice(start));
    this.#pieceChars += text.length - start;
    if (this.#pieceChars > LINE_CHARS_MAX) throw new Error("a line of the event stream does not end");
    return frames;
  }

  #line(line: string, frames: Frame[]): void {
    if (line === "") {
      if (this.#data.length > 0) frames.push({ id: this.#id, event: this.#event, data: this.#data.join("\n") });
      this.#id = undefined;
      this.#event = undefined;
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") this.#data.push(value);
    else if (name === "id") this.#id = value;
    else if (name === "event") this.#event = value;
  }
}
