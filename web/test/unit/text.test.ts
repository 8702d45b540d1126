// Text: blocks of a growing text, links that may be opened, terminal colours, frames of the stream.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ansiRuns } from "../../src/text/ansi.ts";
import { BlockCutter, wholeBlocks } from "../../src/text/blocks.ts";
import { safeHref } from "../../src/text/links.ts";
import { matchLines } from "../../src/text/matches.ts";
import { isAfter, parsePlace } from "../../src/wire/place.ts";
import { FrameReader } from "../../src/wire/sse.ts";

const piece = fc.constantFrom("# Title\n", "text ", "**bold** ", "\n", "\n\n", "- item\n", "1. one\n", "2", ". two\n", "```rust\n", "let a = 1;\n", "```\n", "> said\n", "| a | b |\n", "|---|---|\n", "| 1 | 2 |\n", "---\n", "<b>", "    code\n");

test("a finished block is never changed by what follows", () => {
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 40, size: "max" }), (pieces) => {
      const cutter = new BlockCutter();
      let text = "";
      let before: string[] = [];
      for (const one of pieces) {
        text += one;
        const { done, open } = cutter.cut(text);
        const now = done.map((token) => token.raw);
        assert.deepEqual(now.slice(0, before.length), before);
        assert.equal([...now, ...open.map((token) => token.raw)].join(""), wholeBlocks(text).map((token) => token.raw).join(""));
        before = now;
      }
    }),
    { numRuns: 500 },
  );
});

test("thousands of levels inside each other are a text and not an error", () => {
  // Was: the lexer ran out of stack, and with it the whole conversation was gone.
  const deep = "> ".repeat(50_000);

  assert.equal(wholeBlocks(deep).map((token) => token.raw).join(""), deep);
  assert.equal(new BlockCutter().cut(deep).open.map((token) => token.raw).join(""), deep);
});

test("a text that is replaced is cut anew", () => {
  const cutter = new BlockCutter();
  cutter.cut("# one\n\ntext\n\nmore\n\n");
  const { done, open } = cutter.cut("other");
  assert.deepEqual([...done, ...open].map((token) => token.raw), ["other"]);
});

test("only web and mail addresses are opened", () => {
  for (const href of ["javascript:alert(1)", "JAVASCRIPT:alert(1)", " javascript:x", "java\nscript:x", "java\u200bscript:x", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "/relative", "blob:x", ""]) {
    assert.equal(safeHref(href), undefined, href);
  }
  assert.equal(safeHref("https://example.com/a?b#c"), "https://example.com/a?b#c");
  assert.equal(safeHref("mailto:a@example.com"), "mailto:a@example.com");
});

test("terminal colours become classes and every other sequence is dropped", () => {
  assert.deepEqual(ansiRuns("a\u001b[31mb\u001b[1mc\u001b[0md"), [
    { text: "a", style: "" },
    { text: "b", style: "ansi-red" },
    { text: "c", style: "ansi-red ansi-bold" },
    { text: "d", style: "" },
  ]);
  assert.deepEqual(ansiRuns("\u001b]0;title\u0007\u001b[2J\u001b[1;1Hx"), [{ text: "x", style: "" }]);
  assert.deepEqual(ansiRuns("10%\r20%\r30%\nend"), [{ text: "30%\nend", style: "" }]);
});

test("whatever the output, no control character and no escape is left of it", () => {
  const part = fc.oneof(fc.string(), fc.constantFrom("\u001b", "\u001b[", "\u001b[31", "\u001b]8;;x\u0007", "\u0000", "\u001b[38;5;", "m", "\u001b(B"));
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const text = ansiRuns(parts.join("")).map((run) => run.text).join("");
      assert.doesNotMatch(text, /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/);
    }),
  );
});

test("frames are the same however the stream is cut into chunks", () => {
  const stream = 'id: e.1\ndata: {"a":"ä€😀"}\n\n: comment\r\ndata: one\r\ndata: two\r\n\r\nid: e.2.1\nevent: op\ndata:x\n\n';
  const bytes = new TextEncoder().encode(stream);
  const expected = [{ id: "e.1", event: undefined, data: '{"a":"ä€😀"}' }, { id: undefined, event: undefined, data: "one\ntwo" }, { id: "e.2.1", event: "op", data: "x" }];
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 60, maxLength: 60 }), (sizes) => {
      const reader = new FrameReader();
      const frames = [];
      let at = 0;
      for (const size of sizes) {
        frames.push(...reader.push(bytes.slice(at, at + size)));
        at += size;
      }
      frames.push(...reader.push(bytes.slice(at)));
      assert.deepEqual(frames, expected);
    }),
  );
});

test("a line of 32 MB that comes in five hundred chunks is joined once", () => {
  const reader = new FrameReader();
  const bytes = (text: string) => new TextEncoder().encode(text);
  const chunk = bytes("x".repeat(65_536));
  const began = performance.now();

  reader.push(bytes("data: "));
  for (let i = 0; i < 500; i += 1) reader.push(chunk);
  const frames = reader.push(bytes("\n\n"));

  assert.equal(frames[0]?.data.length, 500 * 65_536);
  // Was: six seconds, because everything that had come was looked through again with every chunk. Now a tenth of one.
  assert.ok(performance.now() - began < 3000);
});

test("places are compared by position and then by index, and one without an index is behind its whole entry", () => {
  const place = (text: string) => {
    const found = parsePlace(text);
    assert.ok(found, text);
    return found;
  };
  assert.ok(isAfter(place("e.10"), place("e.9")));
  assert.ok(isAfter(place("e.9.2"), place("e.9.1")));
  assert.ok(isAfter(place("e.9"), place("e.9.2")));
  assert.ok(!isAfter(place("e.9"), place("e.9")));
  assert.equal(place("41").position, 41);
  for (const text of ["", "x", "a.b", "e.1.x", "e.1.2.3", "1.5.x"]) assert.equal(parsePlace(text), undefined, text);
});

test("the blocks that were drawn while a text grew are those at its end", () => {
  const text = "# Title\n\nOne.\n\n- a\n- b\n- c\n\nThe end.";
  const cutter = new BlockCutter();
  let drawn: readonly unknown[] = [];
  for (let length = 1; length <= text.length; length += 1) drawn = [...cutter.cut(text.slice(0, length)).done];

  const all = cutter.end(text);

  assert.ok(drawn.length > 2);
  drawn.forEach((token, index) => assert.equal(all[index], token, "not drawn again"));
  assert.deepEqual(all, wholeBlocks(text));
});

test("of a growing list only the item that grows is new", () => {
  const cutter = new BlockCutter();
  const items = (text: string) => (cutter.cut(text).open.find((token) => token.type === "list") as { items: unknown[] }).items;
  const before = items("- one\n- two\n- thr");

  const after = items("- one\n- two\n- three");

  assert.deepEqual([after[0] === before[0], after[1] === before[1], after[2] === before[2]], [true, true, false]);
});

test("a name that is defined at the end of a text counts in all of it", () => {
  const text = "See [x].\n\nMore.\n\n[x]: https://example.com";
  const cutter = new BlockCutter();
  for (let length = 1; length <= text.length; length += 1) cutter.cut(text.slice(0, length));

  assert.deepEqual(cutter.end(text), wholeBlocks(text));
});

test("what a search printed names its files and lines, and nothing of it is lost", () => {
  const printed = "3 matching lines\n\n/src/a: b.rs:\n  12: let a = 1;\n  Line 13: /not/a/file:\n\n/src/c.rs\n(The first 3 lines.)";

  const lines = matchLines(printed);

  assert.equal(lines.map((line) => line.text).join("\n"), printed);
  assert.deepEqual(
    lines.filter((line) => line.file !== undefined).map(({ file, line }) => [file, line]),
    [["/src/a: b.rs", undefined], ["/src/a: b.rs", 12], ["/src/a: b.rs", 13], ["/src/c.rs", undefined]],
  );
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => assert.equal(matchLines(text).map((line) => line.text).join("\n"), text)));
});
