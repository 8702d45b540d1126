// `kill -9` while the answer streams, fifty times. A seed chooses what streams and when the end comes;
// one seed alone: STURDY_CRASH_SEED=17 node --test crash/kill.test.mjs
//
// Each run kills a server, starts it again on the same store and asks:
//   is every character there that the reader saw?        is the answer closed, the session idle?
//   does the next prompt work?                           is the reader that comes back whole?
//   does `sturdy verify` find every promise kept?

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Provider, paced } from '../lib/provider.mjs';
import { Random } from '../lib/random.mjs';
import { said } from '../lib/sdk.mjs';
import { Server, verify } from '../lib/server.mjs';
import { Reader, beginning } from '../lib/sse.mjs';
import { pause } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';

const RUNS = 50;
/** Kills of one store, one after the other: a store that was settled is settled again. */
const RUNS_PER_STORE = 10;
const WORDS = ['one', 'zwei', 'três', '四', 'пять', '🙂', '\n', 'eight "quoted"', '\\', 'ten'];

const only = process.env.STURDY_CRASH_SEED;
const seeds = only ? [Number(only)] : Array.from({ length: RUNS }, (_, index) => index + 1);

/** What streams, and when the end comes. @param {number} seed */
function plan(seed) {
  const random = new Random(seed);
  const what = random.of(['long', 'think', 'story', 'scripted']);
  return {
    what,
    /** Pieces that were seen before the end comes. */
    pieces: random.between(1, 40),
    /** And then a little later, so that it may also come inside a commit. */
    laterMs: random.of([0, 0, 1, 2, 5, 9]),
    /** Whether another prompt waits in line. */
    hasSecond: random.next() < 0.3,
    /** Where the reader that comes back had been, counted from its end. */
    behind: random.of([0, 0, 0, 1, 3, 7]),
    path: random.of(['/event', '/global/event']),
    /** Whether the store is checked as the dead process left it. */
    verifiesFirst: random.next() < 0.3,
    words: Array.from({ length: 4000 }, () => `${random.of(WORDS)} `),
  };
}

/** @param {ReturnType<typeof plan>} plan @param {Provider} provider */
function firstPrompt(plan, provider) {
  if (plan.what === 'scripted') {
    provider.scripts = [paced(plan.words, 1)];
    return { model: { providerID: 'scripted', modelID: 'main' }, parts: [{ type: 'text', text: 'Talk' }] };
  }
  const text = { long: '/demo long 100000', think: '/demo think 100000', story: '/demo story 2000' }[plan.what];
  return { model: { providerID: 'demo', modelID: 'story' }, parts: [{ type: 'text', text }] };
}

const echo = (/** @type {string} */ text) => ({
  model: { providerID: 'demo', modelID: 'echo' },
  parts: [{ type: 'text', text }],
});

/** Prompts, watches, kills. What the reader saw is all that counts afterwards. */
async function killInMidAnswer(t, world, provider, plan) {
  const server = await Server.start(world);
  t.after(() => server.kill());
  const reader = await Reader.open(server.url, { path: plan.path });
  const session = (await server.tell('POST', '/session', { title: 'Crash' })).id;
  await server.tell('POST', `/session/${session}/prompt_async`, firstPrompt(plan, provider));

  let pieces = 0;
  await reader.until(
    `${plan.pieces} pieces`,
    (frame) => frame.type === 'message.part.delta' && ++pieces >= plan.pieces,
  );
  if (plan.hasSecond) await server.tell('POST', `/session/${session}/prompt_async`, echo('Second in line'));
  if (plan.laterMs > 0) await pause(plan.laterMs);
  await server.kill();
  // What the kernel still had was sent, so it counts as seen.
  await reader.ended;
  return { session, reader };
}

/** Nothing that was seen may differ from what is stored. */
function sawNothingThatIsLost(reader, messages) {
  const stored = new Map(messages.flatMap((message) => message.parts.map((part) => [part.id, part])));
  let characters = 0;
  for (const [id, { message, text }] of reader.texts()) {
    const part = stored.get(id);
    assert.ok(part, `part ${id} was seen and is gone`);
    assert.equal(part.messageID, message);
    assert.equal(part.text.slice(0, text.length), text, 'what was seen is the beginning of what is stored');
    characters += text.length;
  }
  return characters;
}

/** Every message of the turn that was cut is closed, the last one with the reason. */
function isClosed(messages) {
  const answers = messages.map((message) => message.info).filter((info) => info.role === 'assistant');
  assert.ok(answers.length > 0, 'there was an answer');
  for (const info of answers) assert.ok(info.time.completed, `message ${info.id} is open`);
  assert.equal(answers.at(-1).error?.name, 'MessageAbortedError');
  for (const part of messages.flatMap((message) => message.parts)) {
    if (part.type === 'reasoning') assert.ok(part.time.end, `part ${part.id} is open`);
  }
}

async function keepsItsPromises(world) {
  const { code, stdout, stderr } = await verify(world);
  assert.equal(code, 0, stdout + stderr);
}

const raw = (/** @type {import('../lib/sse.mjs').Frame[]} */ frames) => frames.map((frame) => frame.raw);

/** A reader that was away is shown what one that stayed was shown: nothing less, nothing twice. */
function isWhole(seen, resumed, live, whole) {
  const ids = whole.stored.map((frame) => frame.id);
  assert.deepEqual(ids, [...new Set(ids)].sort((a, b) => a - b), 'ids ascend');

  const start = ids.indexOf(seen.stored[0].id);
  const before = raw(seen.stored);
  assert.deepEqual(raw(whole.stored).slice(start, start + before.length), before, 'what was seen live is seen again');

  const after = ids.indexOf(resumed.from);
  assert.deepEqual(raw(resumed.reader.stored), raw(whole.stored).slice(after + 1), 'exactly what came after the cursor');

  const tail = raw(live.stored);
  assert.deepEqual(raw(whole.stored).slice(-tail.length), tail, 'a reader without a cursor sees what is new');
}

/** Follows until the last entry that any of the readers could have. */
const caughtUp = (reader, id) => reader.until(`entry ${id}`, (frame) => frame.id === id);

describe('kill -9 in mid-answer', { concurrency: 1 }, () => {
  /** @type {Provider} */
  let provider;
  /** @type {World} */
  let world;
  let characters = 0;

  before(async () => (provider = await Provider.start()));
  after(async () => {
    await provider.stop();
    await world?.remove();
  });

  for (const [index, seed] of seeds.entries()) {
    test(`loses nothing (seed ${seed})`, { timeout: 60_000 }, async (t) => {
      if (index % RUNS_PER_STORE === 0) {
        world = await World.make();
        await world.configure(provider.config());
      }
      const chosen = plan(seed);
      const { session, reader: seen } = await killInMidAnswer(t, world, provider, chosen);

      if (chosen.verifiesFirst) await keepsItsPromises(world);

      const { path } = chosen;
      const server = await Server.start(world);
      t.after(() => server.kill());
      const cursor = seen.stored.at(-1 - Math.min(chosen.behind, seen.stored.length - 1)).id;
      const resumed = { from: cursor, reader: await Reader.open(server.url, { path, cursor }) };
      const live = await Reader.open(server.url, { path });

      const messages = await server.tell('GET', `/session/${session}/message`);
      characters += sawNothingThatIsLost(seen, messages);
      isClosed(messages);
      assert.deepEqual(await server.tell('GET', '/session/status'), {}, 'nothing runs');
      const users = messages.filter((message) => message.info.role === 'user');
      assert.equal(users.length, chosen.hasSecond ? 2 : 1, 'every acknowledged prompt is there');

      const answer = await server.tell('POST', `/session/${session}/message`, echo('Are you well?'));
      assert.equal(answer.info.error, undefined);
      assert.match(said(answer), /Are you well\?/);

      await live.idle(session);
      const whole = await Reader.open(server.url, { path, cursor: beginning(live.cursor) });
      await caughtUp(whole, live.cursor);
      await caughtUp(resumed.reader, live.cursor);
      isWhole(seen, resumed, live, whole);
      for (const reader of [resumed.reader, live, whole]) reader.close();

      if (index % 2 === 0) await server.stop();
      else await server.kill();
      const isLast = index % RUNS_PER_STORE === RUNS_PER_STORE - 1 || index === seeds.length - 1;
      await keepsItsPromises(world);
      if (isLast) await world.remove();
    });
  }

  test('the reader had seen something to lose', { skip: Boolean(only) }, () => {
    assert.ok(characters > RUNS * 20, `${characters} characters in ${RUNS} runs`);
  });
});
