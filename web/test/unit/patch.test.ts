// Patches: rows with numbers, words that differ, white space left out, two columns.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createTwoFilesPatch } from "diff";
import { type DiffRow, rowsOf, sideBySide, withWords, withoutSpace } from "../../src/text/patch.ts";

const PATCH = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same\n-a red fox\n+a brown fox\n-\tindented\n+    indented\n\\ No newline at end of file\n";
const line = fc.constantFrom("a", "b b", " b  b", "", "c d e", "\tc d e", "-x", "+x", "@@", "\\");
const texts = fc.array(line, { maxLength: 12 }).map((lines) => lines.map((one) => `${one}\n`).join(""));
const side = (rows: readonly DiffRow[], number: "old" | "now") => rows.flatMap((row) => (row.kind !== "hunk" && row[number] !== undefined ? [row.text] : []));

test("a changed line says which of its words differ", () => {
  const [, , gone, came] = withWords(rowsOf(PATCH));

  assert.deepEqual(gone, { kind: "del", text: "a red fox", old: 2, runs: [{ text: "a ", isNew: false }, { text: "red", isNew: true }, { text: " fox", isNew: false }] });
  assert.deepEqual(came, { kind: "add", text: "a brown fox", now: 2, runs: [{ text: "a ", isNew: false }, { text: "brown", isNew: true }, { text: " fox", isNew: false }] });
});

test("a line that differs by white space alone is the same when white space is left out", () => {
  const rows = withoutSpace(rowsOf(PATCH));

  assert.deepEqual(rows.filter((row) => row.text.includes("indented")), [{ kind: "same", text: "    indented", old: 3, now: 3 }]);
  assert.equal(rows.filter((row) => row.kind === "add").length, 1);
});

test("whatever is compared, both sides keep every line in order, in one column and in two", () => {
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      const rows = withWords(rowsOf(createTwoFilesPatch("a", "b", before, after, "", "", { context: 99 })));
      const lines = (text: string) => text.split("\n").slice(0, -1);
      if (before === after) return;
      assert.deepEqual(side(rows, "old"), lines(before));
      assert.deepEqual(side(rows, "now"), lines(after));
      for (const row of rows) if (row.kind !== "hunk" && row.runs) assert.equal(row.runs.map((run) => run.text).join(""), row.text);
      const two = sideBySide(rows);
      assert.deepEqual(two.flatMap((pair) => ("head" in pair || !pair.left ? [] : [pair.left.text])), lines(before));
      assert.deepEqual(two.flatMap((pair) => ("head" in pair || !pair.right ? [] : [pair.right.text])), lines(after));
    }),
    { numRuns: 500 },
  );
});

test("a text that is no patch is shown as it is", () => {
  assert.deepEqual(rowsOf("@@ not a patch\nsecond"), [{ kind: "same", text: "@@ not a patch" }, { kind: "same", text: "second" }]);
});
