// The share panel: a link, narrower links with an end, a QR code, revoking while somebody reads, and who did what.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { until } from '../lib/wait.mjs';
import { Desk, live, picture } from './desk.mjs';

/** @type {Desk} */
let desk;
before(async () => {
  desk = await Desk.open({ args: ['--share'] });
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
  await desk.rest();
});

const panel = (page) => page.getByRole('complementary', { name: 'Share' });

/** A session that is shared from its panel. */
async function shared(title) {
  const session = await desk.session({ title });
  await desk.prompt(session, `Words of ${title}`);
  const page = await desk.tab(`/s/${session.id}?panel=share`);
  await live(page);
  await panel(page).getByRole('button', { name: 'Create link', exact: true }).click();
  await panel(page).getByRole('button', { name: 'Create another link' }).waitFor();
  return { session, page };
}

/** Makes a narrower link and gives its address. */
async function grant(page, label) {
  await panel(page).getByLabel('Label').fill(label);
  await panel(page).getByRole('button', { name: 'Create another link' }).click();
  return panel(page).getByRole('group', { name: label }).innerText();
}

test('a link for one reader ends at once when it is revoked, and the other stays', async () => {
  const { session, page } = await shared('Two readers');
  const first = await grant(page, 'The colleague');
  const second = await grant(page, 'The auditor');
  assert.match(first, /\/share\/.+#stdy1\./);
  assert.notEqual(first, second);
  const rows = panel(page).locator('[data-grant]');
  await until('both are listed', async () => (await rows.count()) === 2);
  assert.match(await rows.filter({ hasText: 'The colleague' }).innerText(), /read.*until/s);
  await picture(page, 'grants');
  const one = await desk.tab(new URL(first).pathname + new URL(first).hash);
  const two = await desk.tab(new URL(second).pathname + new URL(second).hash);
  for (const reader of [one, two]) await reader.locator('.prompt-text', { hasText: 'Words of Two readers' }).waitFor();

  await panel(page).locator('[data-readers="2"]').waitFor();
  await rows.filter({ hasText: 'The colleague' }).getByText('1 reader now').waitFor();

  await panel(page).getByRole('button', { name: 'Revoke The colleague' }).click();

  await one.getByRole('alert').getByText('This share has ended').waitFor();
  await rows.filter({ hasText: 'The colleague' }).getByText('revoked').waitFor();
  await panel(page).locator('[data-readers="1"]').waitFor();
  await desk.prompt(session, 'Said after one was revoked');
  await two.locator('.prompt-text', { hasText: 'Said after one was revoked' }).waitFor();
  assert.equal(await one.getByText('Said after one was revoked').count(), 0);
  await panel(page).getByText('Audit log').click();
  const used = panel(page).locator('.audit li');
  await used.filter({ hasText: 'revoke' }).getByText('This server').waitFor();
  assert.equal(await used.filter({ hasText: 'attenuate' }).count(), 2);
  const kept = await page.evaluate(() => JSON.stringify([location.href, document.cookie, { ...localStorage }, { ...sessionStorage }]));
  assert.doesNotMatch(kept, /stdy1/, 'the right is in no address and no storage');
});

test('a link is drawn as a QR code, and all links are taken back together', async () => {
  const { session, page } = await shared('Drawn');
  await grant(page, 'A phone');
  await grant(page, 'A tablet');

  await panel(page).getByRole('button', { name: 'Show as QR code' }).first().click();
  const code = panel(page).getByRole('img', { name: 'QR code: Read-only link' });
  await code.waitFor();
  const box = await code.boundingBox();
  assert.ok(box && box.width > 150 && Math.abs(box.width - box.height) < 2, JSON.stringify(box));
  await panel(page).getByRole('button', { name: 'Revoke all' }).click();
  await until('both are revoked', async () => (await panel(page).locator('[data-grant].is-ended').count()) === 2);
  await panel(page).getByRole('button', { name: 'Stop sharing' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop sharing' }).click();

  await panel(page).getByRole('button', { name: 'Create link', exact: true }).waitFor();
  const { share } = await desk.server.tell('GET', `/session/${session.id}`);
  assert.equal(share, undefined);
});

test('a link that writes is bounded by kinds and by a number of changes', async () => {
  const { session, page } = await shared('Bounded');
  await panel(page).getByLabel('Permissions').selectOption('drop_box');
  await panel(page).getByLabel('Maximum number of changes').fill('5');
  await panel(page).getByText('Limit to some kinds of changes').click();
  await panel(page).getByLabel('messages', { exact: true }).check();
  await panel(page).getByLabel('parts', { exact: true }).check();

  const link = await grant(page, 'The box');

  const row = panel(page).locator('[data-grant]').filter({ hasText: 'The box' });
  await row.getByText('only message, part').waitFor();
  await row.getByText('0 of 5 changes').waitFor();
  const { shareID, reference } = await desk.server.tell('POST', `/sturdy/session/${session.id}/share`);
  const all = await desk.server.ask('GET', `/api/share/${shareID}/capabilities`, undefined, { authorization: `Bearer ${reference}` });
  const { scope, kinds, max_ops } = all.json.find((one) => one.label === 'The box');
  assert.deepEqual({ scope, kinds, max_ops }, { scope: ['append'], kinds: ['message', 'part'], max_ops: 5 });
  assert.match(link, /#stdy1\./);
});

test('all shares are listed, and each leads to its panel', async () => {
  const { page } = await shared('Listed');
  await panel(page).getByRole('link', { name: 'Shares' }).click();
  await page.getByRole('main', { name: 'Shares' }).waitFor();

  await page.getByRole('main').getByRole('link', { name: /Listed/ }).click();

  await panel(page).getByRole('button', { name: 'Create another link' }).waitFor();
  assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Listed');
});

test('a server that is not asked for a share says nothing of its right', async () => {
  const session = await desk.session({ title: 'Private' });
  const page = await desk.tab('/favicon.svg');
  const asked = [];
  page.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
  await page.goto(`${desk.server.url}/s/${session.id}?panel=share`);
  await live(page);

  await panel(page).getByRole('button', { name: 'Create link', exact: true }).waitFor();

  assert.deepEqual(asked.filter((one) => one.includes('/share')), []);
});

test('a narrow right to one session is made, used, looked at and taken back', async () => {
  const session = await desk.session({ title: 'Only this one' });
  await desk.prompt(session, 'Words for the holder');
  const other = await desk.session({ title: 'Not this one' });
  const page = await desk.tab(`/s/${session.id}?panel=access`);
  await live(page);
  const access = page.getByRole('complementary', { name: 'Access' });
  await access.getByText('Nobody has been granted access').waitFor();

  await access.getByLabel('Label').fill('The reviewer');
  await access.getByRole('checkbox', { name: 'send prompts' }).check();
  await access.getByText('Whoever can send prompts can run commands.').waitFor();
  await access.getByRole('checkbox', { name: 'send prompts' }).uncheck();
  await access.getByRole('button', { name: 'Grant access' }).click();
  const reference = await access.getByLabel('The reviewer', { exact: true }).innerText();
  const row = access.locator('[data-access]', { hasText: 'The reviewer' });
  await row.getByText(/read/).waitFor();
  const holder = (path) => desk.server.ask('GET', path, undefined, { authorization: `Bearer ${reference.trim()}` });

  assert.match(reference, /^stdy1\./);
  assert.match((await holder(`/session/${session.id}/message`)).text, /Words for the holder/);
  assert.ok((await holder(`/session/${other.id}/message`)).status >= 400);
  await row.getByText('Audit log').click();
  await row.locator('.audit li code').first().waitFor();
  await picture(page, 'access');
  await page.reload();
  await row.waitFor();
  assert.equal(await page.getByText('stdy1.').count(), 0, 'it is shown once');

  await row.getByRole('button', { name: 'Revoke The reviewer' }).click();

  await row.getByText('revoked').waitFor();
  assert.ok((await holder(`/session/${session.id}/message`)).status >= 400);
});

test('a share at another service says how much that service has yet to take', async () => {
  const service = await Desk.open({ args: ['--share'] });
  const owner = await Desk.open({ config: { enterprise: { url: service.server.url } } });
  try {
    const session = await owner.session({ title: 'Kept elsewhere' });
    await owner.prompt(session, 'before');
    await owner.server.tell('POST', `/session/${session.id}/share`, {});
    const page = await owner.tab(`/s/${session.id}?panel=share`);
    const side = panel(page);
    const waiting = side.getByText(/not sent yet/);
    await side.getByText(`Hosted by ${service.server.url}`).waitFor();
    await waiting.waitFor({ state: 'detached' });

    await service.server.kill();
    await owner.prompt(session, 'while it is away');
    await waiting.waitFor();
    await picture(page, 'share-waiting');
    // Was: a read that a newer one took the place of was said to have failed.
    assert.equal(await side.getByRole('alert').count(), 0);
    await service.restart();

    await waiting.waitFor({ state: 'detached' });
    owner.check();
  } finally {
    await owner.close();
    await service.close();
  }
});
