// Sharing from the clients people have: `/share` and `/unshare` in the unmodified terminal, the npm SDK, and `opencode import`
// of a link to this server.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createOpencodeClient } from '@opencode-ai/sdk/v2';
import { bench } from '../lib/bench.mjs';
import { attach } from '../lib/opencode.mjs';
import { says } from '../lib/provider.mjs';
import { soon, until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';

const it = bench({ args: ['--share'] });
const opencode = fileURLToPath(new URL('../node_modules/.bin/opencode', import.meta.url));

/** Texts of a share, or the status of the refusal. */
async function shown(url) {
  const answer = await it.server.ask('GET', `/api/share/${url.split('/').at(-1)}/data`);
  if (answer.status !== 200) return answer.status;
  return answer.json.filter((item) => item.type === 'part' && item.data.type === 'text').map((item) => item.data.text);
}

/** The unmodified program, to its end. @param {World} world @param {string[]} args */
async function run(world, args) {
  const env = world.env({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' });
  const child = spawn(opencode, args, { cwd: world.project, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, said }));
  });
  try {
    return await soon(`opencode ${args[0]} ends`, ended, 60_000);
  } finally {
    child.kill('SIGKILL');
  }
}

describe('sharing', { concurrency: 1, timeout: 300_000 }, () => {
  test('with /share and /unshare in the terminal', async (t) => {
    it.provider.will(says('Seen from afar.'));
    const terminal = await attach(it.world, it.server.url);
    t.after(() => terminal.close());
    await terminal.shows('Ask anything');
    await terminal.type('Say it');
    await terminal.shows('Say it');
    await terminal.press('Enter');
    await terminal.shows('Seen from afar.');
    const newest = async () => (await it.server.tell('GET', '/session'))[0];

    await terminal.command('/share');
    await terminal.shows('Are you sure you want to share it?');
    await terminal.dismiss('Enter', 'Are you sure you want to share it?');
    const url = await until('the session has a link', async () => (await newest()).share?.url);
    await until('the answer is shared', async () => (await shown(url)).includes?.('Seen from afar.'));

    await terminal.command('/unshare');
    await until('the link is forgotten', async () => (await newest()).share === undefined);
    await until('the share is gone', async () => (await shown(url)) === 410);
  });

  test('with the npm SDK', async () => {
    const api = createOpencodeClient({ baseUrl: it.server.url, throwOnError: true });
    const session = (await api.session.create({ title: 'From the SDK' })).data;
    it.provider.will(says('An answer.'));
    await api.session.prompt({ sessionID: session.id, parts: [{ type: 'text', text: 'A question' }] });

    const { share } = (await api.session.share({ sessionID: session.id })).data;
    await until('the answer is shared', async () => (await shown(share.url)).includes?.('An answer.'));
    const again = (await api.session.share({ sessionID: session.id })).data.share;
    assert.deepEqual(again, share);

    const taken = (await api.session.unshare({ sessionID: session.id })).data;
    assert.equal(taken.share, undefined);
    assert.equal((await api.session.get({ sessionID: session.id })).data.share, undefined);
    await until('the share is gone', async () => (await shown(share.url)) === 410);
  });

  test('and `opencode import` of a link reads the session back', async (t) => {
    const session = (await it.server.tell('POST', '/session', { title: 'To be imported' })).id;
    it.provider.will(says('The answer.'));
    await it.server.tell('POST', `/session/${session}/message`, { parts: [{ type: 'text', text: 'The question' }] });
    const { share } = await it.server.tell('POST', `/session/${session}/share`);
    await until('the answer is shared', async () => (await shown(share.url)).includes?.('The answer.'));
    const world = await World.make();
    t.after(() => world.remove());
    await world.configure({});

    const imported = await run(world, ['import', share.url]);

    assert.equal(imported.code, 0, imported.said);
    const exported = await run(world, ['export', session]);
    assert.equal(exported.code, 0, exported.said);
    for (const text of ['To be imported', 'The question', 'The answer.']) assert.ok(exported.said.includes(text), exported.said);
  });
});
