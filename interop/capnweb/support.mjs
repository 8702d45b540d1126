// support.mjs: starting the Rust peer, opening sessions to it, and looking for leaks.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { RpcSession, WebSocketTransport, newHttpBatchRpcSession } from "capnweb";
import { WebSocket } from "ws";

// Node 20 has no WebSocket of its own, and the package looks for the constants of one.
globalThis.WebSocket ??= WebSocket;

/** The built peer; `run` says where it is. */
export const PEER = process.env.CAPNWEB_PEER;

/** Starts `peer serve`. @returns {Promise<{port: number, child: import("node:child_process").ChildProcess}>} */
export async function startPeer() {
  assert.ok(PEER, "CAPNWEB_PEER names the built peer; interop/capnweb/run sets it");
  const child = spawn(PEER, ["serve"], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  const port = await new Promise((resolve, reject) => {
    lines.once("line", (line) => resolve(Number(line)));
    child.once("exit", (code) => reject(new Error(`peer ended with ${code}`)));
  });
  return { port, child };
}

/** One peer for a test file. Its standard input keeps it alive. */
export const peer = await startPeer();
after(() => peer.child.kill());

export const httpUrl = (query = "") => `http://127.0.0.1:${peer.port}/rpc${query}`;
export const wsUrl = (query = "") => `ws://127.0.0.1:${peer.port}/rpc${query}`;
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Longer than anything takes on a busy machine; a test that passes never waits for it. */
const PATIENCE_MS = 30_000;

/** Looks until it holds. @param {string} what @param {() => unknown} holds */
export async function until(what, holds) {
  const end = Date.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (Date.now() > end) assert.fail(`waited in vain: ${what}`);
    await pause(5);
  }
}

/** A WebSocket session that remembers its frames. */
export async function connect({ query = "", main, url = wsUrl(query) } = {}) {
  const socket = new WebSocket(url);
  const sent = [];
  const received = [];
  socket.on("message", (data) => received.push(String(data)));
  const closed = new Promise((resolve) => socket.once("close", (code, reason) => resolve({ code, reason: String(reason) })));
  await new Promise((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  const send = socket.send.bind(socket);
  socket.send = (text, ...rest) => {
    sent.push(String(text));
    return send(text, ...rest);
  };
  const session = new RpcSession(new WebSocketTransport(socket), main);
  return { session, root: session.getRemoteMain(), socket, sent, received, closed };
}

/** Frames by hand, as a hostile or odd client sends them. */
async function speak(frames, query) {
  const socket = new WebSocket(wsUrl(query));
  const received = [];
  socket.on("message", (data) => received.push(String(data)));
  const closed = new Promise((resolve) => socket.once("close", (code, reason) => resolve({ code, reason: String(reason) })));
  await new Promise((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  for (const frame of frames) socket.send(frame);
  return { socket, received, closed };
}

/** Frames that end the session: what was said before the end, and how it ended. */
export async function rawEnd(frames, { query = "" } = {}) {
  const { socket, received, closed } = await speak(frames, query);
  let close = null;
  closed.then((end) => { close = end; });
  await until("the session ends", () => close);
  socket.terminate();
  return { received, close };
}

/** Frames that the session lives through: the first `count` answers. A call behind them is answered as well. */
export async function rawAnswers(frames, count, { query = "" } = {}) {
  const { socket, received, closed } = await speak(frames, query);
  let close = null;
  closed.then((end) => { close = end; });
  const id = frames.filter((frame) => frame.startsWith('["push"')).length + 1;
  const last = `["resolve",${id},9]`;
  socket.send('["push",["pipeline",0,["square"],[3]]]');
  socket.send(`["pull",${id}]`);
  await until("everything is answered", () => close || (received.includes(last) && received.length > count));
  assert.equal(close, null, "the session has ended");
  socket.terminate();
  return received.filter((text) => text !== last);
}

/**
 * Both sides hold nothing but each other's main object. `kept` is how many promises the case
 * leaves undisposed on purpose: JavaScript has no destructors, so both sides keep those.
 */
export async function assertNoLeak({ session, root }, kept = 0) {
  let last;
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    const rust = await root.sessionStats();
    const npm = session.getStats();
    last = { rust: { ...rust }, npm };
    const agreed = rust.imports === npm.exports && rust.exports === npm.imports;
    if (agreed && rust.imports === 1 && rust.exports <= 1 + kept) return;
    await pause(10);
  }
  assert.fail(`entries are left: ${JSON.stringify(last)}`);
}

/** A case over WebSocket; `body(open, connection)` with `open()` giving the root. */
export function overSocket(id, title, body, options = {}) {
  test(`${id} AW ${title}`, { timeout: 60_000 }, async () => {
    const connection = await connect(options);
    try {
      await body(() => connection.root, connection);
      if (!options.dead) await assertNoLeak(connection, options.kept);
    } finally {
      connection.socket.terminate();
    }
  });
}

/** A case over HTTP; each `open()` is a batch of its own. */
export function overBatch(id, title, body, options = {}) {
  test(`${id} AH ${title}`, { timeout: 30_000 }, async () => {
    await body(() => newHttpBatchRpcSession(httpUrl(options.query)), null);
  });
}

export function both(id, title, body, options = {}) {
  overSocket(id, title, body, options);
  overBatch(id, title, body, options);
}

/** What a promise came to. */
export const outcome = (promise) => Promise.resolve(promise).then((value) => ({ value }), (error) => ({ error }));

export const dispose = (...things) => things.forEach((thing) => thing[Symbol.dispose]?.());
