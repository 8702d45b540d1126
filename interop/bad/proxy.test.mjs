// A proxy between the server and its provider, named by the environment as everywhere.

import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { describe, test } from 'node:test';
import { PROVIDER, Provider, says } from '../lib/provider.mjs';
import { said, text } from '../lib/sdk.mjs';
import { Server } from '../lib/server.mjs';
import { World } from '../lib/world.mjs';

/** Passes requests on to one place, and remembers where they wanted to go. */
async function proxy(port) {
  const wanted = [];
  const server = createServer((incoming, outgoing) => {
    wanted.push(incoming.url);
    const { pathname } = new URL(incoming.url);
    const passed = request({ host: '127.0.0.1', port, path: pathname, method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { wanted, url: `http://127.0.0.1:${server.address().port}`, close: () => (server.closeAllConnections(), server.close()) };
}

/** Asks one question through a server that has this in its environment. */
async function ask(t, { address, env }) {
  const provider = await Provider.start();
  const way = await proxy(provider.server.address().port);
  const world = await World.make();
  const config = provider.config();
  if (address) config.provider[PROVIDER].options.baseURL = address;
  await world.configure(config);
  const server = await Server.start(world, { env: env(way.url) });
  t.after(async () => {
    await server.stop();
    await provider.stop();
    way.close();
    await world.remove();
  });
  provider.will(says('Heard.'));
  const session = await server.tell('POST', '/session', { title: 'By proxy' });
  const answer = await server.tell('POST', `/session/${session.id}/message`, { parts: text('Hello') });
  assert.equal(said(answer), 'Heard.');
  return way.wanted;
}

describe('a proxy', { timeout: 120_000 }, () => {
  test('is asked for what lies elsewhere', async (t) => {
    const wanted = await ask(t, { address: 'http://models.example/v1', env: (url) => ({ HTTP_PROXY: url, http_proxy: url }) });

    assert.ok(wanted.includes('http://models.example/v1/chat/completions'), wanted.join());
  });

  test('is not asked for what NO_PROXY names', async (t) => {
    const wanted = await ask(t, { env: (url) => ({ http_proxy: url, HTTP_PROXY: url, NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1' }) });

    assert.deepEqual(wanted, []);
  });
});
