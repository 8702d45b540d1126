// Every kind of part, tool and error has a look of its own, and an unknown one is shown, not dropped.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, afterEach, before, test } from 'node:test';
import { calls, says } from '../lib/provider.mjs';
import { Gate, until } from '../lib/wait.mjs';
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
  [tool('bash', { status: 'error', input: { command: 'sleep 9' }, error: 'Tool execution aborted', metadata: { interrupted: true } }), 'stopped'],
  [tool('write', { status: 'error', input: { filePath: 'x' }, error: 'The user rejected permission for this call.' }), 'denied by you'],
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
  for (const fate of ['stopped', 'denied', 'failed']) assert.equal(await page.locator(`.card.is-${fate}`).count(), 1, fate);
  await picture(page, 'all-parts');
});

/** One of each class, as the server stores it. */
const ERRORS = [
  { name: 'ProviderAuthError', data: { providerID: 'acme', message: 'ACME_KEY is not set' } },
  { name: 'APIError', data: { message: 'Overloaded', statusCode: 529, isRetryable: true, responseBody: '{"type":"overloaded"}' } },
  { name: 'MessageAbortedError', data: { message: 'Aborted' } },
  { name: 'ContextOverflowError', data: { message: 'prompt is too long' } },
  { name: 'ContentFilterError', data: { message: 'not this' } },
  { name: 'MessageOutputLengthError', data: {} },
  { name: 'StructuredOutputError', data: { message: 'no colour', retries: 2 } },
  { name: 'UnknownError', data: { message: 'broke', ref: 'err_1234' } },
  { name: 'SomethingNew' },
];

/** More states and kinds that only a golden text shows. */
const RARER = [
  { type: 'text', text: 'Said by the server', synthetic: true },
  { type: 'snapshot', snapshot: '9c2b00112233' },
  { type: 'step-finish', reason: 'length', cost: 0, tokens: { input: 1, output: 2, reasoning: 0, cache: { read: 0, write: 0 } } },
  { type: 'hologram', what: 'nobody knows' },
  tool('bash', { status: 'running', input: { command: 'make' }, metadata: { output: 'compiling' }, time: { start: time.start } }),
  tool('read', { status: 'pending', raw: '' }),
  done('read', { filePath: 'one.txt' }, '1: one'),
  done('grep', { pattern: 'x' }, 'Found 1 matches'),
  done('todowrite', { todos: [{ content: 'First', status: 'completed', priority: 'high' }] }, '', { todos: [{ content: 'First', status: 'completed', priority: 'high' }] }),
  done('skill', { name: 'gardening' }, 'How to garden'),
  done('lsp', { operation: 'hover', filePath: 'one.ts' }, 'a type'),
  done('StructuredOutput', { colour: 'blue' }, 'ok'),
  done('invalid', { tool: 'bsah', error: 'no such tool' }, 'The arguments were not understood'),
];

const GOLDEN = new URL('golden/parts.txt', import.meta.url);

test('every part, tool, state and error reads the same to a screen reader: desk, tablet and phone, light and dark', { timeout: 300_000 }, async () => {
  const session = await desk.session({ title: 'Read aloud' });
  desk.provider.will(says('The answer.'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'Show me' }] });
  const trees = new Map();
  for (const theme of ['light', 'dark']) {
    for (const width of [360, 820, 1440]) {
      // As high as everything: what is out of sight is not drawn.
      const page = await desk.tab('/', { width, height: 9000, theme });
      await page.route(`**/sturdy/session/${session.id}?**`, async (route) => {
        const answer = await route.fetch();
        const opened = await answer.json();
        const [prompt, said] = opened.messages;
        const parts = [...ADDED.map(([body]) => body), ...RARER].map((body, index) => ({ ...body, id: `prt_all${String(index).padStart(3, '0')}`, sessionID: session.id, messageID: said.info.id }));
        const failed = ERRORS.map((error, index) => ({ info: { ...said.info, id: `msg_failed${index}`, error }, parts: [] }));
        opened.messages = [prompt, { ...said, parts: [...said.parts, ...parts] }, ...failed];
        await route.fulfill({ response: answer, json: opened });
      });
      await page.goto(`${desk.server.url}/s/${session.id}`);
      await live(page);
      await until('everything is drawn', async () => (await page.locator('.error').count()) === ERRORS.length);
      await until('and loaded', async () => (await page.locator('.card .diff').count()) === 1 && (await page.locator('.line .cut, .line').count()) > 0);
      await page.getByText('Changed 2 files').waitFor();
      const tree = await page.getByRole('feed').ariaSnapshot();
      trees.set(`${width} ${theme}`, tree.replaceAll(/\d\d:\d\d/g, 'HH:MM').replaceAll(/\b\d+(\.\d+)? m?s\b/g, 'N s').replaceAll(/\d+ min N s/g, 'N s').replaceAll(session.id, 'ID'));
      desk.check();
      await desk.leave();
    }
  }

  const [first] = trees.values();
  for (const [name, tree] of trees) assert.equal(tree, first, name);
  if (process.env.STURDY_PAGE_GOLDEN === 'record') writeFileSync(GOLDEN, `${first}\n`);
  assert.equal(`${first}\n`, readFileSync(GOLDEN, 'utf8'));
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

test('the line of waiting prompts follows what other clients do, and a message that wants no answer is not in it', async () => {
  const session = await desk.session({ title: 'Followed' });
  const gate = new Gate();
  desk.provider.will(async (reply) => {
    reply.text('Working');
    await gate.opened;
    reply.finish();
  }, says('And the other.'));
  const post = (how, body) => desk.server.tell('POST', `/session/${session.id}/${how}`, body);
  await post('message', { noReply: true, parts: [{ type: 'text', text: 'only said' }] });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.locator('.prompt-text', { hasText: 'only said' }).waitFor();
  assert.equal(await page.locator('.queue').count(), 0);
  await post('prompt_async', { parts: [{ type: 'text', text: 'first' }] });
  await page.locator('.step .prose', { hasText: 'Working' }).waitFor();

  await post('message', { noReply: true, parts: [{ type: 'text', text: 'said meanwhile' }] });
  await post('prompt_async', { messageID: 'msg_ffffffff0001second00000000', parts: [{ type: 'text', text: 'second' }] });
  await post('prompt_async', { parts: [{ type: 'text', text: 'third' }] });
  await page.locator('.queue li').nth(1).waitFor();
  assert.deepEqual(await page.locator('.queue li > span').allInnerTexts(), ['second', 'third']);
  await desk.server.tell('DELETE', `/sturdy/session/${session.id}/queue/msg_ffffffff0001second00000000`);
  await until('one is left', async () => (await page.locator('.queue li').count()) === 1);

  gate.open();
  await page.locator('.queue').waitFor({ state: 'detached' });
  await page.locator('.step .prose', { hasText: 'And the other.' }).waitFor();
});

/** A process that has ended may keep its number until its parent has looked. */
const runs = (pid) => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};

test('what a command left running is listed, shows what it prints, and is stopped', async () => {
  const session = await desk.session({ title: 'Leaves something' });
  desk.provider.will(calls('bash', { command: '(sleep 1; echo it prints; sleep 600) &', description: 'Start it' }), says('It runs.'));
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await desk.server.tell('POST', `/session/${session.id}/prompt_async`, { parts: [{ type: 'text', text: 'start it' }] });
  const dock = page.getByRole('region', { name: '1 background process' });
  await dock.waitFor();
  await dock.getByText('1 background process').click();
  // What it prints before its command has ended is the output of the command.
  await until('it has printed', async () => {
    const [one] = await desk.server.tell('GET', `/sturdy/session/${session.id}/process`);
    return (await desk.server.tell('GET', `/sturdy/session/${session.id}/process/${one.id}`)).output !== '';
  });
  await dock.getByRole('button', { name: 'Show output' }).click();
  await dock.getByText('it prints', { exact: true }).waitFor();
  const [running] = await desk.server.tell('GET', `/sturdy/session/${session.id}/process`);

  await dock.getByRole('button', { name: 'Stop' }).click();

  await dock.waitFor({ state: 'detached' });
  assert.deepEqual(await desk.server.tell('GET', `/sturdy/session/${session.id}/process`), []);
  assert.equal(runs(running.pids[0]), false, 'it is gone');
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

test('where a conversation was summarised stands a divider, with the summary, and what is older is dimmed', async () => {
  const session = await desk.session({ title: 'Summarised' });
  desk.provider.will(says('A long answer.'), says('In short: nothing.'), says('And on it goes.'), says('In short: still nothing.'));
  const say = (text) => desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text }] });
  await say('a long question');
  await desk.server.tell('POST', `/session/${session.id}/summarize`, { providerID: 'scripted', modelID: 'main' });
  await say('and now?');
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);

  const divider = page.getByRole('separator', { name: 'Summarised by you' });
  await divider.waitFor();
  await page.locator('.summary-fold summary').click();
  await page.locator('.summary-fold', { hasText: 'In short: nothing.' }).waitFor();

  assert.equal(await page.locator('.prompt', { hasText: 'a long question' }).evaluate((one) => one.classList.contains('is-dimmed')), true);
  assert.equal(await page.locator('.prompt', { hasText: 'and now?' }).evaluate((one) => one.classList.contains('is-dimmed')), false);
  // Was: every divider said so, also those before the newest.
  await desk.server.tell('POST', `/session/${session.id}/summarize`, { providerID: 'scripted', modelID: 'main' });
  await until('a second divider', async () => (await divider.count()) === 2);
  await page.locator('.tail').getByText('The model sees everything from here').waitFor();
  assert.equal(await page.getByText('The model sees everything from here').count(), 1);
});

test('a list of tasks has boxes, and no brackets', async () => {
  const session = await desk.session({ title: 'Tasks' });
  desk.provider.will(says('- [x] done\n- [ ] **open**\n- plain\n\n1. [x] loose\n\n   with a paragraph\n'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'list' }] });
  const page = await desk.tab(`/s/${session.id}`);
  await page.locator('.step .prose li').nth(3).waitFor();

  // Was: "[x]" stood below each box.
  assert.deepEqual((await page.locator('.step .prose li').allInnerTexts()).map((text) => text.trim().split(/\s+/).join(' ')), ['done', 'open', 'plain', 'loose with a paragraph']);
  assert.deepEqual(await page.locator('.step .prose li input').evaluateAll((all) => all.map((box) => box.checked)), [true, false, true]);
});

test('a subtask shows whom it is given to, what they are to do, and what came of it', async () => {
  const session = await desk.session({ title: 'Subtask' });
  desk.provider.will(says('The roof leaks.'), says('So it is.'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'subtask', prompt: 'Look at the roof closely', description: 'Look at the roof', agent: 'general' }] });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);

  const card = page.locator('.prompt .card', { hasText: 'Look at the roof' });
  await card.locator('summary').click();
  await card.getByText('Look at the roof closely').waitFor();
  const task = page.locator('.card.task', { hasText: 'Look at the roof' });
  await task.locator('.task-result summary').click();

  await task.getByText('The roof leaks.').first().waitFor();
});

test('a screen reader is told that an answer began, that a call finished and that the answer ended, and never the text', async () => {
  const session = await desk.session({ title: 'Announced' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.evaluate(() => {
    globalThis.heard = [];
    const polite = document.querySelector('.off-screen[aria-live="polite"]');
    new MutationObserver(() => globalThis.heard.push(polite.textContent)).observe(polite, { childList: true, characterData: true, subtree: true });
  });
  const gate = new Gate();
  desk.provider.will(calls('bash', { command: 'true', description: 'Runs' }), async (reply) => {
    await gate.opened;
    reply.text('four five').finish();
  });
  await desk.server.tell('POST', `/session/${session.id}/prompt_async`, { parts: [{ type: 'text', text: 'go' }] });
  const isHeard = (text) => until(`"${text}" is told`, () => page.evaluate((wanted) => globalThis.heard.includes(wanted), text));

  await isHeard('Answer started');
  await isHeard('bash finished');
  gate.open();
  await isHeard('Answer complete, 2 words');

  const heard = await page.evaluate(() => globalThis.heard);
  assert.deepEqual(heard.filter((text) => !/^(Answer (started|complete, \d+ words)|bash finished)$/.test(text)), []);
});
