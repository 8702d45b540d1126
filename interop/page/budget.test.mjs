// First loads stay small: bytes on the wire and requests, as the browser counts them.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Desk } from './desk.mjs';
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

  const list = await measured(desk, '/', (page) => page.locator('.list-row').first().waitFor());
  const opened = await measured(desk, `/s/${session.id}`, (page) => page.locator('.step .prose').last().waitFor());
  const shared = await measured(desk, `/share/${share.id}`, (page) => page.locator('.prompt-text').first().waitFor());

  within('script until the list, bytes', list.bytes.script);
  within('style, bytes', list.bytes.style);
  within('requests until the list', list.bytes.requests);
  within('script until a session, bytes', opened.bytes.script);
  within('script of the share page, bytes', shared.bytes.script);
  for (const { bytes } of [list, opened, shared]) assert.equal(bytes.font, 0);
});

test('an exported file is small beside its session', async () => {
  const session = await desk.session({ title: 'Small' });
  await desk.prompt(session, 'Hello');

  const file = await desk.server.ask('GET', `/sturdy/session/${session.id}/export.html`);

  within('exported file without its session, packed bytes', gzipSync(file.text).length);
});
