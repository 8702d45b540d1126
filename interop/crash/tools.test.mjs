// Commands that run when the server ends, whichever way it ends: nothing of them is left running, what
// they had printed is kept, and the session goes on.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { processesWith } from '../lib/processes.mjs';
import { Provider, says } from '../lib/provider.mjs';
import { said } from '../lib/sdk.mjs';
import { Server, verify } from '../lib/server.mjs';
import { Reader } from '../lib/sse.mjs';
import { until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';

/** A number no other process sleeps for, so that the commands of this file can be found. */
let next = 100_000 + process.pid;

const gone = (/** @type {string} */ word) => until(`nothing sleeps for ${word}`, async () => (await processesWith(word)).length === 0);

/** Prints, leaves a daemon in a session of its own, ignores the request to end, and stays. */
const stubborn = (/** @type {string} */ word) =>
  `trap '' TERM; echo begin; setsid sleep ${word} & setsid sh -c 'trap "" TERM HUP; sleep ${word}' & sleep ${word}; sleep ${word}`;

describe('commands when the server ends', { concurrency: 1 }, () => {
  /** @type {Provider} */ let provider;
  /** @type {World} */ let world;
  /** @type {Server} */ let server;

  before(async () => {
    provider = await Provider.start();
    world = await World.make();
    await world.configure(provider.config());
  });
  after(async () => {
    await server?.kill();
    await provider.stop();
    await world.remove();
  });

  /** A session whose command runs: it has printed, and its children sleep. */
  async function running() {
    const word = String(next++);
    server = await Server.start(world);
    const reader = await Reader.open(server.url);
    const session = (await server.tell('POST', '/session', { title: 'Commands' })).id;
    provider.scripts = [(reply) => reply.call('bash', { command: stubborn(word), description: 'Stays' }).finish()];
    await server.tell('POST', `/session/${session}/prompt_async`, { parts: [{ type: 'text', text: 'Go' }] });
    await reader.until('the command printed', (frame) => {
      const part = frame.event?.properties?.part;
      return part?.type === 'tool' && part.state.metadata?.output === 'begin\n';
    });
    await until('all of it sleeps', async () => (await processesWith(word)).length >= 3);
    return { word, session, reader };
  }

  /** The call is closed with what it had printed, nothing runs, the next prompt is answered. */
  async function isSettled(session) {
    const messages = await server.tell('GET', `/session/${session}/message`);
    const call = messages.flatMap((message) => message.parts).find((part) => part.type === 'tool');
    assert.equal(call.state.status, 'error');
    assert.equal(call.state.metadata.interrupted, true);
    assert.equal(call.state.metadata.output, 'begin\n');
    assert.deepEqual(await server.tell('GET', '/session/status'), {});
    provider.scripts = [says('Here I am.')];
    const answer = await server.tell('POST', `/session/${session}/message`, { parts: [{ type: 'text', text: 'Well?' }] });
    assert.equal(said(answer), 'Here I am.');
  }

  async function isSound() {
    const { code, stdout, stderr } = await verify(world);
    assert.equal(code, 0, stdout + stderr);
  }

  test('kill -9: the next start ends what was left and closes the call', { timeout: 60_000 }, async () => {
    const { word, session, reader } = await running();
    await server.kill();
    await reader.ended;
    assert.ok((await processesWith(word)).length > 0, 'a killed server ends nothing');

    server = await Server.start(world);
    await gone(word);
    await isSettled(session);
    await server.stop();
    await isSound();
  });

  test('an orderly end takes everything along', { timeout: 60_000 }, async () => {
    const { word, session } = await running();
    const ended = await server.stop();
    assert.equal(ended.signal, null);
    await gone(word);

    server = await Server.start(world);
    await isSettled(session);
    await server.stop();
    await isSound();
  });

  test('a session that is removed leaves nothing running', { timeout: 60_000 }, async () => {
    const { word, session } = await running();
    await server.tell('DELETE', `/session/${session}`);
    await gone(word);
    await server.stop();
    await isSound();
  });

  test('an abort leaves nothing running', { timeout: 60_000 }, async () => {
    const { word, session, reader } = await running();
    await server.tell('POST', `/session/${session}/abort`);
    await reader.idle(session);
    await gone(word);
    await isSettled(session);
    await server.stop();
  });

  test('a command that asks for input is told that nobody answers', { timeout: 60_000 }, async () => {
    server = await Server.start(world);
    const session = (await server.tell('POST', '/session', { title: 'Input' })).id;
    provider.scripts = [
      (reply) => reply.call('bash', { command: 'read name || echo nobody', description: 'Asks' }).finish(),
      says('Nobody, then.'),
    ];
    const answer = await server.tell('POST', `/session/${session}/message`, { parts: [{ type: 'text', text: 'Go' }] });
    assert.equal(said(answer), 'Nobody, then.');
    const messages = await server.tell('GET', `/session/${session}/message`);
    const call = messages.flatMap((message) => message.parts).find((part) => part.type === 'tool');
    assert.equal(call.state.output, 'nobody\n');
    await server.stop();
  });

  test('what commands were given names the user\'s variables and no key of a provider', { timeout: 60_000 }, async () => {
    const env = { OPENAI_API_KEY: 'key-of-a-test', ACME_API_KEY: 'own-of-the-user', STURDY_SERVER_PASSWORD: '' };
    server = await Server.start(world, { env });
    const session = (await server.tell('POST', '/session', { title: 'Keys' })).id;
    provider.scripts = [(reply) => reply.call('bash', { command: 'env', description: 'Shows' }).finish(), says('Seen.')];
    await server.tell('POST', `/session/${session}/message`, { parts: [{ type: 'text', text: 'Go' }] });
    const text = JSON.stringify(await server.tell('GET', `/session/${session}/message`));
    assert.ok(!text.includes('key-of-a-test'));
    assert.ok(text.includes('own-of-the-user'));
    assert.ok(text.includes(join('home')));
    await server.stop();
  });
});
