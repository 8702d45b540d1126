// stubs.test.mjs: npm client, Rust server: objects and callbacks handed over, kept, given back.

import assert from "node:assert/strict";
import { test } from "node:test";
import { RpcStub, RpcTarget } from "capnweb";
import { assertNoLeak, connect, dispose, overSocket, until } from "./support.mjs";

class Counter extends RpcTarget {
  #value;
  disposed = 0;
  constructor(value) {
    super();
    this.#value = value;
  }
  increment(by = 1) {
    return (this.#value += by);
  }
  get value() {
    return this.#value;
  }
  [Symbol.dispose]() {
    this.disposed += 1;
  }
}

overSocket("IC-053", "a returned target is called and disposed once", async (open) => {
  const counter = await open().makeCounter(4);
  assert.deepEqual([await counter.increment(), await counter.value], [5, 5]);
  assert.equal(await open().disposedCount(), 0);
  dispose(counter);
  assert.equal(await open().disposedCount(), 1);
});

overSocket("IC-054", "one target twice in a result", async (open, { received }) => {
  const pair = await open().pair();
  assert.ok(received.includes('["resolve",1,[[["export",-1],["export",-2]]]]'));
  assert.deepEqual([await pair[0].increment(), await pair[1].increment()], [2, 3]);
  dispose(pair);
  assert.equal(await open().disposedCount(), 2);
});

overSocket("IC-055", "a returned function", async (open) => {
  const add = await open().getFunction();
  assert.equal(await add(4), 5);
  dispose(add);
});

overSocket("IC-056", "a record of functions and targets", async (open) => {
  const record = await open().getRecord();
  assert.deepEqual([await record.add(4), record.n, await record.c.increment()], [5, 5, 2]);
  dispose(record);
  assert.equal(await open().disposedCount(), 1);
});

overSocket("IC-057", "a callback the callee awaits", async (open) => {
  const seen = [];
  const result = await open().callFunction((n) => { seen.push(n); return n * 10; }, 7);
  assert.deepEqual([result.result, seen], [70, [7]]);
});

overSocket("IC-058", "a target the callee does not wait for", async (open) => {
  const counter = new Counter(10);
  assert.equal(await open().incrementCounter(counter, 5), 15);
  await until("it is let go", () => counter.disposed > 0);
  assert.equal(counter.disposed, 1);
});

overSocket("IC-059", "a target the callee keeps", async (open) => {
  const counter = new Counter(7);
  assert.equal(await open().keep(counter), "kept");
  assert.equal(await open().useKept(), 8);
  assert.equal(counter.disposed, 0);
  assert.equal(await open().dropKept(), "dropped");
  await until("it is let go", () => counter.disposed > 0);
  assert.equal(counter.disposed, 1);
});

overSocket("IC-060", "the server's own stub sent back", async (open, { sent }) => {
  const counter = await open().makeCounter(4);
  assert.equal(await open().incrementCounter(counter, 2), 6);
  assert.ok(sent.some((text) => text.includes('["import",-1]')));
  dispose(counter);
});

overSocket("IC-061", "main as an argument", async (open, { sent }) => {
  assert.deepEqual({ ...(await open().callSquare(open(), 3)) }, { result: 9 });
  assert.ok(sent.some((text) => text.includes('["import",0]')));
});

overSocket("IC-062", "our own target comes back nested", async (open) => {
  const counter = new Counter(1);
  const back = await open().dupBackNested(counter);
  assert.equal(await back.c.increment(), 2);
  assert.equal(counter.value, 2);
  dispose(back);
});

test("IC-064 AW a stub of one session passed over another", async () => {
  const [one, two] = await Promise.all([connect(), connect()]);
  const counter = await one.root.makeCounter(4);
  assert.equal(await two.root.incrementCounter(counter, 3), 7);
  assert.equal(await counter.value, 7);
  dispose(counter);
  await Promise.all([assertNoLeak(one), assertNoLeak(two)]);
  one.socket.terminate();
  two.socket.terminate();
});

test("IC-065 AW a proxy returns a stub, a promise, and is pipelined on", async () => {
  const [one, two] = await Promise.all([connect(), connect()]);
  const make = new RpcStub((n) => one.root.makeCounter(n));
  const made = two.root.callAndReturnPromise(make, 5);
  assert.equal(await made.increment(1), 6);
  const record = await two.root.callFunction(make, 8);
  assert.equal(await record.result.increment(1), 9);
  const add = await one.root.getFunction();
  assert.equal(await two.root.callAndReturnPromise(add, 4), 5);
  dispose(made, record, add, make);
  await assertNoLeak(two);
  one.socket.terminate();
  two.socket.terminate();
});

overSocket("IC-066", "duplicates disposed in any order, twice", async (open) => {
  const counter = await open().makeCounter(1);
  const copies = [counter.dup(), counter.dup()];
  dispose(counter, counter, copies[1]);
  assert.equal(await copies[0].increment(), 2);
  assert.equal(await open().disposedCount(), 0);
  dispose(copies[0], copies[0], copies[1]);
  assert.equal(await open().disposedCount(), 1);
});

overSocket("IC-067", "a duplicate of a promise", async (open, { sent }) => {
  const promise = open().makeCounter(1);
  const copy = promise.dup();
  assert.equal(await copy.increment(), 2);
  assert.ok(sent.includes('["push",["pipeline",1,[]]]'));
  dispose(promise, copy);
});

overSocket("IC-068", "10000 stubs returned and released", async (open) => {
  const counters = await open().manyCounters(10_000);
  assert.equal(counters.length, 10_000);
  assert.equal(await counters[9_999].increment(), 10_000);
  dispose(counters);
  assert.equal(await open().disposedCount(), 10_000);
});
