// A server with a password: the form, the cookie, a code for a phone, and a way out.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { calls, says } from '../lib/provider.mjs';
import { Desk, live, picture } from './desk.mjs';

/** @type {Desk} */
let desk;
before(async () => {
  desk = await Desk.open({ env: { STURDY_SERVER_PASSWORD: 'open sesame' }, config: { permission: { bash: 'ask' } } });
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
});

const enter = async (page, password) => {
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
};

test('a wrong password is refused in words, the right one opens the list, and it lasts', async () => {
  const page = await desk.tab('/board');
  await enter(page, 'wrong');
  await page.getByRole('alert').waitFor();

  await enter(page, 'open sesame');
  await live(page);
  await page.reload();
  await live(page);

  const kept = await page.evaluate(() => JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, location.href]));
  assert.doesNotMatch(kept, /sesame|sturdy_\d/);
});

test('a code lets a phone in once, and logging out ends it', async () => {
  const page = await desk.tab('/settings');
  await enter(page, 'open sesame');
  await page.getByRole('button', { name: 'Log in another device' }).click();
  const address = await page.locator('pre', { hasText: '/login#once=' }).innerText();

  const phone = await desk.tab(new URL(address).pathname + new URL(address).hash, { width: 360, height: 740, touch: true });
  await live(phone);
  assert.doesNotMatch(phone.url(), /once/);
  const again = await desk.tab(new URL(address).pathname + new URL(address).hash);
  await again.getByRole('alert').waitFor();

  await page.getByRole('button', { name: 'Log out here' }).click();
  await page.getByLabel('Password').waitFor();
});

test('a token for a program is made, seen once, and taken back', async () => {
  const page = await desk.tab('/settings');
  await enter(page, 'open sesame');
  const section = page.getByRole('region', { name: 'API tokens' });
  await section.getByLabel('Name').fill('the nightly build');
  await section.getByLabel('Permissions').selectOption('read');
  await section.getByRole('button', { name: 'Create token' }).click();
  const secret = await section.locator('pre').innerText();
  const ask = (method = 'GET') => desk.server.ask(method, '/session', undefined, { authorization: `Bearer ${secret}` });
  assert.equal((await ask()).status, 200);
  assert.equal((await ask('POST')).status, 403);

  await page.reload();
  await section.getByText('the nightly build').waitFor();
  assert.equal(await section.locator('pre').count(), 0);
  await section.getByRole('button', { name: 'Revoke' }).click();

  await section.getByText('None.').waitFor();
  assert.equal((await ask()).status, 401);
});

test('the log says which browser answered an ask', async () => {
  const page = await desk.tab('/new');
  await enter(page, 'open sesame');
  desk.provider.will(calls('bash', { command: 'echo hi', description: 'Says hi' }), says('It is done.'));
  await page.locator('.composer select').first().waitFor();
  await page.getByLabel('Ask, or say what to do').fill('Say hi');
  await page.keyboard.press('Enter');
  await page.locator('[data-ask]').getByRole('button', { name: 'Allow once' }).click();
  await page.locator('.step .prose', { hasText: 'It is done.' }).waitFor();

  await page.locator('.panel-tabs').getByRole('button', { name: 'Log' }).click();

  const answered = page.locator('.facts li', { hasText: 'permission answered' });
  await answered.getByText('Chrome, Linux').waitFor();
  await picture(page, 'log-actors');
  const [device] = await answered.locator('[title^="device:"]').all();
  assert.ok(device, 'its id is one hover away');
});

test('logging out closes the streams of other tabs and leaves nothing of anybody on the device', async () => {
  const page = await desk.tab('/new');
  await enter(page, 'open sesame');
  await live(page);
  await page.getByLabel('Ask, or say what to do').fill('something private');
  const other = await desk.tab('/settings', { context: page.context() });
  await live(other);
  assert.match(await other.evaluate(() => JSON.stringify({ ...localStorage })), /something private/);

  await other.getByRole('button', { name: 'Log out here' }).click();

  await other.getByLabel('Password').waitFor();
  await page.getByLabel('Password').waitFor();
  assert.doesNotMatch(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }])), /private/);
});
