// bench.mjs: calls per second of the npm client against both servers, what a batch costs beyond
// its JSON, and whether a million calls leave anything behind. Run: ./bench (builds the peer).

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { RpcSession, WebSocketTransport } from "capnweb";
import { WebSocket } from "ws";

globalThis.WebSocket ??= WebSocket;

async function connect(port) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/rpc`);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return { socket, root: new RpcSession(new WebSocketTransport(socket)).getRemoteMain() };
}

/** So many calls at a time for so long; returns how many were answered. */
async function callFor(port, ms, width) {
  const { socket, root } = await connect(port);
  const end = performance.now() + ms;
  let calls = 0;
  while (performance.now() < end) {
    await Promise.all(Array.from({ length: width }, (_, at) => root.square(at)));
    calls += width;
  }
  socket.terminate();
  return calls;
}

if (!isMainThread) {
  parentPort.postMessage(await callFor(workerData.port, workerData.ms, workerData.width));
  process.exit(0);
}

function start(command, args) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], cwd: import.meta.dirname });
  return new Promise((resolve) => createInterface({ input: child.stdout }).once("line", (line) => resolve({ child, port: Number(line) })));
}

/** CPU seconds a process has used. */
function cpu(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
const memoryMb = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

async function measure(server, ms, width, clients) {
  const before = cpu(server.child.pid);
  const runs = Array.from({ length: clients }, () =>
    new Promise((resolve) => new Worker(new URL(import.meta.url), { workerData: { port: server.port, ms, width } }).once("message", resolve)));
  const calls = (await Promise.all(runs)).reduce((sum, one) => sum + one, 0);
  const used = cpu(server.child.pid) - before;
  return { perSecond: Math.round((calls * 1000) / ms), perCpuSecond: Math.round(calls / used) };
}

const seconds = Number(process.env.BENCH_SECONDS ?? 4);
const rust = await start(process.env.CAPNWEB_PEER, ["serve"]);
const npm = await start(process.execPath, ["server.mjs"]);

for (const [width, clients] of [[1, 1], [100, 1], [1, 4], [100, 4]]) {
  await measure(rust, 500, width, clients);
  await measure(npm, 500, width, clients);
  const [a, b] = [await measure(rust, seconds * 1000, width, clients), await measure(npm, seconds * 1000, width, clients)];
  const ratio = (x, y) => (x / y).toFixed(2);
  console.log(
    `calls  ${clients} client(s), ${String(width).padStart(3)} at a time: rust ${a.perSecond}/s, npm ${b.perSecond}/s, ${ratio(a.perSecond, b.perSecond)}x` +
      `; per CPU second of the server: rust ${a.perCpuSecond}, npm ${b.perCpuSecond}, ${ratio(a.perCpuSecond, b.perCpuSecond)}x`,
  );
}

// A batch of 1,000 calls, each on the result of the one before, against the same 100 KB as JSON alone.
const lines = [];
for (let id = 1; id <= 1000; id += 1) {
  lines.push(`["push",["pipeline",0,["echo"],[{"text":"${"x".repeat(40)}","n":${id},"before":${id > 1 ? `["pipeline",${id - 1},["n"]]` : 0}}]]]`);
}
lines.push('["pull",1000]');
const body = lines.join("\n");
async function time(path, repeats) {
  const times = [];
  for (let at = 0; at < repeats; at += 1) {
    const start = performance.now();
    const response = await fetch(`http://127.0.0.1:${rust.port}${path}`, { method: "POST", body });
    await response.text();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[repeats >> 1];
}
await time("/rpc", 50);
await time("/json", 50);
const [batch, json] = [await time("/rpc", 300), await time("/json", 300)];
console.log(`batch  1000 calls in ${(body.length / 1000).toFixed(0)} KB: ${batch.toFixed(2)} ms, its JSON alone ${json.toFixed(2)} ms, ${(batch / json).toFixed(2)}x`);

// A million calls on one connection.
const million = Number(process.env.BENCH_CALLS ?? 1_000_000);
const { socket, root } = await connect(rust.port);
const samples = [];
for (let done = 0; done < million; done += 1000) {
  await Promise.all(Array.from({ length: 1000 }, (_, at) => root.square(at)));
  if (done % (million / 10) === 0) samples.push(memoryMb(rust.child.pid).toFixed(1));
}
const stats = await root.sessionStats();
console.log(`memory of the server over ${million} calls, MiB: ${samples.join(" ")}; tables ${stats.imports}/${stats.exports}`);
socket.terminate();
rust.child.kill();
npm.child.kill();
process.exit(0);
