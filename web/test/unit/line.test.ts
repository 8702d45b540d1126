// The line: opened, lost, opened again, put to sleep; with a clock and a network that are moved by hand.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Line, type LineState } from "../../src/sync/line.ts";
import { send } from "../../src/sync/send.ts";
import { Api } from "../../src/wire/api.ts";
import type { Entry } from "../../src/wire/types.ts";

class Bench {
  now = 0;
  timers: { at: number; run: () => void }[] = [];
  asked: { cursor: string | undefined; say: (text: string) => Promise<void>; end: () => Promise<void> }[] = [];
  states: string[] = [];
  entries: Entry[] = [];
  resyncs = 0;
  answers: (() => Response)[] = [];
  room = true;
  isKeptAwake = false;
  /** What one entry takes. */
  entryMs = 0;
  pauses: string[] = [];
  whilePaused: () => void = () => {};
  line: Line;

  constructor() {
    this.line = new Line(
      {
        fetch: async (_path, init) => this.#answer(init),
        now: () => this.now,
        elapsed: () => this.now,
        random: () => 1,
        after: (ms, run) => {
          const timer = { at: this.now + ms, run };
          this.timers.push(timer);
          return () => {
            this.timers = this.timers.filter((known) => known !== timer);
          };
        },
        hasRoom: async () => this.room,
        staysAwake: () => this.isKeptAwake,
        pause: async (until) => {
          this.pauses.push(`${until} after ${this.entries.length}`);
          this.whilePaused();
        },
      },
      {
        path: () => "/global/event",
        cursor: () => this.entries.findLast((entry) => entry.place)?.place?.text ?? "e.1",
        entry: (entry) => {
          this.now += this.entryMs;
          this.entries.push(entry);
        },
        state: (state: LineState) => this.states.push(state.name),
        hello: () => {},
        resync: () => {
          this.resyncs += 1;
        },
      },
    );
  }

  #answer(init: RequestInit): Response {
    const made = this.answers.shift();
    if (made) return made();
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({ start: (given) => { controller = given; } });
    init.signal?.addEventListener("abort", () => { try { controller?.error(new Error("aborted")); } catch { /* ended already */ } });
    this.asked.push({
      cursor: new Headers(init.headers).get("last-event-id") ?? undefined,
      say: async (text) => { controller?.enqueue(new TextEncoder().encode(text)); await settled(); },
      end: async () => { controller?.close(); await settled(); },
    });
    return new Response(body, { status: 200 });
  }

  async pass(ms: number): Promise<void> {
    const end = this.now + ms;
    for (;;) {
      const due = this.timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.now = due.at;
      this.timers = this.timers.filter((timer) => timer !== due);
      due.run();
      await settled();
    }
    this.now = end;
  }
}

const settled = async () => {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
  await new Promise((done) => setImmediate(done));
};
const delta = (id: string) => `id: ${id}\ndata: {"payload":{"type":"x","properties":{}}}\n\n`;

test("a line that is lost is opened again with the last place it brought", async () => {
  const bench = new Bench();
  void bench.line.open();
  await settled();
  await bench.asked[0]?.say(`data: {"payload":{"type":"server.connected","properties":{}}}\n\n${delta("e.7")}`);
  assert.equal(bench.states.at(-1), "live");

  await bench.asked[0]?.end();
  assert.equal(bench.states.at(-1), "waiting");
  await bench.pass(500);
  await bench.asked[1]?.say(delta("e.8"));

  assert.deepEqual(bench.asked.map((one) => one.cursor), ["e.1", "e.7"]);
  assert.equal(bench.states.at(-1), "live");
});

test("a silent line is given up, and a person can cut the wait short", async () => {
  const bench = new Bench();
  void bench.line.open();
  await settled();
  await bench.asked[0]?.say(delta("e.2"));

  await bench.pass(25_000);
  assert.equal(bench.line.state.name, "waiting");
  bench.line.hurry();
  await settled();

  assert.equal(bench.asked.length, 2);
});

test("a line that follows another session is opened again from the same place, without asking for room", async () => {
  const bench = new Bench();
  void bench.line.open();
  await settled();
  await bench.asked[0]?.say(delta("e.7"));
  bench.room = false;

  bench.line.refilter();
  await settled();
  await bench.asked[1]?.say(delta("e.9"));

  assert.deepEqual(bench.asked.map((one) => one.cursor), ["e.1", "e.7"]);
  assert.equal(bench.line.state.name, "live");
});

test("a line that is still being opened asks for room when it is to follow another session", async () => {
  const bench = new Bench();
  bench.room = false;
  void bench.line.open();

  // Was: it took a connection that four other tabs had used up.
  bench.line.refilter();
  await settled();

  assert.equal(bench.asked.length, 0);
  assert.equal(bench.line.state.name, "crowded");
});

test("a line that was told how far the log is shows how far it is, and is live when nothing more comes", async () => {
  const bench = new Bench();
  void bench.line.open();
  await settled();
  const hello = { head: 9, store: "e", boot: "b", now: 0, page: "p", resumable: true };
  await bench.asked[0]?.say(`data: {"payload":{"type":"sturdy.hello","properties":${JSON.stringify(hello)}}}\n\n`);
  await bench.asked[0]?.say(delta("e.5"));
  assert.deepEqual(bench.line.state, { name: "catching up", done: 4, total: 8 });

  // The rest is of sessions that nobody follows here.
  await bench.pass(700);
  assert.equal(bench.line.state.name, "live");

  bench.line.refilter();
  await settled();
  await bench.asked[1]?.say(`data: {"payload":{"type":"sturdy.hello","properties":${JSON.stringify({ ...hello, resumable: false })}}}\n\n`);
  assert.equal(bench.resyncs, 1);
});

const hello = (head: number) => {
  const said = { head, store: "e", boot: "b", now: 0, page: "p", resumable: true };
  return `data: {"payload":{"type":"sturdy.hello","properties":${JSON.stringify(said)}}}\n\n`;
};
const deltas = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => delta(`e.${from + i}`)).join("");
const positions = (bench: Bench) => bench.entries.map((entry) => entry.place?.position);

test("much that comes at once is applied four milliseconds at a time, with a frame in between", async () => {
  const bench = new Bench();
  bench.entryMs = 1;
  void bench.line.open();
  await settled();

  // Was: applied in one go, and nothing was drawn or typed meanwhile.
  await bench.asked[0]?.say(hello(10) + deltas(2, 10));

  assert.deepEqual(bench.pauses, ["next frame after 4", "next frame after 8"]);
  assert.deepEqual(positions(bench), [2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.equal(bench.line.state.name, "live");
});

test("chunks that are here already belong to one slice", async () => {
  const bench = new Bench();
  bench.entryMs = 3;
  void bench.line.open();
  await settled();

  await Promise.all([bench.asked[0]?.say(delta("e.2")), bench.asked[0]?.say(delta("e.3")), bench.asked[0]?.say(delta("e.4"))]);

  assert.deepEqual(bench.pauses, ["next frame after 2"]);
});

test("far behind, the pauses are short, and the way that is left is told with every slice", async () => {
  const bench = new Bench();
  bench.entryMs = 1;
  void bench.line.open();
  await settled();
  const seen: string[] = [];
  bench.whilePaused = () => {
    const { state } = bench.line;
    seen.push(state.name === "catching up" ? `${state.done} of ${state.total}` : state.name);
  };

  await bench.asked[0]?.say(hello(520) + deltas(2, 30));

  assert.equal(bench.pauses[0], "next task after 4");
  assert.deepEqual(seen.slice(0, 2), ["4 of 519", "8 of 519"]);
  assert.equal(bench.pauses.at(-1), "next frame after 28", "near enough to be drawn");
});

test("a line that is lost between two slices applies nothing more, and the next goes on from the place that was reached", async () => {
  const bench = new Bench();
  bench.entryMs = 1;
  void bench.line.open();
  await settled();
  bench.whilePaused = () => {
    bench.whilePaused = () => {};
    bench.line.refilter();
  };

  await bench.asked[0]?.say(deltas(2, 10));
  assert.deepEqual(positions(bench), [2, 3, 4, 5]);
  await bench.asked[1]?.say(deltas(6, 10));

  assert.deepEqual(bench.asked.map((one) => one.cursor), ["e.1", "e.5"]);
  assert.deepEqual(positions(bench), [2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test("whatever is cut where and lost when, every entry is applied once and in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ chars: fc.integer({ min: 1, max: 400 }), ms: fc.integer({ min: 0, max: 6 }), lost: fc.constantFrom("no", "no", "between chunks", "in a pause") }), { minLength: 1, maxLength: 12 }),
      async (steps) => {
        const bench = new Bench();
        const end = 40;
        void bench.line.open();
        await settled();
        let stream = 0;
        let text = deltas(2, end);
        for (const { chars, ms, lost } of [...steps, { chars: 10_000, ms: 0, lost: "no" }]) {
          bench.entryMs = ms;
          bench.whilePaused = () => {
            bench.whilePaused = () => {};
            if (lost === "in a pause") bench.line.refilter();
          };
          await bench.asked[stream]?.say(text.slice(0, chars));
          text = text.slice(chars);
          if (lost === "between chunks") bench.line.refilter();
          await settled();
          if (bench.asked.length - 1 === stream) continue;
          stream = bench.asked.length - 1;
          text = deltas(Number(bench.asked[stream]?.cursor?.split(".")[1]) + 1, end);
        }
        assert.deepEqual(positions(bench), Array.from({ length: end - 1 }, (_, i) => i + 2));
      },
    ),
    { numRuns: 60 },
  );
});

test("waits grow, and what the server asks for is honoured", async () => {
  const bench = new Bench();
  bench.answers = [
    () => new Response(null, { status: 503 }),
    () => new Response(null, { status: 503 }),
    () => new Response(null, { status: 503, headers: { "retry-after": "7" } }),
  ];
  void bench.line.open();
  await settled();
  const waits: number[] = [];
  for (let i = 0; i < 3; i += 1) {
    const { state } = bench.line;
    assert.equal(state.name, "waiting");
    const wait = state.name === "waiting" ? state.until - bench.now : 0;
    waits.push(wait);
    await bench.pass(wait);
  }

  assert.deepEqual(waits, [500, 1000, 7000]);
});

test("a hidden tab that watches for others keeps its line", async () => {
  const bench = new Bench();
  void bench.line.open();
  await settled();
  await bench.asked[0]?.say(delta("e.3"));
  bench.isKeptAwake = true;

  bench.line.visible(false);
  await bench.pass(20_000);

  assert.equal(bench.line.state.name, "live");
});

test("a hidden tab lets its line go and opens it again when it is seen", async () => {
  const bench = new Bench();
  void bench.line.open();
  await settled();
  await bench.asked[0]?.say(delta("e.3"));

  bench.line.visible(false);
  await bench.pass(20_000);
  assert.equal(bench.line.state.name, "asleep");
  bench.line.visible(true);
  await settled();

  assert.equal(bench.asked[1]?.cursor, "e.3");
});

test("a refused login locks, a full house says so, and a useless cursor reads again", async () => {
  const locked = new Bench();
  locked.answers = [() => new Response(null, { status: 401 })];
  void locked.line.open();
  await settled();
  assert.equal(locked.line.state.name, "locked");

  const crowded = new Bench();
  crowded.room = false;
  void crowded.line.open();
  await settled();
  assert.equal(crowded.line.state.name, "crowded");
  crowded.line.takeOver();
  await settled();
  assert.equal(crowded.asked.length, 1);
  // Was: a tab that had taken over once never looked for room again, and more than four held a stream.
  crowded.line.giveUp();
  void crowded.line.open();
  await settled();
  assert.equal(crowded.line.state.name, "crowded");
  crowded.line.takeOver();
  await settled();
  await crowded.asked[1]?.end();
  await crowded.pass(500);
  assert.deepEqual([crowded.line.state.name, crowded.asked.length], ["crowded", 2]);

  const foreign = new Bench();
  void foreign.line.open();
  await settled();
  await foreign.asked[0]?.say('data: {"payload":{"type":"sturdy.resync","properties":{}}}\n\n');
  assert.equal(foreign.resyncs, 1);
});

test("a prompt is sent again only if it was not stored", async () => {
  const prompt = { sessionID: "ses_1", messageID: "msg_1", parts: [] };
  const run = async (answers: (number | "lost" | "taken" | "busy")[]) => {
    const calls: string[] = [];
    const api = new Api(async (path, init) => {
      calls.push(`${init.method} ${path.split("/").at(-1)}`);
      const answer = answers.shift() ?? 500;
      if (answer === "lost") throw new TypeError("network");
      if (answer === "taken") return new Response('{"_tag":"ConflictError","message":"taken","resource":"msg_1"}', { status: 409 });
      if (answer === "busy") return new Response('{"_tag":"SessionBusyError","message":"Session is busy","sessionID":"ses_1"}', { status: 409 });
      return new Response(answer === 204 ? null : "{}", { status: answer });
    }, () => {});
    const sent = await send(api, prompt, async () => {});
    return { calls, as: sent.as };
  };

  assert.deepEqual(await run([204]), { calls: ["POST prompt_async"], as: "stored" });
  assert.deepEqual(await run(["lost", 200]), { calls: ["POST prompt_async", "GET msg_1"], as: "stored" });
  assert.deepEqual(await run(["lost", 404, 204]), { calls: ["POST prompt_async", "GET msg_1", "POST prompt_async"], as: "stored" });
  assert.deepEqual(await run(["lost", "lost", "taken"]), { calls: ["POST prompt_async", "GET msg_1", "POST prompt_async"], as: "stored" });
  assert.equal((await run([400])).as, "refused");
  // Was: every conflict counted as stored, and the prompt of somebody whose session was busy was gone.
  assert.deepEqual(await run(["busy"]), { calls: ["POST prompt_async"], as: "refused" });
});
