// A line in trouble: 503, a lost network, another version of the page, a wrong clock, too many tabs.

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

const pill = (page) => page.locator('[data-line]');
const say = async (session, text) => {
  desk.provider.will(paced([`Answer to ${text}`], 1));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text }] });
};

test('a server that answers 503 is waited for as long as it asks, and then nothing is missing', async () => {
  const session = await desk.session({ title: 'Overloaded' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  let refused = 0;
  await page.route('**/global/event*', (route) => {
    refused += 1;
    return route.fulfill({ status: 503, headers: { 'retry-after': '30' }, body: '{"name":"OverloadedError","data":{"message":"too much to do"}}' });
  });

  await desk.restart();
  await until('it was refused', () => refused > 0);
  await pill(page).getByText(/Trying again in (2\d|30) s/).waitFor();
  await say(session, 'while you were away');
  assert.equal(refused, 1, 'it does not ask before it was told to');
  await page.unroute('**/global/event*');
  await pill(page).getByRole('button', { name: 'Try now' }).click();

  await live(page);
  await page.locator('.step .prose', { hasText: 'Answer to while you were away' }).waitFor();
});

test('a line that is down says so after a moment, however often it is tried again meanwhile', async () => {
  const page = await desk.tab('/favicon.svg');
  await page.clock.install();
  // The longest waits, so that a try falls into every moment of patience.
  await page.addInitScript(() => (Math.random = () => 0.9));
  await page.goto(`${desk.server.url}/board`);
  await live(page);
  let tries = 0;
  await page.route('**/global/event*', (route) => {
    tries += 1;
    return route.abort();
  });
  const cut = page.waitForEvent('requestfailed', (request) => request.url().includes('/global/event'));

  await page.clock.pauseAt(Date.now() + 1000);
  await desk.server.kill();
  await cut;
  // Two seconds of its clock, in which it tries twice.
  for (const wanted of [1, 2]) {
    await page.clock.runFor(wanted === 1 ? 500 : 1000);
    await until('it was tried again', () => tries === wanted);
  }
  await page.clock.runFor(500);

  // Was: every try began the patience anew, and the page said that it was live.
  assert.notEqual(await pill(page).getAttribute('data-line'), 'live');
  const head = await page.locator('.rail-head').boundingBox();
  const text = await pill(page).boundingBox();
  assert.ok(head && text && text.height < 40 && text.x + text.width <= head.x + head.width, 'on one line, within the list');
  await page.unroute('**/global/event*');
  await desk.restart();
});

test('a session that could not be read while the server was away is read when the line is back, without a click', async () => {
  const session = await desk.session({ title: 'Read late' });
  await say(session, 'early words');
  const page = await desk.tab('/board');
  await live(page);
  let isAway = true;
  await page.route(`**/sturdy/session/${session.id}?*`, (route) => (isAway ? route.abort() : route.fallback()));
  await page.route('**/global/event*', (route) => (isAway ? route.abort() : route.fallback()));
  await page.locator(`a[href="/s/${session.id}"]`).first().click();
  await page.getByRole('main').getByRole('button', { name: 'Try now' }).waitFor();

  isAway = false;

  // By itself: the line is opened again, and then the session is read.
  await page.locator('.step .prose', { hasText: 'Answer to early words' }).waitFor();
});

test('a page that is read from an overloaded server says so and comes by itself', async () => {
  let isOverloaded = true;
  const page = await desk.tab('/favicon.svg');
  await page.route('**/sturdy/overview*', (route) => (isOverloaded ? route.fulfill({ status: 503, headers: { 'retry-after': '1' }, body: '{"name":"OverloadedError","data":{"message":"too much to do"}}' }) : route.fallback()));
  await page.goto(`${desk.server.url}/`);
  await page.getByText('too much to do').waitFor();

  isOverloaded = false;

  await live(page);
  await page.getByText('too much to do').waitFor({ state: 'detached' });
});

test('a network that comes and goes loses nothing, and what is loaded stays readable', async () => {
  const session = await desk.session({ title: 'Underground' });
  await say(session, 'before');
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.locator('.step .prose', { hasText: 'Answer to before' }).waitFor();

  await page.context().setOffline(true);
  await page.evaluate(() => window.dispatchEvent(new Event('offline')));
  await say(session, 'meanwhile');
  await page.locator('.step .prose', { hasText: 'Answer to before' }).waitFor();
  await page.context().setOffline(false);

  await page.locator('.step .prose', { hasText: 'Answer to meanwhile' }).waitFor();
  await live(page);
  assert.deepEqual(await page.locator('.prompt-text').allInnerTexts(), ['before', 'meanwhile']);
});

test('an old page is told that a new version is here, and keeps what was typed', async () => {
  const session = await desk.session({ title: 'Outdated' });
  const page = await desk.tab('/favicon.svg');
  await page.route('**/s/*', async (route) => {
    if (route.request().resourceType() !== 'document') return route.fallback();
    const answer = await route.fetch();
    const shell = await answer.text();
    return route.fulfill({ response: answer, body: shell.replace(/(name="sturdy-build" content=")[^"]*/, '$1an-older-one') });
  });
  await page.goto(`${desk.server.url}/s/${session.id}`);
  await page.getByLabel('Ask, or say what to do').fill('half a sentence');
  await page.locator('[data-line="outdated"]').waitFor();
  await page.unroute('**/s/*');

  await page.getByRole('button', { name: 'Reload' }).click();

  await live(page);
  await until('the draft is back', async () => (await page.getByLabel('Ask, or say what to do').inputValue()) === 'half a sentence');
});

test('a device whose clock is an hour wrong counts a retry by the server', async () => {
  const session = await desk.session({ title: 'Wrong clock' });
  const page = await desk.tab('/favicon.svg');
  await page.addInitScript(() => {
    const real = Date.now;
    Date.now = () => real() - 3_600_000;
  });
  await page.goto(`${desk.server.url}/s/${session.id}`);
  await live(page);
  desk.provider.will((reply) => reply.refuse(429, 'slow down', { 'retry-after': '20' }));
  await desk.server.tell('POST', `/session/${session.id}/prompt_async`, { parts: [{ type: 'text', text: 'go' }] });

  const dock = page.getByRole('region', { name: 'Trying again' });
  await dock.waitFor();
  const seconds = Number(/in (\d+) s/.exec(await dock.innerText())?.[1]);
  // Reading the server's clock takes a moment; an hour is far away.
  assert.ok(seconds > 0 && seconds <= 60, `${seconds} s`);
  assert.equal(await page.locator('.list-row', { hasText: 'Wrong clock' }).getByText('now', { exact: true }).count(), 1);
  await dock.getByRole('button', { name: 'Stop' }).click();
  await dock.waitFor({ state: 'detached' });
});

test('of six tabs all load, four are live, and another can take over', async () => {
  const session = await desk.session({ title: 'Six tabs' });
  const first = await desk.tab(`/s/${session.id}`);
  await live(first);
  const tabs = [first];
  for (let i = 1; i < 6; i += 1) {
    const page = await desk.tab(`/s/${session.id}`, { context: first.context() });
    await page.locator(i < 4 ? '[data-line="live"]' : '[data-line="crowded"]').waitFor({ state: 'attached' });
    tabs.push(page);
  }
  const states = () => Promise.all(tabs.map((page) => pill(page).getAttribute('data-line')));
  assert.deepEqual(await states(), ['live', 'live', 'live', 'live', 'crowded', 'crowded']);
  await picture(tabs[5], 'crowded');

  await tabs[5].getByRole('button', { name: 'Use this tab' }).click();

  await live(tabs[5]);
  await until('four are live', async () => (await states()).filter((state) => state === 'live').length === 4);
  await say(session, 'to whoever listens');
  await tabs[5].locator('.step .prose', { hasText: 'Answer to to whoever listens' }).waitFor();
});

test('a session that is opened second streams, and going back shows what happened meanwhile', async () => {
  const one = await desk.session({ title: 'The first of two' });
  const two = await desk.session({ title: 'The second of two' });
  await say(one, 'one');
  const page = await desk.tab(`/s/${one.id}`);
  await live(page);
  await page.locator('.step .prose', { hasText: 'Answer to one' }).waitFor();

  await page.locator('.list-row', { hasText: 'The second of two' }).locator('a').click();
  await page.waitForURL(`**/s/${two.id}`);
  const held = new Gate();
  desk.provider.will(async (reply) => {
    for (let i = 0; i < 20; i += 1) reply.text(`piece${i} `);
    await held.opened;
    for (let i = 20; i < 40; i += 1) reply.text(`piece${i} `);
    reply.finish();
  });
  await page.getByLabel('Ask, or say what to do').fill('stream');
  await page.keyboard.press('Enter');
  await page.locator('.step .prose', { hasText: 'piece19' }).waitFor();
  desk.provider.will(paced(['Said unseen.'], 1));
  await desk.server.tell('POST', `/session/${one.id}/message`, { parts: [{ type: 'text', text: 'unseen' }] });
  await page.locator('.list-row', { hasText: 'The first of two' }).locator('a').click();
  await page.locator('.step .prose', { hasText: 'Said unseen.' }).waitFor();
  held.open();
  await page.locator('.list-row', { hasText: 'The second of two' }).locator('a').click();

  await page.locator('.step .prose', { hasText: 'piece39' }).waitFor();
  assert.equal((await page.locator('.step .prose').innerText()).trim(), Array.from({ length: 40 }, (_, i) => `piece${i}`).join(' '));
  assert.deepEqual(await page.locator('.prompt-text').allInnerTexts(), ['stream']);
});

test('an address that names no session says so, and the list beside it stays live', async () => {
  for (const id of ['ses_0123456789abABCDEFGHIJKLMN', 'nonsense']) {
    const page = await desk.tab(`/s/${id}`);
    await page.getByText('This session no longer exists').waitFor();
    await live(page);
    const made = await desk.session({ title: `Made beside ${id}` });
    await page.locator('.list-row', { hasText: made.title }).waitFor();
  }
});
