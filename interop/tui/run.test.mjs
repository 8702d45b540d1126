// `opencode run --attach`: one prompt from a shell.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { ear } from '../lib/ear.mjs';
import { runAttached } from '../lib/opencode.mjs';
import { calls, says } from '../lib/provider.mjs';

/**
 * The client asks for events and for the answer at the same moment, over two connections, and prints only
 * what it hears of. A model that answered at once could be done before it listens; this one waits for it.
 * @param {string[]} args @param {import('../lib/provider.mjs').Script[]} scripts
 */
async function run(args, ...scripts) {
  const way = await ear(it.server.url);
  it.provider.will(
    ...scripts.map((script) => async (reply, asked) => {
      await way.listens;
      await script(reply, asked);
    }),
  );
  try {
    return await runAttached(it.world, way.url, args);
  } finally {
    way.close();
  }
}

const it = bench({ config: { permission: { bash: 'ask' } }, env: { STURDY_DEMO_PACE_MS: '100' } });

describe('opencode run --attach', { concurrency: 1, timeout: 300_000 }, () => {
  test('prints the answer', async () => {
    const { code, stdout, stderr } = await run(['hi'], says('Hi from the model.'));

    assert.equal(stdout, 'Hi from the model.\n', stderr);
    assert.equal(code, 0);
  });

  test('prints JSON lines', async () => {
    const { stdout } = await run(['--format', 'json', 'hi'], says('Line by line.'));

    const lines = stdout.trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map((line) => [line.type, line.part.type, line.part.text]),
      [['step_start', 'step-start', undefined], ['text', 'text', 'Line by line.'], ['step_finish', 'step-finish', undefined]],
    );
  });

  test('continues the last session', async () => {
    await run(['--title', 'Continued', 'one'], says('First.'));

    const { stdout } = await run(['-c', 'two'], says('Second.'));

    assert.equal(stdout, 'Second.\n');
    const [session] = await it.server.tell('GET', '/session');
    assert.equal(session.title, 'Continued');
    assert.equal((await it.server.tell('GET', `/session/${session.id}/message`)).length, 4);
  });

  test('rejects what it is asked, because nobody is there', async () => {
    const { code } = await run(['do it'], calls('bash', { command: 'echo never > never', description: 'Writes' }));

    assert.equal(code, 0);
    assert.deepEqual(await it.server.tell('GET', '/permission'), []);
  });

  test('the demo answers too', async () => {
    const { stdout } = await runAttached(it.world, it.server.url, ['-m', 'demo/echo', 'Echo this, which is a sentence of some length, so that it takes a while']);

    assert.match(stdout, /Echo this/);
  });
});
