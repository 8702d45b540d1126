// More of what people do in the terminal client: another agent, another model, a command of their own, a list of things to do,
// a sub-agent that is looked at, a conversation that is forked.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { attach } from '../lib/opencode.mjs';
import { calls, says } from '../lib/provider.mjs';
import { until } from '../lib/wait.mjs';

const it = bench({ config: { permission: { '*': 'allow' } } });
const START = 'Ask anything';

async function open(t) {
  const terminal = await attach(it.world, it.server.url, []);
  t.after(() => terminal.close());
  await terminal.shows(START);
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

describe('opencode attach, every day', { concurrency: 1, timeout: 300_000 }, () => {
  test('answers with the agent that was chosen', async (t) => {
    it.provider.will(says('A plan, then.'));

    const terminal = await open(t);
    await terminal.shows('Build · main scripted');
    await terminal.press('Tab');
    await terminal.shows('Plan · main scripted');
    await prompt(terminal, 'Think about it');
    await terminal.shows('A plan, then.');
    await idle();

    const [asked] = await messages((await newest()).id);
    assert.equal(asked.info.agent, 'plan');
  });

  test('answers with the model that was chosen', async (t) => {
    const before = (await newest())?.id;
    const terminal = await open(t);
    await terminal.press('C-x');
    await terminal.press('m');
    await terminal.shows(/Select model/i);
    await terminal.type('small');
    // What was typed, and then it alone in the list: Enter is not taken before.
    await terminal.shows(/small\s+small\s+scripted\s+Connect provider/);
    await terminal.press('Enter');
    await terminal.shows('Build · small scripted');
    await prompt(terminal, 'Be brief');
    const { id } = await until('there is another session', async () => {
      const session = await newest();
      return session && session.id !== before && session;
    });
    const answer = await until('it is answered', async () => (await messages(id)).find(({ info }) => info.role === 'assistant'));
    await idle();

    assert.equal(answer.info.modelID, 'small');
  });

  test('runs a command of the person and shows what it prints', async (t) => {
    const terminal = await open(t);
    await terminal.press('!');
    await terminal.shows(/shell/i);
    await terminal.type('echo from-the-shell-$((40 + 2))');
    await terminal.press('Enter');

    await terminal.shows('from-the-shell-42');
    await idle();
  });

  test('shows what the model means to do', async (t) => {
    const todos = [
      { content: 'Read the tests', status: 'completed', priority: 'high' },
      { content: 'Mend the clock', status: 'in_progress', priority: 'high' },
    ];
    it.provider.will(calls('todowrite', { todos }), says('It is written down.'));

    const terminal = await open(t);
    await prompt(terminal, 'Plan your day');
    await terminal.shows('It is written down.');

    await terminal.shows('Mend the clock');
    await idle();
  });

  test('shows the session of a sub-agent and comes back', async (t) => {
    it.provider.will(
      calls('task', { description: 'Look around', prompt: 'Look at everything', subagent_type: 'general' }),
      says('Nothing but dust here.'),
      says('My scout saw dust.'),
    );

    const terminal = await open(t);
    await prompt(terminal, 'Send somebody to look');
    await terminal.shows('My scout saw dust.');
    await idle();
    await terminal.press('C-x');
    await terminal.press('Down');
    await terminal.shows('Nothing but dust here.');
    await terminal.press('Up');
    await terminal.shows('My scout saw dust.');
  });

  test('forks a conversation, and the copy goes on by itself', async (t) => {
    it.provider.will(says('The first of two.'), says('Only in the copy.'));

    const terminal = await open(t);
    await prompt(terminal, 'Begin something');
    await terminal.shows('The first of two.');
    await idle();
    const origin = await newest();
    await terminal.command('/fork');
    await terminal.shows(/fork/i);
    await terminal.press('Enter');
    await until('there is a copy', async () => (await newest()).id !== origin.id);
    // Drawn, so that what is typed is typed there.
    await terminal.shows('(fo');
    await prompt(terminal, 'Go on elsewhere');
    await terminal.shows('Only in the copy.');
    await idle();

    const texts = JSON.stringify(await messages(origin.id));
    assert.ok(texts.includes('The first of two.') && !texts.includes('Only in the copy.'), texts);
  });
});
