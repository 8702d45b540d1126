// Every kind of part, tool and error has a look of its own, and an unknown one is shown, not dropped.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { says } from '../lib/provider.mjs';
import { until } from '../lib/wait.mjs';
import { Desk, live, picture } from './desk.mjs';

/** @type {Desk} */
let desk;
before(async () => {
  desk = await Desk.open();
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
  await desk.rest();
});

const PIXEL = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const time = { start: 1_794_800_000_000, end: 1_794_800_002_500 };
const tool = (name, state) => ({ type: 'tool', callID: `call_${name}_${state.status}`, tool: name, state: { input: {}, time, ...state } });
const done = (name, input, output, metadata = {}) => tool(name, { status: 'completed', input, output, title: '', metadata });
const PATCH = '--- a/one.txt\n+++ b/one.txt\n@@ -1,2 +1,2 @@\n-old line\n+new line\n same\n';

/** What is added to the answer, and what of it a person must be able to read. */
const ADDED = [
  [{ type: 'reasoning', text: 'A **deep** thought', time }, 'Thought for 2.5 s'],
  [{ type: 'file', mime: 'image/png', filename: 'pixel.png', url: PIXEL }, null],
  [{ type: 'file', mime: 'application/pdf', filename: 'paper.pdf', url: 'data:application/pdf;base64,AAAA' }, 'paper.pdf'],
  [{ type: 'patch', hash: 'abc', files: ['/x/one.txt', '/x/two.txt'] }, 'Changed 2 files'],
  [{ type: 'retry', attempt: 2, error: { name: 'APIError', data: { message: 'rate limit', statusCode: 429, isRetryable: true } }, time: { created: time.start } }, 'Attempt 2 · 429 rate limit'],
  [{ type: 'subtask', prompt: 'Look around', description: 'A look around', agent: 'explore' }, 'A look around'],
  [{ type: 'agent', name: 'general' }, 'general'],
  [done('bash', { command: 'ls -la /srv' }, 'total 0', { exit: 3, output: 'total 0' }), 'exit 3'],
  [done('edit', { filePath: 'one.txt' }, 'ok', { diff: PATCH }), 'new line'],
  [done('webfetch', { url: 'https://example.com/page' }, '# A page'), 'https://example.com/page'],
  [done('question', { questions: [{ question: 'Which one?' }] }, '', { answers: [['The second']] }), 'question'],
  [done('weather_forecast', { city: 'Bern' }, 'sunny'), 'weather_forecast'],
  [tool('bash', { status: 'error', input: { command: 'sleep 9' }, error: 'Tool execution was interrupted by a restart', metadata: { interrupted: true } }), 'interrupted'],
  [tool('write', { status: 'error', input: { filePath: 'x' }, error: 'The user rejected permission to use this tool' }), 'denied'],
  [tool('grep', { status: 'error', input: { pattern: 'x' }, error: 'No such directory' }), 'No such directory'],
];

test('all parts and tools are shown', async () => {
  const session = await desk.session({ title: 'All parts' });
  desk.provider.will(says('The answer.'));
  const answer = await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'Show me' }] });
  for (const [index, [body]] of ADDED.entries()) {
    const id = `prt_added${String(index).padStart(3, '0')}`;
    const part = { id, sessionID: session.id, messageID: answer.info.id, ...body };
    await desk.server.tell('PATCH', `/session/${session.id}/message/${answer.info.id}/part/${id}`, part);
  }
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);

  const shown = async () => (await page.locator('.timeline').innerText()).replaceAll(/\s+/g, ' ');
  for (const [body, text] of ADDED.filter(([, text]) => text !== null)) {
    await until(`${body.type} ${body.tool ?? ''} shows ${text}`, async () => (await shown()).includes(text), 5000);
  }
  await page.locator('img[alt="pixel.png"]').waitFor();
  for (const fate of ['interrupted', 'denied', 'failed']) assert.equal(await page.locator(`.card.is-${fate}`).count(), 1, fate);
  await picture(page, 'all-parts');
});

test('each class of error says what happened and offers a way on', async () => {
  const session = await desk.session({ title: 'Errors' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  desk.provider.will((reply) => reply.refuse(401, 'The key is wrong'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'fail' }] });
  await page.locator('.error', { hasText: 'The key is wrong' }).first().waitFor();
  desk.provider.will(says('It works again.'));

  await page.getByRole('button', { name: 'Try again' }).first().click();

  await page.locator('.step .prose', { hasText: 'It works again.' }).waitFor();
  assert.deepEqual(await page.locator('.prompt-text').allInnerTexts(), ['fail', 'fail']);
});

test('a stopped turn reads as stopped and not as an alarm', async () => {
  const session = await desk.session({ title: 'Stopped' });
  desk.provider.will(async (reply) => {
    reply.text('On my way');
    await reply.gone;
  });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.getByLabel('Ask, or say what to do').fill('go');
  await page.keyboard.press('Enter');
  await page.locator('.step .prose', { hasText: 'On my way' }).waitFor();

  await page.getByRole('button', { name: 'Stop', exact: true }).click();

  await page.locator('.error.is-thin', { hasText: 'Stopped' }).waitFor();
  await page.locator('.session-head .is-busy').waitFor({ state: 'detached' });
});

test('prompts that wait are listed, taken back into the composer, and answered', async () => {
  const session = await desk.session({ title: 'Waiting' });
  let release = () => {};
  const held = new Promise((resolve) => (release = () => resolve(undefined)));
  desk.provider.will(async (reply) => {
    reply.text('Working');
    await held;
    reply.finish();
  }, says('Both at once.'));
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  const field = page.getByLabel('Ask, or say what to do');
  await field.fill('first');
  await page.keyboard.press('Enter');
  await page.locator('.step .prose', { hasText: 'Working' }).waitFor();
  for (const text of ['second', 'third']) {
    await field.fill(text);
    await page.keyboard.press('Enter');
  }
  await page.locator('.queue li').nth(1).waitFor();

  await page.locator('.queue li', { hasText: 'third' }).getByRole('button', { name: 'Edit' }).click();
  await until('it is back', async () => (await field.inputValue()) === 'third');
  // The answer to taking it back may be here before the event that removes it.
  await until('one is left', async () => (await page.locator('.queue li').count()) === 1);
  release();

  await page.locator('.step .prose', { hasText: 'Both at once.' }).waitFor();
  await page.locator('.queue').waitFor({ state: 'detached' });
});
