// calls.test.mjs: npm client, Rust server: calls, properties, errors, pipelining, maps.

import assert from "node:assert/strict";
import { test } from "node:test";
import { both, connect, overBatch, overSocket, outcome, pause, rawAnswers, until } from "./support.mjs";

overSocket("IC-003", "1000 sequential calls", async (open, { sent }) => {
  for (let at = 0; at < 1000; at += 1) assert.equal(await open().square(at), at * at);
  const pulls = sent.filter((text) => text.startsWith('["pull"')).map((text) => JSON.parse(text)[1]);
  assert.deepEqual(pulls, Array.from({ length: 1000 }, (_, at) => at + 1));
});

overSocket("IC-004", "a call never awaited is not pulled, and runs", async (open, { sent }) => {
  const promise = open().note("ran");
  await pause(20);
  assert.ok(!sent.some((text) => text.startsWith('["pull"')));
  promise[Symbol.dispose]();
  assert.deepEqual([...(await open().seen())], ["ran"]);
});

overBatch("IC-004", "a call never awaited", async (open) => {
  const root = open();
  root.note("ran");
  assert.deepEqual([...(await root.seen())], ["ran"]);
});

overSocket("IC-005", "a call disposed without being awaited is released", async (open, { sent }) => {
  open().square(5)[Symbol.dispose]();
  await until("it is released", () => sent.includes('["release",1,1]'));
});

overSocket("IC-006", "disposed after the pull, before the result", async (open) => {
  const promise = open().slow(30, 1);
  promise.then(() => {}, () => {});
  await pause(5);
  promise[Symbol.dispose]();
  await pause(50);
  assert.equal(await open().square(3), 9);
});

both("IC-010", "an unknown method", async (open) => {
  const { error } = await outcome(open().nope());
  assert.ok(error instanceof TypeError);
  assert.equal(error.message, "'nope' is not a function.");
});

both("IC-011", "a property", async (open) => {
  assert.deepEqual(await open().prop, { a: { b: [10, 20, { c: "deep" }] } });
});

both("IC-012", "a nested property", async (open) => {
  assert.deepEqual(await open().prop.a.b, [10, 20, { c: "deep" }]);
});

both("IC-014", "an array index from JavaScript is a string, and finds nothing", async (open) => {
  assert.equal(await open().prop.a.b[0], undefined);
});

both("IC-015", "a property of a missing property", async (open) => {
  const { error } = await outcome(open().prop.missing.x);
  assert.ok(error instanceof TypeError);
});

test("IC-016 AW names every object has lead nowhere", async () => {
  const names = ["constructor", "toString", "__proto__", "hasOwnProperty", "valueOf"];
  const frames = names.flatMap((name, at) => [`["push",["pipeline",0,["${name}"]]]`, `["pull",${at + 1}]`]);
  const received = await rawAnswers(frames, names.length);
  assert.deepEqual(received, names.map((_, at) => `["resolve",${at + 1},["undefined"]]`));
});

overSocket("IC-017", "a private member is refused, an unknown one undefined", async (open) => {
  const { error } = await outcome(open().instanceField);
  assert.ok(error instanceof TypeError);
  assert.equal(await open().kept, undefined);
  assert.equal(await open().disposed, undefined);
});

both("IC-037", "a RangeError", async (open) => {
  const { error } = await outcome(open().throwRange());
  assert.ok(error instanceof RangeError);
  assert.equal(error.message, "test error");
});

both("IC-038", "an error with properties", async (open) => {
  const { error } = await outcome(open().throwProps());
  assert.ok(error instanceof TypeError);
  assert.equal(error.code, "E_X");
  assert.deepEqual(error.details, { n: 1, when: new Date(5) });
});

both("IC-039", "cause and AggregateError", async (open) => {
  const { error: outer } = await outcome(open().throwCause());
  assert.ok(outer.cause instanceof RangeError);
  assert.equal(outer.cause.message, "inner");
  const { error: many } = await outcome(open().throwAggregate());
  assert.ok(many instanceof AggregateError);
  assert.deepEqual(many.errors.map((error) => `${error.name}:${error.message}`), ["TypeError:a", "Error:b"]);
});

both("IC-040", "a property that cannot be sent is dropped", async (open) => {
  const { error } = await outcome(open().throwMixedProps());
  assert.deepEqual([error.message, error.ok, error.stub], ["has stub", 1, undefined]);
});

both("IC-041", "strings, objects and undefined are thrown as they are", async (open) => {
  assert.deepEqual(await outcome(open().throwString()), { error: "just a string" });
  assert.deepEqual({ ...(await outcome(open().throwRecord())).error }, { code: 7 });
  assert.deepEqual(await outcome(open().throwUndefined()), { error: undefined });
});

both("IC-042", "no stack by default", async (open) => {
  const { error } = await outcome(open().throwRange());
  assert.ok(!error.stack.includes("STACK"));
});

both("IC-042", "a stack when the hook says so", async (open) => {
  const { error } = await outcome(open().throwRange());
  assert.equal(error.stack, "STACK");
}, { query: "?hook=stack" });

test("IC-043 AW an error named constructor is a plain error", async () => {
  const received = await rawAnswers(['["push",["error","constructor","m"]]', '["pull",1]'], 1);
  assert.deepEqual(received, ['["resolve",1,["error","Error","m"]]']);
});

both("IC-044", "a pipelined call on a result", async (open) => {
  assert.equal(await open().makeCounter(4).increment(3), 7);
}, { kept: 10 });

both("IC-045", "a promise as an argument", async (open) => {
  const root = open();
  assert.equal(await root.square(root.square(2)), 16);
}, { kept: 10 });

both("IC-046", "a property promise inside an argument", async (open) => {
  const root = open();
  assert.deepEqual(await root.echo({ x: root.prop.a.b, y: root.square(3) }), { x: [10, 20, { c: "deep" }], y: 9 });
}, { kept: 10 });

both("IC-047", "a chain of ten", async (open) => {
  const root = open();
  let promise = root.square(1);
  for (let at = 0; at < 10; at += 1) promise = root.echo(promise);
  assert.equal(await promise, 1);
}, { kept: 10 });

both("IC-048", "an error reaches what is pipelined on it and what uses it", async (open) => {
  const root = open();
  const failed = root.throwRange();
  const results = await Promise.all([outcome(failed.foo(1)), outcome(root.square(failed))]);
  assert.deepEqual(results.map(({ error }) => error.message), ["test error", "test error"]);
}, { kept: 10 });

both("IC-049", "a result that holds a promise", async (open) => {
  const root = open();
  assert.deepEqual(await root.callSquare(root, 3), { result: 9 });
});

overSocket("IC-050", "calls on one stub start in order", async (open) => {
  for (let at = 0; at < 50; at += 1) open().note(String(at))[Symbol.dispose]();
  assert.deepEqual([...(await open().seen())], Array.from({ length: 50 }, (_, at) => String(at)));
});

overSocket("IC-051", "calls queued on a slow promise keep their order", async (open) => {
  const counter = open().makeCounter(0);
  const kept = open().slow(20, { c: counter.dup?.() ?? counter });
  const results = [];
  const calls = Array.from({ length: 5 }, () => kept.c.increment(1).then((n) => results.push(n)));
  await kept;
  calls.push(kept.c.increment(1).then((n) => results.push(n)));
  await Promise.all(calls);
  assert.deepEqual(results, [1, 2, 3, 4, 5, 6]);
  kept[Symbol.dispose]();
  counter[Symbol.dispose]();
}, { kept: 8 });

overSocket("IC-052", "a call that waits for its argument may be overtaken", async (open) => {
  const slow = open().slow(20, 7);
  const [waits, plain] = await Promise.all([open().square(slow), open().square(2)]);
  assert.deepEqual([waits, plain], [49, 4]);
}, { kept: 10 });

both("IC-069", "map over an array, with calls", async (open) => {
  const root = open();
  assert.deepEqual(await root.fib(6).map((n) => root.square(n)), [0, 1, 1, 4, 9, 25]);
}, { kept: 10 });

both("IC-070", "map over null, undefined and a scalar", async (open) => {
  const root = open();
  const results = await Promise.all([
    root.returnNull().map((n) => root.square(n)),
    root.returnUndefined().map((n) => root.square(n)),
    root.square(3).map((n) => root.square(n)),
  ]);
  assert.deepEqual(results, [null, undefined, 81]);
}, { kept: 10 });

both("IC-071", "map with property access only", async (open) => {
  assert.deepEqual(await open().echo([{ a: { b: 1 } }, { a: { b: 2 } }]).map((x) => x.a.b), [1, 2]);
}, { kept: 10 });

both("IC-072", "a nested map", async (open) => {
  const root = open();
  const nested = await root.fib(4).map((n) => root.fib(n).map((m) => root.fib(m)));
  assert.deepEqual(nested, [[], [[]], [[]], [[], [0]]]);
}, { kept: 10 });

overSocket("IC-073", "a map that captures a local stub", async (open) => {
  const { RpcStub } = await import("capnweb");
  const seen = [];
  const local = new RpcStub((n) => { seen.push(n); return n * 10; });
  const results = await open().fib(4).map((n) => local(n));
  assert.deepEqual([...results], [0, 10, 10, 20]);
  assert.deepEqual(seen, [0, 1, 1, 2]);
  local[Symbol.dispose]();
}, { kept: 10 });

overSocket("IC-074", "a map that returns stubs", async (open) => {
  const root = open();
  const counters = await root.fib(3).map((n) => root.makeCounter(n));
  assert.deepEqual(await Promise.all([...counters].map((counter) => counter.value)), [0, 1, 1]);
  counters[Symbol.dispose]();
}, { kept: 10 });

both("IC-075", "a map with literals, dates and arrays in its result", async (open) => {
  const root = open();
  const when = new Date(3);
  const back = await root.fib(2).map((n) => [n, root.square(n), "lit", when, { n }]);
  assert.deepEqual(back, [[0, 0, "lit", when, { n: 0 }], [1, 1, "lit", when, { n: 1 }]]);
}, { kept: 10 });

test("IC-076 AW a map with a bad body rejects, the session lives", async () => {
  const bodies = ['["pipeline",2],["pipeline",1]', "", '["export",-1]'];
  const frames = ['["push",[[1,2]]]'];
  bodies.forEach((body, at) => frames.push(`["push",["remap",1,[],[],[${body}]]]`, `["pull",${at + 2}]`));
  const received = await rawAnswers(frames, bodies.length);
  assert.deepEqual(received.map((text) => JSON.parse(text)[0]), ["reject", "reject", "reject"]);
});

overSocket("IC-077", "a map on a pending promise, with a path", async (open) => {
  const root = open();
  assert.deepEqual(await root.slow(20, { a: [1, 2] }).a.map((n) => root.square(n)), [1, 4]);
}, { kept: 10 });

test("IC-112 AW both sides serve a main and call each other", async () => {
  const { RpcTarget } = await import("capnweb");
  class Main extends RpcTarget {
    square(n) { return n * n; }
  }
  const connection = await connect({ main: new Main() });
  const results = await Promise.all(Array.from({ length: 50 }, (_, at) => [connection.root.callClientMain(at), connection.root.square(at)]).flat());
  assert.deepEqual(results, Array.from({ length: 50 }, (_, at) => [at * at, at * at]).flat());
  connection.socket.terminate();
});

test("IC-113 AW 64 sessions with 200 random calls each", { timeout: 120_000 }, async () => {
  let seed = 12345;
  const random = (below) => ((seed = (seed * 1103515245 + 12345) & 0x7fffffff) >> 8) % below;
  const runs = Array.from({ length: 64 }, async () => {
    const connection = await connect();
    for (let at = 0; at < 200; at += 1) {
      const n = random(100);
      switch (random(4)) {
        case 0: assert.equal(await connection.root.square(n), n * n); break;
        case 1: assert.equal(await connection.root.makeCounter(n).increment(2), n + 2); break;
        case 2: assert.ok((await outcome(connection.root.throwRange())).error); break;
        default: assert.equal(await connection.root.square(connection.root.square(n)), n ** 4);
      }
    }
    return connection;
  });
  const { assertNoLeak } = await import("./support.mjs");
  for (const connection of await Promise.all(runs)) {
    await assertNoLeak(connection, 400);
    connection.socket.terminate();
  }
});
