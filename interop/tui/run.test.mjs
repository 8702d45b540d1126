// `opencode run --attach`: one prompt from a shell.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { runAttached } from '../lib/opencode.mjs';
import { calls, says } from '../lib/provider.mjs';

const it = bench({ config: { permission: { bash: 'ask' } } });

describe('opencode run --attach', { concurrency: 1, timeout: 300_000 }, () => {
  test('prints the answer', async () => {
    it.provider.will(says('Hi from the model.'));

    const { code, stdout, stderr } = await runAttached(it.world, it.server.url, ['hi']);

    assert.equal(stdout, 'Hi from the model.\n', stderr);
    assert.equal(code, 0);
  });

  test('prints JSON lines', async () => {
    it.provider.will(says('Line by line.'));

    const { stdout } = await runAttached(it.world, it.server.url, ['--format', 'json', 'hi']);

    const lines = stdout.trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map((line) => [line.type, line.part.type, line.part.text]),
      [['step_start', 'step-start', undefined], ['text', 'text', 'Line by line.'], ['step_finish', 'step-finish', undefined]],
    );
  });

  test('continues the last session', async () => {
    it.provider.will(says('First.'), says('Second.'));
    await runAttached(it.world, it.server.url, ['--title', 'Continued', 'one']);

    const { stdout } = await runAttached(it.world, it.server.url, ['-c', 'two']);

    assert.equal(stdout, 'Second.\n');
    const [session] = await it.server.tell('GET', '/session');
    assert.equal(session.title, 'Continued');
    assert.equal((await it.server.tell('GET', `/session/${session.id}/message`)).length, 4);
  });

  test('rejects what it is asked, because nobody is there', async () => {
    it.provider.will(calls('bash', { command: 'echo never > never', description: 'Writes' }));

    const { code } = await runAttached(it.world, it.server.url, ['do it']);

    assert.equal(code, 0);
    assert.deepEqual(await it.server.tell('GET', '/permission'), []);
  });

  test('the demo answers too', async () => {
    const { stdout } = await runAttached(it.world, it.server.url, ['-m', 'demo/echo', 'Echo this']);

    assert.match(stdout, /Echo this/);
  });
});
