// The page's oracle: whatever is read when, in whatever order answers and entries come, the world equals a
// fresh read of the log.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Outcome, Reads, type Reading } from "../../src/sync/hydrate.ts";
import { letGo } from "../../src/sync/bound.ts";
import { apply } from "../../src/sync/apply.ts";
import { emptyThread, emptyWorld, key, type World } from "../../src/sync/world.ts";
import { type Place, parsePlace } from "../../src/wire/place.ts";
import type { Entry } from "../../src/wire/types.ts";
import { type Answer, type Change, ModelServer, type Wanted } from "./model.ts";

type Step =
  | { readonly do: "change"; readonly change: Change }
  | { readonly do: "hear"; readonly count: number }
  | { readonly do: "ask"; readonly wanted: Wanted }
  | { readonly do: "answer"; readonly which: number }
  | { readonly do: "arrive"; readonly which: number }
  | { readonly do: "let go"; readonly session: string; readonly at: number }
  | { readonly do: "follow"; readonly session: string | undefined }
  | { readonly do: "cut" | "restart" | "replace" };

const name = fc.constantFrom("a", "b", "c");
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("grow" as const), session: fc.constantFrom("s", "t"), at: fc.nat(20), text: fc.string({ minLength: 1, maxLength: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("message" as const, "part" as const, "close" as const), session: fc.constantFrom("s", "t"), at: fc.nat(20), text: name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("drop message" as const, "drop part" as const, "status" as const, "ask" as const, "reply" as const, "todo" as const, "queue" as const, "rename" as const, "drop session" as const), session: fc.constantFrom("s", "t"), at: fc.nat(20), text: name }) },
);
const wanted: fc.Arbitrary<Wanted> = fc.oneof(
  fc.constant<Wanted>({ kind: "overview" }),
  fc.record({ kind: fc.constant("opening" as const), session: fc.constantFrom("s", "t") }),
  fc.record({ kind: fc.constantFrom("older" as const, "around" as const, "outline" as const), session: fc.constantFrom("s", "t") }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("change" as const), change }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("hear" as const), count: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("ask" as const), wanted }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("answer" as const, "arrive" as const), which: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "cut" }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("let go" as const), session: fc.constantFrom("s", "t"), at: fc.nat(5) }) },
);
/** Besides: what happens to a server, and to a tab whose stream carries one session. */
const rarer: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: step },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("follow" as const), session: fc.constantFrom("s", "t", undefined) }) },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ do: "restart" }, { do: "replace" }) },
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
  /** None: the stream carries everything. */
  followed: { readonly session: string | undefined } | undefined;
  #epoch: string;

  constructor(readonly server: ModelServer) {
    this.#epoch = server.epoch;
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
      case "let go": {
        const thread = this.reads.world.threads.get(step.session);
        if (thread) letGo(thread, thread.order[step.at], { max: 2, after: 1, newest: 0 });
        return;
      }
      case "follow":
        return this.follow(step.session);
      case "restart":
        this.server.restart();
        return this.reopen();
      case "replace":
        return this.server.replace();
      case "cut":
        return this.reopen();
      default:
        return step satisfies never;
    }
  }

  /** The line is lost and opened again with the world's own cursor: at most what was heard twice. */
  reopen(): void {
    this.heard = this.server.indexAfter(this.reads.world.head, this.heard);
  }

  /** The first frame of a new stream says which store this is. */
  resync(): void {
    this.#epoch = this.server.epoch;
    this.reads.reset();
    this.calls = this.calls.filter((call) => call.answer !== undefined);
    this.heard = this.server.log.length;
    this.whole({ kind: "overview" });
    if (this.followed?.session !== undefined) this.whole({ kind: "opening", session: this.followed.session });
  }

  /** As `view/live.ts` does it: the stream is opened again with another filter, then the session is read. */
  follow(session: string | undefined): void {
    const before = this.followed;
    this.followed = { session };
    if (before?.session === session && before !== undefined) return;
    this.reads.refollow((id) => id === before?.session && id === session);
    this.reopen();
    if (session !== undefined) this.ask({ kind: "opening", session });
  }

  hear(count: number): void {
    if (this.server.epoch !== this.#epoch) return this.resync();
    const entries: Entry[] = this.server.log.slice(this.heard, this.heard + count);
    for (const entry of entries) if (this.#isCarried(entry)) this.reads.entry(entry);
    this.heard += entries.length;
  }

  /** The outline of all sessions, and everything of the one that is followed. */
  #isCarried({ type, properties }: Entry): boolean {
    if (this.followed === undefined || /^(session|permission)\./.test(type)) return true;
    return properties["sessionID"] === this.followed.session;
  }

  ask(wanted: Wanted): void {
    const reading = this.reads.begin();
    const older = wanted.kind === "older" ? this.reads.world.threads.get(wanted.session)?.older : undefined;
    const [message] = wanted.kind === "around" ? (this.reads.world.threads.get(wanted.session)?.holes ?? []) : [];
    const isIdle = (wanted.kind === "older" && older === undefined) || (wanted.kind === "around" && message === undefined);
    if (isIdle) return this.reads.forget(reading);
    const more = older === undefined ? { message } : { cursor: older };
    this.calls.push({ wanted: { ...wanted, ...more } as Wanted, reading, answer: undefined });
  }

  arrive(call: Call): void {
    this.calls = this.calls.filter((open) => open !== call);
    const answer = call.answer ?? this.server.answer(call.wanted);
    switch (answer.kind) {
      case "overview":
        return this.took(call, this.reads.overview(call.reading, answer.value, true).outcome);
      case "opening":
        if (answer.value) this.took(call, this.reads.opening(call.reading, answer.value).outcome);
        else this.reads.forget(call.reading);
        return;
      case "older": {
        // A page of a thread that was read anew meanwhile is asked for again by the real page.
        const thread = this.reads.world.threads.get(answer.session);
        if (thread?.older !== answer.before) return this.reads.forget(call.reading);
        this.reads.older(call.reading, answer.session, answer.position, answer.messages, answer.cursor);
        return;
      }
      case "around":
        this.reads.around(call.reading, answer.session, answer.position, answer.messages);
        return;
      case "outline":
        this.reads.outline(call.reading, answer.session, answer.position, answer.heads);
        return;
      default:
        return answer satisfies never;
    }
  }

  took(call: Call, outcome: Outcome): void {
    if (outcome === "another store" && this.server.epoch !== this.#epoch) this.resync();
    if (outcome === "read again" && call.wanted.kind === "opening" && call.wanted.session === this.followed?.session) this.whole(call.wanted);
  }

  whole(wanted: Wanted): void {
    this.ask(wanted);
    const call = this.calls.at(-1);
    if (call) this.arrive(call);
  }

  settle(): void {
    for (const call of [...this.calls]) this.arrive(call);
    if (this.server.epoch !== this.#epoch) this.resync();
    this.hear(this.server.log.length);
    // Nobody looks at what is not followed; it is read anew when somebody does.
    if (this.followed) this.reads.refollow((id) => id === this.followed?.session);
    for (const session of this.reads.world.threads.keys()) {
      for (let turns = 0; turns < 50 && this.reads.world.threads.get(session)?.older !== undefined; turns += 1) {
        this.whole({ kind: "older", session });
      }
      for (let turns = 0; turns < 200 && (this.reads.world.threads.get(session)?.holes.size ?? 0) > 0; turns += 1) {
        this.whole({ kind: "around", session });
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
    queues: values(new Map([...world.queues].filter(([id]) => world.threads.has(id)))),
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

test("two tabs, each with a stream of its own, end in the state of the log, whatever happens to the server and the store", () => {
  const tabbed = fc.record({ tab: fc.nat(1), step: rarer });
  fc.assert(
    fc.property(fc.array(tabbed, { minLength: 30, maxLength: 160, size: "max" }), (steps) => {
      const server = new ModelServer();
      const tabs = [new Page(server), new Page(server)];
      for (const { tab, step } of steps) tabs[tab]?.step(step);

      for (const tab of tabs) {
        tab.settle();
        const fresh = new Page(server);
        for (const session of tab.reads.world.threads.keys()) {
          if (server.sessions.has(session)) fresh.whole({ kind: "opening", session });
          else tab.reads.world.threads.delete(session);
        }
        fresh.settle();
        assert.deepEqual(seen(tab.reads.world), seen(fresh.reads.world));
      }
    }),
    { numRuns: 1500 },
  );
});

test("of a long conversation a bounded part is held: what is near the reader, and the newest", () => {
  const thread = emptyThread("s", parsePlace("e.1") as Place);
  for (let i = 0; i < 2500; i += 1) {
    thread.order.push(`msg_${i}`);
    thread.messages.set(`msg_${i}`, { value: { id: `msg_${i}` } as never, place: thread.base, readAt: thread.base });
    thread.parts.set(`msg_${i}`, [`prt_${i}`]);
    thread.part.set(`prt_${i}`, { value: { id: `prt_${i}` } as never, place: thread.base });
  }

  const gone = letGo(thread, "msg_100");

  assert.equal(gone, 1000);
  assert.deepEqual([thread.messages.size, thread.parts.size, thread.part.size, thread.holes.size, thread.order.length], [1500, 1500, 1500, 1000, 2500]);
  assert.ok(["msg_0", "msg_1400", "msg_2499", "msg_2460"].every((id) => thread.messages.has(id)));
  assert.ok(thread.holes.has("msg_2459") && !thread.messages.has("msg_2459"));
  assert.equal(letGo(thread, "msg_100"), 0, "below the bound nothing is let go");
});

test("a message that was let go and is removed is gone, and one that changes meanwhile is read as it is", () => {
  const server = new ModelServer();
  const page = new Page(server);
  const say = (kind: Change["kind"], at: number) => server.change({ kind, session: "s", at, text: "a" });
  for (let i = 0; i < 3; i += 1) say("message", 0);
  page.hear(10);
  page.whole({ kind: "opening", session: "s" });
  const thread = page.reads.world.threads.get("s");
  assert.ok(thread);
  const [first, second, third] = thread.order;
  letGo(thread, third, { max: 1, after: 1, newest: 0 });

  say("part", 1);
  say("drop message", 0);
  page.hear(10);

  assert.deepEqual([thread.order, [...thread.holes], [...thread.messages.keys()]], [[second, third], [second], [third]], String(first));
  page.whole({ kind: "around", session: "s" });
  assert.equal(thread.parts.get(second ?? "")?.length, 1);
  assert.equal(thread.holes.size, 0);
});

test("an ask that is read again stays the same value, so that a half-typed answer to it is not thrown away", () => {
  const server = new ModelServer();
  const page = new Page(server);
  server.change({ kind: "ask", session: "s", at: 0, text: "a" });
  page.hear(10);
  const [held] = [...page.reads.world.asks.values()];

  page.whole({ kind: "overview" });
  page.whole({ kind: "opening", session: "s" });

  assert.equal([...page.reads.world.asks.values()][0]?.value, held?.value);
});

test("an answer that was overtaken by a newer one does not replace it", () => {
  const server = new ModelServer();
  const page = new Page(server);
  page.followed = { session: "s" };
  page.ask({ kind: "opening", session: "s" });
  const [old] = page.calls;
  assert.ok(old);
  old.answer = server.answer(old.wanted);
  server.change({ kind: "message", session: "s", at: 0, text: "a" });
  page.heard = server.log.length;

  page.whole({ kind: "opening", session: "s" });
  page.arrive(old);

  assert.equal(page.reads.world.threads.get("s")?.order.length, 1);
});

test("a read that began before the stream carried its session is made again", () => {
  const server = new ModelServer();
  const page = new Page(server);
  page.ask({ kind: "opening", session: "s" });
  const [old] = page.calls;
  assert.ok(old);
  const answer = server.answer(old.wanted);

  page.reads.refollow((id) => id === "s");

  assert.equal(page.reads.opening(old.reading, answer.value as never).outcome, "read again");
  assert.equal(page.reads.world.threads.size, 0);
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

test("the line of waiting prompts is what was told last, in the order of the log", () => {
  const world = emptyWorld();
  const told = (position: number, messages: string[]): Entry => ({ place: placeAt(position), type: "sturdy.queue", properties: { sessionID: "s", messages } });

  apply(world, told(7, ["msg_b"]));
  const touched = apply(world, told(5, ["msg_a", "msg_b"]));

  assert.deepEqual(world.queues.get("s")?.value, ["msg_b"]);
  assert.equal(touched.size, 0, "what is older changes nothing");
});

test("a project that is told of replaces what was known of it, and the list is drawn again", () => {
  const world = emptyWorld();
  const told = (name: string): Entry => ({ place: undefined, type: "project.updated", properties: { id: "prj_1", worktree: "/srv/app", name } });

  apply(world, told("before"));
  const touched = apply(world, told("after"));

  assert.equal(world.projects.get("prj_1")?.name, "after");
  assert.ok(touched.has(key.sessions));
});

test("what runs in the background is told without a place, and replaces what was known", () => {
  const world = emptyWorld();
  const told = (processes: { id: string }[]): Entry => ({ place: undefined, type: "sturdy.processes", properties: { sessionID: "s", processes } });

  apply(world, told([{ id: "bg_1" }, { id: "bg_2" }]));
  const touched = apply(world, told([]));

  assert.deepEqual(world.processes.get("s"), []);
  assert.ok(touched.has(key.processes("s")));
});

test("where a conversation was summarised is known without looking through its parts", () => {
  const world = emptyWorld();
  const thread = emptyThread("s", placeAt(0));
  world.threads.set("s", thread);
  const info = { id: "msg_a", sessionID: "s", role: "user", time: { created: 1 } };
  const part = { id: "prt_a", sessionID: "s", messageID: "msg_a", type: "compaction", auto: true, tail_start_id: "msg_9" };

  apply(world, { place: placeAt(1), type: "message.updated", properties: { sessionID: "s", info } });
  const touched = apply(world, { place: placeAt(2), type: "message.part.updated", properties: { sessionID: "s", part } });

  assert.deepEqual([...thread.summaries], [["msg_a", "msg_9"]]);
  assert.ok(touched.has(key.thread("s")));
  apply(world, { place: placeAt(3), type: "message.removed", properties: { sessionID: "s", messageID: "msg_a" } });
  assert.equal(thread.summaries.size, 0);
});

function placeAt(position: number) {
  const place = parsePlace(`e.${position}`);
  assert.ok(place);
  return place;
}
