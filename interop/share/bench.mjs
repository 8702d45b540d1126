// What a live share costs: how long a delta takes from the server's own event stream to a viewer, and what a thousand viewers of
// one share take in memory and in reads of the store. Prints each with its goal and asserts nothing.
//
//   STURDY_BIN=target/release/sturdy node interop/share/bench.mjs [viewers]

import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { Server } from '../lib/server.mjs';
import { until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';

const VIEWERS = Number(process.argv[2] ?? 1000);
/** Between two words of the answer. */
const PACE_MS = 20;
const WORDS = 150;

/** Calls back with the data of every event of a stream. */
function listen(url, onData) {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (answer) => {
      let rest = '';
      answer.setEncoding('utf8').on('data', (text) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop();
        for (const line of lines) if (line.startsWith('data: ')) onData(line.slice(6));
      });
      answer.on('error', () => {});
      resolve(request);
    });
    request.on('error', reject);
  });
}

const memoryMb = (pid, name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

const world = await World.make();
await world.configure({});
const server = await Server.start(world, { args: ['--share'], env: { STURDY_DEMO_PACE_MS: String(PACE_MS) } });
try {
  const session = (await server.tell('POST', '/session', { title: 'Shared' })).id;
  const prompt = (text) => ({ model: { providerID: 'demo', modelID: 'echo' }, parts: [{ type: 'text', text }] });
  const id = (await server.tell('POST', `/session/${session}/share`)).share.url.split('/').at(-1);
  const said = [];
  for (let word = 0; word < WORDS; word += 1) said.push(`word${word}`);

  // A delta is on disk before the server's own stream shows it, and is shown at once.
  let length = 0;
  let streaming = '';
  const here = [];
  await listen(`${server.url}/event`, (data) => {
    const event = JSON.parse(data);
    if (event.type !== 'message.part.delta') return;
    if (streaming !== event.properties.partID) {
      streaming = event.properties.partID;
      length = 0;
    }
    length += event.properties.delta.length;
    here.push({ at: performance.now(), length });
  });
  const there = [];
  const lengthOf = (item) => (item.kind === 'part' && item.data?.id === streaming ? item.data.text.length : 0);
  await listen(`${server.url}/api/share/${id}/events`, (data) => {
    const found = lengthOf(JSON.parse(data));
    if (found > 0) there.push({ at: performance.now(), length: found });
  });
  await server.tell('POST', `/session/${session}/message`, prompt(said.join(' ')));
  await until('the viewer has all of it', () => (there.at(-1)?.length ?? 0) >= length);
  const waits = here.map(({ at, length: shown }) => there.find((seen) => seen.length >= shown && seen.at >= at)?.at - at).filter(Number.isFinite);
  console.log(`a delta to a viewer, median of ${waits.length}: ${median(waits).toFixed(0)} ms (goal 300); longest ${Math.max(...waits).toFixed(0)} ms`);

  const reads = async () => Number(/^sturdy_store_reads_total (\d+)/m.exec(await (await fetch(`${server.url}/metrics`)).text())[1]);
  let spoken = 0;
  /** Says something that nobody answers; how many reads of the store that takes until every viewer has it, and how long. */
  const speak = async (viewers) => {
    spoken = 0;
    const readBefore = await reads();
    const begun = performance.now();
    await server.tell('POST', `/session/${session}/message`, { ...prompt('the last word'), noReply: true });
    await until('every viewer has heard it', () => spoken >= viewers);
    const took = performance.now() - begun;
    return { reads: (await reads()) - readBefore, took };
  };
  await listen(`${server.url}/api/share/${id}/events`, (data) => {
    if (data.includes('the last word')) spoken += 1;
  });
  const alone = await speak(1);

  const before = memoryMb(server.pid, 'VmRSS');
  let arrived = 0;
  for (let count = 0; count < VIEWERS; count += 1) {
    let isThere = false;
    await listen(`${server.url}/api/share/${id}/events`, (data) => {
      if (!isThere && data.includes('"items"')) {
        isThere = true;
        arrived += 1;
      }
      if (!data.includes('"items"') && data.includes('the last word')) spoken += 1;
    });
  }
  await until('every viewer has the share', () => arrived === VIEWERS);
  const watching = memoryMb(server.pid, 'VmRSS');
  const all = await speak(VIEWERS + 1);
  await server.tell('POST', `/session/${session}/message`, prompt(said.join(' ')));
  const after = memoryMb(server.pid, 'VmRSS');
  console.log(`memory: ${before.toFixed(1)} MB with two viewers, ${watching.toFixed(1)} MB with ${VIEWERS} more, ${after.toFixed(1)} MB after a live turn; more: ${(after - before).toFixed(1)} MB (goal 40)`);
  console.log(`a message to all ${VIEWERS}: ${all.took.toFixed(0)} ms and ${all.reads} reads of the store; to one: ${alone.took.toFixed(0)} ms and ${alone.reads} (goal: as many)`);
} finally {
  await server.kill();
  await world.remove();
  process.exitCode ??= 0;
}
