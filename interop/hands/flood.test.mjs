// A command that prints 200 MB: the program's memory stays where it was, and the whole is kept.

import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { says } from '../lib/provider.mjs';

const made = bench();
const BYTES = 200_000_000;
const GROWTH_KIB_MAX = 20 * 1024;

/** The most memory the program ever had, in KiB. */
async function peak() {
  const status = await readFile(`/proc/${made.server.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)[1]);
}

async function run(command) {
  const { server, provider } = made;
  const session = (await server.tell('POST', '/session', { title: 'Flood' })).id;
  provider.scripts = [(reply) => reply.call('bash', { command, description: 'Prints' }).finish(), says('Seen.')];
  await server.tell('POST', `/session/${session}/message`, { parts: [{ type: 'text', text: 'Go' }] });
  const messages = await server.tell('GET', `/session/${session}/message`);
  return messages.flatMap((message) => message.parts).find((part) => part.type === 'tool').state;
}

test('200 MB of output cost less than 20 MiB of memory', { timeout: 120_000 }, async () => {
  // What every command costs once: its first is not counted.
  await run('seq 1 200000');
  const before = await peak();

  const state = await run(`yes 'a line that is printed again and again and again' | head -c ${BYTES}`);

  const grown = (await peak()) - before;
  assert.equal(state.status, 'completed');
  assert.ok(state.output.length < 60_000, `${state.output.length} characters for the model`);
  assert.equal((await stat(state.metadata.outputPath)).size, BYTES);
  assert.ok(grown < GROWTH_KIB_MAX, `memory grew by ${grown} KiB`);
});
