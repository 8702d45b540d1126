// `opencode run --attach`: one prompt from a shell.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { runAttached } from '../lib/opencode.mjs';
import { calls, says } from '../lib/provider.mjs';
import { pause } from '../lib/wait.mjs';

/**
 * The client asks for events and for the answer at the same moment, over two connections, and prints only
 * what it hears of. A model that answered at once could be done before it listens; no model is that fast.
 */
const MODEL_THINKS_MS = 500;

/** @param {import('../lib/provider.mjs').Script} script @returns {import('../lib/provider.mjs').Script} */
const slowly = (script) => async (reply, asked) => {
  await pause(MODEL_THINKS_MS);
  await script(reply, asked);
};

const it = bench({ config: { permission: { bash: 'ask' } }, env: { STURDY_DEMO_PACE_MS: '100' } });

describe('opencode run --attach', { concurrency: 1, timeout: 300_000 }, () => {
  test('prints the answer', async () => {
    it.provider.will(slowly(says('Hi from the model.')));

    const { code, stdout, stderr } = await runAttached(it.world, it.server.url, ['hi']);

    assert.equal(stdout, 'Hi from the model.\n', stderr);
    assert.equal(code, 0);
  });

  test('prints JSON lines', async () => {
    it.provider.will(slowly(says('Line by line.')));

    const { stdout } = await runAttached(it.world, it.server.url, ['--format', 'json', 'hi']);

    const lines = stdout.trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map((line) => [line.type, line.part.type, line.part.text]),
      [['step_start', 'step-start', undefined], ['text', 'text', 'Line by line.'], ['step_finish', 'step-finish', undefined]],
    );
  });

  test('continues the last session', async () => {
    it.provider.will(slowly(says('First.')), slowly(says('Second.')));
    await runAttached(it.world, it.server.url, ['--title', 'Continued', 'one']);

    const { stdout } = await runAttached(it.world, it.server.url, ['-c', 'two']);

    assert.equal(stdout, 'Second.\n');
    const [session] = await it.server.tell('GET', '/session');
    assert.equal(session.title, 'Continued');
    assert.equal((await it.server.tell('GET', `/session/${session.id}/message`)).length, 4);
  });

  test('rejects what it is asked, because nobody is there', async () => {
    it.provider.will(slowly(calls('bash', { command: 'echo never > never', description: 'Writes' })));

    const { code } = await runAttached(it.world, it.server.url, ['do it']);

    assert.equal(code, 0);
    assert.deepEqual(await it.server.tell('GET', '/permission'), []);
  });

  test('the demo answers too', async () => {
    const { stdout } = await runAttached(it.world, it.server.url, ['-m', 'demo/echo', 'Echo this, which is a sentence of some length, so that it takes a while']);

    assert.match(stdout, /Echo this/);
  });
});
