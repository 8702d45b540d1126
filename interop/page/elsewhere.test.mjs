// The share panel of a session whose share another service keeps: the same links, the same verbs.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { Server } from '../lib/server.mjs';
import { until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';
import { Desk, live } from './desk.mjs';

/** @type {Desk} */
let desk;
let service;
let place;
before(async () => {
  place = await World.make();
  await place.configure({});
  service = await Server.start(place, { args: ['--share'] });
  desk = await Desk.open({ config: { enterprise: { url: service.url } } });
});
after(async () => {
  await desk.close();
  await service.stop();
  await place.remove();
});
afterEach(async () => {
  desk.check();
  await desk.leave();
});

test('a share at another service is narrowed, hidden, looked at and taken back from its panel', async () => {
  const session = await desk.session({ title: 'Elsewhere' });
  await desk.prompt(session, 'Words for elsewhere');
  const page = await desk.tab(`/s/${session.id}?panel=share`);
  await live(page);
  const panel = page.getByRole('complementary', { name: 'Share' });
  const asked = [];
  page.on('request', (request) => asked.push(new URL(request.url()).origin));
  await panel.getByRole('button', { name: 'Create link', exact: true }).click();
  await panel.getByText(`Hosted by ${service.url}.`).waitFor();
  const { shareID } = await desk.server.tell('POST', `/sturdy/session/${session.id}/share`);
  const status = async (right) => (await service.ask('GET', `/api/share/${shareID}/data`, undefined, right ? { authorization: `Bearer ${right}` } : {})).status;

  await panel.getByLabel('Label').fill('The colleague');
  await panel.getByRole('button', { name: 'Create another link' }).click();
  const link = await panel.getByRole('group', { name: 'The colleague' }).innerText();
  const right = new URL(link).hash.slice(1);
  assert.ok(link.startsWith(`${service.url}/share/${shareID}#stdy1.`), link);
  assert.equal(await status(right), 200);

  await panel.getByLabel('Anyone with this link can read').uncheck();
  await until('the plain link opens nothing', async () => (await status()) === 401);
  assert.equal(await status(right), 200);
  await panel.getByRole('button', { name: 'Re-authenticate writers' }).click();
  await page.getByText('Writers must authenticate again.', { exact: true }).waitFor();
  await panel.getByRole('button', { name: 'Revoke The colleague' }).click();
  await panel.locator('[data-grant]').getByText('revoked').waitFor();
  assert.equal(await status(right), 403);
  await panel.getByText('Audit log').click();
  for (const verb of ['attenuate', 'visibility', 'rotate', 'revoke']) await panel.locator('.audit li code', { hasText: new RegExp(`^${verb}$`) }).first().waitFor();
  assert.deepEqual([...new Set(asked)], [desk.server.url], 'the page asks its own server only');
});
