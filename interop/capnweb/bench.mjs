// bench.mjs: calls per second of npm clients against our servers and the npm server, what a batch costs
// beyond its JSON, and whether a million calls leave anything behind. Run: ./bench [calls|batch|memory]...
//
// Every client is a process of its own, because one client is slower than either server. The
// servers take turns within a round, so that whatever else the machine does falls on both, and a number is the
// median of the rounds. What a server paid is read from the kernel, in nanoseconds.

import { execFileSync, fork, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { RpcSession, WebSocketTransport } from "capnweb";
import { WebSocket } from "ws";

globalThis.WebSocket ??= WebSocket;

const wanted = new Set(process.argv.slice(2));
const wants = (name) => wanted.size === 0 || wanted.has(name);
const rounds = Number(process.env.BENCH_ROUNDS ?? 9);
const roundMs = Number(process.env.BENCH_SECONDS ?? 1) * 1000;

const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
const once = (emitter, event) => new Promise((resolve) => emitter.once(event, resolve));

/** A program that prints where it listens. */
async function start(command, args, read, options = {}) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"], cwd: import.meta.dirname, ...options });
  const lines = createInterface({ input: child.stdout });
  for await (const line of lines) {
    const port = read(line);
    if (port) return { child, url: `ws://127.0.0.1:${port}/rpc`, http: `http://127.0.0.1:${port}` };
  }
  throw new Error(`${command} did not start`);
}

/** Nanoseconds of CPU a process has used, all its threads. */
function cpuNs(pid) {
  const tasks = readdirSync(`/proc/${pid}/task`);
  return tasks.reduce((sum, task) => sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]), 0);
}
const memoryMb = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

/** One round: every client calls one server for a while. */
async function round(server, clients, width, ms) {
  const before = cpuNs(server.child.pid);
  const answers = clients.map((client) => once(client, "message"));
  for (const client of clients) client.send({ url: server.url, method: "echo", ms, width });
  const results = await Promise.all(answers);
  const calls = results.reduce((sum, one) => sum + one.calls, 0);
  return {
    perSecond: results.reduce((sum, one) => sum + one.perSecond, 0),
    serverUs: (cpuNs(server.child.pid) - before) / 1000 / calls,
    clientUs: results.reduce((sum, one) => sum + one.cpuUs, 0) / calls,
  };
}

/** Two servers in turns. The first is also measured with nothing behind its socket, which is as fast as these clients get. */
async function compare(name, ours, theirs, clientCount, width) {
  const clients = Array.from({ length: clientCount }, () => fork(join(import.meta.dirname, "bench-client.mjs")));
  await Promise.all(clients.map((client) => once(client, "message")));
  const nothing = { ...peer, url: peer.url.replace("/rpc", "/nothing") };
  const all = [ours, theirs, nothing];
  for (const server of all) await round(server, clients, width, 500);
  const seen = [];
  for (let at = 0; at < rounds; at += 1) {
    const order = at % 2 === 0 ? all : [...all].reverse();
    const pair = new Map();
    for (const server of order) pair.set(server, await round(server, clients, width, roundMs));
    seen.push(all.map((server) => pair.get(server)));
  }
  clients.forEach((client) => client.disconnect());
  const [a, b, c] = [0, 1, 2].map((which) => (key) => median(seen.map((one) => one[which][key])));
  const ratio = (pick) => median(seen.map(pick)).toFixed(2);
  console.log(
    `| ${name} | ${clientCount}, ${width} | ${Math.round(a("perSecond"))}/s | ${Math.round(b("perSecond"))}/s | ${ratio(([x, y]) => x.perSecond / y.perSecond)}x ` +
      `| ${Math.round(c("perSecond"))}/s, ${ratio(([, y, z]) => z.perSecond / y.perSecond)}x ` +
      `| ${a("serverUs").toFixed(1)} us | ${b("serverUs").toFixed(1)} us | ${ratio(([x, y]) => y.serverUs / x.serverUs)}x | ${a("clientUs").toFixed(1)} us | ${b("clientUs").toFixed(1)} us |`,
  );
}

const number = (line) => Number(line) || 0;
const peer = await start(process.env.CAPNWEB_PEER, ["serve"], number);
const npm = await start(process.execPath, ["server.mjs"], number);
const servers = [peer, npm];
const home = mkdtempSync(join(tmpdir(), "sturdy-bench-"));

try {
  if (wants("calls")) {
    console.log("| server | clients, calls at a time | ours | npm | ratio | no server | our CPU a call | npm's | ratio | client's CPU, ours | npm's |");
    console.log("|---|---|---|---|---|---|---|---|---|---|---|");
    const shapes = (process.env.BENCH_SHAPES ?? "1x1 1x100 4x1 4x100 8x100").split(" ").map((shape) => shape.split("x").map(Number));
    for (const [clients, width] of shapes) await compare("example peer", peer, npm, clients, width);
    if (process.env.STURDY_BIN) {
      const sturdy = await start(process.env.STURDY_BIN, ["serve", "--port", "0"], (line) => /:(\d+)\s*$/.exec(line)?.[1], {
        cwd: home,
        env: { PATH: process.env.PATH, HOME: home },
      });
      servers.push(sturdy);
      for (const [clients, width] of shapes) await compare("sturdy serve", sturdy, npm, clients, width);
    }
  }
  if (wants("batch")) {
    process.stdout.write(execFileSync(process.env.CAPNWEB_PEER, ["bench"]));
  }
  if (wants("memory")) await million();
} finally {
  servers.forEach((server) => server.child.kill());
  rmSync(home, { recursive: true, force: true });
}
process.exit(0);

/** A million calls on one connection. */
async function million() {
  const calls = Number(process.env.BENCH_CALLS ?? 1_000_000);
  const socket = new WebSocket(peer.url);
  await once(socket, "open");
  const root = new RpcSession(new WebSocketTransport(socket)).getRemoteMain();
  const samples = [];
  for (let done = 0; done < calls; done += 1000) {
    await Promise.all(Array.from({ length: 1000 }, (_, at) => root.square(at)));
    if (done % (calls / 10) === 0) samples.push(memoryMb(peer.child.pid).toFixed(1));
  }
  const stats = await root.sessionStats();
  console.log(`memory of the server over ${calls} calls, MiB: ${samples.join(" ")}; tables ${stats.imports}/${stats.exports}`);
  socket.terminate();
}
