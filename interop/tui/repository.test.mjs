// The terminal client in a git repository: a prompt that waits, a session that gets another name, a server that is
// started again, an answer that breaks off, and `sturdy attach`, which starts the client itself.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { attach, attachWithSturdy } from '../lib/opencode.mjs';
import { says } from '../lib/provider.mjs';
import { Server } from '../lib/server.mjs';
import { Gate, until } from '../lib/wait.mjs';

const it = bench({ kind: process.env.INTEROP_WORLD === 'linked' ? 'linked' : 'git' });
const START = 'Ask anything';

async function open(t, args = []) {
  const terminal = await attach(it.world, it.server.url, args);
  t.after(() => terminal.close());
  if (args.length === 0) await terminal.shows(START);
  return terminal;
}

async function prompt(terminal, text) {
  await terminal.type(text);
  await terminal.shows(text);
  await terminal.press('Enter');
}

const newest = async () => (await it.server.tell('GET', '/session'))[0];
const messages = async (id) => it.server.tell('GET', `/session/${id}/message`);
const idle = () => until('nothing runs', async () => Object.keys(await it.server.tell('GET', '/session/status')).length === 0);

describe('opencode attach in a repository', { concurrency: 1, timeout: 300_000 }, () => {
  test('shows a prompt that waits as queued, until its turn comes', async (t) => {
    const gate = new Gate();
    it.provider.will(async (reply) => {
      reply.text('Busy with the first.');
      await gate.opened;
      reply.finish();
    }, says('Now the second.'));

    const terminal = await open(t);
    await prompt(terminal, 'The first thing');
    await terminal.shows('Busy with the first.');
    await prompt(terminal, 'The second thing');
    await terminal.shows('QUEUED');
    const { id } = await newest();
    const waiting = await it.server.tell('GET', `/sturdy/session/${id}/queue`);
    assert.equal(waiting.length, 1, JSON.stringify(waiting));
    gate.open();

    await terminal.shows('Now the second.');
    await terminal.hides('QUEUED');
    await idle();
  });

  test('gives a session another name', async (t) => {
    it.provider.will(says('A session with a name.'), says('And again.'));

    const terminal = await open(t);
    await prompt(terminal, 'Begin a session');
    await terminal.shows('A session with a name.');
    await idle();
    const { id } = await newest();
    await terminal.command('/rename');
    await terminal.shows(/Rename/);
    await terminal.press('C-u');
    await terminal.type('Clockwork');
    await terminal.shows('Clockwork');
    await terminal.press('Enter');

    await until('it has the name', async () => (await it.server.tell('GET', `/session/${id}`)).title === 'Clockwork');
    await prompt(terminal, 'Once more');
    await terminal.shows('And again.');
    await idle();
    assert.equal((await it.server.tell('GET', `/session/${id}`)).title, 'Clockwork');
  });

  test('finds the session and its project again after the server was started again', async (t) => {
    it.provider.will(says('Written before the restart.'));
    const first = await open(t);
    await prompt(first, 'Say something to keep');
    await first.shows('Written before the restart.');
    await idle();
    const before = await newest();
    await first.press('C-c');
    await first.ended();

    await it.server.stop();
    it.server = await Server.start(it.world);
    it.provider.will(says('Written after the restart.'));
    const again = await open(t, ['-c']);
    await again.shows('Written before the restart.');
    await prompt(again, 'And now');
    await again.shows('Written after the restart.');
    await idle();

    const after = await newest();
    assert.deepEqual([after.id, after.projectID], [before.id, before.projectID]);
    assert.equal(after.projectID, it.world.projectID);
  });

  test('shows one answer when a stream breaks off and is asked for again', async (t) => {
    const gate = new Gate();
    it.provider.will(async (reply) => {
      reply.text('The answer begins and');
      await gate.opened;
      reply.breakOff();
    }, says('The answer is complete.'));

    const terminal = await open(t);
    await prompt(terminal, 'Answer me');
    await terminal.shows('The answer begins and');
    gate.open();
    await terminal.shows('The answer is complete.');
    await idle();
    await terminal.hides('The answer begins and');
    const { id } = await newest();
    const texts = (await messages(id)).at(-1).parts.filter((part) => part.type === 'text').map((part) => part.text);
    assert.deepEqual(texts.filter((text) => text !== ''), ['The answer is complete.']);

    const again = await open(t, ['-s', id]);
    await again.shows('The answer is complete.');
    await again.hides('The answer begins and');
  });
});

describe('sturdy attach in a repository', { concurrency: 1, timeout: 300_000 }, () => {
  test('opens the client on the server that runs', async (t) => {
    it.provider.will(says('Through the front door.'));

    const terminal = await attachWithSturdy(it.world);
    t.after(() => terminal.close());
    await terminal.shows(START);
    await prompt(terminal, 'Knock knock');
    await terminal.shows('Through the front door.');
    await idle();
    const { directory } = await newest();
    await terminal.press('C-c');
    await terminal.ended();

    assert.equal(directory, it.world.project);
    assert.equal((await it.server.tell('GET', '/global/health')).healthy, true, 'the server goes on');
  });

  test('starts a server when none runs, and ends it with the client', async (t) => {
    await it.server.stop();
    it.provider.will(says('Started for you.'));

    const terminal = await attachWithSturdy(it.world);
    t.after(() => terminal.close());
    await terminal.shows(START);
    await prompt(terminal, 'Anybody there');
    await terminal.shows('Started for you.');
    await terminal.press('C-c');
    await terminal.ended();

    // The store is free again, and what was said is in it.
    it.server = await Server.start(it.world);
    const said = JSON.stringify(await messages((await newest()).id));
    assert.match(said, /Started for you\./);
  });
});
