// rust-client.test.mjs: Rust client, npm server; then Rust client, Rust server. The cases are in the peer; this starts both ends.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";

const PEER = process.env.CAPNWEB_PEER;

/** The cases the peer knows, and how each went. One server serves them all. */
async function runCases(command, args, path, names = []) {
  const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], cwd: import.meta.dirname });
  const port = await new Promise((resolve, reject) => {
    createInterface({ input: server.stdout }).once("line", (line) => resolve(Number(line)));
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
  const place = `127.0.0.1:${port}${path}`;
  const peer = spawn(PEER, ["client", `ws://${place}`, `http://${place}`, ...names], { stdio: ["ignore", "pipe", "inherit"] });
  const results = [];
  for await (const line of createInterface({ input: peer.stdout })) results.push(JSON.parse(line));
  server.kill();
  return results;
}

// These tell the npm server to misbehave or to wait, which only it can be told; and 50 MiB through two debug builds
// takes minutes on a busy machine and shows nothing that one does not.
const LEFT_OUT = [
  "IC-086 50 MiB through a pipe",
  "IC-051 calls on a slow promise keep their order",
  "IC-087 a sink that never acknowledges",
  "IC-088 a blocked writer hears of a failure",
  "IC-102 the server process dies",
  "IC-103 the reason carries the close code",
  "IC-104 an abort frame comes in",
];

const npm = await runCases(process.execPath, ["server.mjs"], "/");
test("the peer ran its cases against npm", () => assert.ok(npm.length >= 143, `${npm.length} cases`));
for (const { name, error } of npm) {
  test(name, () => assert.equal(error, null));
}

const rust = await runCases(PEER, ["serve"], "/rpc", LEFT_OUT.map((name) => `-${name}`));
test("the peer ran its cases against itself", () => assert.equal(rust.length, npm.length - LEFT_OUT.length));
for (const { name, error } of rust) {
  // CW and CH: Rust to Rust, over a WebSocket and in a batch.
  test(name.replace(" B", " C"), () => assert.equal(error, null));
}
