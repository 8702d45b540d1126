// The page's oracle: whatever is read when, in whatever order answers and entries come, the world equals a
// fresh read of the log.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Reads, type Reading } from "../../src/sync/hydrate.ts";
import { emptyWorld, type World } from "../../src/sync/world.ts";
import type { Entry } from "../../src/wire/types.ts";
import { type Answer, type Change, ModelServer, type Wanted } from "./model.ts";

type Step =
  | { readonly do: "change"; readonly change: Change }
  | { readonly do: "hear"; readonly count: number }
  | { readonly do: "ask"; readonly wanted: Wanted }
  | { readonly do: "answer"; readonly which: number }
  | { readonly do: "arrive"; readonly which: number }
  | { readonly do: "cut" };

const name = fc.constantFrom("a", "b", "c");
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("grow" as const), session: fc.constantFrom("s", "t"), at: fc.nat(20), text: fc.string({ minLength: 1, maxLength: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("message" as const, "part" as const, "close" as const), session: fc.constantFrom("s", "t"), at: fc.nat(20), text: name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("drop message" as const, "drop part" as const, "status" as const, "ask" as const, "reply" as const, "todo" as const, "rename" as const, "drop session" as const), session: fc.constantFrom("s", "t"), at: fc.nat(20), text: name }) },
);
const wanted: fc.Arbitrary<Wanted> = fc.oneof(
  fc.constant<Wanted>({ kind: "overview" }),
  fc.record({ kind: fc.constant("opening" as const), session: fc.constantFrom("s", "t") }),
  fc.record({ kind: fc.constant("older" as const), session: fc.constantFrom("s", "t") }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("change" as const), change }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("hear" as const), count: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("ask" as const), wanted }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("answer" as const, "arrive" as const), which: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "cut" }) },
);

interface Call {
  readonly wanted: Wanted;
  readonly reading: Reading;
  answer: Answer | undefined;
}

/** A page whose network is moved by hand. */
class Page {
  readonly reads = new Reads(emptyWorld());
  calls: Call[] = [];
  heard: number;

  constructor(readonly server: ModelServer) {
    this.heard = server.log.length;
    this.whole({ kind: "overview" });
  }

  step(step: Step): void {
    switch (step.do) {
      case "change":
        return this.server.change(step.change);
      case "hear":
        return this.hear(step.count);
      case "ask":
        return this.ask(step.wanted);
      case "answer": {
        const call = this.calls[step.which % Math.max(1, this.calls.length)];
        if (call && !call.answer) call.answer = this.server.answer(call.wanted);
        return;
      }
      case "arrive": {
        const call = this.calls.filter((open) => open.answer)[step.which % 3];
        if (call) this.arrive(call);
        return;
      }
      case "cut":
        // The line is lost and opened again with the world's own cursor: at most what was heard twice.
        this.heard = this.server.indexAfter(this.reads.world.head, this.heard);
        return;
      default:
        return step satisfies never;
    }
  }

  hear(count: number): void {
    const entries: Entry[] = this.server.log.slice(this.heard, this.heard + count);
    for (const entry of entries) this.reads.entry(entry);
    this.heard += entries.length;
  }

  ask(wanted: Wanted): void {
    const reading = this.reads.begin();
    const older = wanted.kind === "older" ? this.reads.world.threads.get(wanted.session)?.older : undefined;
    if (wanted.kind === "older" && older === undefined) return this.reads.forget(reading);
    this.calls.push({ wanted: older === undefined ? wanted : { ...wanted, cursor: older } as Wanted, reading, answer: undefined });
  }

  arrive(call: Call): void {
    this.calls = this.calls.filter((open) => open !== call);
    const answer = call.answer ?? this.server.answer(call.wanted);
    switch (answer.kind) {
      case "overview":
        this.reads.overview(call.reading, answer.value, true);
        return;
      case "opening":
        if (answer.value) this.reads.opening(call.reading, answer.value);
        else this.reads.forget(call.reading);
        return;
      case "older": {
        // A page of a thread that was read anew meanwhile is asked for again by the real page.
        const thread = this.reads.world.threads.get(answer.session);
        if (thread?.older !== answer.before) return this.reads.forget(call.reading);
        this.reads.older(call.reading, answer.session, answer.position, answer.messages, answer.cursor);
        return;
      }
      default:
        return answer satisfies never;
    }
  }

  whole(wanted: Wanted): void {
    this.ask(wanted);
    const call = this.calls.at(-1);
    if (call) this.arrive(call);
  }

  settle(): void {
    for (const call of [...this.calls]) this.arrive(call);
    this.hear(this.server.log.length);
    for (const session of this.reads.world.threads.keys()) {
      for (let turns = 0; turns < 50 && this.reads.world.threads.get(session)?.older !== undefined; turns += 1) {
        this.whole({ kind: "older", session });
      }
    }
  }
}

/** What a person sees, without places. */
function seen(world: World): unknown {
  const values = <T>(map: Map<string, { value: T }>) =>
    Object.fromEntries([...map].map(([id, held]) => [id, held.value]).sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
  return {
    sessions: values(world.sessions),
    asks: values(world.asks),
    statuses: values(new Map([...world.statuses].filter(([id]) => world.sessions.has(id)))),
    todos: values(new Map([...world.todos].filter(([id]) => world.threads.has(id)))),
    threads: Object.fromEntries(
      [...world.threads].map(([id, thread]) => [
        id,
        thread.order.map((message) => ({
          info: thread.messages.get(message)?.value,
          parts: thread.parts.get(message)?.map((part) => thread.part.get(part)?.value),
        })),
      ]),
    ),
  };
}

test("whatever is read when, the world equals a fresh read", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 30, maxLength: 160, size: "max" }), (steps) => {
      const server = new ModelServer();
      const page = new Page(server);
      for (const one of steps) page.step(one);
      page.settle();

      const fresh = new Page(server);
      for (const session of page.reads.world.threads.keys()) {
        if (server.sessions.has(session)) fresh.whole({ kind: "opening", session });
        // A session that was deleted while it was open stays readable; a fresh page has nothing of it.
        else page.reads.world.threads.delete(session);
      }
      fresh.settle();

      assert.deepEqual(seen(page.reads.world), seen(fresh.reads.world));
    }),
    { numRuns: 1500 },
  );
});

test("a growth that was read is not added again", () => {
  const server = new ModelServer();
  const page = new Page(server);
  page.whole({ kind: "opening", session: "s" });
  server.change({ kind: "message", session: "s", at: 0, text: "a" });
  server.change({ kind: "part", session: "s", at: 0, text: "a" });
  server.change({ kind: "grow", session: "s", at: 0, text: "Hello" });

  page.whole({ kind: "opening", session: "s" });
  page.hear(10);

  const thread = page.reads.world.threads.get("s");
  const part = thread?.part.get([...thread.part.keys()][0] ?? "")?.value;
  assert.equal(part?.type === "text" ? part.text : undefined, "aHello");
});

test("an answer from another store is not put in", () => {
  const server = new ModelServer();
  const page = new Page(server);
  const reading = page.reads.begin();
  const answer = server.answer({ kind: "overview" });

  const other = { ...(answer.value as { position: string }), position: "other.1" } as never;
  const { outcome } = page.reads.overview(reading, other, true);

  assert.equal(outcome, "another store");
});

test("a read that was outrun by thousands of entries is read again", () => {
  const server = new ModelServer();
  const page = new Page(server);
  page.ask({ kind: "opening", session: "s" });
  const [call] = page.calls;
  assert.ok(call);
  const answer = server.answer(call.wanted);
  for (let i = 0; i < 5001; i += 1) server.change({ kind: "status", session: "s", at: i, text: "a" });
  page.hear(6000);

  const { outcome } = page.reads.opening(call.reading, answer.value as never);

  assert.equal(outcome, "read again");
});

test("an ask that is not in the log comes and goes, also around a read that is on its way", () => {
  const server = new ModelServer();
  const reads = new Reads(emptyWorld());
  const say = (type: string, properties: Record<string, unknown>) => reads.entry({ place: undefined, type, properties });
  const opened = server.answer({ kind: "overview" });
  assert.ok(opened.kind === "overview");
  reads.overview(reads.begin(), opened.value, true);

  say("permission.asked", { id: "per_trust", sessionID: "s", permission: "trust" });
  assert.deepEqual([...reads.world.asks.keys()], ["per_trust"]);

  // Was: the answer of a read that began before the reply brought the ask back.
  const reading = reads.begin();
  const late = { ...opened.value, asks: [...reads.world.asks.values()].map((held) => held.value) };
  say("permission.replied", { sessionID: "s", requestID: "per_trust" });
  reads.overview(reading, late, true);

  assert.deepEqual([...reads.world.asks.keys()], []);
});
