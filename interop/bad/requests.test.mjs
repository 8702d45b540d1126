// Requests that cannot be met: directories that are not there, bodies that are too large, configuration
// that cannot be read. Each is told why, and the server goes on.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { says } from '../lib/provider.mjs';
import { said, text } from '../lib/sdk.mjs';

const it = bench();
const MIB = 1024 * 1024;

afterEach(async () => assert.equal((await it.server.ask('GET', '/global/health')).status, 200));

test('a directory that is not there has no sessions and can have some', async () => {
  const nowhere = join(it.world.root, 'not', 'there');
  const where = `directory=${encodeURIComponent(nowhere)}`;

  assert.deepEqual((await it.server.ask('GET', `/session?${where}`)).json, []);
  const made = await it.server.tell('POST', `/session?${where}`);

  assert.equal(made.directory, nowhere);
  assert.equal(made.projectID, 'global');
  const model = { providerID: 'demo', modelID: 'echo' };
  const answer = await it.server.tell('POST', `/session/${made.id}/message`, { model, parts: text('Where am I?') });
  assert.match(said(answer), /Where am I\?/);
});

test('a body above the limit is refused by its announced length', async () => {
  const body = { title: 'x'.repeat(MIB + 1) };

  const { status, json } = await it.server.ask('POST', '/session', body);

  assert.equal(status, 413);
  assert.equal(json.name, 'PayloadTooLargeError');
  assert.match(json.data.message, /1048576/);
});

test('a body without a length is refused when it has become too large', async () => {
  const status = await new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    const asked = request(`${it.server.url}/session`, { method: 'POST', headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
      asked.destroy();
    });
    // The server may hang up before all was sent.
    asked.on('error', (error) => (asked.res ? undefined : reject(error)));
    asked.write('{"title":"');
    for (let number = 0; number < 20; number++) asked.write('x'.repeat(MIB / 10));
    asked.end('"}');
  });

  assert.equal(status, 413);
});

test('a large prompt below its own limit is kept whole', async () => {
  const { id } = await it.server.tell('POST', '/session');
  const large = 'A line of a large file.\n'.repeat(200_000);

  const kept = await it.server.tell('POST', `/session/${id}/message`, { noReply: true, parts: text(large) });

  assert.equal(said(kept), large);
  const [stored] = await it.server.tell('GET', `/session/${id}/message`);
  assert.equal(said(stored), large);
});

test('a prompt above its limit is refused and nothing is stored', async () => {
  const { id } = await it.server.tell('POST', '/session');

  const { status } = await it.server.ask('POST', `/session/${id}/message`, { parts: text('x'.repeat(33 * MIB)) });

  assert.equal(status, 413);
  assert.deepEqual(await it.server.tell('GET', `/session/${id}/message`), []);
});

test('wrong types are refused with their place', async () => {
  const { id } = await it.server.tell('POST', '/session');
  const wrong = [{ parts: 'hello' }, { parts: [{ type: 'text' }] }, { parts: [{ type: 'smell', text: 'x' }] }, [], null, 7];

  for (const body of wrong) {
    const { status, json } = await it.server.ask('POST', `/session/${id}/message`, JSON.stringify(body));
    assert.equal(status, 400, JSON.stringify(body));
    assert.equal(json.name, 'BadRequest');
    assert.ok(json.data.message.length > 0);
  }
  assert.deepEqual(await it.server.tell('GET', `/session/${id}/message`), []);
});

test('deep nesting is refused and does not end the server', async () => {
  const deep = `{"metadata":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`;

  const { status } = await it.server.ask('POST', '/session', deep);

  assert.equal(status, 400);
});

test('a configuration that cannot be read is told on every route of its directory, with its line', async () => {
  const directory = await it.world.directory('broken');
  await writeFile(join(directory, 'opencode.json'), '{\n  "model": 7\n}\n');
  const where = `directory=${encodeURIComponent(directory)}`;

  for (const path of ['/config', '/agent', '/config/providers']) {
    const { status, json } = await it.server.ask('GET', `${path}?${where}`);
    assert.equal(status, 400, path);
    assert.equal(json.name, 'ConfigInvalidError');
    assert.match(json.data.path, /opencode\.json/);
    assert.ok(json.data.issues.length > 0);
  }
  const { id } = await it.server.tell('POST', '/session');
  it.provider.will(says('Others are served.'));
  assert.equal(said(await it.server.tell('POST', `/session/${id}/message`, { parts: text('You?') })), 'Others are served.');
});

test('no answer carries the key of the provider', async () => {
  for (const path of ['/config', '/config/providers', '/provider', '/global/config', '/api/provider', '/api/model']) {
    const { text } = await it.server.ask('GET', path);
    assert.ok(!text.includes('key-of-the-test'), path);
  }
});
