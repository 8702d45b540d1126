// rust-client.test.mjs: Rust client, npm server. The cases are in the peer; this starts both.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";

const PEER = process.env.CAPNWEB_PEER;

/** The cases the peer knows, and how each went. One npm server serves them all. */
async function runCases(names = []) {
  const server = spawn(process.execPath, ["server.mjs"], { stdio: ["pipe", "pipe", "inherit"], cwd: import.meta.dirname });
  const port = await new Promise((resolve, reject) => {
    createInterface({ input: server.stdout }).once("line", (line) => resolve(Number(line)));
    server.once("exit", (code) => reject(new Error(`the npm server ended with ${code}`)));
  });
  const peer = spawn(PEER, ["client", `ws://127.0.0.1:${port}/`, `http://127.0.0.1:${port}/`, ...names], { stdio: ["ignore", "pipe", "inherit"] });
  const results = [];
  for await (const line of createInterface({ input: peer.stdout })) results.push(JSON.parse(line));
  server.kill();
  return results;
}

const results = await runCases();

test("the peer ran its cases", () => assert.ok(results.length >= 143, `${results.length} cases`));
for (const { name, error } of results) {
  test(name, () => assert.equal(error, null));
}
