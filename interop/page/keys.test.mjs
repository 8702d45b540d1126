// Keys, names and movement: what somebody who does not use a pointer, or does not look, depends on.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { calls, MAIN, says } from '../lib/provider.mjs';
import { Gate, until } from '../lib/wait.mjs';
import { Desk, live } from './desk.mjs';

/** @type {Desk} */
let desk;
before(async () => {
  desk = await Desk.open({ config: { permission: { bash: 'ask' } } });
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
  await desk.rest();
});

const field = (page) => page.getByLabel('Ask, or say what to do');
const ask = (session, text = 'go') => desk.server.tell('POST', `/session/${session.id}/prompt_async`, { model: MAIN, parts: [{ type: 'text', text }] });
const titled = (page, title) => until(`the title is ${title}`, async () => (await page.title()) === title);

test('the title of the document says where one is, and what a session does', async () => {
  const session = await desk.session({ title: 'Named' });
  const page = await desk.tab('/board');
  await titled(page, 'Board — Sturdy');
  await page.locator(`.list-row a[href="/s/${session.id}"]`).click();
  await titled(page, 'Named — Sturdy');
  desk.provider.will(calls('bash', { command: 'true', description: 'Nothing' }), says('Done.'));
  await ask(session);
  await titled(page, 'Needs you · Named — Sturdy');
  const gate = new Gate();
  desk.provider.scripts = [];
  desk.provider.will(async (reply) => {
    await gate.opened;
    reply.text('Done.').finish();
  });
  await page.getByRole('button', { name: 'Allow once' }).click();
  await titled(page, 'Working · Named — Sturdy');
  gate.open();
  await titled(page, 'Named — Sturdy');
  await page.getByRole('link', { name: 'Settings' }).click();
  // Was: it stayed that of the session.
  await titled(page, 'Settings — Sturdy');
});

test('an ask does not take the focus from whoever types, and a key leads from one ask to the next', async () => {
  const session = await desk.session({ title: 'Two asks' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await field(page).fill('half a');
  desk.provider.will((reply) => reply.call('bash', { command: 'echo one', description: 'One' }, 'a').call('bash', { command: 'echo two', description: 'Two' }, 'b').finish(), says('Both are done.'));
  await ask(session);
  await until('both ask', async () => (await page.locator('[data-ask]').count()) === 2);
  await page.keyboard.type(' sentence');
  assert.equal(await field(page).inputValue(), 'half a sentence');

  const focused = () => page.evaluate(() => [...document.querySelectorAll('[data-ask]')].findIndex((one) => one.contains(document.activeElement)));
  const went = [];
  for (let i = 0; i < 3; i += 1) {
    await page.keyboard.press('Alt+a');
    went.push(await focused());
  }
  // Was: the first one, however often it was pressed.
  assert.deepEqual(went, [0, 1, 0]);

  await page.keyboard.press('1');
  await until('one is answered', async () => (await page.locator('[data-ask]').count()) === 1);
  await page.keyboard.press('Alt+a');
  await page.keyboard.press('1');
  await page.locator('.step .prose', { hasText: 'Both are done.' }).waitFor();
});

test('keys go from message to message, also past one that is longer than the window', async () => {
  const session = await desk.session({ title: 'Long ones' });
  const long = Array.from({ length: 150 }, (_, i) => `Paragraph ${i}.`).join('\n\n');
  for (const name of ['first', 'second']) {
    desk.provider.will(says(`Answer to the ${name}.\n\n${long}`));
    await desk.server.tell('POST', `/session/${session.id}/message`, { model: MAIN, parts: [{ type: 'text', text: `The ${name}` }] });
  }
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  const order = (await desk.server.tell('GET', `/session/${session.id}/message`)).map((one) => one.info.id);
  const here = () => page.evaluate(() => document.activeElement?.closest('article')?.id);
  await page.locator('.step').last().focus();
  assert.equal(await here(), order[3]);

  for (const at of [2, 1, 0]) {
    await page.keyboard.press('k');
    await until(`message ${at} has the focus`, async () => (await here()) === order[at]);
  }
  for (const at of [1, 2, 3]) {
    await page.keyboard.press('j');
    // Was: what was not drawn yet could not be gone to.
    await until(`message ${at} has the focus`, async () => (await here()) === order[at]);
  }
});

test('a message that somebody else removes is gone, and what is read does not move', async () => {
  const session = await desk.session({ title: 'Removed above' });
  const text = (name) => `${name}\n\n${Array.from({ length: 12 }, (_, i) => `Paragraph ${i}.`).join('\n\n')}`;
  for (let i = 0; i < 8; i += 1) await desk.server.tell('POST', `/session/${session.id}/message`, { noReply: true, parts: [{ type: 'text', text: text(`Prompt ${i}`) }] });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  const order = (await desk.server.tell('GET', `/session/${session.id}/message`)).map((one) => one.info.id);
  await page.locator('.prompt-text', { hasText: 'Prompt 7' }).waitFor();
  await page.locator('.timeline').hover();
  await page.mouse.wheel(0, -700);
  const read = page.locator('.prompt', { hasText: 'Prompt 6' });
  await page.locator('.to-end').waitFor();
  const top = async () => Math.round((await read.boundingBox())?.y ?? Number.NaN);
  const frames = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await frames();
  const before = await top();

  await desk.server.tell('DELETE', `/session/${session.id}/message/${order[4]}`);
  await page.locator(`.list-row a[href="/s/${session.id}"]`).waitFor();
  await until('it is gone', async () => (await page.locator(`#${order[4]}`).count()) === 0);
  await frames();

  assert.equal(await top(), before);
});

test('whoever wants no movement sees none', async () => {
  const session = await desk.session({ title: 'Still' });
  const gate = new Gate();
  desk.provider.will(async (reply) => {
    reply.reasoning('Thinking').text('Words');
    await gate.opened;
    reply.finish();
  });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await ask(session);
  await page.locator('.step .prose', { hasText: 'Words' }).waitFor();

  const moving = () => page.evaluate(() => document.getAnimations().map((one) => one.animationName ?? one.transitionProperty));
  assert.deepEqual(await moving(), []);
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  await until('others see that it works', async () => (await moving()).length > 0);
  gate.open();
});

test('at the size of a small phone, which is four times the size at a desk, no page is cut off', async () => {
  const session = await desk.session({ title: 'Small' });
  await desk.prompt(session, 'Words and `code` that are long enough to be wider than a small window is');
  const page = await desk.tab('/favicon.svg', { width: 320, height: 640 });
  const wide = [];
  for (const path of ['/', '/board', '/asks', '/new', '/search?q=words', '/usage', '/shares', '/settings', `/s/${session.id}`, `/s/${session.id}?panel=changes`, `/s/${session.id}?panel=log`]) {
    await page.goto(desk.server.url + path);
    await live(page);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) wide.push(`${path}: ${over}`);
  }
  assert.deepEqual(wide, []);
});
