// How calls and answers end, with the real server: each end has a look of its own, and a way on.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { calls, says } from '../lib/provider.mjs';
import { Gate, until } from '../lib/wait.mjs';
import { Desk, live } from './desk.mjs';

/** @type {Desk} */
let desk;
before(async () => {
  desk = await Desk.open({ config: { permission: { bash: { '*': 'allow', 'touch *': 'ask', 'rm *': 'deny' } } } });
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
  await desk.rest();
});

const ask = (session, text = 'go') => desk.server.tell('POST', `/session/${session.id}/prompt_async`, { parts: [{ type: 'text', text }] });
const opened = async (title) => {
  const session = await desk.session({ title });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  return { session, page };
};
const bash = (command) => calls('bash', { command, description: 'Does it' });
/** How the only card ended: its class and its words. */
const fate = async (page) => {
  const card = page.locator('.card.tool').first();
  return [/is-(\w+)/.exec((await card.getAttribute('class')) ?? '')?.[1], (await card.locator('.meta').innerText()).trim().split('\n')[0]?.trim()];
};

test('a call that a person denies, and one that a rule denies, say by whom', async () => {
  const { session, page } = await opened('Denied');
  desk.provider.will(bash('touch never'));
  await ask(session);
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.locator('.card.is-denied').waitFor();
  assert.deepEqual(await fate(page), ['denied', 'denied by you']);

  const ruled = await opened('Ruled out');
  desk.provider.will(bash('rm -r everything'), says('It may not.'));
  await ask(ruled.session);
  await ruled.page.locator('.card.is-forbidden').waitFor();
  assert.deepEqual(await fate(ruled.page), ['forbidden', 'denied by a rule']);
});

test('a file that may not be read is a failure and not a denial', async () => {
  const { session, page } = await opened('Not allowed by the disk');
  const answer = await desk.prompt(session, 'hello');
  const state = { status: 'error', input: { filePath: 'secret.txt' }, error: 'Permission denied (os error 13)', time: { start: 1, end: 2 } };
  const part = { id: 'prt_eacces00001', sessionID: session.id, messageID: answer.info.id, type: 'tool', callID: 'c', tool: 'read', state };

  await desk.server.tell('PATCH', `/session/${session.id}/message/${answer.info.id}/part/${part.id}`, part);

  // Was: any error with the word "permission" read as denied.
  await page.locator('.card.is-failed').waitFor();
});

test('a call that a person stops reads as stopped', async () => {
  const { session, page } = await opened('Stopped call');
  desk.provider.will(bash('trap "" INT TERM; while true; do sleep 1; done'));
  await ask(session);
  await page.locator('.card.is-running').waitFor();

  await page.getByRole('button', { name: 'Stop', exact: true }).click();

  await page.locator('.card.is-stopped').waitFor();
  assert.deepEqual(await fate(page), ['stopped', 'stopped']);
  await page.locator('.error.is-thin', { hasText: 'Stopped' }).waitFor();
});

test('a call that a restart cuts short says that it may have acted, and the page says what was interrupted', async () => {
  const { session, page } = await opened('Interrupted call');
  desk.provider.will(bash('sleep 600'));
  await ask(session);
  await page.locator('.card.is-running').waitFor();

  await desk.restart();

  // Was: the server's words have no "restart" in them, so it read as stopped.
  await page.locator('.card.is-interrupted').waitFor();
  assert.deepEqual(await fate(page), ['interrupted', 'interrupted']);
  await page.locator('.card.is-interrupted summary').click();
  await page.locator('.tool-error', { hasText: 'the call may have taken effect and was not repeated' }).waitFor();
  await page.locator('.note', { hasText: 'Server restarted' }).getByRole('link', { name: '1 turn was interrupted.' }).waitFor();
  await page.locator('.error.is-thin', { hasText: 'the server was restarted' }).waitFor();
});

test('what a restart interrupted in other sessions is named and led to as well', async () => {
  // Was: only the turn of the session on the screen was counted.
  const other = await desk.session({ title: 'Elsewhere' });
  const quiet = await desk.session({ title: 'Quiet' });
  await desk.prompt(quiet, 'Nothing happens here');
  const { session, page } = await opened('Here');
  desk.provider.will(bash('sleep 600'), bash('sleep 600'));
  await ask(other);
  await ask(session);
  await page.locator('.card.is-running').waitFor();
  await page.locator('.list-row.is-busy, .list-row', { hasText: 'Elsewhere' }).first().waitFor();
  await until('both work', async () => Object.keys(await desk.server.tell('GET', '/session/status')).length === 2);
  await until('the page knows it', () => page.locator('.list-row', { hasText: 'Elsewhere' }).getByText('Working').count());

  await desk.restart();

  const note = page.locator('.note', { hasText: '2 turns were interrupted:' });
  await note.waitFor();
  assert.deepEqual((await note.getByRole('link').allInnerTexts()).sort(), ['Elsewhere', 'Here']);
  await note.getByRole('link', { name: 'Elsewhere' }).click();
  await page.waitForURL(`**/s/${other.id}#msg_*`);
  await page.locator('.card.is-interrupted').waitFor();
});

test('of many turns that a restart interrupted all are counted, and those that are not named are led to', async () => {
  // Was: the last messages of twenty sessions were looked at, and the others were not counted.
  const { page } = await opened('Many');
  const many = 23;
  const waits = async (reply) => {
    reply.text('Going on');
    await reply.gone;
  };
  desk.provider.will(...Array(many).fill(waits));
  for (let i = 0; i < many; i += 1) {
    const session = await desk.session({ title: `One of many ${i}` });
    await ask(session);
    // A prompt whose answer has not begun waits through a restart, and is not interrupted.
    await until('its answer has begun', async () => (await desk.server.tell('GET', `/session/${session.id}/message?limit=1`)).at(-1)?.info.role === 'assistant');
  }
  await until('the page knows it', async () => (await page.locator('.list-row', { hasText: 'One of many' }).filter({ hasText: 'Working' }).count()) === many);

  await desk.restart();

  const note = page.locator('.note', { hasText: '23 turns were interrupted:' });
  await note.waitFor();
  assert.equal((await note.getByRole('link', { name: /One of many/ }).count()), 10);
  await note.getByRole('link', { name: 'and 13 more' }).click();
  const lane = page.getByRole('region', { name: 'Failed or interrupted' });
  await until('all are on the board', async () => (await lane.getByRole('link', { name: /One of many/ }).count()) === many);
});

test('a turn that a person had stopped before a restart is not counted as interrupted by it', async () => {
  const { session, page } = await opened('Stopped before');
  desk.provider.will(async (reply) => {
    reply.text('Going on');
    await reply.gone;
  });
  await ask(session);
  await page.locator('.step .prose', { hasText: 'Going on' }).waitFor();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.locator('.error.is-thin', { hasText: 'Stopped' }).waitFor();

  await desk.restart();
  await page.locator('.note', { hasText: 'Server restarted' }).waitFor();

  assert.equal(await page.locator('.note', { hasText: 'interrupted' }).count(), 0);
});

test('words of an attempt that failed are kept, folded, beside the answer', async () => {
  const { session, page } = await opened('Twice');
  const gate = new Gate();
  desk.provider.will(async (reply) => {
    reply.text('Half of a sentence');
    await gate.opened;
    reply.breakOff();
  }, says('The whole answer.'));
  await ask(session);
  await page.locator('.step .prose', { hasText: 'Half of a sentence' }).waitFor();
  gate.open();
  await page.locator('.step .prose', { hasText: 'The whole answer.' }).waitFor();

  const kept = page.locator('.failed-attempt');
  await kept.locator('summary').click();

  await kept.getByText('Half of a sentence').waitFor();
});

/** What the provider does, and what a person reads and can do. */
const ERRORS = [
  ['a refused key', (reply) => reply.refuse(401, 'The key is wrong'), /The provider returned an error|No key/, 'The key is wrong', 'Try again'],
  ['a filtered answer', (reply) => reply.text('I would').finish('content_filter'), /Filtered by the provider|stopped by the provider's filter/, '', undefined],
  ['an answer that is cut', (reply) => reply.text('Once upon a').finish('length'), /cut at the output limit/i, '', undefined],
  ['a request that is no good', (reply) => reply.refuse(400, 'This makes no sense'), /The provider returned an error/, 'This makes no sense', 'Try again'],
];
for (const [name, script, title, hint, way] of ERRORS) {
  test(`${name} says what happened`, async () => {
    const { session, page } = await opened(name);
    desk.provider.will(script);
    await ask(session);
    const told = page.locator('.step').filter({ hasText: title });
    await told.first().waitFor();
    if (hint !== '') await told.getByText(hint).first().waitFor();
    if (way) await told.getByRole('button', { name: way }).waitFor();
  });
}

/** Errors as the server stores them, shown from a stream that a test speaks for: what no scripted provider brings about. */
const STORED = [
  [{ name: 'ProviderAuthError', data: { providerID: 'acme', message: 'ACME_KEY is not set' } }, 'No key for acme', 'ACME_KEY is not set', 'Try again'],
  [{ name: 'ContextOverflowError', data: { message: 'prompt is too long' } }, "The context window is full", 'prompt is too long', 'Compact and continue'],
  [{ name: 'ContentFilterError', data: { message: 'not this' } }, 'Filtered by the provider', 'not this', 'Continue'],
  [{ name: 'MessageOutputLengthError', data: {} }, 'Cut at the output limit', '', 'Continue'],
  [{ name: 'StructuredOutputError', data: { message: 'no colour', retries: 2 } }, 'The answer did not fit the schema after 2 tries', 'no colour', 'Try again'],
  [{ name: 'UnknownError', data: { message: 'broke', ref: 'err_1234' } }, 'Something went wrong', "Search the server's log for err_1234", 'Try again'],
  [{ name: 'APIError', data: { message: 'Overloaded', statusCode: 529, isRetryable: true, responseBody: '{"type":"overloaded"}' } }, 'The provider returned an error (529)', 'Overloaded', 'Try again'],
  [{ name: 'APIError', data: { message: 'Bad model', statusCode: 404, isRetryable: false } }, 'The provider returned an error (404)', 'Retrying will not help.', 'Try again'],
  [{ name: 'SomethingNew' }, 'Something went wrong', 'SomethingNew', 'Try again'],
];

test('every class of error has its own words and its own way on, also one that nobody knows', async () => {
  for (const [error, title, hint, way] of STORED) {
    const session = await desk.session({ title: error.name });
    await desk.prompt(session, 'hello');
    const page = await desk.tab('/');
    await page.route(`**/sturdy/session/${session.id}?**`, async (route) => {
      const answer = await route.fetch();
      const opened = await answer.json();
      opened.messages = opened.messages.map((one) => (one.info.role === 'assistant' ? { ...one, info: { ...one.info, error } } : one));
      await route.fulfill({ response: answer, json: opened });
    });
    await page.goto(`${desk.server.url}/s/${session.id}`);

    const box = page.locator('.error');
    await box.getByText(title, { exact: true }).waitFor();
    if (hint !== '') await box.locator('p', { hasText: hint }).waitFor();
    await box.getByRole('button', { name: way }).waitFor();
    if (error.data?.responseBody) {
      await box.getByText('Details').click();
      await box.locator('pre', { hasText: 'overloaded' }).waitFor();
    }
    await page.close();
  }
});

test('a part that cannot be drawn costs itself and nothing beside it', async () => {
  const session = await desk.session({ title: 'Strange values' });
  const answer = await desk.prompt(session, 'Plain words');
  const done = (id, tool, input, metadata = {}) => ({ id, sessionID: session.id, messageID: answer.info.id, type: 'tool', callID: id, tool, state: { status: 'completed', input, output: '', title: '', metadata, time: { start: 1, end: 2 } } });
  const strange = [
    done('prt_strange0001', 'todowrite', { todos: [null, 'a word', { content: 'Only a text' }, { content: 7, status: {} }] }),
    done('prt_strange0002', 'todowrite', { todos: 'not a list' }),
    done('prt_strange0003', 'question', { questions: [null, { question: 'Really?' }] }, { answers: 'no list' }),
  ];
  for (const part of strange) await desk.server.tell('PATCH', `/session/${session.id}/message/${answer.info.id}/part/${part.id}`, part);
  const page = await desk.tab('/');
  await page.route(`**/sturdy/session/${session.id}?**`, async (route) => {
    const read = await route.fetch();
    const opened = await read.json();
    // What no server of ours says: the page must not fall over it all the same.
    opened.messages.at(-1).parts.push({ id: 'prt_broken00001', sessionID: session.id, messageID: answer.info.id, type: 'patch', hash: 'x' });
    opened.todos = [{ content: 'Known' }, null, { status: 'completed' }];
    await route.fulfill({ response: read, json: opened });
  });
  await page.goto(`${desk.server.url}/s/${session.id}?panel=todo`);
  await live(page);

  // Was: one malformed value threw while drawing, and the whole page went blank.
  await page.locator('.step .prose', { hasText: 'Plain words' }).waitFor();
  const broken = page.locator('.broken');
  await broken.locator('summary').click();
  await broken.getByText('prt_broken00001').waitFor();
  for (const card of await page.locator('.card.tool').all()) await card.locator('summary').first().click();
  await page.locator('.card .todos li', { hasText: 'Only a text' }).waitFor();
  await page.locator('.card', { hasText: 'Really?' }).first().waitFor();
  assert.deepEqual(await page.locator('.side .todos li').allInnerTexts().then((texts) => texts.map((text) => text.replaceAll(/\s+/g, ' ').trim())), ['pending: Known']);
});

test('a part of the page that is not there any more says so, and the rest goes on', async () => {
  const session = await desk.session({ title: 'Outdated' });
  await desk.prompt(session, 'Still here');
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.route('**/family.js', (route) => route.fulfill({ status: 404, body: '' }));

  await page.getByRole('button', { name: 'Family' }).click();

  await page.locator('.side .note', { hasText: 'the page is outdated' }).getByRole('button', { name: 'Reload' }).waitFor();
  await page.locator('.step .prose', { hasText: 'Still here' }).waitFor();
  await page.getByRole('button', { name: 'Context', exact: true }).click();
  await page.locator('.side .bars').waitFor();
});

test('tools of every kind show what they did', async () => {
  writeFileSync(join(desk.world.project, 'patched.txt'), 'old\n');
  const session = await desk.session({ title: 'More tools' });
  const answer = await desk.prompt(session, 'Tools');
  const done = (id, tool, input, output, metadata = {}) => ({ id, sessionID: session.id, messageID: answer.info.id, type: 'tool', callID: id, tool, state: { status: 'completed', input, output, title: '', metadata, time: { start: 1, end: 2 } } });
  const diff = '--- a/patched.txt\n+++ b/patched.txt\n@@ -1,1 +1,2 @@\n-old\n+new\n+newer\n';
  const shown = [
    [done('prt_tools00001', 'apply_patch', { patchText: '*** Begin Patch' }, 'ok', { diff }), ['apply_patch', '+2', '−1', 'newer']],
    [done('prt_tools00002', 'skill', { name: 'writing-tests' }, 'How tests are written'), ['skill', 'writing-tests', 'How tests are written']],
    [done('prt_tools00003', 'lsp', { operation: 'findReferences', filePath: 'a.rs' }, 'a.rs:3'), ['lsp', 'findReferences a.rs', 'a.rs:3']],
    [done('prt_tools00004', 'StructuredOutput', { colour: 'blue' }, ''), ['StructuredOutput', '"colour": "blue"']],
    [done('prt_tools00005', 'invalid', { tool: 'bsh', error: 'There is no tool bsh' }, 'There is no tool bsh'), ['invalid', 'bsh', 'There is no tool bsh']],
  ];
  for (const [part] of shown) await desk.server.tell('PATCH', `/session/${session.id}/message/${answer.info.id}/part/${part.id}`, part);
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);

  for (const [part, texts] of shown) {
    const card = page.locator('.card.tool').filter({ hasText: part.tool }).first();
    await card.waitFor();
    if (!(await card.evaluate((one) => one.open))) await card.locator('summary').first().click();
    for (const text of texts) await until(`${part.tool} shows ${text}`, async () => (await card.innerText()).replaceAll(/\s+/g, ' ').includes(text), 10_000);
  }
});
