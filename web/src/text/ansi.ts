// Terminal colours of a tool's output as runs with classes. Every other control sequence is dropped.

export interface Run {
  readonly text: string;
  /** Names of classes, joined by spaces; empty for plain text. */
  readonly style: string;
}

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
// CSI … final, OSC … BEL or ST, and single escapes.
const SEQUENCE = /\u001b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g;
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g;

interface Pen {
  front: string;
  back: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
}

const plainPen = (): Pen => ({ front: "", back: "", bold: false, dim: false, italic: false, underline: false });

export function ansiRuns(output: string): Run[] {
  const runs: Run[] = [];
  let pen = plainPen();
  let last = 0;
  const text = overwritten(output);
  const push = (piece: string) => {
    const shown = piece.replaceAll(CONTROL, "").replaceAll("\u001b", "");
    if (shown !== "") runs.push({ text: shown, style: classes(pen) });
  };
  for (const found of text.matchAll(SEQUENCE)) {
    push(text.slice(last, found.index));
    last = found.index + found[0].length;
    if (found[2] === "m") pen = painted(pen, found[1] ?? "");
  }
  push(text.slice(last));
  return runs;
}

/** A carriage return begins its line again: progress bars show their last state. */
function overwritten(text: string): string {
  if (!text.includes("\r")) return text;
  return text
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => line.slice(line.lastIndexOf("\r") + 1))
    .join("\n");
}

function painted(pen: Pen, codes: string): Pen {
  const next = { ...pen };
  const numbers = codes.split(/[;:]/).map((code) => Number(code || "0"));
  for (let i = 0; i < numbers.length; i += 1) {
    const code = numbers[i] ?? 0;
    if (code === 0) Object.assign(next, plainPen());
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 3) next.italic = true;
    else if (code === 4) next.underline = true;
    else if (code === 22) next.bold = next.dim = false;
    else if (code === 23) next.italic = false;
    else if (code === 24) next.underline = false;
    else if (code >= 30 && code <= 37) next.front = COLOURS[code - 30] ?? "";
    else if (code >= 90 && code <= 97) next.front = COLOURS[code - 90] ?? "";
    else if (code === 39) next.front = "";
    else if (code >= 40 && code <= 47) next.back = COLOURS[code - 40] ?? "";
    else if (code >= 100 && code <= 107) next.back = COLOURS[code - 100] ?? "";
    else if (code === 49) next.back = "";
    else if (code === 38 || code === 48) {
      const kind = numbers[i + 1];
      const colour = kind === 5 ? ofPalette(numbers[i + 2] ?? 0) : "";
      if (code === 38) next.front = colour;
      else next.back = colour;
      i += kind === 5 ? 2 : 4;
    }
  }
  return next;
}

/** The sixteen named ones; the others are too many to be told apart on our backgrounds. */
function ofPalette(index: number): string {
  return index < 16 ? (COLOURS[index % 8] ?? "") : "";
}

function classes(pen: Pen): string {
  const names = [pen.front && `ansi-${pen.front}`, pen.back && `ansi-on-${pen.back}`];
  if (pen.bold) names.push("ansi-bold");
  if (pen.dim) names.push("ansi-dim");
  if (pen.italic) names.push("ansi-italic");
  if (pen.underline) names.push("ansi-underline");
  return names.filter(Boolean).join(" ");
}
