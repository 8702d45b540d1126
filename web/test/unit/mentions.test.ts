// What a prompt names with "@" goes along as a part of its own.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { mentionParts, rememberPick } from "../../src/sync/mentions.ts";
import { runsIn } from "../../src/text/mentioned.ts";

const named = (text: string, there: string[] = [], agents: string[] = []) => {
  const asked: string[] = [];
  const isThere = async (path: string) => {
    asked.push(path);
    return there.includes(path);
  };
  return mentionParts(text, { directory: "/srv/a b", agents, isThere }).then((parts) => ({ parts, asked }));
};

test("a file that was picked is attached with its place in the text", async () => {
  rememberPick("@src/my notes.md", { kind: "file", path: "src/my notes.md" });

  const { parts, asked } = await named("Read @src/my notes.md, please");

  const text = { value: "@src/my notes.md", start: 5, end: 21 };
  assert.deepEqual(parts, [{ type: "file", mime: "text/plain", filename: "src/my notes.md", url: "file:///srv/a%20b/src/my%20notes.md", source: { type: "file", path: "src/my notes.md", text } }]);
  assert.deepEqual(asked, []);
});

test("an agent counts by its name, a resource by its server, a directory as one", async () => {
  rememberPick("@lib/", { kind: "file", path: "lib/" });
  rememberPick("@Weather", { kind: "resource", resource: { name: "Weather", uri: "sky://today", client: "sky", mimeType: "text/markdown" } });

  const { parts } = await named("@explore look at @lib/ and @Weather", [], ["explore"]);

  assert.deepEqual(parts, [
    { type: "agent", name: "explore", source: { value: "@explore", start: 0, end: 8 } },
    { type: "file", mime: "application/x-directory", filename: "lib/", url: "file:///srv/a%20b/lib/", source: { type: "file", path: "lib/", text: { value: "@lib/", start: 17, end: 22 } } },
    { type: "file", mime: "text/markdown", filename: "Weather", url: "sky://today", source: { type: "resource", clientName: "sky", uri: "sky://today", text: { value: "@Weather", start: 27, end: 35 } } },
  ]);
});

test("a path that was typed counts if there is this file, and nothing else does", async () => {
  const { parts, asked } = await named("mail a@b.com, @nobody, @types/node and (@Override) but @a/one.txt.", ["a/one.txt"]);

  assert.deepEqual(parts.map((part) => part.type === "file" && part.filename), ["a/one.txt"]);
  assert.deepEqual(asked, ["types/node", "a/one.txt"]);
});

test("a name inside a longer one is not the shorter file, and a file that is named twice is attached once", async () => {
  rememberPick("@one.md", { kind: "file", path: "one.md" });

  assert.deepEqual((await named("see @one.md.bak")).parts, []);
  assert.equal((await named("@one.md and @one.md")).parts.length, 1);
});

test("what a prompt names stands out where it is named, and nowhere else", () => {
  const text = "Let @explore read @notes.md now";
  const agent = { value: "@explore", start: 4, end: 12 };
  const file = { value: "@notes.md", start: 18, end: 27 };

  const runs = runsIn(text, [file, agent, { value: "@gone", start: 0, end: 5 }, undefined]);

  assert.deepEqual(runs, [
    { text: "Let ", at: undefined },
    { text: "@explore", at: 1 },
    { text: " read ", at: undefined },
    { text: "@notes.md", at: 0 },
    { text: " now", at: undefined },
  ]);
});

test("whatever places are claimed, no letter of a prompt is lost or doubled", () => {
  const place = fc.record({ value: fc.string(), start: fc.integer({ min: -5, max: 30 }), end: fc.integer({ min: -5, max: 30 }) });
  const real = fc.record({ start: fc.nat(20), size: fc.nat(6) });
  fc.assert(
    fc.property(fc.string({ maxLength: 24 }), fc.array(place, { maxLength: 4 }), fc.array(real, { maxLength: 4 }), (text, wild, there) => {
      const places = [...wild, ...there.map(({ start, size }) => ({ value: text.slice(start, start + size), start, end: start + size }))];

      const runs = runsIn(text, places);

      assert.equal(runs.map((run) => run.text).join(""), text);
      for (const run of runs) if (run.at !== undefined) assert.equal(run.text, places[run.at]?.value);
    }),
  );
});
