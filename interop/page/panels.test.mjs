// What stands beside the conversation: trust, files at a line, usage that leads to its sessions.

import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { calls, MAIN, says } from '../lib/provider.mjs';
import { Gate, until } from '../lib/wait.mjs';
import { Desk, ECHO, live, picture } from './desk.mjs';

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

test('a project that wants to start something is asked about by the page, and what it wants is in sight', async () => {
  const marker = (name) => ({ type: 'local', command: ['sh', '-c', `touch ${name}`] });
  const other = await Desk.open({ env: { STURDY_TRUST_ALL: '0' }, config: { mcp: { helper: marker('marker-of-mcp') } } });
  try {
    const session = await other.session({ title: 'Trust' });
    const prompt = (text) => other.server.tell('POST', `/session/${session.id}/prompt_async`, { model: ECHO, parts: [{ type: 'text', text }] });
    await prompt('first');
    const page = await other.tab(`/s/${session.id}`, { width: 360, height: 740, touch: true });
    const dock = page.getByRole('region', { name: 'Do you trust this project?' });
    await dock.getByText(/helper/).first().waitFor();
    await dock.getByText(other.world.project).waitFor();
    await picture(page, 'trust-phone');
    assert.equal(existsSync(join(other.world.project, 'marker-of-mcp')), false);

    await dock.getByRole('button', { name: 'Trust until the server stops' }).tap();

    await dock.waitFor({ state: 'detached' });
    await page.locator('.step .prose', { hasText: 'first' }).waitFor();
    await prompt('second');
    await until('the server of the project was started', () => existsSync(join(other.world.project, 'marker-of-mcp')));
    other.check();
  } finally {
    await other.close();
  }
});

test('a file that a tool read is opened at its line, and the address leads there again', async () => {
  writeFileSync(join(desk.world.project, 'long.txt'), Array.from({ length: 3000 }, (_, i) => `line ${i + 1}`).join('\n'));
  const session = await desk.session({ title: 'Files' });
  desk.provider.will((reply) => reply.call('read', { filePath: join(desk.world.project, 'long.txt'), offset: 2500, limit: 5 }).finish(), says('Read.'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'Read it' }] });
  const page = await desk.tab(`/s/${session.id}`);
  await page.locator('.card', { hasText: 'long.txt' }).locator('summary').click();
  await page.getByRole('link', { name: 'Open long.txt' }).click();

  const here = page.locator('.at-line');
  await here.getByText('line 2500', { exact: true }).waitFor();
  assert.match(page.url(), /panel=files&file=.*long\.txt&line=2500/);
  await until('the line is in sight', async () => {
    const box = await here.boundingBox();
    return box !== null && box.y > 50 && box.y < 850;
  });
  await page.reload();
  await here.getByText('line 2500', { exact: true }).waitFor();

  await page.locator('.side').getByRole('link', { name: 'Back' }).click();
  await page.locator('.side').getByRole('button', { name: 'long.txt' }).click();
  await page.locator('.side .code-scroll', { hasText: 'line 1' }).waitFor();
});

test('a file that is not there says so', async () => {
  const session = await desk.session({ title: 'No file' });
  const page = await desk.tab(`/s/${session.id}?panel=files&file=nowhere.txt`);

  await until('something is said', async () => (await page.locator('.side-body').innerText()).length > 15);
  assert.equal(await page.locator('.at-line').count(), 0);
});

test('usage is shown for a period and a measure, and leads to its sessions', async () => {
  const session = await desk.session({ title: 'It was used' });
  await desk.prompt(session, 'Use some tokens');
  const page = await desk.tab('/usage');
  await page.locator('.chart rect').last().waitFor({ state: 'attached' });
  assert.equal(await page.locator('.chart rect').count(), 30);

  await page.getByLabel('Period').selectOption('7');
  await page.getByLabel('Measure').selectOption('steps');
  await until('a week', async () => (await page.locator('.chart rect').count()) === 7);
  await page.getByRole('img', { name: 'By day: Steps' }).waitFor();
  // A day leads to what was used on it: by its row, and by its bar.
  const today = await page.evaluate(() => new Date().toLocaleDateString('en-CA'));
  await page.getByRole('region', { name: 'By day' }).getByRole('link', { name: today }).click();
  await page.getByText(`Only ${today}`).waitFor();
  const used = page.getByRole('region', { name: 'By session' }).getByRole('link', { name: 'It was used' });
  await used.waitFor();
  const yesterday = page.locator('.chart rect').nth(5);
  await yesterday.dispatchEvent('click');
  await used.waitFor({ state: 'detached' });
  await page.goBack();
  await used.click();

  await page.waitForURL(`**/s/${session.id}`);
});

test('a model, an agent and a project of the usage lead to what was used of them alone', async () => {
  const one = await desk.session({ title: 'Used by echo' });
  await desk.prompt(one, 'Some words');
  const two = await desk.session({ title: 'Used by the planner' });
  desk.provider.will(says('Planned.'));
  await desk.server.tell('POST', `/session/${two.id}/message`, { model: MAIN, agent: 'plan', parts: [{ type: 'text', text: 'Plan it' }] });
  const page = await desk.tab('/usage');
  const by = (name) => page.getByRole('region', { name: `By ${name}` });
  const sessions = by('session').getByRole('row');
  const used = (title) => by('session').getByRole('link', { name: title });
  await used('Used by echo').waitFor();
  const widths = await page.locator('.numbers-table thead').evaluateAll((heads) => heads.map((head) => [...head.querySelectorAll('td, th')].map((cell) => Math.round(cell.getBoundingClientRect().width)).join()));
  assert.equal(new Set(widths).size, 1, `the same columns in every table: ${widths.join(' | ')}`);

  await by('agent').getByRole('link', { name: 'plan' }).click();
  await page.waitForURL('**/usage?agent=plan');
  await used('Used by echo').waitFor({ state: 'detached' });
  await used('Used by the planner').waitFor();
  assert.equal(await by('agent').count(), 0, 'it is one agent');
  await by('model').getByRole('link', { name: 'scripted/main' }).click();
  await page.getByRole('link', { name: 'Only plan' }).waitFor();
  assert.equal(await sessions.count(), 2, 'the head, and one session');
  // A reload is the same screen; each choice is taken away by itself.
  await page.reload();
  await page.getByRole('link', { name: 'Only plan' }).click();
  await page.getByRole('link', { name: 'Only scripted/main' }).click();
  await used('Used by echo').waitFor();
  await by('project').getByRole('link').first().click();
  await page.waitForURL('**/usage?project=*');
  await used('Used by echo').waitFor();
  await used('Used by the planner').click();

  await page.waitForURL(`**/s/${two.id}`);
});

test('what is open is read again when the server says that something changed', async () => {
  const session = await desk.session({ title: 'Changing files' });
  const page = await desk.tab(`/s/${session.id}?panel=files`);
  await live(page);
  const side = page.getByRole('complementary', { name: 'Files' });
  await side.getByRole('button', { name: 'opencode.json' }).waitFor();
  const write = async (content) => {
    desk.provider.will(calls('write', { filePath: 'made-now.txt', content }), says('Written.'));
    await desk.server.tell('POST', `/session/${session.id}/message`, { model: MAIN, parts: [{ type: 'text', text: 'write' }] });
  };

  await write('first words');
  await side.getByRole('button', { name: 'made-now.txt' }).click();
  await side.getByText('first words').waitFor();
  desk.provider.will(calls('read', { filePath: 'made-now.txt' }), says('Read.'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { model: MAIN, parts: [{ type: 'text', text: 'read' }] });
  await write('second words');
  await side.getByText('second words').waitFor();

  // Agents of a directory whose settings are read anew.
  const agents = () => page.locator('.composer select').nth(1).locator('option').allInnerTexts();
  assert.ok(!(await agents()).includes('gardener'));
  await desk.world.configure({ ...desk.config, agent: { gardener: { description: 'Gardens', mode: 'primary', prompt: 'You garden.' } } });
  await desk.server.tell('POST', '/instance/dispose');
  await until('it can be chosen', async () => (await agents()).includes('gardener'));
  await desk.world.configure(desk.config);
  await desk.server.tell('POST', '/instance/dispose');
});

test('what a search found leads to the file and the line', async () => {
  writeFileSync(join(desk.world.project, 'haystack.txt'), 'hay\nneedle\nhay\n');
  const session = await desk.session({ title: 'Needle' });
  desk.provider.will((reply) => reply.call('grep', { pattern: 'needle', include: 'haystack.txt' }).finish(), says('Found.'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'Find it' }] });
  const page = await desk.tab(`/s/${session.id}`);
  await page.locator('.card', { hasText: 'grep' }).locator('summary').click();

  await page.locator('.matches').getByRole('link', { name: '2: needle' }).click();

  await page.locator('.at-line').getByText('needle', { exact: true }).waitFor();
  assert.match(page.url(), /panel=files&file=.*haystack\.txt&line=2/);
});

test('going back closes a panel, and closing it goes back', async () => {
  const before = await desk.session({ title: 'Before' });
  const session = await desk.session({ title: 'Panels and back' });
  await desk.prompt(session, 'Hello');
  const page = await desk.tab(`/s/${before.id}`, { width: 360, height: 740, touch: true });
  await live(page);
  await page.goto(`${desk.server.url}/s/${session.id}`);
  await page.locator('.step .prose').last().waitFor();
  const open = async (name) => {
    await page.getByRole('button', { name: 'Panel', exact: true }).tap();
    await page.getByRole('menuitem', { name }).tap();
    await page.getByRole('complementary', { name }).waitFor();
  };

  await open('Todo');
  await page.goBack();
  await page.locator('.side').waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).pathname, `/s/${session.id}`);
  await open('Context');
  await page.locator('.side').getByRole('button', { name: 'Close' }).tap();
  await page.locator('.side').waitFor({ state: 'detached' });
  await page.goBack();

  await page.waitForURL(`**/s/${before.id}`);
});

test('on paper a conversation stands whole, without what is only for the screen', async () => {
  const session = await desk.session({ title: 'Printed' });
  for (let i = 0; i < 15; i += 1) await desk.prompt(session, `Page ${i}\n\n${'A line of it.\n\n'.repeat(6)}`);
  const page = await desk.tab(`/s/${session.id}`);
  await page.locator('.prompt-text', { hasText: 'Page 14' }).waitFor();
  assert.equal(await page.locator('.prompt-text', { hasText: 'Page 0' }).count(), 0, 'what is far up is not drawn on the screen');

  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  await page.emulateMedia({ media: 'print' });

  const shown = await page.locator('.prompt-text').evaluateAll((all) => all.filter((one) => one.checkVisibility()).map((one) => one.textContent.split('\n')[0]));
  assert.deepEqual(shown, Array.from({ length: 15 }, (_, i) => `Page ${i}`));
  const height = await page.locator('.printed').evaluate((one) => one.getBoundingClientRect().height);
  assert.ok(height > 3000, `${height} pixels, one below the other`);
  assert.equal(await page.locator('.composer, .rail, .actions, .panel-tabs').evaluateAll((all) => all.filter((one) => one.checkVisibility()).length), 0);
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  assert.equal(await page.locator('.printed').count(), 0);
});

test('every panel is reached on a phone and closed again', async () => {
  const session = await desk.session({ title: 'Panels' });
  await desk.prompt(session, 'Hello');
  const page = await desk.tab(`/s/${session.id}`, { width: 360, height: 740, touch: true });
  await page.locator('.step .prose').last().waitFor();

  for (const name of ['Changes', 'Todo', 'Context', 'Family', 'Files', 'Log']) {
    await page.getByRole('button', { name: 'Panel', exact: true }).tap();
    await page.getByRole('menuitem', { name }).tap();
    const side = page.getByRole('complementary', { name });
    await side.waitFor();
    await side.getByRole('button', { name: 'Close' }).tap();
    await side.waitFor({ state: 'detached' });
  }
});

test('panels are opened without reading the session again', async () => {
  const session = await desk.session({ title: 'Read once' });
  await desk.prompt(session, 'hello');
  const page = await desk.tab('/favicon.svg');
  const reads = [];
  page.on('request', (request) => new URL(request.url()).pathname === `/sturdy/session/${session.id}` && reads.push(request.url()));
  await page.goto(`${desk.server.url}/s/${session.id}`);
  await page.locator('.step .prose').last().waitFor();
  await live(page);
  const before = reads.length;

  for (const name of ['Todo', 'Context', 'Changes']) {
    await page.locator('.panel-tabs').getByRole('button', { name }).click();
    await page.getByRole('complementary', { name }).waitFor();
  }

  assert.deepEqual(reads.slice(before), [], 'was: every change of the address read it again');
});

test('a server that shares nowhere does not offer it', async () => {
  const session = await desk.session({ title: 'Not shared' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.locator('.session-head').getByRole('button', { name: /^Menu/ }).click();
  await page.getByRole('menuitem', { name: 'Export as JSON' }).waitFor();
  await page.locator('.composer select').first().waitFor();

  // Was: it was offered everywhere, and refused when somebody wanted it.
  assert.equal(await page.getByRole('menuitem', { name: 'Share' }).count(), 0);
  assert.equal(await page.locator('.panel-tabs').getByRole('button', { name: 'Share' }).count(), 0);
});

test('the board has a lane for what failed, and not for what somebody stopped', async () => {
  const failed = await desk.session({ title: 'It failed' });
  const stopped = await desk.session({ title: 'It was stopped' });
  desk.provider.will((reply) => reply.refuse(401, 'The key is wrong'));
  await desk.server.tell('POST', `/session/${failed.id}/message`, { parts: [{ type: 'text', text: 'fail' }] });
  const begun = new Gate();
  desk.provider.will(async (reply) => {
    reply.text('Working');
    begun.open();
    await reply.gone;
  });
  await desk.server.tell('POST', `/session/${stopped.id}/prompt_async`, { parts: [{ type: 'text', text: 'work' }] });
  await begun.opened;
  await desk.server.tell('POST', `/session/${stopped.id}/abort`);
  const page = await desk.tab('/board');
  await live(page);
  const lane = page.getByRole('region', { name: 'Failed or interrupted' });

  await lane.getByRole('link', { name: /It failed/ }).waitFor();
  assert.equal(await lane.getByRole('link', { name: /It was stopped/ }).count(), 0);
  await picture(page, 'board-failed');
  await desk.prompt(failed, 'better now', ECHO);

  await lane.getByRole('link', { name: /It failed/ }).waitFor({ state: 'detached' });
  assert.equal(await page.getByRole('main').getByRole('link', { name: /It failed/ }).count(), 1, 'it is in another lane');
});

test('a phone attaches a picture from its camera', async () => {
  const session = await desk.session({ title: 'With a picture' });
  const page = await desk.tab(`/s/${session.id}`, { width: 360, height: 740, touch: true });
  await live(page);
  await page.getByRole('button', { name: 'Take a photo' }).waitFor();
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

  await page.locator('input[type=file][accept="image/*"][capture]').setInputFiles({ name: 'photo.png', mimeType: 'image/png', buffer: png });
  await page.locator('.attached li', { hasText: 'photo.png' }).waitFor();
  desk.provider.will(says('I see it.'));
  await page.getByLabel('Ask, or say what to do').fill('What is this?');
  await page.getByRole('button', { name: 'Send' }).tap();

  await page.locator('.step .prose', { hasText: 'I see it.' }).waitFor();
  const [sent] = await desk.server.tell('GET', `/session/${session.id}/message`);
  const file = sent.parts.find((part) => part.type === 'file');
  assert.deepEqual([file?.filename, file?.mime], ['photo.png', 'image/png']);
});

test('numbers of the header lead to what they count', async () => {
  const session = await desk.session({ title: 'Counted' });
  desk.provider.will(says('Counted.'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { model: MAIN, parts: [{ type: 'text', text: 'Count' }] });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);

  await page.locator('.session-head').getByRole('link', { name: / of [\d,]+ tokens$/ }).click();

  await page.getByRole('complementary', { name: 'Context' }).locator('.numbers').waitFor();
  assert.match(page.url(), /panel=context$/);
});

test('what the settings cannot do is said', async () => {
  const page = await desk.tab('/settings');
  await live(page);
  await page.route('**/sturdy/login/code', (route) => route.fulfill({ status: 507, json: { name: 'StorageError', data: { message: 'The disk is full' } } }));

  // Was: nothing happened.
  await page.getByRole('button', { name: 'Log in another device' }).click();

  await page.getByRole('status').getByText('The disk is full').waitFor();
  await page.unroute('**/sturdy/login/code');
  await page.getByRole('button', { name: 'Log in another device' }).click();
  await page.getByText('the URL works only here').waitFor();
});

test('forks are drawn as a tree, and lead to the message they left', async () => {
  const session = await desk.session({ title: 'Origin' });
  await desk.prompt(session, 'first words');
  await desk.prompt(session, 'second words');
  const messages = await desk.server.tell('GET', `/session/${session.id}/message`);
  const fork = await desk.server.tell('POST', `/session/${session.id}/fork`, { messageID: messages[2].info.id });
  const again = await desk.server.tell('POST', `/session/${fork.id}/fork`, {});
  const page = await desk.tab(`/s/${session.id}?panel=family`);
  const panel = page.getByRole('complementary', { name: 'Family' });

  await panel.getByRole('link', { name: new RegExp(fork.title.replaceAll(/[()#]/g, '.')) }).waitFor();
  await panel.getByRole('link', { name: /^Forked before .*second words$/ }).waitFor();
  await panel.locator('.tree .tree').getByRole('link', { name: new RegExp(again.title.replaceAll(/[()#]/g, '.')) }).waitFor();
  await panel.getByRole('link', { name: new RegExp(fork.title.replaceAll(/[()#]/g, '.')) }).click();
  await page.waitForURL(`**/s/${fork.id}`);
  await page.goto(`${desk.server.url}/s/${fork.id}?panel=family`);
  await panel.getByRole('link', { name: /Origin.*at the fork point/ }).click();

  await page.waitForURL(`**/s/${session.id}#${messages[2].info.id}`);
  await page.locator('.prompt:focus', { hasText: 'second words' }).waitFor();
});
