// The unmodified terminal client shows how MCP servers stand.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attach } from '../lib/opencode.mjs';
import { calls, says } from '../lib/provider.mjs';
import { bench } from './support.mjs';

const it = bench({ permission: { every_echo: 'ask' } });

/** A client at its first screen. */
async function open(t) {
  const terminal = await attach(it.world, it.server.url);
  t.after(() => terminal.close());
  await terminal.shows('Ask anything');
  return terminal;
}

describe('opencode attach', { concurrency: 1, timeout: 300_000 }, () => {
  test('counts the MCP servers that are connected, and lists all of them', async (t) => {
    const terminal = await open(t);
    await terminal.shows('4 MCP /status');

    await terminal.command('/mcps');

    for (const words of [/every web .*Connected/i, /py .*Connected/i, /off .*Disabled/i, /broken .*Failed/i]) {
      await terminal.shows(words);
    }
  });

  test('asks about a tool of a server and shows what came of it', async (t) => {
    it.provider.will(calls('every_echo', { message: 'seen from afar' }), says('It echoed.'));
    const terminal = await open(t);

    await terminal.type('Echo something');
    await terminal.shows('Echo something');
    await terminal.press('Enter');
    await terminal.shows('Permission required');
    await terminal.dismiss('Enter', 'Permission required');
    await terminal.shows('It echoed.');

    await terminal.shows(/every_echo/);
    assert.equal(it.provider.asked.at(-1).body.messages.at(-1).content, 'Echo: seen from afar');
  });
});
