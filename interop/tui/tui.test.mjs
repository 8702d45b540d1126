// The unmodified terminal client, `opencode attach`, in a terminal that tmux holds.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { attach } from '../lib/opencode.mjs';
import { TITLE, calls, says } from '../lib/provider.mjs';
import { Server } from '../lib/server.mjs';
import { Gate, until } from '../lib/wait.mjs';

const it = bench({ config: { permission: { bash: 'ask' } } });
const START = 'Ask anything';

/** A client at its first screen. */
async function open(t, args = []) {
  const terminal = await attach(it.world, it.server.url, args);
  t.after(() => terminal.close());
  if (!args.includes('-c')) await terminal.shows(START);
  return terminal;
}

/** Writes a prompt and sends it. What was written is on the screen before it is sent. */
async function prompt(terminal, text) {
  await terminal.type(text);
  await terminal.shows(text);
  await terminal.press('Enter');
}

async function quit(terminal) {
  await terminal.press('C-c');
  await terminal.ended();
}

const newest = async () => (await it.server.tell('GET', '/session'))[0];
const idle = () => until('nothing runs', async () => Object.keys(await it.server.tell('GET', '/session/status')).length === 0);

describe('opencode attach', { concurrency: 1, timeout: 300_000 }, () => {
  test('opens with the agent, the model and the directory of the server', async (t) => {
    const terminal = await open(t);

    await terminal.shows('Build · main scripted');
    await terminal.shows(it.world.project);
  });

  test('shows an answer while it streams, and again after it was reopened', async (t) => {
    const gate = new Gate();
    it.provider.will(async (reply) => {
      reply.text('The first half ');
      await gate.opened;
      reply.text('and the second half.').finish();
    });

    const terminal = await open(t);
    await prompt(terminal, 'Tell me both halves');
    const early = await terminal.shows('The first half');
    assert.ok(!early.includes('second half.'));
    await terminal.shows('esc interrupt');
    gate.open();
    await terminal.shows('The first half and the second half.');
    await terminal.shows(TITLE);
    await quit(terminal);

    const again = await open(t);
    await again.press('C-x');
    await again.press('l');
    await again.shows('Sessions');
    await again.shows(TITLE);
    await again.press('Enter');
    await again.shows('The first half and the second half.');
    await again.shows('Tell me both halves');
  });

  test('continues the last session', async (t) => {
    it.provider.will(says('Once more.'));

    const terminal = await open(t, ['-c']);
    await terminal.shows('The first half and the second half.');
    await prompt(terminal, 'And another');

    await terminal.shows('Once more.');
  });

  test('asks for permission, and shows what ran', async (t) => {
    it.provider.will(calls('bash', { command: 'echo a${EMPTY}bc', description: 'Prints letters' }), says('It ran.'));

    const terminal = await open(t);
    await prompt(terminal, 'Run it');
    await terminal.shows('Permission required');
    await terminal.shows('$ echo a${EMPTY}bc');
    assert.equal((await it.server.tell('GET', '/permission')).length, 1);
    await terminal.shows('Allow once');
    await terminal.dismiss('Enter', 'Permission required');

    await terminal.shows('It ran.');
    await terminal.shows(/abc/);
    assert.deepEqual(await it.server.tell('GET', '/permission'), []);
  });

  test('shows a question and sends the answer', async (t) => {
    const options = [
      { label: 'Red', description: 'Warm' },
      { label: 'Blue', description: 'Cold' },
    ];
    const questions = [{ header: 'Colour', question: 'Which colour?', options }];
    it.provider.will(calls('question', { questions }), says('So be it.'));

    const terminal = await open(t);
    await prompt(terminal, 'Ask me');
    await terminal.shows('2. Blue');
    await terminal.dismiss('2', '2. Blue');
    await terminal.shows('So be it.');

    assert.match(JSON.stringify(it.provider.asked.at(-1).body.messages.at(-1)), /Blue/);
  });

  test('stops an answer with escape, twice', async (t) => {
    it.provider.will(async (reply) => {
      reply.text('Without end');
      await reply.gone;
    });

    const terminal = await open(t);
    await prompt(terminal, 'Talk');
    await terminal.shows('Without end');
    await terminal.press('Escape');
    await terminal.shows('esc again to interrupt');
    await terminal.press('Escape');
    await terminal.shows('interrupted');

    await idle();
    const messages = await it.server.tell('GET', `/session/${(await newest()).id}/message`);
    assert.equal(messages.at(-1).info.error.name, 'MessageAbortedError');
    it.provider.will(says('Here I am.'));
    await prompt(terminal, 'Still there');
    await terminal.shows('Here I am.');
  });

  test('goes on after the server was killed and started again', async (t) => {
    it.provider.will(says('All of it is read.'), async (reply) => {
      reply.text('Cut off here');
      await reply.gone;
    });

    const terminal = await open(t);
    // A client that is still reading a new session when the server dies goes back to its first page.
    await prompt(terminal, 'Begin');
    await terminal.shows('All of it is read.');
    await idle();
    await prompt(terminal, 'Talk until you die');
    await terminal.shows('Cut off here');
    await it.server.kill();
    it.server = await Server.start(it.world, { port: it.server.port });
    await terminal.hides('esc interrupt');
    await terminal.shows('interrupted');
    it.provider.will(says('Risen.'));
    await prompt(terminal, 'Are you back');

    await terminal.shows('Risen.');
    await terminal.shows('Cut off here');
  });

  test('shows a turn of several steps with its calls', async (t) => {
    it.provider.will(
      (reply) => reply.text('Let me look.').call('glob', { pattern: '*.json' }).finish(),
      calls('read', { filePath: `${it.world.project}/opencode.json` }),
      says('It is a configuration.'),
    );

    const terminal = await open(t);
    await prompt(terminal, 'What is here');

    // The client draws each part when it gets to it, not in the order of the turn.
    for (const words of ['It is a configuration.', 'Let me look.', 'Glob "*.json"', 'Read opencode.json']) await terminal.shows(words);
    await idle();
  });

  test('counts down to a retry, and goes on', async (t) => {
    it.provider.will((reply) => reply.refuse(503, 'The model takes a break', { 'retry-after': '4' }), says('It is back.'));

    const terminal = await open(t);
    await prompt(terminal, 'Are you there');

    await terminal.shows('The model takes a break');
    await terminal.shows(/retrying.*in \ds/i);
    await terminal.shows('It is back.');
    await terminal.hides(/retrying/i);
  });

  test('summarises a conversation, and the model goes on from there', async (t) => {
    it.provider.will(says('The word is xyzzy.'), says('They spoke of a magic word.'), says('I remember.'));

    const terminal = await open(t);
    await prompt(terminal, 'Tell me a word');
    await terminal.shows('The word is xyzzy.');
    await idle();
    await terminal.command('/compact');
    await terminal.shows('They spoke of a magic word.');
    await idle();
    await prompt(terminal, 'Which was it');
    await terminal.shows('I remember.');

    assert.match(JSON.stringify(it.provider.asked.at(-1).body.messages), /They spoke of a magic word\./);
  });

  test('shows why a model failed', async (t) => {
    it.provider.will((reply) => reply.refuse(400, 'No ears today'));

    const terminal = await open(t);
    await prompt(terminal, 'Hear me');

    await terminal.shows('No ears today');
  });

  test('renames and removes a session', async (t) => {
    it.provider.will(says('A session to lose.'));
    it.provider.will(says('All of it is drawn.'));

    const terminal = await open(t);
    await prompt(terminal, 'Make a session');
    await terminal.shows('A session to lose.');
    await idle();
    // The client reads a new session while it already draws it, and what it read before a change
    // may be drawn after it. By the next answer it has read all.
    await prompt(terminal, 'Go on');
    await terminal.shows('All of it is drawn.');
    await idle();
    const { id } = await newest();
    await it.server.tell('PATCH', `/session/${id}`, { title: 'Renamed from outside' });
    await terminal.shows('Renamed from outside');
    await terminal.press('C-x');
    await terminal.press('l');
    await terminal.shows(/● Renamed from outside/);
    await terminal.press('C-d');
    await terminal.shows(/again/i);
    await terminal.press('C-d');

    await until('it is gone', async () => (await it.server.ask('GET', `/session/${id}`)).status === 404);
  });
});
