// What a command left running in the background when the server is killed: the next start ends what a model's
// command left, and lets what the person's own command left live.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { processesWith } from '../lib/processes.mjs';
import { Provider, calls, says } from '../lib/provider.mjs';
import { Server, verify } from '../lib/server.mjs';
import { until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';

/** Numbers no other process sleeps for, so that each can be found. */
const OF_THE_MODEL = String(300_000 + process.pid);
const OF_THE_PERSON = String(400_000 + process.pid);

const leaves = (/** @type {string} */ word) => `nohup sleep ${word} >/dev/null 2>&1 &`;

describe('background processes when the server is killed', { concurrency: 1 }, () => {
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
    // Nobody but this test ends what the person left running.
    for (const pid of await processesWith(OF_THE_PERSON)) process.kill(pid, 'SIGKILL');
    await provider.stop();
    await world.remove();
  });

  test('kill -9: the next start ends what the model left and not what the person left', { timeout: 120_000 }, async () => {
    server = await Server.start(world);
    const session = (await server.tell('POST', '/session', { title: 'Background' })).id;
    provider.will(calls('bash', { command: leaves(OF_THE_MODEL), description: 'Starts a server' }), says('It runs.'));
    await server.tell('POST', `/session/${session}/message`, { parts: [{ type: 'text', text: 'Go' }] });
    await server.tell('POST', `/session/${session}/shell`, { agent: 'build', command: leaves(OF_THE_PERSON) });
    // A process has its name a moment after its shell has gone on without it.
    await until('what the model left runs', async () => (await processesWith(OF_THE_MODEL)).length === 1);
    await until('what the person left runs', async () => (await processesWith(OF_THE_PERSON)).length === 1);
    const mine = await processesWith(OF_THE_PERSON);
    const listed = await server.tell('GET', `/sturdy/session/${session}/process`);
    assert.deepEqual(listed.map(({ command, user }) => [command, user]), [[leaves(OF_THE_MODEL), false], [leaves(OF_THE_PERSON), true]]);

    await server.kill();
    assert.equal((await processesWith(OF_THE_MODEL)).length, 1, 'a killed server ends nothing');
    server = await Server.start(world);

    await until('what the model left is ended', async () => (await processesWith(OF_THE_MODEL)).length === 0);
    assert.deepEqual(await processesWith(OF_THE_PERSON), mine);
    const left = await server.tell('GET', `/sturdy/session/${session}/process`);
    assert.ok(left.every(({ user }) => user), JSON.stringify(left));

    await server.stop();
    assert.deepEqual(await processesWith(OF_THE_PERSON), mine, 'an orderly end lets it live too');
    const { code, stdout, stderr } = await verify(world);
    assert.equal(code, 0, stdout + stderr);
  });
});
