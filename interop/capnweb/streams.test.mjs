// streams.test.mjs: npm client, Rust server: streams, blobs, and how fast they may go.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { RpcTarget } from "capnweb";
import { dispose, outcome, overBatch, overSocket, pause, peer, until } from "./support.mjs";

/** A sink that remembers, and may fail or never finish. */
function sink({ fails, hangs } = {}) {
  const seen = [];
  const stream = new WritableStream({
    write(chunk) {
      if (fails) throw new RangeError("nope");
      if (hangs) return hangs;
      seen.push(chunk);
    },
    close() { seen.push("closed"); },
    abort(reason) { seen.push(`aborted ${reason?.message ?? reason}`); },
  });
  return { seen, stream };
}

const source = (chunks, cancelled = () => {}) =>
  new ReadableStream({
    pull(controller) {
      if (chunks.length === 0) controller.close();
      else {
        const chunk = chunks.shift();
        if (chunk instanceof Error) controller.error(chunk);
        else controller.enqueue(chunk);
      }
    },
    cancel: cancelled,
  });

async function all(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

overSocket("IC-078", "a writable parameter: writes and close", async (open, { received }) => {
  const { seen, stream } = sink();
  assert.equal(await open().writeTo(stream), "done");
  assert.deepEqual(seen, ["hello", { n: 1 }, "closed"]);
  assert.deepEqual(received.slice(0, 3).map((text) => JSON.parse(text)[0]), ["stream", "stream", "stream"]);
});

overSocket("IC-079", "a writable parameter: abort with a reason", async (open) => {
  const { seen, stream } = sink();
  assert.equal(await open().writeThenAbort(stream), "aborted");
  await until("the stream is aborted", () => seen.at(-1)?.startsWith?.("aborted"));
  assert.deepEqual(seen.at(-1), "aborted stop");
});

overSocket("IC-080", "a writable parameter ignored or left open is aborted", async (open) => {
  const [ignored, left] = [sink(), sink()];
  assert.equal(await open().ignore(ignored.stream), "ignored");
  assert.equal(await open().writeNoClose(left.stream), "left open");
  const isAborted = (said) => typeof said === "string" && said.startsWith("aborted");
  await until("both are aborted", () => isAborted(ignored.seen[0]) && isAborted(left.seen.at(-1)));
});

overSocket("IC-081", "a sink that fails", async (open) => {
  const { error } = await outcome(open().writeTo(sink({ fails: true }).stream));
  assert.ok(error instanceof RangeError);
  const failing = await open().getFailingWritable();
  const writer = failing.getWriter();
  writer.closed.catch(() => {});
  const results = await Promise.all([outcome(writer.write("q")), outcome(writer.write("r")), outcome(writer.close())]);
  assert.ok(results.some(({ error: reason }) => reason?.message === "disk full"));
  assert.ok(results[2].error);
});

overSocket("IC-082", "a readable parameter with mixed chunks", async (open) => {
  const chunks = ["a", Uint8Array.of(1, 2), { n: [1] }, 5n, new Date(7)];
  const back = await open().readAll(source([...chunks]));
  assert.deepEqual([back[0], [...back[1]], { ...back[2] }, back[3], back[4]], ["a", [1, 2], { n: [1] }, 5n, new Date(7)]);
});

overSocket("IC-083", "a readable parameter whose consumer cancels", async (open) => {
  let reason;
  const chunks = Array.from({ length: 100 }, (_, at) => at);
  assert.equal(await open().readOneThenCancel(source(chunks, (why) => { reason = why; })), 0);
  await until("the source is told", () => reason !== undefined || chunks.length === 0);
});

overSocket("IC-084", "a readable parameter never read", async (open) => {
  assert.equal(await open().ignore(source(Array.from({ length: 100 }, (_, at) => at))), "ignored");
  await pause(30);
});

overSocket("IC-085", "a readable result: read, disposed, failing", async (open) => {
  assert.deepEqual(await all(await open().getReadable(3)), ["c0", "c1", "c2"]);
  const unread = await open().getReadable(3);
  await unread.cancel("no");
  const failing = await open().getFailingReadable();
  const { error } = await outcome(all(failing));
  assert.deepEqual([error.name, error.message], ["TypeError", "src failed"]);
  const broken = await outcome(open().readAll(source(["x", new TypeError("src broke")])));
  assert.equal(broken.error.message, "src broke");
});

const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${peer.child.pid}/status`, "utf8"))[1]) / 1024;

overSocket("IC-086", "50 MiB through a pipe with a slow consumer", async (open) => {
  const before = memory();
  let most = before;
  const watch = setInterval(() => { most = Math.max(most, memory()); }, 20);
  const chunk = new Uint8Array(64 * 1024);
  const back = await open().readSlowly(source(Array.from({ length: 800 }, () => chunk)), 10);
  clearInterval(watch);
  assert.deepEqual({ ...back }, { bytes: 800 * 64 * 1024, chunks: 800 });
  assert.ok(most - before < 64, `grew by ${most - before} MiB`);
});

overSocket("IC-086", "50 MiB out of the server", async (open) => {
  let bytes = 0;
  for await (const chunk of await open().getBytes(800, 64 * 1024)) bytes += chunk.length;
  assert.equal(bytes, 800 * 64 * 1024);
});

overSocket("IC-087", "a sink that never acknowledges stops the writer at the window", async (open, { received }) => {
  const call = open().pump(sink({ hangs: new Promise(() => {}) }).stream);
  call.then(() => {}, () => {});
  const written = () => received.filter((text) => text.startsWith('["stream"')).length;
  await until("the window is full", () => written() >= 7);
  // Whoever would write more has had time for it when something else is answered.
  assert.equal(await open().square(3), 9);
  assert.equal(written(), 7);
}, { dead: true });

overSocket("IC-088", "a blocked writer hears of a write that fails", async (open, { received }) => {
  let fail;
  const hangs = new Promise((_, reject) => { fail = reject; });
  const call = outcome(open().pump(sink({ hangs }).stream));
  await until("the window is full", () => received.filter((text) => text.startsWith('["stream"')).length >= 7);
  fail(new RangeError("late"));
  const { error } = await call;
  assert.deepEqual([error.name, error.message], ["RangeError", "late"]);
});

class Counter extends RpcTarget {
  #value = 0;
  increment() { return (this.#value += 1); }
}

overSocket("IC-089", "stubs as chunks, both ways", async (open) => {
  const results = [];
  for await (const counter of await open().getStubStream()) {
    results.push(await counter.increment());
    dispose(counter);
  }
  assert.deepEqual(results, [6]);
  assert.deepEqual([...(await open().useStubStream(source([new Counter(), new Counter()])))], [1, 1]);
});

overSocket("IC-090", "blobs in and out", async (open) => {
  assert.deepEqual({ ...(await open().blobInfo(new Blob(["hello blob"], { type: "text/plain" }))) }, { type: "text/plain", text: "hello blob" });
  assert.deepEqual({ ...(await open().blobInfo(new Blob([]))) }, { type: "", text: "" });
  const blob = await open().getBlob();
  assert.deepEqual([blob.type, await blob.text()], ["text/plain", "hi there"]);
  const bytes = Uint8Array.from({ length: 10 * 1024 * 1024 }, (_, at) => at & 255);
  const back = await open().echoBlob(new Blob([bytes], { type: "application/x" }));
  assert.equal(back.type, "application/x");
  assert.ok(Buffer.from(await back.arrayBuffer()).equals(Buffer.from(bytes)));
});

overSocket("IC-091", "two blobs and a stream in one call", async (open) => {
  const back = await open().blobAndStream(new Blob(["abc"]), new Blob(["12345"]), source(["x", "y"]));
  assert.deepEqual(JSON.parse(JSON.stringify(back)), [3, 5, ["x", "y"]]);
});

overBatch("IC-092", "a finite readable uploaded in a batch", async (open) => {
  assert.deepEqual([...(await open().readAll(source(["a"])))], ["a"]);
});

overBatch("IC-093", "a stream returned in a batch is refused", async (open) => {
  const { error } = await outcome(open().getReadable(2));
  assert.equal(error.code, "batch_no_streams");
});

overBatch("IC-094", "a method that waits for the client in a batch fails at once", async (open) => {
  const { error } = await outcome(open().callFunction((n) => n, 1));
  assert.equal(error.code, "batch_no_return_path");
});

overBatch("IC-095", "a one-way callback in a batch", async (open) => {
  const seen = [];
  assert.equal(await open().notify((text) => { seen.push(text); }), "sent");
  await until("it is told", () => seen.length > 0);
  assert.deepEqual(seen, ["hi"]);
});
