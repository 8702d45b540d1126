// The unmodified OpenCode program shares its sessions to our service: its own server, its own client code.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Provider, says } from '../lib/provider.mjs';
import { Server } from '../lib/server.mjs';
import { soon, until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';

const opencode = fileURLToPath(new URL('../node_modules/.bin/opencode', import.meta.url));

/** The reference's own server. @param {World} world */
async function reference(world) {
  const env = world.env({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' });
  const child = spawn(opencode, ['serve', '--port', '0'], { cwd: world.project, env, stdio: ['ignore', 'pipe', 'pipe'] });
  after(() => child.kill('SIGKILL'));
  let said = '';
  const listening = new Promise((resolve, reject) => {
    child.on('exit', () => reject(new Error(`opencode serve ended: ${said}`)));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        said += text;
        const found = /listening on (http:\/\/\S+)/.exec(said);
        if (found) resolve(found[1]);
      });
    }
  });
  return soon('opencode serve listens', listening, 60_000);
}

test('OpenCode shares a session to us, keeps it up to date, and takes it back', async () => {
  const ours = await World.make();
  const theirs = await World.make();
  after(() => Promise.all([ours.remove(), theirs.remove()]));
  const service = await Server.start(ours, { args: ['--share'] });
  after(() => service.kill());
  const provider = await Provider.start();
  after(() => provider.stop());
  await theirs.configure({ ...provider.config(), share: 'manual', enterprise: { url: service.url } });
  const url = await reference(theirs);
  const ask = async (method, path, body) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}${path}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  };

  const session = await ask('POST', '/session', { title: 'Shared' });
  const { share } = await ask('POST', `/session/${session.id}/share`);
  assert.match(share.url, /^http:\/\/[^/]+\/share\/[0-9A-Za-z]{22}$/);
  const id = share.url.split('/').at(-1);
  provider.will(says('Seen from afar.'));
  await ask('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'hello' }] });

  const shown = async () => {
    const answer = await fetch(`${service.url}/api/share/${id}/data`);
    return answer.status === 200 ? answer.json() : answer.status;
  };
  const texts = (items) => items.filter((item) => item.type === 'part').map((item) => item.data.text);
  await until('the answer is shared', async () => texts(await shown()).includes('Seen from afar.'));
  const items = await shown();
  assert.equal(items[0].type, 'session');
  assert.equal(items[0].data.id, session.id);
  assert.ok(texts(items).includes('hello'));

  await ask('DELETE', `/session/${session.id}/share`);
  await until('the share is gone', async () => (await shown()) === 410);
});
