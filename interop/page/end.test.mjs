// The end of a conversation is followed by whoever is there, and by nobody who has left it.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { calls, MAIN } from '../lib/provider.mjs';
import { Gate, until } from '../lib/wait.mjs';
import { Desk, live } from './desk.mjs';

/** @type {Desk} */
let desk;
before(async () => {
  desk = await Desk.open({ env: { STURDY_DEMO_PACE_MS: '0' } });
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
  await desk.rest();
});

const frames = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const fromEnd = (page) => page.locator('.timeline').evaluate((element) => Math.round(element.scrollHeight - element.clientHeight - element.scrollTop));

test('a conversation that fills faster than it is drawn stays at its end', async () => {
  // Was: the list, told once to go to the end of nothing, went back to the beginning with every row that was measured.
  const session = await desk.session({ title: 'Fast' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);

  for (let i = 0; i < 12; i += 1) await desk.prompt(session, `Prompt ${i}\n\n${'A line of it.\n\n'.repeat(i % 3 === 0 ? 8 : 1)}`);

  await page.locator('.prompt-text', { hasText: 'Prompt 11' }).waitFor();
  await until('the end is in sight', async () => (await fromEnd(page)) === 0);
  assert.equal(await page.locator('.to-end').count(), 0);
});

test('whoever leaves the end by a little while text streams is left there', async () => {
  // Was: sixty pixels counted as the end, and a click to the end pulled the reader back for as long as anything grew.
  const session = await desk.session({ title: 'A little' });
  await desk.prompt(session, Array.from({ length: 60 }, (_, i) => `Paragraph ${i}.`).join('\n\n'));
  const gates = [new Gate(), new Gate()];
  desk.provider.will(async (reply) => {
    reply.text('begin\n\n');
    for (const [at, gate] of gates.entries()) {
      await gate.opened;
      for (let i = 0; i < 40; i += 1) reply.text(`more ${at}-${i}\n\n`);
    }
    reply.finish();
  });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await desk.server.tell('POST', `/session/${session.id}/prompt_async`, { model: MAIN, parts: [{ type: 'text', text: 'go on' }] });
  await page.locator('.step .prose', { hasText: 'begin' }).waitFor();
  await page.locator('.timeline').hover();
  await page.mouse.wheel(0, -900);
  await page.locator('.to-end').click();
  gates[0].open();
  await page.locator('.step .prose p', { hasText: 'more 0-39' }).waitFor();
  await until('the end is in sight', async () => (await fromEnd(page)) === 0);

  await page.locator('.timeline').hover();
  await page.mouse.wheel(0, -30);
  await page.locator('.to-end').waitFor();
  const line = page.locator('.prose p', { hasText: /^more 0-3[0-9]$/ }).first();
  const before = (await line.boundingBox())?.y;
  gates[1].open();
  await until('the answer has ended', async () => (await desk.server.tell('GET', `/session/${session.id}/message`)).at(-1).info.time.completed);
  await page.locator('.session-head .is-busy').waitFor({ state: 'detached' });
  await frames(page);

  assert.equal((await line.boundingBox())?.y, before);
  assert.ok((await fromEnd(page)) > 500, 'what came since is below');
});

test('whoever types at the end of a conversation stays there', async () => {
  // Was: each key measured the field, which moved the conversation by two pixels, and so its end was followed no longer.
  const session = await desk.session({ title: 'Typing' });
  await desk.prompt(session, Array.from({ length: 60 }, (_, i) => `Paragraph ${i}.`).join('\n\n'));
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.getByLabel('Model', { exact: true }).waitFor();
  await until('the end is in sight', async () => (await fromEnd(page)) === 0);
  const tops = () => page.evaluate(() => globalThis.tops);
  await page.evaluate(() => {
    const timeline = document.querySelector('.timeline');
    globalThis.tops = [];
    timeline.addEventListener('scroll', () => globalThis.tops.push(timeline.scrollTop));
  });

  await page.getByLabel('Ask, or say what to do').pressSequentially('some words');
  await frames(page);

  assert.deepEqual(await tops(), []);
  assert.equal(await page.locator('.to-end').count(), 0);
});

/** A menu is open: where its first item is, and whether a tap there reaches it. */
const firstItem = (page) => page.evaluate(() => {
  const item = document.querySelector('.menu:popover-open [role=menuitem]');
  const box = item?.getBoundingClientRect();
  if (!box) return null;
  const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return { top: Math.round(box.top), isReached: item.contains(hit) };
});

test('messages and their menus take taps while the conversation scrolls', async () => {
  // Was: rows took no pointer while they scrolled, and neither did the menu of one: a tap went through it and closed it.
  const session = await desk.session({ title: 'Menu' });
  for (let i = 0; i < 12; i += 1) await desk.prompt(session, `Prompt ${i}\n\n${'A line of it.\n\n'.repeat(4)}`);
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.locator('.prompt', { hasText: 'Prompt 11' }).getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Undo from here' }).waitFor();

  const seen = await page.evaluate(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const isReached = (one) => {
      const box = one.getBoundingClientRect();
      return one.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
    };
    const item = document.querySelector('.menu:popover-open [role=menuitem]');
    const text = [...document.querySelectorAll('.prompt-text')].at(-1);
    const hits = [];
    for (let i = 0; i < 20; i += 1) {
      document.querySelector('.timeline').scrollBy(0, i % 2 === 0 ? -30 : 30);
      await frame();
      await frame();
      hits.push([isReached(item), isReached(text)].join());
    }
    return hits;
  });

  assert.deepEqual(seen, Array(20).fill('true,true'));
});

test('an answer that goes on moves nothing from under an open menu', async () => {
  const session = await desk.session({ title: 'Menu beside an answer' });
  await desk.prompt(session, Array.from({ length: 60 }, (_, i) => `Paragraph ${i}.`).join('\n\n'));
  const gate = new Gate();
  desk.provider.will(async (reply) => {
    reply.text('begin\n\n');
    await gate.opened;
    for (let i = 0; i < 60; i += 1) reply.text(`more ${i}\n\n`);
    reply.finish();
  });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await desk.server.tell('POST', `/session/${session.id}/prompt_async`, { model: MAIN, parts: [{ type: 'text', text: 'go on' }] });
  await page.locator('.step .prose', { hasText: 'begin' }).waitFor();
  await until('the end is in sight', async () => (await fromEnd(page)) === 0);
  const prompt = page.locator('.prompt', { hasText: 'go on' });
  await prompt.getByRole('button', { name: 'More' }).click();
  // It has the focus when it has its place.
  await until('it is placed', () => page.evaluate(() => document.activeElement?.getAttribute('role') === 'menuitem'));
  const before = { menu: await firstItem(page), prompt: (await prompt.boundingBox())?.y };

  gate.open();
  await page.locator('.session-head .is-busy').waitFor({ state: 'detached' });
  await frames(page);

  assert.deepEqual({ menu: await firstItem(page), prompt: (await prompt.boundingBox())?.y }, before);
  assert.equal(before.menu?.isReached, true);
  // Whoever closes it is at the end again, where they were.
  await page.keyboard.press('Escape');
  await until('the end is in sight', async () => (await fromEnd(page)) === 0);
});

test('pieces of the page that arrive late leave an open menu open and where it is', async () => {
  // Was: what they added moved the message away, the tap went beside the menu and closed it.
  const session = await desk.session({ title: 'Late pieces' });
  for (let i = 0; i < 6; i += 1) {
    desk.provider.will(calls('write', { filePath: `late-${i}.txt`, content: 'one\ntwo\n' }), (reply) => reply.reasoning('A thought.').text(`Answer ${i}`).finish());
    await desk.server.tell('POST', `/session/${session.id}/message`, { model: MAIN, parts: [{ type: 'text', text: `Prompt ${i}` }] });
  }
  const page = await desk.tab('/favicon.svg');
  const gate = new Gate();
  const late = new Set();
  await page.route('**/ui/**', async (route) => {
    const name = route.request().url().split('/').at(-1);
    // Everything but what the conversation itself is made of.
    if (!/^(index|core|session|style|rolldown-runtime|dialog)\.(js|css)$/.test(name)) {
      late.add(name);
      await gate.opened;
    }
    return route.fallback();
  });
  await page.goto(`${desk.server.url}/s/${session.id}`);
  await page.locator('.prompt', { hasText: 'Prompt 5' }).waitFor();
  await until('pieces are asked for', () => late.size > 2);
  await page.locator('.prompt', { hasText: 'Prompt 5' }).getByRole('button', { name: 'More' }).click();
  await until('it is placed', () => page.evaluate(() => document.activeElement?.getAttribute('role') === 'menuitem'));
  const prompt = page.locator('.prompt', { hasText: 'Prompt 5' });
  const top = async () => (await prompt.boundingBox())?.y ?? Number.NaN;
  const before = await firstItem(page);
  const topBefore = await top();
  assert.equal(before?.isReached, true);

  gate.open();
  await page.locator('.step .card :is(.diff, .code-scroll)').first().waitFor({ state: 'attached' });
  await page.locator('.marks-rail').waitFor({ state: 'attached' });
  await frames(page);

  assert.deepEqual(await firstItem(page), before, [...late].join());
  // Was: the menu stayed and its message went, because of what was drawn above it. A browser scrolls by whole pixels.
  assert.ok(Math.abs((await top()) - topBefore) <= 1, `from ${topBefore} to ${await top()}`);
  await page.mouse.click(...(await page.locator('.menu:popover-open [role=menuitem]').first().evaluate((one) => {
    const box = one.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  })));
  await page.getByRole('dialog', { name: 'Undo from here' }).waitFor();
});
