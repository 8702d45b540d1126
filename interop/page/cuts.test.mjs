// A line that is cut, held or slow, at the level of bytes: the screen ends as that of a page that was opened afterwards.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { Gate, until } from '../lib/wait.mjs';
import { Desk, live } from './desk.mjs';
import { Proxy } from './proxy.mjs';

/** @type {Desk} */
let desk;
/** @type {Proxy} */
let proxy;
before(async () => {
  desk = await Desk.open();
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
  await proxy?.close();
  proxy = undefined;
  await desk.rest();
});

const pill = (page) => page.locator('[data-line]').getAttribute('data-line');
const PIECES = Array.from({ length: 30 }, (_, i) => `piece${i} ä€😀 `);

/** What somebody sees of a session: who said what, and what it does. */
const screen = (page) =>
  page.evaluate(() => [...document.querySelectorAll('.prompt-text, .step .prose, .session-head .is-busy')].map((one) => `${one.className}: ${one.textContent.trim()}`));

/** A tab behind the proxy, at a session whose answer stands still in its middle; `goOn` says the rest. */
async function begun({ clock = false } = {}) {
  proxy = await Proxy.to(desk.server.port);
  const session = await desk.session({ title: 'Through a bad line' });
  const gate = new Gate();
  desk.provider.will(async (reply) => {
    for (const piece of PIECES.slice(0, 10)) reply.text(piece);
    await gate.opened;
    for (const piece of PIECES.slice(10)) reply.text(piece);
    reply.finish();
  });
  const page = await desk.tab('/favicon.svg', { at: proxy });
  if (clock) await page.clock.install();
  await page.goto(`${proxy.url}/s/${session.id}`);
  await live(page);
  await desk.server.tell('POST', `/session/${session.id}/prompt_async`, { parts: [{ type: 'text', text: 'stream' }] });
  await page.locator('.step .prose', { hasText: 'piece9' }).waitFor();
  return { page, session, goOn: () => gate.open() };
}

/** The server is done, whatever the page knows of it. */
const ended = (session) => until('the turn has ended', async () => (await desk.server.tell('GET', '/session/status'))[session.id] === undefined);

/**
 * It tries again by itself, after at most thirty seconds of its own clock. A try is given time to be answered: a clock
 * that goes on at once would have it given up.
 */
const comesBack = (page) => until('it comes back by itself', async () => {
  await page.clock.fastForward(30_000);
  return page.locator('[data-line="live"]').waitFor({ state: 'attached', timeout: 5000 }).then(() => true, () => false);
});

async function endsAsAFreshPage(page, session) {
  await live(page);
  await page.locator('.step .prose', { hasText: 'piece29' }).waitFor();
  await page.locator('.session-head .is-busy').waitFor({ state: 'detached' });
  const fresh = await desk.tab(`/s/${session.id}`);
  await live(fresh);
  await fresh.locator('.step .prose', { hasText: 'piece29' }).waitFor();
  assert.deepEqual(await screen(page), await screen(fresh));
  assert.ok((await screen(page)).some((line) => line.endsWith(PIECES.join('').trim())), 'every character once');
}

for (const [name, awayMs] of [['a second', 1000], ['a minute', 60_000]]) {
  test(`a line that is cut for ${name} while text streams: every character once`, async () => {
    const { page, session, goOn } = await begun({ clock: true });

    proxy.become('cut');
    goOn();
    await ended(session);
    await page.clock.fastForward(awayMs);
    proxy.become('open');
    await comesBack(page);

    await endsAsAFreshPage(page, session);
  });
}

test('a line that is still there and brings nothing is given up, and opened anew', async () => {
  const { page, session, goOn } = await begun({ clock: true });

  // Half open: no byte comes, and nobody says that none will.
  proxy.become('held');
  goOn();
  await ended(session);
  assert.equal(await pill(page), 'live', 'nobody knows it yet');
  await page.clock.fastForward(26_000);
  await until('it is noticed', async () => (await pill(page)) !== 'live');
  proxy.become('cut');
  proxy.become('open');
  await comesBack(page);

  await endsAsAFreshPage(page, session);
});

test('a proxy that gathers bytes and passes on a few at a time changes nothing but the time', async () => {
  const { page, session, goOn } = await begun();

  proxy.become('slow');
  goOn();

  await endsAsAFreshPage(page, session);
});

test('a place in the log that is not there any more is read anew, and nothing is missing', async () => {
  const { page, session, goOn } = await begun();
  let asked = 0;
  // As a server says it whose log was folded beyond what the page knows.
  await page.route('**/global/event*', async (route) => {
    asked += 1;
    if (asked > 1) return route.fallback();
    const properties = { head: 9e9, horizon: 9e9, store: '', boot: '', now: Date.now(), page: '', resumable: false };
    return route.fulfill({ contentType: 'text/event-stream', body: `data: ${JSON.stringify({ payload: { type: 'sturdy.hello', properties } })}\n\n` });
  });

  proxy.become('cut');
  goOn();
  await ended(session);
  proxy.become('open');

  await endsAsAFreshPage(page, session);
  assert.equal(asked, 2, 'refused once, opened once');
});

test('a hidden tab holds no connection, and shows what it missed when it is looked at', async () => {
  const { page, session, goOn } = await begun({ clock: true });
  const look = (state) =>
    page.evaluate((now) => {
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => now });
      document.dispatchEvent(new Event('visibilitychange'));
    }, state);
  let streams = 1;
  page.on('requestfailed', (request) => (streams -= request.url().includes('/global/event') ? 1 : 0));
  page.on('request', (request) => (streams += request.url().includes('/global/event') ? 1 : 0));

  await look('hidden');
  await page.clock.fastForward(21_000);
  await until('it sleeps', async () => (await pill(page)) === 'asleep');
  await until('its stream was let go', () => streams === 0);
  goOn();
  await ended(session);
  assert.doesNotMatch((await screen(page)).join(), /piece29/);
  await look('visible');

  await endsAsAFreshPage(page, session);
});

test('a session that is deleted while it is open says so, stays readable, and the line stays live', async () => {
  const { page, session, goOn } = await begun();
  goOn();
  await page.locator('.step .prose', { hasText: 'piece29' }).waitFor();
  await page.locator('.session-head .is-busy').waitFor({ state: 'detached' });

  await desk.server.tell('DELETE', `/session/${session.id}`);

  await page.getByRole('alert').getByText('This session no longer exists').waitFor();
  await page.locator('.step .prose', { hasText: 'piece29' }).waitFor();
  assert.equal(await page.getByRole('heading', { level: 1 }).last().innerText(), 'Through a bad line');
  assert.equal(await page.getByLabel('Ask, or say what to do').count(), 0);
  assert.equal(await page.locator(`.list-row a[href="/s/${session.id}"]`).count(), 0);
  // Also after the line was lost: nothing that is gone is asked for.
  proxy.become('cut');
  await until('it is noticed', async () => (await pill(page)) !== 'live');
  proxy.become('open');
  await live(page);
  const made = await desk.session({ title: 'Made after it' });
  await page.locator('.list-row', { hasText: made.title }).waitFor();
});
