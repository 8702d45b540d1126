// The first minute, a reload in mid-answer, a kill in mid-answer, two tabs.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { paced } from '../lib/provider.mjs';
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

const text = async (page, selector) => (await page.locator(selector).allInnerTexts()).join('\n');

test('a newcomer asks the demo model and sees its answer', async () => {
  const page = await desk.tab('/');
  await live(page);
  await page.getByRole('link', { name: 'New session' }).first().click();
  await page.getByLabel('Model', { exact: true }).selectOption('demo/echo');
  await page.getByLabel('Ask, or say what to do').fill('Hello from the page');
  await page.keyboard.press('Enter');

  await page.locator('.step .prose', { hasText: 'Hello from the page' }).waitFor();
  assert.match(page.url(), /\/s\/ses_/);
  assert.equal(await page.locator('.prompt-text').innerText(), 'Hello from the page');
  assert.equal(await page.locator('.list-row').count(), 1);
  await picture(page, 'first-minute');
});

test('a text that streams is there after a reload, and goes on without a doubled letter', async () => {
  const session = await desk.session({ title: 'Reload' });
  const gate = new Gate();
  const pieces = Array.from({ length: 40 }, (_, index) => `word${index} `);
  desk.provider.will(async (reply) => {
    for (const piece of pieces.slice(0, 20)) reply.text(piece);
    await gate.opened;
    for (const piece of pieces.slice(20)) reply.text(piece);
    reply.finish();
  });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.getByLabel('Ask, or say what to do').fill('go');
  await page.keyboard.press('Enter');
  await page.locator('.step .prose', { hasText: 'word19' }).waitFor();

  await page.reload();
  await page.locator('.step .prose', { hasText: 'word19' }).waitFor();
  gate.open();
  await page.locator('.step .prose', { hasText: 'word39' }).waitFor();

  assert.equal((await text(page, '.step .prose')).trim(), pieces.join('').trim());
});

test('after kill -9 the page catches up: every character once, and the turn reads as interrupted', async () => {
  const session = await desk.session({ title: 'Killed' });
  desk.provider.will(async (reply) => {
    for (let i = 0; i < 30; i += 1) reply.text(`piece${i} `);
    await reply.gone;
  });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.getByLabel('Ask, or say what to do').fill('stream');
  await page.keyboard.press('Enter');
  await page.locator('.step .prose', { hasText: 'piece29' }).waitFor();

  await desk.restart();
  await page.locator('.error.is-thin').waitFor();
  await live(page);

  const expected = Array.from({ length: 30 }, (_, i) => `piece${i}`).join(' ');
  assert.equal((await text(page, '.step .prose')).trim(), expected);
  await page.getByText('Nothing was lost').waitFor();
  await picture(page, 'after-kill');
});

test('two tabs show the same, and what one sends the other sees', async () => {
  const session = await desk.session({ title: 'Two tabs' });
  const one = await desk.tab(`/s/${session.id}`);
  const context = one.context();
  const two = await desk.tab(`/s/${session.id}`, { context });
  await live(one);
  await live(two);
  desk.provider.will(paced(['Both ', 'of ', 'you ', 'see ', 'this.'], 5));
  await one.getByLabel('Ask, or say what to do').fill('hello');
  await one.keyboard.press('Enter');

  for (const page of [one, two]) await page.locator('.step .prose', { hasText: 'Both of you see this.' }).waitFor();
  assert.equal(await two.locator('.prompt-text').innerText(), 'hello');
});

test('a prompt whose answer was lost is there once, and the draft is kept until it is stored', async () => {
  const session = await desk.session({ title: 'Lost' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  let isFirst = true;
  await page.route('**/prompt_async', async (route) => {
    if (!isFirst) return route.continue();
    isFirst = false;
    // The server gets it, the page never hears of it.
    await route.fetch();
    return route.abort();
  });
  desk.provider.will(paced(['Once.'], 1));
  await page.getByLabel('Ask, or say what to do').fill('only once');
  await page.keyboard.press('Enter');
  await page.locator('.step .prose', { hasText: 'Once.' }).waitFor();

  await until('nothing is on its way', async () => (await page.locator('.is-sending').count()) === 0);
  assert.deepEqual(await page.locator('.prompt-text').allInnerTexts(), ['only once']);
  const stored = await desk.server.tell('GET', `/session/${session.id}/message`);
  assert.equal(stored.filter((message) => message.info.role === 'user').length, 1);
});

test('typed text survives a reload', async () => {
  const session = await desk.session({ title: 'Draft' });
  const page = await desk.tab(`/s/${session.id}`);
  await page.getByLabel('Ask, or say what to do').fill('half a thought');

  await page.reload();

  await until('the draft is back', async () => (await page.getByLabel('Ask, or say what to do').inputValue()) === 'half a thought');
});

test('what is read does not move while text streams below it', async () => {
  const session = await desk.session({ title: 'Still' });
  await desk.prompt(session, Array.from({ length: 120 }, (_, i) => `Paragraph ${i} of a long answer.`).join('\n\n'));
  const gate = new Gate();
  desk.provider.will(async (reply) => {
    reply.text('begin ');
    await gate.opened;
    for (let i = 0; i < 200; i += 1) reply.text(`more ${i}\n\n`);
    reply.finish();
  });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.getByLabel('Model', { exact: true }).selectOption('scripted/main');
  await page.getByLabel('Ask, or say what to do').fill('go on');
  await page.keyboard.press('Enter');
  await page.locator('.step .prose', { hasText: 'begin' }).waitFor();
  await page.locator('.timeline').hover();
  await page.mouse.wheel(0, -900);
  await page.getByRole('button', { name: 'Go to the end' }).waitFor();
  const line = page.locator('.prose p', { hasText: /^Paragraph 105 / });
  await line.waitFor();
  const placeOf = async () => (await line.boundingBox())?.y;
  const before = await until('the place is still', async () => {
    const first = await placeOf();
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    return first !== undefined && first === (await placeOf()) && first;
  });

  gate.open();
  await until('the answer has ended', async () => (await desk.server.tell('GET', `/session/${session.id}/message`)).at(-1).info.time.completed);
  await page.locator('.session-head .is-busy').waitFor({ state: 'detached' });

  assert.equal(await placeOf(), before);
});

test('the arrow keys bring back what was asked before, and what is being typed is left alone', async () => {
  const session = await desk.session({ title: 'Asked before' });
  await desk.prompt(session, 'the first question');
  await desk.prompt(session, 'the second question');
  const page = await desk.tab(`/s/${session.id}`);
  await page.locator('.prompt-text', { hasText: 'the second question' }).waitFor();
  const field = page.getByLabel('Ask, or say what to do');
  await field.focus();
  const after = async (key) => {
    await page.keyboard.press(key);
    return field.inputValue();
  };

  assert.equal(await after('ArrowUp'), 'the second question');
  assert.equal(await after('ArrowUp'), 'the first question');
  assert.equal(await after('ArrowUp'), 'the first question');
  assert.equal(await after('ArrowDown'), 'the second question');
  assert.equal(await after('ArrowDown'), '');
  await field.fill('half a thought');
  assert.equal(await after('ArrowUp'), 'half a thought');
});
