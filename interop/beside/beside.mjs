// The program in STURDY_BIN and the reference from npm side by side: the same files, the same sessions, made and read
// through the public HTTP API, measured in turns. Prints a table; judges nothing, because times depend on the machine.
//
//   scripts/bench-reference
//
// BESIDE_FILES, BESIDE_SESSIONS, BESIDE_MESSAGES and BESIDE_ROUNDS change the sizes, BESIDE_FILL_SECONDS how long each side may
// take to be filled: what it has not made until then is left out on the other side too, and the table says how much there was.
// A dash is a request that was refused: the reference searches text with `rg`, and without one in PATH it would fetch it.

import { spawn, spawnSync } from 'node:child_process';
import { Agent, request } from 'node:http';
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serveReference } from '../lib/opencode.mjs';
import { Server } from '../lib/server.mjs';
import { World } from '../lib/world.mjs';
import { Terminal } from './terminal.mjs';

const number = (name, usual) => Number(process.env[name] ?? usual);
const FILES = number('BESIDE_FILES', 50_000);
const SESSIONS = number('BESIDE_SESSIONS', 10_000);
const MESSAGES = number('BESIDE_MESSAGES', 2_000);
const ROUNDS = number('BESIDE_ROUNDS', 15);
const FILL_MS = number('BESIDE_FILL_SECONDS', 90) * 1000;
/** Of one message: 2,000 of them are 12 MB. */
const MESSAGE_BYTES = 6_000;
/** Requests at once while a side is filled. */
const TOGETHER = 8;
const STARTS = 3;
/** What a terminal prints. */
const OUTPUT_BYTES = number('BESIDE_OUTPUT_BYTES', 100_000_000);

/** @typedef {{ name: string, world: World, store: string, start: (world: World) => Promise<Server>, server: Server, long: string, middle: string, highest?: number }} Side */

const rows = [];
const now = () => performance.now();
const shown = (ms) => (ms === undefined ? '–' : ms < 10 ? ms.toFixed(2) : ms < 100 ? ms.toFixed(1) : ms.toFixed(0));
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** @param {string} what @param {number | undefined} ours @param {number | undefined} theirs @param {string} unit */
function row(what, ours, theirs, unit = 'ms') {
  const ratio = ours && theirs ? `${(theirs / ours).toFixed(1)}x` : '–';
  rows.push([what, `${shown(ours)} ${unit}`, `${shown(theirs)} ${unit}`, ratio]);
  console.error(`${what}: ${shown(ours)} ${unit} beside ${shown(theirs)} ${unit}`);
}

const agent = new Agent({ keepAlive: true });

/**
 * How long a request takes until the last byte of its body is here, which is not looked at: what a client does with it is not the server's.
 * Undefined if it is refused. @param {Side} side @param {string} path @param {{ method?: string, body?: object, encoding?: string }} [more]
 * @returns {Promise<number | undefined>} ms
 */
function timed(side, path, { method = 'GET', body, encoding = 'identity' } = {}) {
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const headers = { 'accept-encoding': encoding, ...(sent && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }) };
  const began = now();
  return new Promise((resolve, reject) => {
    const asked = request(side.server.url + path, { method, agent, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(/** @type {number} */ (answer.statusCode) < 300 ? now() - began : undefined));
      answer.on('error', reject);
    });
    asked.on('error', reject);
    asked.end(sent);
  });
}

/**
 * The median of several rounds, the sides in turns.
 * @param {string} what @param {Side[]} sides @param {(side: Side, round: number) => Promise<number | undefined>} measure
 */
async function compare(what, sides, measure, rounds = ROUNDS) {
  const taken = sides.map(() => /** @type {number[]} */ ([]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [place, side] of sides.entries()) {
      const ms = await measure(side, round);
      if (ms !== undefined) taken[place].push(ms);
    }
  }
  const [ours, theirs] = taken.map((times) => (times.length === rounds ? median(times) : undefined));
  row(what, ours, theirs);
}

/** Processes of a server: itself, and what it started. @param {number} root */
async function family(root) {
  const parents = new Map();
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    parents.set(Number(pid), Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]));
  }
  const found = [root];
  for (const one of found) for (const [pid, parent] of parents) if (parent === one) found.push(pid);
  return found;
}

/** @param {Side} side @param {'VmRSS' | 'VmHWM'} field @returns {Promise<number>} MB */
async function memory(side, field) {
  let kilobytes = 0;
  for (const pid of await family(side.server.pid)) {
    const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    kilobytes += Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  }
  return kilobytes / 1024;
}

/** The most memory a server has had. @param {Side} side @returns {Promise<number>} MB */
async function highest(side) {
  side.highest = Math.max(side.highest ?? 0, await memory(side, 'VmHWM'));
  return side.highest;
}

/** What the kernel calls highest counts from now on. @param {Side} side */
async function forgetHighest(side) {
  await highest(side);
  for (const pid of await family(side.server.pid)) await writeFile(`/proc/${pid}/clear_refs`, '5').catch(() => {});
}

/** How much more memory something takes while it is done. @param {Side} side @param {() => Promise<unknown>} act @returns {Promise<number>} MB */
async function grows(side, act) {
  await forgetHighest(side);
  const before = await memory(side, 'VmRSS');
  await act();
  return (await memory(side, 'VmHWM')) - before;
}

/** CPU of a server and what it started, so far. @param {Side} side @returns {Promise<number>} ms */
async function cpu(side) {
  const TICK_MS = 10;
  let ticks = 0;
  for (const pid of await family(side.server.pid)) {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * TICK_MS;
}

/** The same search by ripgrep itself; undefined where there is none. @param {string} directory @returns {number | undefined} ms */
function ripgrep(directory) {
  const began = now();
  const { status } = spawnSync('rg', ['-n', '--hidden', 'rarest-word-of-all'], { cwd: directory });
  return status === 0 ? now() - began : undefined;
}

/** `sturdy session list`, until its first byte. @param {Side} side @returns {Promise<number>} ms */
async function firstByte(side) {
  const began = now();
  const child = spawn(/** @type {string} */ (process.env.STURDY_BIN), ['session', 'list', '--data-dir', side.world.data], {
    cwd: side.world.project,
    env: side.world.env(),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await new Promise((resolve, reject) => {
    child.stdout.once('data', resolve);
    child.once('error', reject);
  });
  const took = now() - began;
  child.stdout.resume();
  await new Promise((resolve) => child.once('close', resolve));
  return took;
}

/** @param {Side[]} sides */
async function terminals(sides) {
  const open = await Promise.all(sides.map((side) => Terminal.open(side.server)));
  await compare('a terminal echoes a line', sides, (side, round) => open[sides.indexOf(side)].echo(`line-${round}-end`));
  for (const terminal of open) await terminal.close();
  const drained = [];
  for (const side of sides) {
    const terminal = await Terminal.printing(side.server, OUTPUT_BYTES);
    let took = { ms: 0, bytes: 0 };
    const grown = await grows(side, async () => (took = await terminal.drain()));
    await terminal.close();
    console.error(`${side.name}: ${took.bytes} bytes of ${OUTPUT_BYTES}`);
    drained.push({ ms: took.ms, grown });
  }
  const megabytes = Math.round(OUTPUT_BYTES / 1e6);
  row(`${megabytes} MB of output of a terminal`, drained[0].ms, drained[1].ms);
  row('  memory that took', drained[0].grown, drained[1].grown, 'MB');
}

/** @param {string} path @returns {Promise<number>} bytes */
async function size(path) {
  const about = await stat(path).catch(() => undefined);
  if (!about?.isDirectory()) return about?.size ?? 0;
  let bytes = 0;
  for (const name of await readdir(path)) bytes += await size(join(path, name));
  return bytes;
}

/** Files of a few lines in directories of a hundred; one of them has the line that is looked for. @param {string} project */
async function makeFiles(project) {
  for (let number = 0; number < FILES; number += 100) {
    const directory = join(project, `area${Math.floor(number / 5_000)}`, `part${number / 100}`);
    await mkdir(directory, { recursive: true });
    const file = (place) => writeFile(join(directory, `module_${number + place}.txt`), `line one of ${number + place}\nline two\n`);
    await Promise.all(Array.from({ length: Math.min(100, FILES - number) }, (_, place) => file(place)));
  }
  await writeFile(join(project, 'needle.txt'), 'a line with the rarest-word-of-all in it\n');
}

/** Does something many times, a few at once, until it is done or its time is up. @returns {Promise<number>} how often */
async function many(count, act) {
  const deadline = now() + FILL_MS;
  let begun = 0;
  let done = 0;
  const work = async () => {
    while (begun < count && now() < deadline) {
      await act(begun++);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, work));
  return done;
}

/** @param {Side} side @param {number} count */
const makeSessions = (side, count) =>
  many(count, (number) => side.server.tell('POST', '/session', { title: `Task ${number}: mend the ${['feed', 'store', 'page'][number % 3]}` }));

/** A long session, of prompts that want no reply. One at a time: the order is that of the conversation. @param {Side} side @param {number} count */
async function makeMessages(side, count) {
  side.long = (await side.server.tell('POST', '/session', { title: 'The long one' })).id;
  const text = 'All work and no play. '.repeat(MESSAGE_BYTES / 22);
  const deadline = now() + FILL_MS;
  let made = 0;
  for (; made < count && now() < deadline; made += 1) {
    const answer = await side.server.tell('POST', `/session/${side.long}/message`, { noReply: true, parts: [{ type: 'text', text: `${made} ${text}` }] });
    if (made === Math.floor(count / 2)) side.middle = answer.info.id;
    side.middle ??= answer.info.id;
  }
  return made;
}

/** How long others wait while something large is asked for. @param {Side} side @param {string} path */
async function healthDuring(side, path) {
  let isOver = false;
  const large = timed(side, path).finally(() => (isOver = true));
  let worst = 0;
  do worst = Math.max(worst, (await timed(side, '/global/health')) ?? Infinity);
  while (!isOver);
  return (await large) === undefined ? undefined : worst;
}

/** @template T @param {Side[]} sides @param {(side: Side) => Promise<T>} measure @returns {Promise<T[]>} one after the other */
async function both(sides, measure) {
  const found = [];
  for (const side of sides) found.push(await measure(side));
  return found;
}

/** @param {number} rounds @param {() => Promise<number>} measure */
async function times(rounds, measure) {
  const found = [];
  for (let round = 0; round < rounds; round += 1) found.push(await measure());
  return found;
}

/** @param {Side} side */
async function start(side) {
  const began = now();
  side.server = await side.start(side.world);
  while ((await side.server.ask('GET', '/global/health')).status !== 200);
  return now() - began;
}

/** @param {Side[]} sides the program first: the reference is filled first, and both hold as much as it could take */
async function measure(sides) {
  const [ours, theirs] = sides;
  await compare('start to healthy, empty store', sides, async (side) => {
    await side.server?.stop();
    return start(side);
  }, STARTS);
  row('memory, idle', await memory(ours, 'VmRSS'), await memory(theirs, 'VmRSS'), 'MB');

  const sessions = await makeSessions(theirs, SESSIONS);
  await makeSessions(ours, sessions);
  // At rest: what a running server has not yet put in its place would be counted.
  const before = await both(sides, async (side) => {
    await side.server.stop();
    const bytes = await size(side.store);
    await start(side);
    return bytes;
  });
  const messages = await makeMessages(theirs, MESSAGES);
  await makeMessages(ours, messages);
  console.error(`each side has ${sessions} sessions and one of ${messages} messages`);

  await compare('create a session', sides, (side) => timed(side, '/session', { method: 'POST', body: { title: 'One more' } }));
  await compare('get a session', sides, (side) => timed(side, `/session/${side.long}`));
  await compare('list the newest 100', sides, (side) => timed(side, '/session?limit=100'));
  await compare(`search ${sessions} titles, a hit`, sides, (side, round) => timed(side, `/session?limit=10&search=${encodeURIComponent(`Task ${round * 7}:`)}`));
  await compare(`search ${sessions} titles, a miss`, sides, (side, round) => timed(side, `/session?limit=10&search=nowhere${round}`));

  const [firstOurs, firstTheirs] = [await timed(ours, '/find/file?query=module_777'), await timed(theirs, '/find/file?query=module_777')];
  row(`find a file among ${FILES}, the first time`, firstOurs, firstTheirs);
  const used = await Promise.all(sides.map(cpu));
  await compare(`find a file among ${FILES}, warm`, sides, (side, round) => timed(side, `/find/file?query=module_${1_000 + round * 31}`));
  const [cpuOurs, cpuTheirs] = await Promise.all(sides.map(async (side, place) => ((await cpu(side)) - used[place]) / ROUNDS));
  row('  CPU of each', cpuOurs, cpuTheirs);
  await compare(`search the text of ${FILES} files`, sides, (side) => timed(side, '/find?pattern=rarest-word-of-all'), Math.min(5, ROUNDS));
  row('  the same by ripgrep itself, in both columns', ripgrep(ours.world.project), ripgrep(ours.world.project));

  const long = (side, query = '') => `/session/${side.long}/message${query}`;
  await compare(`all ${messages} messages of a session`, sides, (side) => timed(side, long(side)), Math.min(7, ROUNDS));
  await compare('  packed, as most clients ask for it', sides, (side) => timed(side, long(side), { encoding: 'gzip' }), Math.min(7, ROUNDS));
  row('  memory that took', ...(/** @type {[number, number]} */ (await both(sides, (side) => grows(side, () => timed(side, long(side)))))), 'MB');
  await compare('its newest 50', sides, (side) => timed(side, long(side, '?limit=50')));
  await compare('one message', sides, (side) => timed(side, long(side, `/${side.middle}`)));
  for (const [what, path] of /** @type {[string, (side: Side) => string][]} */ ([
    ['all messages', (side) => long(side)],
    ['its newest 50', (side) => long(side, '?limit=50')],
    ['a text search', () => '/find?pattern=rarest-word-of-all'],
    ['a search for a file', () => '/find/file?query=module_4242'],
    ['a search of titles', () => '/session?limit=10&search=nowhere-at-all'],
    ['a long list', () => '/session?limit=5000'],
  ])) {
    await compare(`longest wait for /global/health during ${what}`, sides, (side) => healthDuring(side, path(side)), Math.min(5, ROUNDS));
  }
  await terminals(sides);
  row('`sturdy session list` to its first byte', median(await times(ROUNDS, () => firstByte(ours))), undefined);
  row('memory afterwards', await memory(ours, 'VmRSS'), await memory(theirs, 'VmRSS'), 'MB');
  row('memory, highest', await highest(ours), await highest(theirs), 'MB');
  await compare('start to healthy, with all of it', sides, async (side) => {
    await side.server.stop();
    return start(side);
  }, STARTS);
  for (const side of sides) await side.server.stop();
  const [bytesOurs, bytesTheirs] = [await size(ours.store), await size(theirs.store)];
  row('all of it on disk', bytesOurs / 1e6, bytesTheirs / 1e6, 'MB');
  row('  without what was there before the long session', (bytesOurs - before[0]) / 1e6, (bytesTheirs - before[1]) / 1e6, 'MB');
}

const worlds = [await World.make('git'), await World.make('git')];
// One tree for both.
worlds[1].project = worlds[0].project;
/** @type {Side[]} */
const sides = /** @type {any} */ ([
  { name: 'sturdy', world: worlds[0], store: worlds[0].data, start: (world) => Server.start(world) },
  { name: 'reference', world: worlds[1], store: join(worlds[1].home, '.local/share/opencode'), start: serveReference },
]);
try {
  await makeFiles(worlds[0].project);
  await measure(sides);
} finally {
  for (const side of sides) await side.server?.kill().catch(() => {});
  for (const world of worlds) await world.remove();
}
console.log('| What | Sturdy | Reference | Ratio |\n|---|---|---|---|');
for (const cells of rows) console.log(`| ${cells.join(' | ')} |`);
