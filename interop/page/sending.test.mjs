// Prompts on their way: what is refused stays in sight, what is typed is kept, and what is named goes along.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { says } from '../lib/provider.mjs';
import { Gate, until } from '../lib/wait.mjs';
import { Desk, live } from './desk.mjs';

/** @type {Desk} */
let desk;
before(async () => {
  desk = await Desk.open({ config: { mcp: { notes: { type: 'local', command: [process.execPath, join(import.meta.dirname, 'mcp-notes.mjs')] } } } });
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
  await desk.rest();
});

const SENDS = '**/prompt_async';
const fieldOf = (page) => page.getByLabel('Ask, or say what to do');
const refuse = (status, body) => (route) => route.fulfill({ status, contentType: 'application/json', body: JSON.stringify(body) });
const messagesOf = (session) => desk.server.tell('GET', `/session/${session.id}/message`);
const promptsOf = async (session) => (await messagesOf(session)).filter((one) => one.info.role === 'user');

const REFUSALS = [
  [400, { name: 'BadRequest', data: { message: 'There is no agent "nobody"', kind: 'Payload' } }, 'There is no agent "nobody"'],
  [409, { _tag: 'SessionBusyError', sessionID: 'x', message: 'Session is busy: x' }, 'Session is busy'],
  [413, { name: 'PayloadTooLargeError', data: { message: 'The body is larger than the 1000 bytes this route accepts.' } }, 'larger than the 1000 bytes'],
  [507, { name: 'StoreUnavailableError', data: { message: 'No space is left for the store. Nothing was changed.' } }, 'No space is left for the store'],
];
for (const [status, body, said] of REFUSALS) {
  test(`a first prompt that is refused with ${status} is shown with the reason, and sent again once`, async () => {
    const session = await desk.session({ title: `Refused ${status}` });
    const page = await desk.tab(`/s/${session.id}`);
    await live(page);
    await page.route(SENDS, refuse(status, body));
    await fieldOf(page).fill('Do you hear me?');
    await page.keyboard.press('Enter');

    // Was: an empty session drew no conversation, so nothing was seen of it.
    const failed = page.locator('.prompt.is-failed');
    await failed.getByText(said).waitFor();
    await failed.getByText('Do you hear me?').waitFor();
    await page.unroute(SENDS);
    desk.provider.will(says('I do.'));
    await failed.getByRole('button', { name: 'Try again' }).click();

    await page.locator('.step .prose', { hasText: 'I do.' }).waitFor();
    assert.equal((await promptsOf(session)).length, 1);
    assert.deepEqual(await page.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith('sturdy.unsent'))), []);
  });
}

test('a prompt that was refused is there after a reload, also the first one of a new session, and goes back into the composer', async () => {
  const page = await desk.tab('/new');
  await live(page);
  await page.route(SENDS, refuse(507, REFUSALS[3][1]));
  await fieldOf(page).fill('The first words');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/s/ses_*');
  await page.locator('.prompt.is-failed').getByText('The first words').waitFor();

  // Was: failed prompts lived in memory only, and the draft of a new session was gone.
  await page.reload();
  const failed = page.locator('.prompt.is-failed');
  await failed.getByText('No space is left for the store').waitFor();
  await failed.getByRole('button', { name: 'Edit' }).click();

  await until('it is back', async () => (await fieldOf(page).inputValue()) === 'The first words');
  await failed.waitFor({ state: 'detached' });
  await page.reload();
  await live(page);
  assert.equal(await fieldOf(page).inputValue(), 'The first words');
  await page.goto(`${desk.server.url}/new`);
  assert.equal(await fieldOf(page).inputValue(), '');
});

test('what is typed while a prompt is on its way is not thrown away when that one is stored', async () => {
  const session = await desk.session({ title: 'Typing on' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  const gate = new Gate();
  await page.route(SENDS, async (route) => {
    await gate.opened;
    await route.continue();
  });
  desk.provider.will(says('First answer.'));
  await fieldOf(page).fill('first');
  await page.keyboard.press('Enter');
  await page.locator('.prompt.is-sending').waitFor();
  await fieldOf(page).fill('second, half');

  gate.open();
  await page.locator('.step .prose', { hasText: 'First answer.' }).waitFor();
  await page.reload();
  await live(page);

  // Was: the stored prompt cleared the draft of whatever was in the field by then.
  assert.equal(await fieldOf(page).inputValue(), 'second, half');
});

test('a page that is left while it sends shows the prompt again, and it is stored once', async () => {
  const session = await desk.session({ title: 'Left' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.route(SENDS, () => {});
  await fieldOf(page).fill('are you there');
  await page.keyboard.press('Enter');
  await page.locator('.prompt.is-sending').waitFor();

  await page.reload();
  await page.unroute(SENDS);
  const failed = page.locator('.prompt.is-failed');
  await failed.getByText('the page was closed before the server had stored it').waitFor();
  desk.provider.will(says('Yes.'));
  await failed.getByRole('button', { name: 'Try again' }).click();

  await page.locator('.step .prose', { hasText: 'Yes.' }).waitFor();
  assert.equal((await promptsOf(session)).length, 1);
});

test('a prompt whose answer was lost with the page is not shown as unsent', async () => {
  const session = await desk.session({ title: 'Stored all the same' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  desk.provider.will(says('It was stored.'));
  const stored = new Gate();
  await page.route(SENDS, async (route) => {
    await route.fetch();
    stored.open();
  });
  await fieldOf(page).fill('store me');
  await page.keyboard.press('Enter');
  await stored.opened;

  await page.unroute(SENDS);
  await page.reload();
  await page.locator('.step .prose', { hasText: 'It was stored.' }).waitFor();

  await until('it is forgotten', () => page.evaluate(() => !Object.keys(localStorage).some((name) => name.startsWith('sturdy.unsent'))));
  assert.deepEqual(await page.locator('.prompt-text').allInnerTexts(), ['store me']);
});

// Was: what an earlier visit had called a failure was shown beside the stored prompt, for ever.
for (const [when, isAnswered] of [['the server has it', true], ['nobody answers whether the server has it', false]]) {
  test(`a prompt that failed on an earlier visit is forgotten when it is there after all: ${when}`, async () => {
    const session = await desk.session({ title: `Failed before: ${when}` });
    await desk.prompt(session, 'store me');
    const page = await desk.tab(`/s/${session.id}`);
    await page.locator('.step .prose').first().waitFor();
    const { info, parts } = (await promptsOf(session))[0];
    const unsent = { prompt: { sessionID: session.id, messageID: info.id, parts }, error: 'The server cannot be reached' };
    await page.evaluate(([name, value]) => localStorage.setItem(name, value), [`sturdy.unsent.${info.id}`, JSON.stringify(unsent)]);
    if (!isAnswered) await page.route(`**/session/${session.id}/message/${info.id}`, (route) => route.abort());

    await page.reload();
    await page.locator('.step .prose').first().waitFor();

    await until('it is forgotten', () => page.evaluate(() => !Object.keys(localStorage).some((name) => name.startsWith('sturdy.unsent'))));
    assert.deepEqual(await page.locator('.prompt-text').allInnerTexts(), ['store me']);
  });
}

test('a resource of an MCP server that is named with @ goes along with the prompt', async () => {
  const session = await desk.session({ title: 'Names a resource' });
  await until('the MCP server is there', async () => Object.keys(await desk.server.tell('GET', '/experimental/resource')).length === 1);
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  desk.provider.will(says('Read it.'));
  let sent;
  page.on('request', (request) => request.url().endsWith('/prompt_async') && (sent = request.postDataJSON()));
  await fieldOf(page).focus();
  await page.keyboard.type('What is on @mil');
  await page.getByRole('option', { name: '@milk' }).waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.locator('.step .prose', { hasText: 'Read it.' }).waitFor();

  const file = sent.parts.find((part) => part.type === 'file');
  assert.deepEqual([file.url, file.filename, file.mime], ['note://milk', 'milk', 'text/plain']);
  assert.deepEqual(file.source, { type: 'resource', clientName: 'notes', uri: 'note://milk', text: { value: '@milk', start: 11, end: 16 } });
  assert.match(JSON.stringify(desk.provider.asked.at(-1).body.messages), /Two bottles, and an owl/);
  await page.locator('.prompt .chip', { hasText: 'Reading MCP resource: milk' }).waitFor();
});

test('files and agents that are named with @ go along with the prompt', async () => {
  writeFileSync(join(desk.world.project, 'notes of mine.md'), 'the secret word is heron\n');
  const session = await desk.session({ title: 'Names things' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  desk.provider.will(says('Read.'));
  await fieldOf(page).focus();
  await page.keyboard.type('What is in @notes');
  await page.getByRole('option', { name: 'notes of mine.md' }).waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.type('and ask @gen');
  await page.getByRole('option', { name: '@general' }).waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.locator('.step .prose', { hasText: 'Read.' }).waitFor();

  const [prompt] = await promptsOf(session);
  const file = prompt.parts.find((part) => part.type === 'file');
  const agent = prompt.parts.find((part) => part.type === 'agent');
  // Was: both went out as plain text, and nothing was attached.
  assert.equal(file.url, `file://${desk.world.project}/notes%20of%20mine.md`);
  assert.deepEqual(file.source, { type: 'file', path: 'notes of mine.md', text: { value: '@notes of mine.md', start: 11, end: 28 } });
  assert.deepEqual({ name: agent.name, source: agent.source }, { name: 'general', source: { value: '@general', start: 37, end: 45 } });
  assert.match(JSON.stringify(desk.provider.asked.at(-1).body.messages), /the secret word is heron/);
  await page.locator('.prompt .chip', { hasText: 'notes of mine.md' }).first().waitFor();
  // Each stands out where it is named; the file leads there.
  assert.deepEqual(await page.locator('.prompt .mention').allInnerTexts(), ['@notes of mine.md', '@general']);
  assert.equal(await page.locator('.prompt .chip').filter({ hasText: /^\s*general\s*$/ }).count(), 0, 'an agent is not named twice');
  assert.equal((await page.locator('.prompt-text').innerText()).trim(), 'What is in @notes of mine.md and ask @general');
  await page.locator('.prompt a.mention').click();
  await page.getByRole('complementary', { name: 'Files' }).getByText('the secret word is heron').waitFor();
});

test('a session goes on with its own agent, and a prompt that is asked again keeps what it named', async () => {
  const session = await desk.session({ title: 'Planned' });
  desk.provider.will((reply) => reply.refuse(400, 'Not now'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { agent: 'plan', parts: [{ type: 'text', text: 'ask @explore' }, { type: 'agent', name: 'explore' }] });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.locator('.error').waitFor();
  desk.provider.will(says('Planned.'), says('More of it.'));

  await page.locator('.error').getByRole('button', { name: 'Try again' }).click();
  await page.locator('.step .prose', { hasText: 'Planned.' }).waitFor();
  const again = (await promptsOf(session)).at(-1);
  assert.deepEqual([again.info.agent, again.info.model.modelID, again.parts.filter((part) => part.type === 'agent').map((part) => part.name)], ['plan', 'main', ['explore']]);

  await fieldOf(page).fill('go on');
  await page.keyboard.press('Enter');
  await page.locator('.step .prose', { hasText: 'More of it.' }).waitFor();
  // Was: the chooser showed "plan", and nothing was sent, so another agent answered.
  assert.equal((await promptsOf(session)).at(-1).info.agent, 'plan');
});

test('files that are attached wait with the words of their session, and not in another', async () => {
  // Was: whoever looked at another session had to attach them again.
  const first = await desk.session({ title: 'With a file' });
  const other = await desk.session({ title: 'Without one' });
  const page = await desk.tab(`/s/${first.id}`);
  await live(page);
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach a file' }).click()]);
  await chooser.setFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Some notes.') });
  await page.locator('.attached', { hasText: 'notes.txt' }).waitFor();

  await page.locator('.list-row', { hasText: 'Without one' }).locator('a').first().click();
  await page.waitForURL(`**/s/${other.id}`);
  await page.locator('.attached').waitFor({ state: 'detached' });
  await page.goBack();

  await page.locator('.attached', { hasText: 'notes.txt' }).waitFor();
  desk.provider.will(says('Read.'));
  await page.getByLabel('Ask, or say what to do').fill('read them');
  await page.keyboard.press('Enter');
  await page.locator('.attached').waitFor({ state: 'detached' });
  await page.locator('.step .prose', { hasText: 'Read.' }).waitFor();
  const [prompt] = await desk.server.tell('GET', `/session/${first.id}/message`);
  assert.ok(prompt.parts.some((part) => part.type === 'file' && part.filename === 'notes.txt'));
});

test('the words of a command that fails come back once, before what was typed meanwhile', async () => {
  const session = await desk.session({ title: 'Busy shell' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  const gate = new Gate();
  await page.route('**/shell', async (route) => {
    await gate.opened;
    await refuse(409, REFUSALS[1][1])(route);
  });
  await fieldOf(page).fill('!ls');
  await page.keyboard.press('Enter');
  await until('it is sent', async () => (await fieldOf(page).inputValue()) === '');
  await fieldOf(page).fill('meanwhile');

  gate.open();

  await until('both are there', async () => (await fieldOf(page).inputValue()) === '!ls\nmeanwhile');
  await page.reload();
  await live(page);
  assert.equal(await fieldOf(page).inputValue(), '!ls\nmeanwhile');
});

test('a draft is kept although the room for drafts is used up: the oldest goes', async () => {
  const session = await desk.session({ title: 'No room' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.evaluate(() => {
    const times = {};
    const chunk = 'x'.repeat(500_000);
    try {
      for (let i = 0; i < 40; i += 1) {
        localStorage.setItem(`sturdy.draft.ses_${i}`, chunk);
        times[`ses_${i}`] = 1000 + i;
        localStorage.setItem('sturdy.drafts', JSON.stringify(times));
      }
    } catch {
      // Full.
    }
  });

  const text = `the newest ${'y'.repeat(600_000)}`;
  await fieldOf(page).fill(text);
  await page.reload();
  await live(page);

  // Was: one old draft was dropped, and the new one was not written all the same.
  assert.equal(await fieldOf(page).inputValue(), text);
  const left = await page.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith('sturdy.draft.ses_')).sort());
  assert.ok(!left.includes('sturdy.draft.ses_0') && left.includes('sturdy.draft.ses_8'), left.join());
});
