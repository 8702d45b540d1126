// Writes crates/cli/order.txt: the functions that a start and a first turn run, in that order.
//
//   node scripts/order.mjs
//
// The linker puts these side by side (crates/cli/build.rs says why). Names of functions hold the versions of
// the compiler and of dependencies, so after a change of either the file should be written anew; a name that
// is no longer there is passed over, and costs a little memory and nothing else. Needs valgrind and nm.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const file = join(root, "crates/cli/order.txt");
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
const program = join(target, "release/sturdy");

async function main() {
  const env = { ...process.env, STURDY_SYMBOLS: "1" };
  execFileSync("cargo", ["build", "--release", "-p", "sturdy"], { cwd: root, env, stdio: "inherit" });
  const defined = functionsOf(program);

  const order = new Set();
  for (const [what, use] of [["a start", start], ["a turn", turn]]) {
    const run = (await functionsRun(use)).filter((name) => defined.has(name)).sort();
    for (const name of run) order.add(name);
    console.log(`${what}: ${run.length} functions`);
  }
  writeFileSync(file, [...order].join("\n") + "\n");
  console.log(`${order.size} functions in ${file}`);
}

/** What a server does that is started, looked at and stopped. */
async function start(address) {
  await ask(address, "GET", "/global/health");
}

/** What a server does for a client that opens, follows, asks and reads. */
async function turn(address) {
  await start(address);
  const stop = new AbortController();
  const events = await fetch(`${address}/event`, { signal: stop.signal });
  const session = await ask(address, "POST", "/session", {});
  const model = { providerID: "demo", modelID: "echo" };
  const parts = [{ type: "text", text: "hello" }];
  await ask(address, "POST", `/session/${session.id}/message`, { model, parts });
  for (const path of ["/session", `/session/${session.id}`, `/session/${session.id}/message`]) {
    await ask(address, "GET", path);
  }
  stop.abort();
  await events.body.cancel().catch(() => {});
}

async function ask(address, method, path, body) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(address + path, { method, headers, body: body && JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** Names of all functions that ran while the server was used. */
async function functionsRun(use) {
  const dir = mkdtempSync(join(tmpdir(), "sturdy-order-"));
  try {
    const profile = join(dir, "profile");
    const valgrind = ["--tool=callgrind", "--demangle=no", `--callgrind-out-file=${profile}`, program];
    const serve = ["serve", "--port", "0", "--data-dir", join(dir, "data")];
    const env = { ...process.env, HOME: dir, XDG_CONFIG_HOME: dir };
    const stdio = ["ignore", "pipe", "ignore"];
    const server = spawn("valgrind", [...valgrind, ...serve], { cwd: dir, env, stdio });
    const ended = once(server, "exit");
    try {
      await use(await addressOf(server));
    } finally {
      server.kill("SIGTERM");
      await ended;
    }
    return namesIn(readFileSync(profile, "utf8"));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function addressOf(server) {
  for await (const line of createInterface({ input: server.stdout })) {
    const found = line.match(/listening on (http:\S+)/);
    if (found) return found[1];
  }
  throw new Error("the server did not start");
}

/** A profile names a function where it is first mentioned, and counts recursion at the end of the name. */
function namesIn(profile) {
  const names = profile.matchAll(/^c?fn=\(\d+\) (\S+)$/gm);
  return [...new Set([...names].map(([, name]) => name.replace(/'\d+$/, "")))];
}

function functionsOf(path) {
  const options = { encoding: "utf8", maxBuffer: 256 * 1024 * 1024 };
  const lines = execFileSync("nm", ["--defined-only", path], options).split("\n");
  return new Set(lines.map((line) => line.split(" ")).filter(([, kind]) => /^[tTwW]$/.test(kind)).map(([, , name]) => name));
}

await main();
