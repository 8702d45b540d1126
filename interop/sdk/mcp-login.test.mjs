// A login at an MCP server from the command line: `sturdy mcp login`, the browser, `sturdy mcp list`, `sturdy mcp logout`.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { OAuth } from '../lib/oauth.mjs';
import { Server, launch, sturdy } from '../lib/server.mjs';
import { soon, until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';

/** Below the ports that the system gives to connections by itself, which come and go while this runs. */
const PORT = 28_000 + (process.pid % 2_000);

describe('sturdy mcp', { concurrency: 1, timeout: 120_000 }, () => {
  let world, oauth, server;
  const mcp = (...args) => sturdy(world, ['mcp', ...args, '--data-dir', world.data]);
  const statusOf = async () => JSON.parse((await mcp('list', '--json')).stdout).web.status;

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

  /** Begins a login, opens the page it names as a browser would, and waits for its end. */
  async function logIn() {
    const login = launch(world, ['mcp', 'login', 'web', '--data-dir', world.data]);
    try {
      const [url] = await until('the page is named', () => /http:\/\/\S+\/authorize\S+/.exec(login.said.stderr));
      const page = await fetch(url);
      assert.match(await page.text(), /You are logged in/);
      return await soon('the login ends', login.ended);
    } finally {
      login.child.kill('SIGKILL');
    }
  }

  test('login waits for the browser and says that the server is connected', async () => {
    assert.equal(await statusOf(), 'needs_auth');
    assert.match((await mcp('list')).stdout, /web +needs auth +run: sturdy mcp login web/);

    const { code, stderr } = await logIn();

    assert.equal(code, 0, stderr);
    assert.match(stderr, /Logged in at web; it is connected\./);
    assert.equal(await statusOf(), 'connected');
    assert.equal(oauth.registered, 1);
  });

  test('logout forgets the login, and the next one begins anew', async () => {
    const out = await mcp('logout', 'web');
    assert.equal(out.code, 0, out.stderr);
    assert.match(out.stderr, /Logged out of web\./);
    await server.stop();
    server = await Server.start(world);
    await until('it wants a login again', async () => (await statusOf()) === 'needs_auth');

    const { code, stderr } = await logIn();

    assert.equal(code, 0, stderr);
    assert.equal(oauth.registered, 2);
    assert.equal(await statusOf(), 'connected');
  });

  test('a server that is not configured is an error that says so', async () => {
    const login = await mcp('login', 'nobody');
    const logout = await mcp('logout', 'nobody');

    assert.deepEqual([login.code, logout.code], [1, 1]);
    assert.match(login.stderr, /nobody/);
    assert.match(logout.stderr, /nobody/);
  });

  test('no secret is printed', async () => {
    assert.doesNotMatch(server.said.stdout + server.said.stderr, /hush-|token-|code-/);
  });
});
