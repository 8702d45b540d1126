// First loads stay small: bytes on the wire and requests, as the browser counts them.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Desk, live } from './desk.mjs';
import { BUDGETS, measured } from './measure.mjs';

/** @type {Desk} */
let desk;
before(async () => {
  desk = await Desk.open({ args: ['--share'] });
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
});

const within = (name, value) => assert.ok(value > 0 && value <= BUDGETS[name], `${name}: ${value} of ${BUDGETS[name]}`);

test('list, session and share page load within their budgets', { skip: process.env.STURDY_PAGE_FILES && 'files are not served by the program' }, async () => {
  const session = await desk.session({ title: 'Small' });
  await desk.prompt(session, 'Hello');
  const share = await desk.server.tell('POST', '/api/share', { sessionID: session.id });
  const [message] = await desk.server.tell('GET', `/session/${session.id}/message`);
  const data = [{ type: 'session', data: await desk.server.tell('GET', `/session/${session.id}`) }, { type: 'message', data: message.info }, ...message.parts.map((part) => ({ type: 'part', data: part }))];
  await desk.server.tell('POST', `/api/share/${share.id}/sync`, { secret: share.secret, data });

  const list = await measured(desk, '/', '.list-row');
  const opened = await measured(desk, `/s/${session.id}`, '.step .prose');
  const shared = await measured(desk, `/share/${share.id}`, '.prompt-text');

  within('script until the list, bytes', list.bytes.script);
  within('style, bytes', list.bytes.style);
  within('requests until the list', list.bytes.requests);
  within('script until a session, bytes', opened.bytes.script);
  within('script of the share page, bytes', shared.bytes.script);
  for (const { bytes } of [list, opened, shared]) assert.equal(bytes.font, 0);
});

test('a session that is opened by its address is read once, beside the list, and so is what its composer offers', async () => {
  const session = await desk.session({ title: 'Once' });
  await desk.prompt(session, 'Hello');
  const page = await desk.tab('/favicon.svg');
  const asked = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));

  await page.goto(`${desk.server.url}/s/${session.id}`);
  await page.locator('.composer select').first().waitFor();
  await live(page);

  const times = (path) => asked.filter((one) => one === path).length;
  // Was: the session twice, and everything of the composer twice.
  for (const path of [`/sturdy/session/${session.id}`, '/config/providers', '/agent', '/command', '/config']) assert.equal(times(path), 1, path);
  const isBefore = (path, other) => asked.indexOf(path) < asked.findIndex((one) => one.endsWith(other));
  assert.ok(isBefore(`/sturdy/session/${session.id}`, '/session.js'), 'not after its script');
});

test('a session in which something happens between the two first reads has no gap', async () => {
  const session = await desk.session({ title: 'Between' });
  await desk.prompt(session, 'Before');
  const page = await desk.tab('/favicon.svg');
  // The list is answered late, by a server that has gone on since the session was read.
  const opened = page.waitForResponse((answer) => answer.url().includes(`/sturdy/session/${session.id}?`));
  await page.route('**/sturdy/overview?limit=60', async (route) => {
    await opened;
    await desk.prompt(session, 'Meanwhile');
    await route.fallback();
  });

  await page.goto(`${desk.server.url}/s/${session.id}`);
  await live(page);

  await page.locator('.prompt-text', { hasText: 'Meanwhile' }).waitFor();
  await desk.prompt(session, 'After');
  await page.locator('.prompt-text', { hasText: 'After' }).waitFor();
});

test('an exported file is small beside its session', async () => {
  const session = await desk.session({ title: 'Small' });
  await desk.prompt(session, 'Hello');

  const file = await desk.server.ask('GET', `/sturdy/session/${session.id}/export.html`);

  within('exported file without its session, packed bytes', gzipSync(file.text).length);
});
