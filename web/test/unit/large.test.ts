// Links that stand for large values: which are found, and what is put in their place.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { filled, isLink, linksIn } from "../../src/wire/large.ts";

const hash = (letter: string) => letter.repeat(64);
const link = (letter: string) => ({ $blob: hash(letter), bytes: 20_000 });

test("only what the server writes for a large value is a link", () => {
  for (const value of [link("a")]) assert.ok(isLink(value));
  const others = [null, "a", 3, [], {}, { $blob: hash("a") }, { $blob: "a", bytes: 1 }, { $blob: hash("A"), bytes: 1 }, { $blob: hash("a"), bytes: "1" }, { ...link("a"), more: 1 }];
  for (const value of others) assert.ok(!isLink(value), JSON.stringify(value));
});

test("every link of a part is found once, wherever it stands", () => {
  const part = { state: { output: link("a"), input: { edits: [{ text: link("b") }, link("a")] }, title: "x" } };

  assert.deepEqual(linksIn(part), [link("a"), link("b")]);
  assert.deepEqual(linksIn("text"), []);
});

test("values are put in, those inside of values too, and what has none stays the same object", () => {
  const part = { a: link("a"), b: { c: [1, link("b")] }, d: { e: "kept" } };
  const values = new Map<string, unknown>([[hash("a"), "whole"], [hash("b"), { files: [link("c")] }], [hash("c"), "inside"]]);

  const whole = filled<unknown>(part, values) as typeof part;

  assert.deepEqual(whole, { a: "whole", b: { c: [1, { files: ["inside"] }] }, d: { e: "kept" } });
  assert.equal(whole.d, part.d);
  assert.deepEqual(linksIn(filled(part, new Map())), linksIn(part));
  assert.equal(filled(part.d, values), part.d);
});

test("a value that names itself ends", () => {
  const values = new Map<string, unknown>([[hash("a"), [link("a")]]]);

  assert.ok(Array.isArray(filled<unknown>(link("a"), values)));
});

test("whatever is taken out of a value is there again when it is filled", () => {
  const inner = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 4 }, fc.string(), fc.integer(), fc.constant(null), fc.array(tie("tree"), { maxLength: 4 }), fc.dictionary(fc.string(), tie("tree"), { maxKeys: 4, noNullPrototype: true })),
  })).tree;
  fc.assert(fc.property(inner, (value) => {
    const values = new Map<string, unknown>();
    const taken = take(value, values);
    assert.deepEqual(filled(taken, values), value);
  }));
});

/** Every text becomes a link. */
function take(value: unknown, values: Map<string, unknown>): unknown {
  if (typeof value === "string") {
    const name = values.size.toString(16).padStart(64, "0");
    values.set(name, value);
    return { $blob: name, bytes: value.length };
  }
  if (Array.isArray(value)) return value.map((item) => take(item, values));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, take(item, values)]));
}
