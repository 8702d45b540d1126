// What a person chooses: a narrower search, keys of their own, a model or a command by typing, a login at an MCP server.
// And what the server hears of a failure in the page.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { OAuth } from '../lib/oauth.mjs';
import { reservePort } from '../lib/port.mjs';
import { until } from '../lib/wait.mjs';
import { Desk, live, picture } from './desk.mjs';

/** @type {Desk} */
let desk;
/** @type {OAuth} */
let oauth;
before(async () => {
  oauth = await OAuth.start();
  const redirectUri = `http://127.0.0.1:${await reservePort()}/mcp/oauth/callback`;
  desk = await Desk.open({
    config: {
      mcp: { notes: { type: 'remote', url: `${oauth.url}/mcp`, oauth: { redirectUri } } },
      command: { tidy: { template: 'Tidy this: $ARGUMENTS', description: 'Tidies things' } },
    },
  });
});
after(async () => {
  await desk.close();
  await oauth.stop();
});
afterEach(async () => {
  desk.check();
  await desk.leave();
  await desk.rest();
});

const hits = (page) => page.getByRole('region', { name: 'In messages' }).locator('.hits a');

test('a search is narrowed by who said it, what it stands in, tool, project and time, and the address leads there again', async () => {
  const session = await desk.session({ title: 'Where a quokka was' });
  await desk.prompt(session, 'a quokka');
  await desk.server.tell('POST', `/session/${session.id}/shell`, { agent: 'build', command: 'echo one quokka' });
  const page = await desk.tab('/search?q=quokka');
  const choose = (label, value) => page.getByRole('combobox', { name: label }).selectOption(value);
  const kinds = async () => (await hits(page).locator('.list-meta > span:first-of-type').allInnerTexts()).join();
  const shows = (expected) => until(`the hits are ${expected}`, async () => (await kinds()) === expected);
  await shows('tool call,text,text');
  await page.getByRole('region', { name: 'In titles' }).getByText('Where a quokka was').waitFor();

  await choose('Author', 'By you');
  await shows('text');
  await page.getByRole('region', { name: 'In titles' }).waitFor({ state: 'detached' });
  await page.getByRole('searchbox', { name: 'Search' }).fill('quokk');
  await choose('Author', 'By the model');
  await shows('tool call,text');
  await choose('Tool', 'bash');
  await shows('tool call');
  await hits(page).getByText('bash', { exact: true }).waitFor();
  await choose('Part', 'In tool outputs');
  await shows('tool output');
  await choose('Time', 'Last 7 days');
  await choose('Project', { index: 1 });
  await shows('tool output');
  await picture(page, 'search-narrowed');
  const address = new URL(page.url()).searchParams;
  assert.deepEqual(Object.fromEntries(address), { q: 'quokk', project: session.projectID, role: 'assistant', kind: 'output', tool: 'bash', days: '7' });

  await page.reload();
  await shows('tool output');
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await shows('tool call,text,text');
  assert.equal(new URL(page.url()).search, '?q=quokk');
});

test('models, agents and commands are chosen by typing a few letters of them', async () => {
  const session = await desk.session({ title: 'To be driven' });
  await desk.prompt(session, 'Hello');
  const page = await desk.tab(`/s/${session.id}`);
  const composer = page.locator('.composer');
  await composer.getByLabel('Model').waitFor();
  const pick = async (typed, name) => {
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'Go to a session, page or command' });
    await field.fill(typed);
    const option = page.getByRole('option', { name });
    await option.waitFor();
    await picture(page, `palette-${typed}`);
    for (let step = 0; (await option.getAttribute('aria-selected')) !== 'true' && step < 12; step += 1) await field.press('ArrowDown');
    await field.press('Enter');
    await field.waitFor({ state: 'detached' });
  };
  const chosen = (label) => composer.getByLabel(label).locator('option:checked').getAttribute('value');

  await pick('story', /^Model: /);
  await until('the model is chosen', async () => (await chosen('Model')) === 'demo/story');
  await pick('plan', /^Agent: plan/);
  await until('the agent is chosen', async () => (await chosen('Agent')) === 'plan');
  await composer.getByRole('textbox').fill('my desk');
  await pick('tid', /^Command: \/tidy/);

  // What was typed is what the command is given.
  await until('the command is in the field', async () => (await composer.getByRole('textbox').inputValue()) === '/tidy my desk');
});

test('away from a composer no model is offered', async () => {
  const page = await desk.tab('/board');
  await live(page);
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Go to a session, page or command' }).fill('story');

  await page.getByRole('option', { name: /Search all sessions/ }).waitFor();
  assert.equal(await page.getByRole('option', { name: /^Model/ }).count(), 0);
});

test('a key of a person\'s own choice works in place of the usual one, and a key that is taken is said to be', async () => {
  const page = await desk.tab('/settings');
  const button = page.getByRole('button', { name: 'Change the key of “New session”' });
  await button.click();
  await button.getByText('Press a key').waitFor();

  await page.keyboard.press('j');
  await page.getByRole('alert').getByText('j is already used for “Next message”').waitFor();
  await page.keyboard.press('F2');
  await page.getByRole('alert').getByText('one character').waitFor();
  await page.keyboard.press('x');
  await button.getByText('x', { exact: true }).waitFor();
  await picture(page, 'keys');
  await page.getByRole('heading', { name: 'Shortcuts' }).click();
  await page.keyboard.press('n');
  assert.equal(new URL(page.url()).pathname, '/settings', 'the usual key does nothing any more');
  await page.keyboard.press('x');
  await page.waitForURL('**/new');

  // After a reload, and until the usual keys are taken again.
  await page.goto(`${desk.server.url}/settings`);
  await button.getByText('x', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Reset to defaults' }).click();
  await button.getByText('n', { exact: true }).waitFor();
  await button.click();
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Shortcuts' }).click();
  await page.keyboard.press('n');
  await page.waitForURL('**/new');
});

test('both keys of a way to a place can be changed', async () => {
  const page = await desk.tab('/settings');
  await page.getByRole('button', { name: 'Change the key of “Go to the board”' }).click();
  await page.keyboard.press('s');
  await page.getByRole('alert').getByText('s is already used for “Go to search”').waitFor();
  // Taken by another first key, which is not in its way.
  await page.keyboard.press('j');
  await page.getByRole('button', { name: 'Change the key of “Go to …, then one of the keys below”' }).click();
  await page.keyboard.press('G');
  await page.getByRole('heading', { name: 'Shortcuts' }).click();

  await page.keyboard.press('g');
  await page.keyboard.press('j');
  assert.equal(new URL(page.url()).pathname, '/settings', 'the usual first key does nothing any more');
  await page.keyboard.press('Shift+G');
  await page.keyboard.press('b');
  assert.equal(new URL(page.url()).pathname, '/settings', 'nor does the usual second one');
  await page.keyboard.press('Shift+G');
  await page.keyboard.press('j');
  await page.waitForURL('**/board');
});

test('an MCP server that wants a login is logged in to from the settings, and out again', async () => {
  const page = await desk.tab('/settings');
  const servers = page.getByRole('region', { name: 'MCP servers' });
  await servers.getByText('needs a login').waitFor();
  await servers.getByRole('button', { name: 'Log in to notes' }).click();
  const link = servers.getByRole('link', { name: 'Open the login page' });
  await link.waitFor();
  await picture(page, 'mcp-login');
  assert.match((await link.getAttribute('href')) ?? '', new RegExp(`^${oauth.url}/authorize`));

  const [opened] = await Promise.all([page.waitForEvent('popup'), link.click()]);
  await opened.waitForLoadState();
  await opened.close();

  await servers.getByText('connected').waitFor();
  await link.waitFor({ state: 'detached' });

  // And out again: what is connected is connected anew, which wants a login.
  await servers.getByRole('button', { name: 'Log out of notes' }).click();
  await servers.getByText('needs a login').waitFor();
  assert.equal(await servers.getByRole('button', { name: 'Log out of notes' }).count(), 0);
  await servers.getByRole('button', { name: 'Log in to notes' }).waitFor();
  assert.deepEqual(await desk.server.tell('GET', '/mcp'), { notes: { status: 'needs_auth' } });
});

test('a failure inside the page is in the server\'s log once, without what somebody wrote', async () => {
  const page = await desk.tab('/board');
  await live(page);
  const before = desk.server.said.stderr.length;
  const failed = () => page.evaluate(() => void setTimeout(() => {
    function draw() {
      throw new TypeError('cannot draw "a secret"');
    }
    draw();
  }));

  const told = page.waitForResponse((answer) => new URL(answer.url()).pathname === '/log');
  await failed();
  assert.equal((await told).status(), 200);
  await failed();
  await until('both failures were seen', () => desk.tabs[0].wrong.length === 2);
  desk.tabs[0].wrong.splice(0);

  const said = () => desk.server.said.stderr.slice(before);
  await until('the log has it', () => said().includes('TypeError: cannot draw …'));
  assert.equal(said().split('cannot draw').length - 1, 1);
  assert.ok(!said().includes('a secret'), said());
});
