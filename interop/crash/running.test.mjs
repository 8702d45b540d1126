// Tools that wait for something when the server is killed: after the next start their calls are closed,
// nothing of them is left, and the session goes on. Or a person may still answer.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, afterEach, before, describe, test } from 'node:test';
import { processesWith } from '../lib/processes.mjs';
import { Provider, calls, says } from '../lib/provider.mjs';
import { said } from '../lib/sdk.mjs';
import { Server, verify } from '../lib/server.mjs';
import { Reader } from '../lib/sse.mjs';
import { until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';

/** A number no other process sleeps for. */
const word = String(200_000 + process.pid);

const sleepers = () => processesWith(word);

/** A web server that begins an answer and never ends it. */
class Slow {
  constructor() {
    this.hanging = 0;
    this.server = createServer((request, response) => {
      this.hanging++;
      response.on('close', () => this.hanging--);
      response.on('error', () => {});
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '1000' });
      response.write('A page');
    });
  }

  async start() {
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', () => resolve(undefined)));
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.server.address());
    this.url = `http://127.0.0.1:${port}/`;
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

const task = { description: 'Look', prompt: 'look around', subagent_type: 'general' };
const sleeps = { command: `echo begin; sleep ${word}`, description: 'Sleeps' };
const question = {
  questions: [{ question: 'Which?', header: 'Colour', options: [{ label: 'Blue', description: 'The sky' }] }],
};

describe('tools when the server is killed or told to stop', { concurrency: 1 }, () => {
  /** @type {Provider} */ let provider;
  /** @type {World} */ let world;
  /** @type {Server} */ let server;
  /** @type {Reader} */ let reader;
  const slow = new Slow();

  const start = () => Server.start(world, { env: { STURDY_REACH_PRIVATE: '1' } });

  before(async () => {
    provider = await Provider.start();
    world = await World.make();
    await slow.start();
  });
  afterEach(async () => {
    await server?.kill();
    assert.deepEqual(await sleepers(), []);
    const { code, stdout, stderr } = await verify(world);
    assert.equal(code, 0, stdout + stderr);
  });
  after(async () => {
    slow.stop();
    await provider.stop();
    await world.remove();
  });

  /** A session whose turn has begun. @param {import('../lib/provider.mjs').Script[]} scripts @param {object} [config] */
  async function begin(scripts, config = {}) {
    await world.configure(provider.config(config));
    server = await start();
    reader = await Reader.open(server.url);
    const session = (await server.tell('POST', '/session', { title: 'Running' })).id;
    provider.asked = [];
    provider.scripts = scripts;
    await server.tell('POST', `/session/${session}/prompt_async`, { parts: [{ type: 'text', text: 'Go' }] });
    return session;
  }

  /** @param {string} type */
  const event = (type) => reader.until(type, (frame) => frame.type === type);

  const printed = () =>
    reader.until('the command printed', (frame) => frame.event?.properties?.part?.state?.metadata?.output === 'begin\n');

  async function killed() {
    await server.kill();
    await reader.ended;
    server = await start();
  }

  /** @param {string} session */
  async function stopped(session) {
    const from = reader.frames.length;
    await server.tell('POST', `/session/${session}/abort`);
    await reader.idle(session, from);
  }

  /** @param {string} session */
  const callOf = async (session) => {
    const messages = await server.tell('GET', `/session/${session}/message`);
    const call = messages.flatMap((message) => message.parts).find((part) => part.type === 'tool');
    return { call, message: messages.find((message) => message.info.id === call.messageID).info };
  };

  /** The call and its message are closed. @param {string} session */
  async function isInterrupted(session) {
    const { call, message } = await callOf(session);
    assert.equal(call.state.status, 'error');
    assert.equal(call.state.error, 'Tool execution aborted');
    assert.equal(call.state.metadata.interrupted, true);
    assert.equal(message.error.name, 'MessageAbortedError');
    assert.ok(message.time.completed);
    return call;
  }

  /** Nothing runs, nobody is asked, and the next prompt is answered with a result for every call. @param {string} session */
  async function goesOn(session) {
    assert.deepEqual(await server.tell('GET', '/session/status'), {});
    assert.deepEqual(await server.tell('GET', '/permission'), []);
    assert.deepEqual(await server.tell('GET', '/question'), []);
    provider.scripts = [says('Here I am.')];
    const answer = await server.tell('POST', `/session/${session}/message`, { parts: [{ type: 'text', text: 'Well?' }] });
    assert.equal(said(answer), 'Here I am.');
    const { messages } = provider.asked.at(-1)?.body ?? {};
    const wanted = messages.flatMap((message) => message.tool_calls ?? []).map((call) => call.id);
    const given = messages.filter((message) => message.role === 'tool').map((message) => message.tool_call_id);
    assert.ok(wanted.length > 0);
    assert.deepEqual(given, wanted);
  }

  /** @param {string} session */
  const childOf = async (session) => (await server.tell('GET', `/session/${session}/children`))[0].id;

  for (const [how, end] of /** @type {const} */ ([['kill -9', killed], ['an abort', stopped]])) {
    test(`${how} while a page is fetched`, { timeout: 60_000 }, async () => {
      const session = await begin([calls('webfetch', { url: slow.url })]);
      await until('the page hangs', () => slow.hanging === 1);
      await end(session);
      await until('the connection is closed', () => slow.hanging === 0);
      await isInterrupted(session);
      await goesOn(session);
    });

    test(`${how} while a sub-agent speaks`, { timeout: 60_000 }, async () => {
      const session = await begin([calls('task', task), (reply) => void reply.text('Looking')]);
      await event('message.part.delta');
      await end(session);
      const call = await isInterrupted(session);
      const child = await childOf(session);
      assert.equal(call.state.metadata.sessionId, child);
      const spoken = await server.tell('GET', `/session/${child}/message`);
      assert.equal(said(spoken.at(-1)), 'Looking');
      assert.equal(spoken.at(-1).info.error.name, 'MessageAbortedError');
      await goesOn(session);
    });

    test(`${how} while a sub-agent runs a command`, { timeout: 60_000 }, async () => {
      const session = await begin([calls('task', task), calls('bash', sleeps)]);
      await printed();
      await end(session);
      await until('nothing sleeps', async () => (await sleepers()).length === 0);
      await isInterrupted(session);
      const { call } = await callOf(await childOf(session));
      assert.equal(call.state.metadata.output, 'begin\n');
      await goesOn(session);
      await goesOn(await childOf(session));
    });

    test(`${how} while a sub-agent asks`, { timeout: 60_000 }, async () => {
      const session = await begin([calls('task', task), calls('bash', sleeps)], { permission: { bash: 'ask' } });
      const { id } = (await event('permission.asked')).event.properties;
      await until('the request is listed', async () => (await server.tell('GET', '/permission')).length === 1);
      await end(session);
      await isInterrupted(session);
      const child = await childOf(session);
      await isInterrupted(child);
      assert.equal((await server.ask('POST', `/permission/${id}/reply`, { reply: 'once' })).status, 404);
      await goesOn(session);
      await goesOn(child);
    });
  }

  test('an abort while a command runs that ends when it is told to', { timeout: 60_000 }, async () => {
    const session = await begin([calls('bash', sleeps)]);
    await printed();
    await stopped(session);
    const { call } = await callOf(session);
    assert.equal(call.state.status, 'completed');
    assert.equal(call.state.metadata.output, 'begin\n');
    await goesOn(session);
  });

  test('an abort of a command that the user runs', { timeout: 60_000 }, async () => {
    const session = await begin([calls('bash', { command: 'true', description: 'Nothing' }), says('Done.')]);
    await reader.idle(session);
    const ended = server.tell('POST', `/session/${session}/shell`, { agent: 'build', command: sleeps.command });
    await printed();
    await stopped(session);
    await ended;
    await goesOn(session);
  });

  test('an abort while a question waits', { timeout: 60_000 }, async () => {
    const session = await begin([calls('question', question)]);
    const { id } = (await event('question.asked')).event.properties;
    await stopped(session);
    await event('question.rejected');
    await isInterrupted(session);
    assert.equal((await server.ask('POST', `/question/${id}/reply`, { answers: [['Blue']] })).status, 404);
    await goesOn(session);
  });

  test('kill -9 while a question waits: it is still asked, and its answer is heard', { timeout: 60_000 }, async () => {
    const session = await begin([calls('question', question)]);
    const { id } = (await event('question.asked')).event.properties;
    await killed();
    const [open] = await server.tell('GET', '/question');
    provider.scripts = [says('Blue it is.')];
    if (open === undefined) {
      // Killed before the model's last word was stored: the answer was cut off, and the question with it.
      await isInterrupted(session);
    } else {
      assert.equal(open.id, id);
      reader = await Reader.open(server.url);
      await server.tell('POST', `/question/${id}/reply`, { answers: [['Blue']] });
      await reader.idle(session);
      const { call } = await callOf(session);
      assert.deepEqual(call.state.metadata.answers, [['Blue']]);
    }
    await goesOn(session);
  });
});
