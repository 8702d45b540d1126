// The list and what stands around the conversation: filters, widths of the columns, marks beside it, the name in its header.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { says } from '../lib/provider.mjs';
import { until } from '../lib/wait.mjs';
import { Desk, live, picture } from './desk.mjs';

/** @type {Desk} */
let desk;
before(async () => {
  desk = await Desk.open();
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
  await desk.rest();
});

const titles = (page) => page.locator('.list-title').allInnerTexts();

test('the list shows one state, only changed sessions or archived ones, and keeps that after a reload', async () => {
  const quiet = await desk.session({ title: 'Quiet' });
  const old = await desk.session({ title: 'Put away' });
  await desk.server.tell('PATCH', `/session/${old.id}`, { time: { archived: Date.now() } });
  const changed = await desk.session({ title: 'Changed files' });
  desk.provider.will((reply) => reply.call('write', { filePath: 'made.txt', content: 'one\n' }, 'a').finish(), says('Done.'));
  await desk.server.tell('POST', `/session/${changed.id}/message`, { parts: [{ type: 'text', text: 'write' }] });
  const busy = await desk.session({ title: 'At work' });
  desk.provider.will(async (reply) => {
    reply.text('and on');
    await reply.gone;
  });
  await desk.server.tell('POST', `/session/${busy.id}/prompt_async`, { parts: [{ type: 'text', text: 'go on' }] });
  const page = await desk.tab('/');
  await live(page);
  await until('all are listed', async () => (await titles(page)).length === 3);

  await page.getByRole('button', { name: 'More filters' }).click();
  await page.getByLabel('State').selectOption('busy');
  await until('one is at work', async () => (await titles(page)).join() === 'At work');
  await page.reload();
  await live(page);
  await until('it is kept', async () => (await titles(page)).join() === 'At work');
  await page.getByRole('button', { name: 'More filters, 1 in use' }).click();
  await page.getByLabel('State').selectOption('');
  await page.getByLabel('With changed files').check();
  await until('one has changes', async () => (await titles(page)).join() === 'Changed files');
  await picture(page, 'list-filters');
  await page.getByLabel('With changed files').uncheck();
  await page.getByLabel('Show archived').check();
  await until('the archived one is there', async () => (await titles(page)).includes('Put away'));
  await page.getByLabel('Project').selectOption({ index: 1 });
  assert.ok((await titles(page)).includes(quiet.title));
});

test('columns are made wider by dragging and by keys, folded, and stay so', async () => {
  const session = await desk.session({ title: 'Wide' });
  await desk.prompt(session, 'Hello');
  const page = await desk.tab(`/s/${session.id}?panel=todo`);
  await live(page);
  const widths = () => page.evaluate(() => [document.querySelector('.rail').offsetWidth, document.querySelector('.side').offsetWidth]);
  assert.deepEqual(await widths(), [280, 420]);
  const edge = page.getByRole('separator', { name: 'List width' });
  const box = await edge.boundingBox();

  await page.mouse.move(box.x + box.width / 2, 300);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 60, 300);
  await page.mouse.up();
  await page.getByRole('separator', { name: 'Panel width' }).focus();
  await page.keyboard.press('ArrowLeft');

  await until('both are wider', async () => String(await widths()) === '340,436');
  assert.equal(await edge.getAttribute('aria-valuenow'), '340');
  await page.reload();
  await live(page);
  assert.deepEqual(await widths(), [340, 436]);
  await edge.focus();
  await page.keyboard.press('Home');
  await until('the usual width is back', async () => (await widths())[0] === 280);
  await page.getByRole('button', { name: 'Hide the list' }).click();
  await until('the list is folded', async () => (await widths())[0] < 60);
  await page.getByRole('button', { name: 'Show the list' }).click();
  await until('the list is there', async () => (await widths())[0] === 280);
});

test('forks and sub-agents stand below the session they came from, where the newest of them would', async () => {
  const origin = await desk.session({ title: 'The origin' });
  await desk.prompt(origin, 'first words');
  const other = await desk.session({ title: 'Another session' });
  await desk.prompt(other, 'words');
  const child = await desk.session({ title: 'A sub-agent', parentID: origin.id });
  const fork = await desk.server.tell('POST', `/session/${origin.id}/fork`, {});
  const page = await desk.tab('/');
  await live(page);
  const rows = page.locator('.list-row');
  await rows.filter({ hasText: fork.title }).first().waitFor();

  const titles = (await rows.locator('.list-title').allInnerTexts()).filter((title) => [origin, other, child, fork].some((one) => one.title === title));
  assert.deepEqual(titles, ['The origin', fork.title, 'A sub-agent', 'Another session']);
  // A fork has a sign, a sub-agent has none.
  const isIn = (title) => page.locator('.list-row.is-child', { has: page.getByText(title, { exact: true }) });
  assert.equal(await isIn(fork.title).getByText('Fork', { exact: true }).count(), 1);
  assert.equal(await isIn('A sub-agent').getByText('Fork', { exact: true }).count(), 0);
  assert.equal(await isIn('Another session').count(), 0);
});

test('a list that is folded stays so on the way from page to page', async () => {
  // Was: going to another kind of page showed it again, on a tablet over the page.
  const page = await desk.tab('/');
  await live(page);
  await page.getByRole('button', { name: 'Hide the list' }).click();
  await page.locator('.list').waitFor({ state: 'hidden' });
  await page.getByRole('link', { name: 'Board' }).click();
  await page.getByRole('heading', { name: 'Board' }).waitFor();
  assert.equal(await page.locator('.list').isVisible(), false);

  const tablet = await desk.tab('/', { width: 820, height: 1100 });
  await live(tablet);
  await tablet.getByRole('link', { name: 'Usage' }).click();
  await tablet.getByRole('heading', { name: 'Usage' }).waitFor();
  assert.equal(await tablet.locator('.list').isVisible(), false);
});

test('on a tablet the list is a drawer that closes when a session is opened', async () => {
  const session = await desk.session({ title: 'Here' });
  const other = await desk.session({ title: 'There' });
  const page = await desk.tab(`/s/${session.id}`, { width: 820, height: 1100 });
  await live(page);
  assert.equal(await page.getByRole('link', { name: 'There' }).isVisible(), false);

  await page.getByRole('button', { name: 'Show the list' }).click();
  await page.getByRole('link', { name: 'There' }).click();

  await page.waitForURL(`**/s/${other.id}`);
  await page.getByRole('link', { name: 'There' }).waitFor({ state: 'hidden' });
});

test('marks beside the conversation lead to prompts and errors', async () => {
  const session = await desk.session({ title: 'Marked' });
  desk.provider.will((reply) => reply.refuse(401, 'The key is wrong'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'fail' }] });
  for (let i = 0; i < 12; i += 1) await desk.prompt(session, `Prompt ${i}\n\n${'line\n\n'.repeat(10)}`);
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  const marks = page.locator('.marks-rail a');
  await until('every prompt and the error have one', async () => (await marks.count()) === 14);
  assert.equal(await page.locator('.marks-rail a.is-error').getAttribute('title'), 'The key is wrong');

  await marks.nth(2).click();

  await page.locator('.prompt-text', { hasText: 'Prompt 0' }).waitFor();
  await page.getByRole('button', { name: 'Go to the end' }).waitFor();
  await desk.prompt(session, 'One more');
  await page.getByRole('button', { name: '2 new below' }).click();
  await page.locator('.prompt-text', { hasText: 'One more' }).waitFor();
});

test('a session is renamed in its header by key, and Escape leaves its name', async () => {
  const session = await desk.session({ title: 'Before' });
  await desk.prompt(session, 'Hello');
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.locator('.prompt').focus();

  await page.keyboard.press('e');
  await page.getByRole('textbox', { name: 'Rename' }).fill('After');
  await page.keyboard.press('Enter');

  await page.getByRole('heading', { name: 'After', exact: true }).waitFor();
  assert.equal((await desk.server.tell('GET', `/session/${session.id}`)).title, 'After');
  await page.locator('.prompt').focus();
  await page.keyboard.press('e');
  await page.getByRole('textbox', { name: 'Rename' }).fill('Never');
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'After', exact: true }).waitFor();
});

test('the session that was open last stands beside the list', async () => {
  const session = await desk.session({ title: 'Open last' });
  await desk.prompt(session, 'Where was I');
  const page = await desk.tab(`/s/${session.id}`);
  await page.locator('.prompt-text').waitFor();

  await page.goto(`${desk.server.url}/`);

  await page.locator('.prompt-text', { hasText: 'Where was I' }).waitFor();
  await page.goto(`${desk.server.url}/board`);
  await page.getByRole('heading', { name: 'Board' }).waitFor();
});
