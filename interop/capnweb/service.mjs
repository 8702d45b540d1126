// service.mjs: the service of the recorded vectors, in JavaScript, for Rust clients to call.

import { RpcStub, RpcTarget } from "capnweb";

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

class Counter extends RpcTarget {
  #value;
  #ended;
  constructor(value, ended = () => {}) {
    super();
    this.#value = value;
    this.#ended = ended;
  }
  increment(by = 1) { return (this.#value += by); }
  get value() { return this.#value; }
  [Symbol.dispose]() { this.#ended(); }
}

const source = (chunks) =>
  new ReadableStream({
    pull(controller) {
      if (chunks.length === 0) return controller.close();
      const chunk = chunks.shift();
      if (chunk instanceof Error) controller.error(chunk);
      else controller.enqueue(chunk);
    },
  });

export class Service extends RpcTarget {
  #kept = null;
  #disposed = 0;
  #seen = [];
  #connection;
  instanceField = 1;

  /** @param {{session?: any, socket?: any}} connection filled in once the session exists */
  constructor(connection = {}) {
    super();
    this.#connection = connection;
  }

  square(n) { return n * n; }
  echo(value) { return value instanceof RpcStub ? value.dup() : value; }
  greet(name = "world") { return `hello ${name}`; }
  makeCounter(n) { return this.#counter(n); }
  #counter(n) { return new Counter(n, () => { this.#disposed += 1; }); }
  incrementCounter(counter, by = 1) { return counter.increment(by); }
  async callFunction(f, x) { return { result: await f(x) }; }
  async probeCallback(f) { return await f(21); }
  callSquare(self, n) { return { result: self.square(n) }; }
  get prop() { return { a: { b: [10, 20, { c: "deep" }] } }; }
  fib(n) {
    const numbers = [];
    for (let [a, b] = [0, 1]; numbers.length < n; [a, b] = [b, a + b]) numbers.push(a);
    return numbers;
  }
  returnNull() { return null; }
  returnUndefined() {}
  pair() { const one = this.#counter(1); return [one, one]; }
  getFunction() { return (x) => x + 1; }
  getRecord() { return { add: (x) => x + 1, n: 5, c: this.#counter(1) }; }
  manyCounters(n) { return Array.from({ length: n }, (_, at) => this.#counter(at)); }
  disposedCount() { return this.#disposed; }
  note(what) { this.#seen.push(what); }
  seen() { return this.#seen; }
  async slowCounter(ms) { await pause(ms); return { c: this.#counter(0) }; }
  async slow(ms, value) { await pause(ms); return value; }
  callAndReturnPromise(f, x) { return f(x); }
  callAndReturnNested(f, x) { return { p: f(x) }; }
  dupBack(value) { return value.dup(); }
  dupBackNested(value) { return { c: value.dup() }; }
  keep(stub) { this.#kept = stub.dup(); return "kept"; }
  async useKept() { return await this.#kept.increment(); }
  dropKept() { this.#kept[Symbol.dispose](); this.#kept = null; return "dropped"; }
  notify(callback) { callback("hi"); return "sent"; }
  ignore() { return "ignored"; }

  throwRange() { throw new RangeError("test error"); }
  throwString() { throw "just a string"; }
  throwUndefined() { throw undefined; }
  throwRecord() { throw { code: 7 }; }
  throwProps() { throw Object.assign(new TypeError("with props"), { code: "E_X", details: { n: 1, when: new Date(5) } }); }
  throwCause() { throw new Error("outer", { cause: new RangeError("inner") }); }
  throwAggregate() { throw new AggregateError([new TypeError("a"), new Error("b")], "many"); }
  throwMixedProps() { throw Object.assign(new Error("has stub"), { ok: 1, stub: this.#counter(1), map: new Map() }); }
  returnUnsupported() { return new Map(); }

  async writeTo(stream) {
    const writer = stream.getWriter();
    writer.write("hello").catch(() => {});
    writer.write({ n: 1 }).catch(() => {});
    await writer.close();
    return "done";
  }
  async writeThenAbort(stream) {
    const writer = stream.getWriter();
    writer.write("x").catch(() => {});
    await writer.abort(new Error("stop"));
    return "aborted";
  }
  async writeNoClose(stream) {
    const writer = stream.getWriter();
    writer.write("x").catch(() => {});
    writer.releaseLock();
    return "left open";
  }
  async pump(stream) {
    const writer = stream.getWriter();
    for (let at = 0; at < 100; at += 1) {
      await writer.ready;
      writer.write("x".repeat(40_000)).catch(() => {});
    }
    await writer.close();
  }
  getWritable() {
    return new WritableStream({
      write: (chunk) => { this.#seen.push(`write ${chunk}`); },
      close: () => { this.#seen.push("close"); },
      abort: (reason) => { this.#seen.push(`abort ${reason?.message ?? reason}`); },
    });
  }
  getFailingWritable() { return new WritableStream({ write() { throw new RangeError("disk full"); } }); }
  getStuckWritable() { return new WritableStream({ write: () => new Promise(() => {}) }); }
  getLateWritable() {
    return new WritableStream({ write: () => pause(100).then(() => { throw new RangeError("late"); }) });
  }

  async readAll(stream) {
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    return chunks;
  }
  async readOneThenCancel(stream) {
    const reader = stream.getReader();
    const { value } = await reader.read();
    await reader.cancel("enough");
    return value;
  }
  async readSlowly(stream, ms) {
    let [bytes, chunks] = [0, 0];
    for await (const chunk of stream) {
      bytes += chunk.length;
      chunks += 1;
      if (chunks % 64 === 0) await pause(ms);
    }
    return { bytes, chunks };
  }
  getReadable(n) { return source(Array.from({ length: n }, (_, at) => `c${at}`)); }
  getBytes(n, size) { return source(Array.from({ length: n }, () => new Uint8Array(size))); }
  getFailingReadable() {
    let sent = false;
    return new ReadableStream({
      pull(controller) {
        if (sent) controller.error(new TypeError("src failed"));
        else controller.enqueue("one");
        sent = true;
      },
    });
  }
  getStubStream() { return source([new Counter(5)]); }
  async useStubStream(stream) {
    const results = [];
    for await (const counter of stream) {
      results.push(await counter.increment());
      counter[Symbol.dispose]?.();
    }
    return results;
  }

  async blobInfo(blob) { return { type: blob.type, text: await blob.text() }; }
  getBlob() { return new Blob(["hi there"], { type: "text/plain" }); }
  echoBlob(blob) { return blob; }
  async blobAndStream(one, two, stream) { return [one.size, two.size, await this.readAll(stream)]; }
  headerPairs(headers) { return [...headers].map((pair) => [...pair]); }
  async requestInfo(request) { return { method: request.method, url: request.url, text: await request.text() }; }
  async responseInfo(response) { return { status: response.status, text: await response.text() }; }
  getResponse() { return new Response("body text", { status: 201, headers: { "x-a": "b" } }); }
  getEmptyResponse() { return new Response(null, { status: 204 }); }

  sessionStats() { return this.#connection.session.getStats(); }
  async callClientMain(n) { return await this.#connection.session.getRemoteMain().square(n); }
  closeWith(code, reason) { this.#connection.socket.close(code, reason); }
  dropConnection() { this.#connection.socket.terminate(); }
  sayAbort(text) { this.#connection.socket.send(`["abort",["error","TypeError",${JSON.stringify(text)}]]`); }
  endProcess() { process.exit(0); }
}
