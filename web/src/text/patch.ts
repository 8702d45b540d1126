// A unified patch as rows with line numbers, for one column or for two; and which words of a changed line differ.
//
// Pure: no framework and no document. Not here: how rows are drawn (`panel/diff.tsx`).

import { diffWordsWithSpace, parsePatch } from "diff";

/** A piece of a line, and whether it differs from the other side. */
export interface Run {
  readonly text: string;
  readonly isNew: boolean;
}

export type DiffRow =
  | { readonly kind: "hunk"; readonly text: string }
  | { readonly kind: "add" | "del" | "same"; readonly text: string; readonly old?: number; readonly now?: number; readonly runs?: readonly Run[] };

export type LineRow = Exclude<DiffRow, { kind: "hunk" }>;

/** Longer lines are not compared word by word: that is quadratic, and nobody reads it. */
const WORDS_CHARS_MAX = 500;
/** Comparing words costs; a patch with more changed lines than this shows lines only. */
const WORDS_ROWS_MAX = 2000;

export function rowsOf(patch: string): DiffRow[] {
  try {
    const files = parsePatch(patch);
    return files.flatMap((file, index) => {
      const rows: DiffRow[] = files.length > 1 ? [{ kind: "hunk", text: file.newFileName ?? file.oldFileName ?? String(index + 1) }] : [];
      for (const hunk of file.hunks) {
        rows.push({ kind: "hunk", text: `@@ −${hunk.oldStart} +${hunk.newStart} @@` });
        let old = hunk.oldStart;
        let now = hunk.newStart;
        for (const line of hunk.lines) {
          const text = line.slice(1);
          if (line.startsWith("+")) rows.push({ kind: "add", text, now: now++ });
          else if (line.startsWith("-")) rows.push({ kind: "del", text, old: old++ });
          else if (line.startsWith("\\")) rows.push({ kind: "hunk", text: line });
          else rows.push({ kind: "same", text, old: old++, now: now++ });
        }
      }
      return rows;
    });
  } catch {
    // Not a patch after all: as it is.
    return patch.split("\n").map((text) => ({ kind: "same", text }));
  }
}

/** Lines that were replaced one by one: equally many went and came, directly after each other. */
function pairs(rows: readonly DiffRow[]): [number, number][] {
  const found: [number, number][] = [];
  for (let at = 0; at < rows.length; ) {
    const gone = lengthOf(rows, at, "del");
    const came = lengthOf(rows, at + gone, "add");
    if (gone > 0 && gone === came) for (let n = 0; n < gone; n += 1) found.push([at + n, at + gone + n]);
    at += Math.max(1, gone + came);
  }
  return found;
}

function lengthOf(rows: readonly DiffRow[], from: number, kind: DiffRow["kind"]): number {
  let to = from;
  while (rows[to]?.kind === kind) to += 1;
  return to - from;
}

/** The same rows; lines that differ by a few words say which. */
export function withWords(rows: readonly DiffRow[]): DiffRow[] {
  const out = [...rows];
  if (rows.filter((row) => row.kind === "add").length > WORDS_ROWS_MAX) return out;
  for (const [gone, came] of pairs(rows)) {
    const before = rows[gone] as LineRow;
    const after = rows[came] as LineRow;
    if (Math.max(before.text.length, after.text.length) > WORDS_CHARS_MAX) continue;
    const changes = diffWordsWithSpace(before.text, after.text);
    const kept = changes.filter((change) => !change.added && !change.removed).reduce((sum, change) => sum + change.value.trim().length, 0);
    // Nothing in common: marking every word says nothing.
    if (kept === 0) continue;
    out[gone] = { ...before, runs: changes.filter((change) => !change.added).map((change) => ({ text: change.value, isNew: change.removed })) };
    out[came] = { ...after, runs: changes.filter((change) => !change.removed).map((change) => ({ text: change.value, isNew: change.added })) };
  }
  return out;
}

const squeezed = (text: string) => text.replaceAll(/\s+/g, "");

/** Lines that differ by white space alone become lines that are the same. */
export function withoutSpace(rows: readonly DiffRow[]): DiffRow[] {
  const dropped = new Set<number>();
  const out = [...rows];
  for (const [gone, came] of pairs(rows)) {
    const before = rows[gone] as LineRow;
    const after = rows[came] as LineRow;
    if (squeezed(before.text) !== squeezed(after.text)) continue;
    dropped.add(gone);
    out[came] = { kind: "same", text: after.text, ...(before.old === undefined ? {} : { old: before.old }), ...(after.now === undefined ? {} : { now: after.now }) };
  }
  return out.filter((_, index) => !dropped.has(index));
}

/** One row of two columns; a hunk's head stands across both. */
export type PairRow = { readonly head: string } | { readonly left: LineRow | undefined; readonly right: LineRow | undefined };

export function sideBySide(rows: readonly DiffRow[]): PairRow[] {
  const out: PairRow[] = [];
  for (let at = 0; at < rows.length; ) {
    const row = rows[at] as DiffRow;
    if (row.kind === "hunk") {
      out.push({ head: row.text });
      at += 1;
      continue;
    }
    if (row.kind === "same") {
      out.push({ left: row, right: row });
      at += 1;
      continue;
    }
    const gone = lengthOf(rows, at, "del");
    const came = lengthOf(rows, at + gone, "add");
    for (let n = 0; n < Math.max(gone, came); n += 1) {
      out.push({ left: n < gone ? (rows[at + n] as LineRow) : undefined, right: n < came ? (rows[at + gone + n] as LineRow) : undefined });
    }
    at += gone + came;
  }
  return out;
}
