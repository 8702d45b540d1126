// Time travel: the past is what was shown then, however somebody jumps through it.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { apply } from "../../src/sync/apply.ts";
import { type PastEntry, Travel } from "../../src/sync/travel.ts";
import { type World, emptyThread, emptyWorld } from "../../src/sync/world.ts";
import { NOWHERE } from "../../src/wire/place.ts";
import type { Entry } from "../../src/wire/types.ts";
import { type Change, ModelServer } from "./model.ts";

const KINDS = ["message", "part", "grow", "grow", "grow", "close", "drop part", "drop message", "todo", "status", "rename"] as const;
const changes = fc.array(
  fc.record({ kind: fc.constantFrom(...KINDS), session: fc.constant("s" as const), at: fc.nat(20), text: fc.string({ minLength: 1, maxLength: 3 }) }) as fc.Arbitrary<Change>,
  { minLength: 1, maxLength: 60, size: "max" },
);

/** The server's log of one session, entry by entry. */
function pastOf(server: ModelServer): PastEntry[] {
  const entries = new Map<number, Entry[]>();
  for (const entry of server.log) {
    if (entry.properties["sessionID"] !== "s" || entry.place === undefined) continue;
    entries.set(entry.place.position, [...(entries.get(entry.place.position) ?? []), entry]);
  }
  return [...entries].map(([position, events]) => ({ position: `e.${position}`, at: position, events: events.map(({ type, properties }) => ({ type, properties })) }));
}

/** What somebody sees of it. */
function seen(world: World) {
  const thread = world.threads.get("s");
  return {
    session: world.sessions.get("s")?.value,
    status: world.statuses.get("s")?.value,
    todos: world.todos.get("s")?.value,
    messages: thread?.order.map((id) => [thread.messages.get(id)?.value, thread.parts.get(id)?.map((part) => thread.part.get(part)?.value)]),
  };
}

test("wherever somebody jumps, they see what was seen live at that entry", () => {
  fc.assert(
    fc.property(changes, fc.array(fc.nat(1000), { minLength: 1, maxLength: 10 }), (made, jumps) => {
      const server = new ModelServer();
      for (const change of made) server.change(change);
      const past = pastOf(server);
      const live = emptyWorld();
      live.threads.set("s", emptyThread("s", NOWHERE));
      const shown = past.map((entry) => {
        for (const one of server.log) if (one.place?.position === Number(entry.position.slice(2))) apply(live, one);
        return structuredClone(seen(live));
      });
      const travel = new Travel("s", past);

      for (const jump of jumps) {
        const index = jump % past.length;
        assert.deepEqual(seen(travel.at(index)), shown[index]);
      }
    }),
    { numRuns: 300 },
  );
});

test("a jump through thousands of entries and back gives the same, and does not change what was given before", () => {
  const server = new ModelServer();
  server.change({ kind: "message", session: "s", at: 0, text: "" });
  server.change({ kind: "part", session: "s", at: 0, text: "" });
  for (let i = 0; i < 3000; i += 1) server.change({ kind: "grow", session: "s", at: 0, text: "x" });
  const travel = new Travel("s", pastOf(server));
  const lengthAt = (index: number) => {
    const [part] = travel.at(index).threads.get("s")?.part.values() ?? [];
    return part?.value.type === "text" ? part.value.text.length : undefined;
  };

  const early = travel.at(10);
  const [grown] = early.threads.get("s")?.part.values() ?? [];

  assert.deepEqual([lengthAt(2002), lengthAt(2), lengthAt(1501), lengthAt(3002), lengthAt(402)], [2000, 0, 1499, 3000, 400]);
  assert.deepEqual([...(early.threads.get("s")?.part.values() ?? [])][0], grown);
  assert.equal(travel.at(-1).sessions.size, 0);
  assert.deepEqual([travel.indexOf(4), travel.indexOf(0), travel.indexOf(9e9)], [2, -1, 3002]);
  assert.deepEqual(travel.marks.slice(0, 4), ["other", "prompt", "text", "text"]);
});
