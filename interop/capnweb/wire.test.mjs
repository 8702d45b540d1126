// wire.test.mjs: npm client, Rust server: framing, endings, limits, old clients.

import assert from "node:assert/strict";
import { test } from "node:test";
import { newHttpBatchRpcSession } from "capnweb";
import { newHttpBatchRpcSession as oldestBatch } from "capnweb-oldest";
import { WebSocket } from "ws";
import { connect, httpUrl, outcome, overSocket, pause, peer, rawAnswers, rawEnd, startPeer, until, wsUrl } from "./support.mjs";

const post = (body, query) => fetch(httpUrl(query), { method: "POST", body });
const sessions = async () => (await fetch(`http://127.0.0.1:${peer.port}/sessions`)).json();

test("IC-096 AH an empty batch", async () => {
  const response = await post("");
  assert.deepEqual([response.status, await response.text()], [200, ""]);
  newHttpBatchRpcSession(httpUrl());
});

test("IC-097 AH GET and PUT are refused", async () => {
  const statuses = await Promise.all(["GET", "PUT"].map(async (method) => (await fetch(httpUrl(), { method })).status));
  assert.deepEqual(statuses, [405, 405]);
});

test("IC-098 AH a trailing newline and CRLF are accepted", async () => {
  const lines = ['["push",["pipeline",0,["square"],[3]]]', '["pull",1]'];
  for (const body of [lines.join("\n"), `${lines.join("\n")}\n`, `${lines.join("\r\n")}\r\n`]) {
    assert.equal(await (await post(body)).text(), '["resolve",1,9]');
  }
});

test("IC-100 AH a malformed line after good calls", async () => {
  const response = await post('["push",["pipeline",0,["square"],[3]]]\n["pull",1]\nzzz');
  const lines = (await response.text()).split("\n");
  assert.equal(response.status, 200);
  assert.equal(lines[0], '["resolve",1,9]');
  assert.match(lines[1], /^\["abort",\["error","SyntaxError"/);
});

overSocket("IC-101", "main disposed by the client", async (open, connection) => {
  assert.equal(await open().square(2), 4);
  const before = (await sessions()).open;
  open()[Symbol.dispose]();
  assert.equal((await connection.closed).code, 3000);
  await until("the session is gone", async () => (await sessions()).open < before);
}, { dead: true });

test("IC-102 AW the server process dies", async () => {
  const second = await startPeer();
  const connection = await connect({ url: `ws://127.0.0.1:${second.port}/rpc` });
  const order = [];
  const counter = await connection.root.makeCounter(1);
  connection.root.onRpcBroken(() => order.push("root"));
  counter.onRpcBroken(() => order.push("counter"));
  const call = outcome(connection.root.slow(60_000, 1));
  await pause(30);
  second.child.kill("SIGKILL");
  assert.ok((await call).error);
  await until("both have heard", () => order.length === 2);
  assert.deepEqual(order, ["root", "counter"]);
});

test("IC-103 AW the reason carries the close code", async () => {
  for (const [code, reason] of [[1000, "bye"], [1001, "away"]]) {
    const socket = new WebSocket(wsUrl());
    await new Promise((resolve) => socket.once("open", resolve));
    socket.close(code, reason);
    const said = `Peer closed WebSocket: ${code} ${reason}`;
    await until(said, async () => (await sessions()).ended.includes(said));
  }
  const socket = new WebSocket(wsUrl());
  await new Promise((resolve) => socket.once("open", resolve));
  socket.terminate();
  const said = "Peer closed WebSocket: 1006 ";
  await until(said, async () => (await sessions()).ended.includes(said));
});

test("IC-104 AW abort in, abort out", async () => {
  const incoming = await rawEnd(['["abort",["error","Error","bye"]]']);
  assert.deepEqual([incoming.received, incoming.close], [[], { code: 3000, reason: "bye" }]);
  const connection = await connect();
  const pending = outcome(connection.root.slow(60_000, 1));
  const aborted = outcome(connection.root.abortSession("server says stop"));
  const { error } = await pending;
  assert.deepEqual([error.name, error.message], ["TypeError", "server says stop"]);
  await aborted;
  assert.deepEqual(await connection.closed, { code: 3000, reason: "server says stop" });
});

test("IC-105 AW what is no message ends the session", async () => {
  for (const frame of ['["hello"]', "nope", Buffer.from('["push",5]'), "", "{}", "[]", '["push"]', '["pull","1"]']) {
    const { received, close } = await rawEnd([frame]);
    assert.equal(received.length, 1, String(frame));
    assert.match(received[0], /^\["abort"/);
    assert.equal(close.code, 3000);
  }
});

test("IC-106 AW unknown ids end the session", async () => {
  for (const frame of ['["pull",9]', '["release",5,1]', '["push",["pipeline",7,["x"],[]]]', '["push",["import",-3]]']) {
    const { received, close } = await rawEnd([frame]);
    assert.match(received[0], /^\["abort".*no such/);
    assert.equal(close.code, 3000);
  }
});

test("IC-107 AW release of nothing, and resolving main, end the session", async () => {
  for (const frame of ['["release",1,0]', '["release",1,-3]', '["release",1,0.5]', '["resolve",0,5]']) {
    const { received, close } = await rawEnd(['["push",5]', frame]);
    assert.match(received[0], /^\["abort"/, frame);
    assert.equal(close.code, 3000);
  }
});

/** Arrays around nothing, so many deep. */
const nested = (levels) => "[[".repeat(levels) + "]]".repeat(levels);

test("IC-108 AW depth 255 is accepted, 256 refused", async () => {
  const deep = (levels) => [`["push",${"[[".repeat(levels)}1${"]]".repeat(levels)}]`, '["pull",1]'];
  assert.match((await rawAnswers(deep(255), 1))[0], /^\["resolve",1/);
  assert.match((await rawEnd(deep(256))).received[0], /maximum allowed message depth of 256/);
  assert.equal((await rawEnd([`["push",${nested(600)}]`])).close.code, 3000);
});

test("IC-108 AW the npm sender at its own limit", async () => {
  const connection = await connect();
  const value = (levels) => Array.from({ length: levels }).reduce((inner) => [inner], 1);
  const back = await connection.root.echo(value(250));
  assert.equal(JSON.stringify(back), JSON.stringify(value(250)));
  await assert.rejects(async () => connection.root.echo(value(300)));
  assert.equal(await connection.root.square(2), 4);
  connection.socket.terminate();
});

test("IC-109 AW bigints of 16384 and 16385 digits", async () => {
  const frames = (digits) => [`["push",["bigint","${"9".repeat(digits)}"]]`, '["pull",1]'];
  assert.match((await rawAnswers(frames(16384), 1))[0], /^\["resolve",1/);
  assert.match((await rawEnd(frames(16385))).received[0], /^\["abort".*16384 digits/);
});

test("IC-110 AW a message at and over the size limit", { timeout: 60_000 }, async () => {
  const frame = (length) => `["push","${"a".repeat(length - 11)}"]`;
  assert.deepEqual(await rawAnswers([frame(33554432)], 0), []);
  const { received, close } = await rawEnd([frame(33554433)]);
  assert.match(received[0], /^\["abort".*maximum size of 33554432/);
  assert.equal(close.code, 3000);
});

test("IC-111 AW the limits of tables, pipes, paths and maps", async () => {
  const query = "?limits=small";
  const many = Array.from({ length: 60 }, () => '["push",5]');
  assert.match((await rawEnd(many, { query })).received[0], /^\["abort".*table_full/);
  const pipes = await rawEnd(['["pipe"]', '["pipe"]', '["pipe"]'], { query });
  assert.match(pipes.received[0], /^\["abort".*too_many_pipes/);
  const path = await rawEnd(['["push",["pipeline",0,["a","b","c","d","e"]]]'], { query });
  assert.match(path.received[0], /^\["abort".*at most 4 elements/);
  const body = '["push",["remap",1,[],[],[1,2,3,4,5]]]';
  assert.match((await rawEnd(['["push",[[1]]]', body], { query })).received[0], /^\["abort".*instructions/);
  const large = await rawAnswers(['["push",[[1,2,3,4,5,6]]]', '["push",["remap",1,[],[],[1,2,3]]]', '["pull",2]'], 1, { query });
  assert.match(large[0], /^\["reject",2.*map_too_large/);
  assert.equal((await post(many.slice(0, 11).join("\n"), query)).status, 413);
  assert.equal((await post(`["push","${"x".repeat(1200)}"]`, query)).status, 413);
  assert.equal((await post(Buffer.from([0xff, 0xfe]))).status, 415);
  assert.equal(await newHttpBatchRpcSession(httpUrl()).square(3), 9);
});

test("IC-114 AH the oldest client in use", async () => {
  assert.equal(await oldestBatch(httpUrl()).square(5), 25);
  const root = oldestBatch(httpUrl());
  assert.deepEqual(await Promise.all([root.makeCounter(4).increment(3), root.square(root.square(2))]), [7, 16]);
  const { error } = await outcome(oldestBatch(httpUrl()).throwProps());
  assert.ok(error instanceof TypeError);
  assert.equal(error.message, "with props");
  const seen = [];
  assert.equal(await oldestBatch(httpUrl()).notify((text) => { seen.push(text); }), "sent");
  await until("it is told", () => seen.length > 0);
  assert.deepEqual(seen, ["hi"]);
});

test("IC-115 AH AW the share contract", async () => {
  const share = newHttpBatchRpcSession(httpUrl());
  const created = await share.createShare("ses_x", { request_id: "REQ1" });
  assert.equal(created.id, "EXAMPLESHARE");
  const batch = newHttpBatchRpcSession(httpUrl());
  const redeemed = batch.redeemShare("EXAMPLESHARE", "ok", { writer_id: "W" });
  const ops = [{ op_id: "op1", depends_on: [] }, { op_id: "op2", depends_on: ["op1@1"] }];
  const appended = redeemed.share.appendOps({ batch_id: "B", chain_after: "C", ops });
  const [result, cursor, epoch] = await Promise.all([appended, redeemed.cursor, redeemed.epoch]);
  assert.deepEqual([result.batch_id, [...result.applied], cursor, epoch], ["B", ["op1", "op2"], 0, 1]);
  const { error } = await outcome(newHttpBatchRpcSession(httpUrl()).redeemShare("EXAMPLESHARE", "stale").share.appendOps({}));
  assert.equal(error.code, "revoked");

  const connection = await connect();
  const events = [];
  const { RpcTarget } = await import("capnweb");
  class Sink extends RpcTarget {
    event(value) { events.push({ ...value }); }
  }
  const subscribed = await connection.root.redeemShare("EXAMPLESHARE", "ok").share.subscribe(0, new Sink());
  assert.equal(subscribed.cursor, 3);
  await until("an event", () => events.length > 0);
  assert.deepEqual(events, [{ cursor: 3, key: "session", kind: "session", payload_json: "{}" }]);
  connection.socket.terminate();
});
