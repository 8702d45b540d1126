// What a page of another origin can do to a server without a password: nothing.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { chromium } from 'playwright-core';
import { openBrowser, openSite } from '../lib/browser.mjs';
import { Server } from '../lib/server.mjs';
import { until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';

const EVIL = 'evil.example';
const TOOLS = 'tools.example';
const REBOUND = 'rebound.example';

let world, site, server, browser, page, session;
/** Statuses that the server gave the page, as `METHOD /path status`. */
let seen;

before(async () => {
  world = await World.make();
  site = await openSite();
  server = await Server.start(world, { args: ['--cors', `http://${TOOLS}:${site.port}`] });
  browser = await openBrowser(chromium, { names: [EVIL, TOOLS, REBOUND] });
  session = await server.tell('POST', '/session', { title: 'mine' });
});

after(async () => {
  await browser?.close();
  await server?.stop();
  await site?.close();
  await world?.remove();
});

beforeEach(async () => {
  await page?.close();
  page = await browser.newPage();
  seen = [];
  // What the network saw, also where the browser keeps the answer from the page. The browser tells of a request and of
  // its status in either order, and may tell after the page has its answer.
  const network = await page.context().newCDPSession(page);
  const requests = new Map();
  const statuses = new Map();
  const note = (id) => {
    const request = requests.get(id);
    const status = statuses.get(id);
    if (!status || !request?.url.startsWith(server.url)) return;
    statuses.delete(id);
    seen.push(`${request.method} ${request.url.slice(server.url.length)} ${status}`);
  };
  network.on('Network.requestWillBeSent', ({ requestId, request }) => {
    requests.set(requestId, request);
    note(requestId);
  });
  network.on('Network.responseReceivedExtraInfo', ({ requestId, statusCode }) => {
    statuses.set(requestId, statusCode);
    note(requestId);
  });
  await network.send('Network.enable');
});

const visit = (name, port = site.port) => page.goto(`http://${name}:${port}/`);

/** Runs in the page: a request and what the page learns from it. */
const ask = (path, options = {}) =>
  page.evaluate(
    async ([url, options]) => {
      try {
        const response = await fetch(url, options);
        return { type: response.type, status: response.status, text: await response.text() };
      } catch (error) {
        return { error: String(error) };
      }
    },
    [server.url + path, options],
  );

/** Waits until the browser has told of each of these. */
async function told(wanted) {
  const missing = () => wanted.filter((line) => !seen.includes(line));
  await until('the browser tells', () => missing().length === 0).catch(() => assert.deepEqual(missing(), [], `seen: ${seen}`));
}

/** Nothing happened: one session, with its title, and without a message. */
async function nothingHappened() {
  const sessions = await server.tell('GET', '/session');
  assert.deepEqual(
    sessions.map(({ id, title }) => ({ id, title })),
    [{ id: session.id, title: 'mine' }],
  );
  assert.deepEqual(await server.tell('GET', `/session/${session.id}/message`), []);
}

const prompt = JSON.stringify({ parts: [{ type: 'text', text: 'hello' }] });

test('a page of another origin cannot send what needs no asking first', async () => {
  await visit(EVIL);
  const path = `/session/${session.id}/message`;

  const text = await ask(path, { method: 'POST', mode: 'no-cors', body: prompt });
  const untyped = await page.evaluate(
    ([url, body]) =>
      fetch(url, { method: 'POST', mode: 'no-cors', body: new Blob([body]) }).then((response) => response.type),
    [server.url + path, prompt],
  );
  const empty = await ask('/session', { method: 'POST', mode: 'no-cors' });
  const beacon = await page.evaluate(([url, body]) => navigator.sendBeacon(url, body), [server.url + path, prompt]);

  // The browser sends them, hides the answer from the page, and the server has refused.
  assert.deepEqual(
    [text, untyped, empty, beacon],
    [{ type: 'opaque', status: 0, text: '' }, 'opaque', { type: 'opaque', status: 0, text: '' }, true],
  );
  await told([`POST ${path} 403`, 'POST /session 403']);
  assert.deepEqual(seen.filter((line) => !line.endsWith(' 403')), []);
  await nothingHappened();
});

test('a form of another origin cannot be sent', async () => {
  await visit(EVIL);

  const shown = page.waitForNavigation();
  await page.evaluate((url) => {
    const form = document.createElement('form');
    Object.assign(form, { action: url, method: 'POST', enctype: 'text/plain' });
    form.innerHTML = `<input name='{"title":"' value='x"}'>`;
    document.body.append(form);
    form.submit();
  }, `${server.url}/session`);
  const answer = await shown;

  assert.equal(answer.status(), 403);
  assert.equal((await answer.json()).name, 'ForbiddenError');
  await nothingHappened();
});

test('a page of another origin reads nothing: neither answers, nor events, nor images, nor a WebSocket', async () => {
  await visit(EVIL);

  const config = await ask('/config');
  const changed = await ask(`/session/${session.id}`, { method: 'DELETE' });
  const stream = await page.evaluate(
    (url) =>
      new Promise((resolve) => {
        const events = new EventSource(url);
        events.onmessage = (event) => resolve(event.data);
        events.onerror = () => resolve(`error, ready state ${events.readyState}`);
      }),
    `${server.url}/event`,
  );
  const image = await page.evaluate(
    (url) =>
      new Promise((resolve) => {
        const image = new Image();
        image.onload = () => resolve('loaded');
        image.onerror = () => resolve('error');
        image.src = url;
      }),
    `${server.url}/experimental/tool/ids`,
  );
  const socket = await page.evaluate(
    (url) =>
      new Promise((resolve) => {
        const socket = new WebSocket(url);
        socket.onopen = () => resolve('open');
        socket.onerror = () => resolve('error');
      }),
    `${server.url.replace('http', 'ws')}/rpc`,
  );

  assert.match(config.error, /Failed to fetch/);
  assert.match(changed.error, /Failed to fetch/);
  assert.deepEqual([stream, image, socket], ['error, ready state 2', 'error', 'error']);
  await told(['GET /config 403', 'GET /event 403', 'GET /experimental/tool/ids 403']);
  await nothingHappened();
});

test('a name that was made to lead here is not served', async (t) => {
  // The page comes from the stranger while its name leads there; from then on it leads to the server.
  const stranger = await openSite();
  await visit(REBOUND, stranger.port);
  await stranger.close();
  const other = await World.make();
  t.after(() => other.remove());
  const rebound = await Server.start(other, { port: stranger.port });
  t.after(() => rebound.stop());

  const created = await page.evaluate(async () => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch('/session', { method: 'POST', headers, body: '{}' });
    return { status: response.status, body: await response.json() };
  });
  const read = await page.evaluate(async () => (await fetch('/config')).status);
  const stream = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const events = new EventSource('/event');
        events.onmessage = (event) => resolve(event.data);
        events.onerror = () => resolve('error');
      }),
  );

  assert.equal(created.status, 403);
  assert.match(created.body.data.message, /does not know the name "rebound\.example"/);
  assert.deepEqual([read, stream], [403, 'error']);
  assert.deepEqual(await rebound.tell('GET', '/session'), []);
});

test('a page of this machine and one that was allowed by name may use the API', async () => {
  for (const name of ['localhost', '127.0.0.1', TOOLS]) {
    await visit(name);
    const headers = { 'content-type': 'application/json' };

    const created = await ask('/session', { method: 'POST', headers, body: '{"title":"theirs"}' });
    const { id } = JSON.parse(created.text);
    const event = await page.evaluate(
      (url) =>
        new Promise((resolve, reject) => {
          const events = new EventSource(url);
          events.onmessage = (event) => resolve(JSON.parse(event.data).type);
          events.onerror = () => reject(new Error('no stream'));
        }),
      `${server.url}/event`,
    );
    const removed = await ask(`/session/${id}`, { method: 'DELETE' });

    assert.deepEqual([created.status, event, removed.status], [200, 'server.connected', 200], name);
  }
  await nothingHappened();
});

test('a link of another origin leads here, and shows what it leads to', async () => {
  await visit(EVIL);

  const shown = page.waitForNavigation();
  await page.evaluate((url) => location.assign(url), `${server.url}/global/health`);

  assert.deepEqual(await (await shown).json(), { healthy: true, version: '1.18.33' });
});
