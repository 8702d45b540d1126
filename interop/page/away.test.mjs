// Somebody who is not looking: notices, and a page that was left for long while the server changed under it.

import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, afterEach, before, test } from 'node:test';
import { calls, paced, says } from '../lib/provider.mjs';
import { Server } from '../lib/server.mjs';
import { until } from '../lib/wait.mjs';
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
const ask = (session, text) => desk.server.tell('POST', `/session/${session.id}/prompt_async`, { parts: [{ type: 'text', text }] });

/** In place of the browser's notices, which a browser without a screen does not show. */
function recordNotices() {
  globalThis.shown = [];
  globalThis.Notification = class {
    static permission = localStorage.getItem('test.granted') ?? 'default';
    static requestPermission() {
      localStorage.setItem('test.granted', 'granted');
      this.permission = 'granted';
      return Promise.resolve('granted');
    }
    constructor(title, { body, tag }) {
      globalThis.shown.push({ title, body, tag });
      globalThis.newest = this;
    }
    close() {}
  };
}

/** The tab is behind another one, as far as the page can see. */
const hide = (page) =>
  page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' });
    document.dispatchEvent(new Event('visibilitychange'));
  });

test('after a click in the settings a hidden page tells what needs somebody, and names no content', async () => {
  const session = await desk.session({ title: 'Behind another tab' });
  const page = await desk.tab('/favicon.svg');
  await page.addInitScript(recordNotices);
  await page.goto(`${desk.server.url}/settings`);
  await live(page);
  assert.deepEqual(await page.evaluate(() => globalThis.Notification.permission), 'default', 'nobody is asked before a click');
  await page.getByLabel('Notify me when a session needs me').check();
  await until('it is kept', () => page.evaluate(() => JSON.parse(localStorage.getItem('sturdy.preferences') ?? '{}').notices === true));
  await page.reload();
  await live(page);
  await hide(page);

  desk.provider.will(calls('bash', { command: 'cat secret-plans', description: 'Reads secret plans' }), says('Done.'));
  await ask(session, 'a secret question');
  await until('it was shown', () => page.evaluate(() => globalThis.shown.length > 0));

  const [notice] = await page.evaluate(() => globalThis.shown);
  assert.deepEqual([notice.title, notice.body], ['Needs you: Behind another tab', 'bash']);
  await page.evaluate(() => globalThis.newest.onclick());
  await page.waitForURL('**/asks');
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  await until('the end was shown', () => page.evaluate(() => globalThis.shown.some((one) => one.body === 'The turn has ended')));
  assert.doesNotMatch(JSON.stringify(await page.evaluate(() => globalThis.shown)), /secret/);
});

test('whoever did not ask for notices gets none', async () => {
  const session = await desk.session({ title: 'Quiet' });
  const page = await desk.tab('/favicon.svg');
  await page.addInitScript(recordNotices);
  await page.goto(`${desk.server.url}/asks`);
  await live(page);
  await hide(page);

  desk.provider.will(calls('bash', { command: 'true', description: 'Nothing' }));
  await ask(session, 'go');

  await page.locator('[data-ask]').waitFor();
  assert.deepEqual(await page.evaluate(() => globalThis.shown), []);
});

test('a page that was left for a day comes back with everything, and keeps what was typed', async () => {
  const session = await desk.session({ title: 'Left for a day' });
  const page = await desk.tab('/favicon.svg');
  await page.clock.install();
  await page.goto(`${desk.server.url}/s/${session.id}`);
  await live(page);
  await field(page).fill('half a thought');
  await desk.server.kill();
  await page.locator('[data-line="waiting"]').waitFor();

  await page.clock.fastForward(24 * 3_600_000);
  desk.server = await Server.start(desk.world, desk.options);
  desk.provider.will(paced(['Said while you were away.'], 1));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'meanwhile' }] });
  // As when the lid of a laptop is opened.
  await until('it is live again', async () => {
    await page.evaluate(() => window.dispatchEvent(new Event('online')));
    return (await page.locator('[data-line="live"]').count()) > 0;
  });

  await page.locator('.step .prose', { hasText: 'Said while you were away.' }).waitFor();
  assert.deepEqual(await page.locator('.prompt-text').allInnerTexts(), ['meanwhile']);
  assert.equal(await field(page).inputValue(), 'half a thought');
});

test('a server with another store in its place: everything is read anew, and what is gone says so', async () => {
  const session = await desk.session({ title: 'Of the old store' });
  await desk.prompt(session, 'Old words');
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await field(page).fill('typed before');
  await desk.server.kill();
  await rm(desk.world.data, { recursive: true });

  desk.server = await Server.start(desk.world, desk.options);
  const made = await desk.session({ title: 'Of the new store' });

  await page.locator('.list-row', { hasText: made.title }).waitFor();
  await page.locator('.list-row', { hasText: 'Of the old store' }).waitFor({ state: 'detached' });
  await live(page);
  await page.getByText('This session no longer exists').waitFor();
  await page.locator('.list-row', { hasText: made.title }).getByRole('link').click();
  await desk.prompt(made, 'New words');
  await page.locator('.prompt-text', { hasText: 'New words' }).waitFor();
  assert.deepEqual(await page.locator('.prompt-text').allInnerTexts(), ['New words']);
  assert.match(await page.evaluate(() => JSON.stringify({ ...localStorage })), /typed before/);
});
