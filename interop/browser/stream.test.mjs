// A plain EventSource, as any page has it: cut off in the middle of an answer, it comes back by itself and misses nothing.

import assert from 'node:assert/strict';
import { createServer, connect } from 'node:net';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { openBrowser, openSite } from '../lib/browser.mjs';
import { Server } from '../lib/server.mjs';
import { until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';

let world, site, server, browser, line;

/** A line to the server that can be cut. */
async function openLine(url) {
  const open = new Set();
  const target = new URL(url);
  const relay = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    open.add(client);
    client.pipe(upstream).pipe(client);
    for (const [end, other] of [[client, upstream], [upstream, client]]) {
      end.on('error', () => other.destroy());
      end.on('close', () => other.destroy());
    }
    client.on('close', () => open.delete(client));
  });
  await new Promise((resolve) => relay.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (relay.address());
  return {
    url: `http://127.0.0.1:${port}`,
    cut: () => open.forEach((socket) => socket.destroy()),
    close: () => {
      open.forEach((socket) => socket.destroy());
      relay.close();
    },
  };
}

before(async () => {
  world = await World.make();
  site = await openSite();
  server = await Server.start(world, { env: { STURDY_DEMO_PACE_MS: '20' } });
  line = await openLine(server.url);
  browser = await openBrowser(chromium);
});

after(async () => {
  await browser?.close();
  line?.close();
  await server?.stop();
  await site?.close();
  await world?.remove();
});

test('an EventSource that is cut goes on where it was, with every event once and in order', async () => {
  const session = await server.tell('POST', '/session', {});
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${site.port}/`);
  await page.evaluate((url) => {
    const seen = (window.seen = { ids: [], deltas: [], opened: 0 });
    const source = new EventSource(`${url}/event`);
    source.onopen = () => (seen.opened += 1);
    source.onmessage = (message) => {
      const event = JSON.parse(message.data);
      seen.ids.push(event.id);
      if (event.type === 'message.part.delta') seen.deltas.push(event.properties.delta);
      if (event.type === 'session.idle') seen.idle = true;
    };
  }, line.url);
  const seen = () => page.evaluate(() => window.seen);
  await until('the stream is open', async () => (await seen()).opened === 1);

  const words = Array.from({ length: 120 }, (_, number) => `word${number}`).join(' ');
  const model = { providerID: 'demo', modelID: 'echo' };
  const answer = server.tell('POST', `/session/${session.id}/message`, { model, parts: [{ type: 'text', text: words }] });
  await until('some of it came', async () => (await seen()).deltas.length > 5);
  line.cut();
  const { parts } = await answer;
  await until('it came back and saw the end', async () => (await seen()).idle === true);

  const { ids, deltas, opened } = await seen();
  assert.ok(opened >= 2, `opened ${opened} times`);
  assert.equal(new Set(ids).size, ids.length, 'no event twice');
  const streamed = parts.filter((part) => part.type === 'text' || part.type === 'reasoning').map((part) => part.text).join('');
  assert.equal(deltas.join(''), streamed);
});
