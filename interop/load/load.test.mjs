// Many at once, for a while: sessions with tools, readers of which some do not read and some come and go, random
// stops, copies, removals, and `kill -9`. Afterwards nothing that was acknowledged is lost, what every reader has
// read is what is stored, nothing is stuck, and `sturdy verify` finds every promise kept.
//
//   LOAD_SECONDS=20   how long            LOAD_SESSIONS=16   who works at once
//   LOAD_READERS=24   who reads           LOAD_KILL_SECONDS=6   how often it is killed; 0 is never
//   LOAD_SEED=1       what happens
//
// `scripts/load` runs it for longer, on a release build. Memory and the size of the store are printed, every minute
// of a long run; a run of ten minutes or more also fails when one of them grows after its first third.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { reservePort } from '../lib/port.mjs';
import { Random } from '../lib/random.mjs';
import { Server, verify } from '../lib/server.mjs';
import { pause, until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';
import { Follower } from './follower.mjs';

const number = (/** @type {string} */ name, /** @type {number} */ usual) => Number(process.env[name] ?? usual);
const SECONDS = number('LOAD_SECONDS', 20);
const SESSIONS = number('LOAD_SESSIONS', 16);
const READERS = number('LOAD_READERS', 24);
const KILL_SECONDS = number('LOAD_KILL_SECONDS', 6);
const SEED = number('LOAD_SEED', 1);
const SESSIONS_OF_A_WORKER = 4;
const PROMPTS_OF_A_SESSION = 12;
/** Of sessions that a kill made nobody's. */
const REMOVALS_AT_ONCE = 16;
/** Growth is judged only where there was time for it to level off. */
const JUDGE_GROWTH_FROM_SECONDS = 600;
/** After the load: time for readers to catch up and sessions to come to rest. */
const CALM_MS = 120_000 + SECONDS * 200;

/** The server, wherever it is now, and what was seen of it. */
class Place {
  kills = 0;
  /** The last minute that was printed. */
  printed = 0;
  /** @type {{ second: number, resident: number, stored: number }[]} */
  measured = [];

  /** @param {World} world */
  constructor(world) {
    this.world = world;
    this.begun = Date.now();
  }

  /**
   * At a port of its own, where readers and workers find it again after a kill and meet no other server meanwhile.
   * Should somebody have taken it all the same, it moves on; whoever asks is told where it is.
   */
  async start() {
    this.port ??= await reservePort();
    const env = { STURDY_DEMO_PACE_MS: '1' };
    try {
      this.server = await Server.start(this.world, { env, port: this.port });
    } catch (error) {
      if (!String(error).includes('the port is in use')) throw error;
      console.log(`port ${this.port} was taken by somebody else`);
      this.port = undefined;
      await this.start();
    }
  }

  get url() {
    return /** @type {Server} */ (this.server).url;
  }

  get second() {
    return (Date.now() - this.begun) / 1000;
  }

  async killAndStart() {
    await this.server?.kill();
    this.kills += 1;
    await this.start();
  }

  /** Without awaiting: two hundred readers fill every turn of the event loop, and a file a turn would take minutes. */
  measure() {
    const status = readFileSync(`/proc/${this.server?.pid}/status`, 'utf8');
    const resident = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
    const stored = sizeOf(this.world.data) / 2 ** 20;
    this.measured.push({ second: this.second, resident, stored });
    const minute = Math.floor(this.second / 60);
    if (SECONDS >= JUDGE_GROWTH_FROM_SECONDS && minute > this.printed) {
      this.printed = minute;
      console.log(`minute ${minute}: resident ${resident.toFixed(0)} MB, stored ${stored.toFixed(1)} MB, ${this.kills} kills`);
    }
  }
}

/** What is gone again before it is looked at counts nothing. @param {string} path @returns {number} */
function sizeOf(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return found?.size ?? 0;
  try {
    return readdirSync(path).reduce((bytes, name) => bytes + sizeOf(join(path, name)), 0);
  } catch {
    return 0;
  }
}

/** What one worker has been promised. */
class Worker {
  /** Sessions that should be there, and the texts that were acknowledged in each. @type {Map<string, string[]>} */
  owned = new Map();
  prompts = 0;
  aborts = 0;
  forks = 0;
  removals = 0;
  /** Answers that should not be. @type {string[]} */
  wrong = [];

  /** @param {Place} place @param {number} index */
  constructor(place, index) {
    this.place = place;
    this.index = index;
    this.random = new Random(SEED * 1000 + index);
  }

  /** One request. None when the server was killed under it: then nothing is known. */
  async ask(/** @type {string} */ method, /** @type {string} */ path, /** @type {unknown} */ body) {
    const answer = await this.place.server?.ask(method, path, body).catch(() => undefined);
    if (answer && answer.status >= 500 && answer.status !== 503) {
      this.wrong.push(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
    }
    return answer && answer.status < 300 ? answer : undefined;
  }

  async work(/** @type {() => boolean} */ isOver) {
    while (!isOver()) {
      const session = await this.session();
      if (session === undefined) {
        await pause(100);
        continue;
      }
      await this.prompt(session);
      const dice = this.random.next();
      // Sessions come and go and stay small, so that what is stored levels off.
      const isLong = (this.owned.get(session)?.length ?? 0) >= PROMPTS_OF_A_SESSION;
      const hasRoom = this.owned.size < SESSIONS_OF_A_WORKER;
      if (dice < 0.15 && hasRoom) await this.fork(session);
      else if (dice < 0.25 || isLong || !hasRoom) await this.remove(session);
    }
  }

  async session() {
    const known = [...this.owned.keys()];
    if (known.length > 2 || (known.length > 0 && this.random.next() < 0.7)) return this.random.of(known);
    const made = await this.ask('POST', '/session', { title: `Worker ${this.index}` });
    if (made) this.owned.set(made.json.id, []);
    return made?.json.id;
  }

  /** Every prompt has a name of its own, by which it is found afterwards. */
  async prompt(/** @type {string} */ session) {
    const name = `prompt-${this.index}-${this.prompts++}`;
    const order = this.random.of([
      '/demo story 3',
      `/demo long ${this.random.between(10, 400)}`,
      `/demo think ${this.random.between(5, 100)}`,
      '/demo tool bash {"command":"seq 1 200; echo done","description":"Counts"}',
      '/demo tool glob {"pattern":"*.md"}',
      '/demo cut 20',
    ]);
    const body = {
      model: { providerID: 'demo', modelID: 'story' },
      parts: [{ type: 'text', text: `${order}\n${name}` }],
    };
    const stops = this.random.next() < 0.2;
    if (stops || this.random.next() < 0.3) {
      const sent = await this.ask('POST', `/session/${session}/prompt_async`, body);
      if (sent) this.owned.get(session)?.push(name);
      if (stops) {
        await pause(this.random.between(0, 60));
        this.aborts += 1;
        await this.ask('POST', `/session/${session}/abort`, {});
      }
    } else if (await this.ask('POST', `/session/${session}/message`, body)) {
      this.owned.get(session)?.push(name);
    }
  }

  async fork(/** @type {string} */ session) {
    const made = await this.ask('POST', `/session/${session}/fork`, {});
    if (!made) return;
    this.forks += 1;
    // What had been acknowledged before is in the copy too, unless it was still being answered.
    this.owned.set(made.json.id, []);
  }

  async remove(/** @type {string} */ session) {
    const promised = this.owned.get(session);
    // Also when no answer comes it may be gone.
    this.owned.delete(session);
    const gone = await this.ask('DELETE', `/session/${session}`, undefined);
    this.removals += 1;
    if (!gone && promised) this.unsure = (this.unsure ?? 0) + 1;
  }
}

/**
 * Sessions that were made or should have been removed when the server was killed, and whose worker was not told: nobody
 * would ever remove them, and what is stored would grow with every kill. Whatever asked for them died with the server.
 * @param {Place} place @param {Worker[]} workers @param {number} killedAt
 */
async function removeForgotten(place, workers, killedAt) {
  const listed = await place.server?.ask('GET', '/session?limit=100000').catch(() => undefined);
  if (!Array.isArray(listed?.json)) return;
  const owned = new Set(workers.flatMap((worker) => [...worker.owned.keys()]));
  const forgotten = listed.json.filter((/** @type {any} */ one) => one.time.created < killedAt && !owned.has(one.id));
  // Several at a time: a server under load takes seconds for each, and the next kill would leave more than were removed.
  const remove = async () => {
    for (let one = forgotten.pop(); one; one = forgotten.pop()) {
      await place.server?.ask('DELETE', `/session/${one.id}`).catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: REMOVALS_AT_ONCE }, remove));
}

/** @param {Server} server @param {string} session @returns {Promise<any[]>} */
const messagesOf = (server, session) => server.tell('GET', `/session/${session}/message`);

test(`${SESSIONS} at work and ${READERS} readers for ${SECONDS} s lose nothing`, { timeout: SECONDS * 1000 + 4 * CALM_MS }, async (t) => {
  const world = await World.make();
  t.after(() => world.remove());
  await world.configure({ model: 'demo/story', small_model: 'demo/echo', permission: { '*': 'allow' } });
  const place = new Place(world);
  await place.start();
  t.after(() => place.server?.kill());

  const readers = Array.from({ length: READERS }, () => new Follower(() => place.url));
  await Promise.all(readers.map((reader) => reader.start()));
  t.after(() => Promise.all(readers.map((reader) => reader.stop())));
  const stalled = readers.slice(0, Math.ceil(READERS / 5));
  const restless = readers.slice(stalled.length, 2 * stalled.length);
  stalled.forEach((reader) => reader.stall());

  let isOver = false;
  const workers = Array.from({ length: SESSIONS }, (_, index) => new Worker(place, index));
  const working = workers.map((worker) => worker.work(() => isOver));
  const random = new Random(SEED);
  let killed = 0;
  let tidying = Promise.resolve();
  const areStalledBack = () => stalled.every((reader) => reader.answers > place.kills);
  while (place.second < SECONDS) {
    await pause(500);
    random.of(restless).leave();
    place.measure();
    // A busy machine may take longer than that to let all of them connect again, and each is to meet every server.
    if (KILL_SECONDS > 0 && place.second - killed > KILL_SECONDS && areStalledBack()) {
      killed = place.second;
      const killedAt = Date.now();
      await place.killAndStart();
      tidying = tidying.then(() => removeForgotten(place, workers, killedAt));
      // Whoever does not read does not notice that the connection is dead. They stall the new server too.
      stalled.forEach((reader) => reader.leave());
    }
  }
  isOver = true;
  await Promise.all(working);
  await tidying;

  // What was stopped in the middle comes to rest; nobody has to ask for it.
  const server = /** @type {Server} */ (place.server);
  await until('nothing is busy', async () => Object.keys(await server.tell('GET', '/session/status')).length === 0, CALM_MS);

  await until('those that stall came back after every kill', areStalledBack, CALM_MS);
  stalled.forEach((reader) => reader.resume());
  const last = 'The last one';
  await server.tell('POST', '/session', { title: last });
  await until('every reader has caught up', () => readers.every((reader) => reader.titles.has(last)), CALM_MS);

  const sum = (/** @type {(worker: Worker) => number} */ count) => workers.reduce((all, worker) => all + count(worker), 0);
  assert.deepEqual(workers.flatMap((worker) => worker.wrong), [], 'no answer is an error of the server');
  let texts = 0;
  for (const worker of workers) {
    for (const [session, promised] of worker.owned) {
      const messages = await messagesOf(server, session);
      const said = JSON.stringify(messages);
      for (const name of promised) assert.ok(said.includes(`${name}"`), `${name} of ${session} was acknowledged and is gone`);
      for (const { info, parts } of messages) {
        if (info.role === 'assistant') assert.ok(info.time.completed, `${info.id} of ${session} is open`);
        for (const part of parts.filter((/** @type {any} */ one) => typeof one.text === 'string')) {
          texts += 1;
          for (const [index, reader] of readers.entries()) {
            const read = reader.sessions.get(session)?.get(part.id);
            assert.equal(read, part.text, `reader ${index}, part ${part.id} of ${session}`);
          }
        }
      }
    }
  }
  assert.deepEqual(readers.flatMap((reader) => reader.wrong), [], 'ids ascend, and none comes twice');
  assert.ok(texts > 0 && sum((worker) => worker.prompts) > SESSIONS, 'something happened');

  place.measure();
  await server.stop();
  const { code, stdout, stderr } = await verify(world);
  assert.equal(code, 0, stdout + stderr);

  const resident = place.measured.map((one) => one.resident);
  const { stored } = /** @type {any} */ (place.measured.at(-1));
  t.diagnostic(
    `${sum((one) => one.prompts)} prompts, ${sum((one) => one.aborts)} stops, ${sum((one) => one.forks)} copies, ` +
      `${sum((one) => one.removals)} removals, ${place.kills} kills, ${readers.reduce((all, one) => all + one.frames, 0)} frames`,
  );
  t.diagnostic(`resident at most ${Math.max(...resident).toFixed(0)} MB, at the end ${resident.at(-1)?.toFixed(0)} MB; store ${stored.toFixed(1)} MB`);
  t.diagnostic(stdout.trim());
  judgeGrowth(place);
});

/** Over a long run memory and store level off. Each start begins anew, so the most of each third is compared. */
function judgeGrowth(/** @type {Place} */ place) {
  if (SECONDS < JUDGE_GROWTH_FROM_SECONDS) return;
  const most = (/** @type {'resident' | 'stored'} */ what, /** @type {number} */ from, /** @type {number} */ to) =>
    Math.max(...place.measured.filter(({ second }) => second >= from && second < to).map((one) => one[what]));
  for (const what of /** @type {const} */ (['resident', 'stored'])) {
    const early = most(what, SECONDS / 3, (2 * SECONDS) / 3);
    const late = most(what, (2 * SECONDS) / 3, Infinity);
    assert.ok(late < early * 1.3 + 10, `${what} grew from ${early} to ${late} MB`);
  }
}
