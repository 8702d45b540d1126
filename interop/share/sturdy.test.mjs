// One Sturdy shares to another: both are killed, links are narrowed and taken back from the command line.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Server, sturdy } from '../lib/server.mjs';
import { until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';

/** A world with its server, gone after the test. @param {string[]} args @param {object} [config] */
async function open(args, config = {}) {
  const world = await World.make();
  after(() => world.remove());
  await world.configure(config);
  const place = { world, args, server: await Server.start(world, { args }) };
  after(() => place.server.kill());
  return place;
}

/** The same store, another process, the same port. */
async function killed(place) {
  await place.server.kill();
  place.server = await Server.start(place.world, { args: place.args, port: place.server.port });
}

const ask = (place, session, text) =>
  place.server.tell('POST', `/session/${session}/message`, { model: { providerID: 'demo', modelID: 'echo' }, parts: [{ type: 'text', text }] });

/** Texts of a share, or the status of the refusal. */
async function shown(place, id, headers = {}) {
  const answer = await place.server.ask('GET', `/api/share/${id}/data`, undefined, headers);
  if (answer.status !== 200) return answer.status;
  return answer.json.filter((item) => item.type === 'part' && item.data.type === 'text').map((item) => item.data.text);
}

/** Runs `sturdy share …` against a server. */
async function share(place, ...args) {
  const done = await sturdy(place.world, ['share', ...args, '--server', place.server.url]);
  assert.equal(done.code, 0, done.stderr);
  return done.stdout.trim();
}

test('a session is shared to another server, through kills of both', async () => {
  const service = await open(['--share']);
  const place = await open([], { enterprise: { url: service.server.url } });
  const session = (await place.server.tell('POST', '/session', { title: 'Shared' })).id;

  const url = await share(place, 'create', session);
  assert.ok(url.startsWith(`${service.server.url}/share/`), url);
  const id = url.split('/').at(-1);
  await ask(place, session, 'first');
  await until('the first prompt is shared', async () => (await shown(service, id)).includes('first'));

  await service.server.kill();
  await ask(place, session, 'while the service was away');
  await killed(place);
  service.server = await Server.start(service.world, { args: service.args, port: service.server.port });
  await until('what was said meanwhile is shared', async () => (await shown(service, id)).includes('while the service was away'));

  await killed(service);
  await ask(place, session, 'afterwards');
  await until('it goes on', async () => (await shown(service, id)).includes('afterwards'));
  const texts = await shown(service, id);
  // The prompt and its echo, once each.
  assert.equal(texts.filter((text) => text === 'first').length, 2);

  await share(place, 'rm', session);
  await until('the share is gone', async () => (await shown(service, id)) === 410);
  assert.equal((await place.server.tell('GET', `/session/${session}`)).share, undefined);
});

test('the owner narrows a link, sees who used it, and takes it back', async () => {
  const place = await open(['--share']);
  const session = (await place.server.tell('POST', '/session', { title: 'Shared' })).id;
  await ask(place, session, 'hello');
  const url = await share(place, 'create', session);
  const id = url.split('/').at(-1);
  await until('it is shared', async () => (await shown(place, id)).includes('hello'));

  const link = new URL(await share(place, 'narrow', session, 'viewer', '--days', '7', '--label', 'review'));
  assert.equal(link.pathname, `/share/${id}`);
  const right = { authorization: `Bearer ${link.hash.slice(1)}` };
  assert.ok((await shown(place, id, right)).includes('hello'));
  const listed = await share(place, 'list', session);
  assert.match(listed, /review/);
  assert.match(await share(place, 'list'), new RegExp(session));
  const capability = link.hash.split('.')[2];
  await share(place, 'revoke', session, capability);
  assert.equal(await shown(place, id, right), 403);

  const audit = JSON.parse(await share(place, 'audit', session, '--json'));
  const methods = audit.map((row) => row.method);
  for (const method of ['create', 'append', 'attenuate', 'revoke']) assert.ok(methods.includes(method), `${method}: ${methods}`);
  assert.ok(audit.some((row) => row.method === 'attenuate' && row.address === '127.0'), JSON.stringify(audit));
  assert.doesNotMatch(JSON.stringify(audit), /stdy1/);
});

test('whoever has nowhere to share to is told what helps', async () => {
  const place = await open([]);
  const session = (await place.server.tell('POST', '/session', {})).id;

  const done = await sturdy(place.world, ['share', 'create', session, '--server', place.server.url]);

  assert.equal(done.code, 1);
  assert.match(done.stderr, /sturdy serve --share/);
});
