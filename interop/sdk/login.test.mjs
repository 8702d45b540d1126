// A login at an MCP server, as the SDK and a browser do it, with the program killed in between.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createOpencodeClient } from '@opencode-ai/sdk/v2';
import { OAuth } from '../lib/oauth.mjs';
import { Server } from '../lib/server.mjs';
import { until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';

/** Below the ports that the system gives to connections by itself, which come and go while this runs. */
const PORT = 30_000 + (process.pid % 2_000);

describe('logins at MCP servers', { concurrency: 1, timeout: 120_000 }, () => {
  let world, oauth, server;
  const api = () => createOpencodeClient({ baseUrl: server.url, throwOnError: true });
  const status = async () => (await api().mcp.status()).data.web.status;
  /** A browser: follows where it is sent, and ends where it came back to. */
  const visit = async () => {
    const { authorizationUrl } = (await api().mcp.auth.start({ name: 'web' })).data;
    const page = await fetch(authorizationUrl);
    return { code: new URL(page.url).searchParams.get('code'), status: page.status, text: await page.text() };
  };

  before(async () => {
    world = await World.make();
    oauth = await OAuth.start();
    const web = { type: 'remote', url: `${oauth.url}/mcp`, oauth: { callbackPort: PORT } };
    await world.configure({ mcp: { web } });
    server = await Server.start(world);
  });
  after(async () => {
    await server?.stop();
    await oauth?.stop();
    await world?.remove();
  });

  test('the browser that comes back ends it', async () => {
    assert.equal(await status(), 'needs_auth');

    const page = await visit();

    assert.equal(page.status, 200);
    assert.match(page.text, /You are logged in/);
    await until('the server is connected', async () => (await status()) === 'connected');
    assert.equal((await api().mcp.auth.callback({ name: 'web', code: page.code })).data.status, 'connected');
  });

  test('the secret of the registration renews the token in the next process', async () => {
    await server.kill();
    const file = join(world.home, '.local/share/opencode/mcp-auth.json');
    const kept = JSON.parse(readFileSync(file, 'utf8'));
    assert.equal(kept.web.clientInfo.clientSecret, 'hush-client-1');
    kept.web.tokens.expiresAt = 1_700_000_000;
    writeFileSync(file, JSON.stringify(kept));
    server = await Server.start(world);

    assert.equal(await status(), 'connected');

    const who = { id: 'client-1', secret: 'hush-client-1' };
    assert.deepEqual(oauth.asked, [{ grant: 'authorization_code', ...who }, { grant: 'refresh_token', ...who }]);
  });

  test('the next login does not register again, and a forgotten one does', async () => {
    await visit();
    await until('the code is traded', () => oauth.asked.length === 3);
    assert.equal(oauth.registered, 1);

    await api().mcp.auth.remove({ name: 'web' });
    await visit();
    await until('the code is traded', () => oauth.asked.length === 4);

    assert.equal(oauth.registered, 2);
    assert.deepEqual(oauth.asked.at(-1), { grant: 'authorization_code', id: 'client-2', secret: 'hush-client-2' });
    assert.doesNotMatch(server.said.stdout + server.said.stderr, /hush-|token-|code-/);
  });
});
