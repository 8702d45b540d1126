// A session that is only shown: by a link to a share, live until it is revoked; and as one file, from the disk.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, afterEach, before, test } from 'node:test';
import { says } from '../lib/provider.mjs';
import { sturdy } from '../lib/server.mjs';
import { HOSTILE } from './hostile.mjs';
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

const SESSION = { id: 'ses_shared', slug: 'a-share', projectID: 'p', directory: '/x', title: 'Somebody else’s session', version: '1', cost: 0, tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }, time: { created: 1_794_800_000_000, updated: 1_794_800_000_000 } };
const tokens = SESSION.tokens;
const prompt = (n, text) => [
  { type: 'message', data: { id: `msg_${n}a`, sessionID: SESSION.id, role: 'user', time: { created: SESSION.time.created + n * 10 }, agent: 'build', model: { providerID: 'x', modelID: 'y' } } },
  { type: 'part', data: { id: `prt_${n}a`, sessionID: SESSION.id, messageID: `msg_${n}a`, type: 'text', text } },
];
const answer = (n, text) => [
  { type: 'message', data: { id: `msg_${n}b`, sessionID: SESSION.id, role: 'assistant', time: { created: SESSION.time.created + n * 10 + 5, completed: SESSION.time.created + n * 10 + 6 }, parentID: `msg_${n}a`, providerID: 'x', modelID: 'y', agent: 'build', cost: 0, tokens, mode: 'build', path: { cwd: '/', root: '/' } } },
  { type: 'part', data: { id: `prt_${n}b`, sessionID: SESSION.id, messageID: `msg_${n}b`, type: 'text', text } },
];

/** A share with two messages in it, and what sends more. */
async function share(visibility = 'link') {
  const made = await desk.server.tell('POST', '/api/share', { sessionID: SESSION.id, visibility });
  const send = (data) => desk.server.tell('POST', `/api/share/${made.id}/sync`, { secret: made.secret, data });
  await send([{ type: 'session', data: SESSION }, ...prompt(1, 'A question'), ...answer(1, 'The first answer')]);
  return { ...made, send };
}

const owner = (made) => ({ authorization: `Bearer ${made.secret}` });

test('a share is watched live, and ends with a sentence when its link is revoked', async () => {
  const made = await share('private');
  const grant = await desk.server.ask('POST', `/api/share/${made.id}/capabilities`, { scope: ['read'], label: 'a reader' }, owner(made));
  assert.equal(grant.status, 201, grant.text);
  const link = new URL(grant.json.url);
  const asked = [];
  const page = await desk.tab('/favicon.svg');
  page.on('request', (request) => asked.push([new URL(request.url()).pathname, request.headers()]));
  await page.goto(desk.server.url + link.pathname + link.hash);
  await live(page);
  await page.locator('.step .prose', { hasText: 'The first answer' }).waitFor();

  await made.send([...prompt(2, 'Another question'), ...answer(2, 'Said **while** somebody watched')]);
  await page.locator('.step strong', { hasText: 'while' }).waitFor();
  assert.deepEqual(await page.locator('.prompt-text').allInnerTexts(), ['A question', 'Another question']);
  await picture(page, 'share');

  const revoked = await desk.server.ask('DELETE', `/api/share/${made.id}/capabilities/${grant.json.cap_id}`, undefined, owner(made));
  assert.ok(revoked.status < 300, revoked.text);
  await page.getByRole('alert').getByText('This share has ended').waitFor();
  await page.locator('.step .prose', { hasText: 'The first answer' }).waitFor();
  assert.equal(await page.getByRole('textbox').count(), 0);
  assert.equal(await page.getByRole('button', { name: 'More' }).count(), 0);

  const calls = asked.filter(([path]) => path.startsWith('/api/'));
  assert.ok(calls.length > 0 && calls.every(([path]) => path === `/api/share/${made.id}/events`), JSON.stringify(asked.map(([path]) => path)));
  assert.ok(asked.every(([, headers]) => headers.cookie === undefined && !(headers.referer ?? '').includes('stdy1')));
  const kept = await page.evaluate(() => JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]));
  assert.doesNotMatch(kept, /stdy1/);
});

test('what a shared session changed stands above its conversation, and follows it', async () => {
  const made = await share();
  const diff = (text) => ({ type: 'session_diff', data: [{ file: 'notes/<b>a</b>.txt', patch: `--- a/notes\n+++ b/notes\n@@ -1 +1 @@\n-old words\n+${text}\n`, additions: 1, deletions: 1, status: 'modified' }] });
  const page = await desk.tab(`/share/${made.id}`);
  await live(page);
  await page.locator('.step .prose', { hasText: 'The first answer' }).waitFor();
  assert.equal(await page.locator('.shared-changes').count(), 0);

  await made.send([diff('new words')]);
  await page.locator('.shared-changes > summary', { hasText: 'Changed 1 file' }).click();
  await page.locator('.file-diff > summary', { hasText: 'notes/<b>a</b>.txt' }).click();
  await page.locator('.file-diff .diff', { hasText: 'new words' }).waitFor();
  assert.equal(await page.locator('.shared-changes b').count(), 0);

  await made.send([{ type: 'session_diff', data: [] }]);
  await page.locator('.shared-changes').waitFor({ state: 'detached' });
});

test('a share is watched through a kill -9 of the server, and shows every character once', async () => {
  const session = await desk.session({ title: 'Shared and killed' });
  const url = (await desk.server.tell('POST', `/session/${session.id}/share`)).share.url;
  desk.provider.will(async (reply) => {
    for (let i = 0; i < 30; i += 1) reply.text(`piece${i} `);
    await reply.gone;
  });
  const page = await desk.tab(new URL(url).pathname);
  await live(page);
  const prompt = (text) => ({ parts: [{ type: 'text', text }] });
  await desk.server.tell('POST', `/session/${session.id}/prompt_async`, prompt('stream'));
  await page.locator('.step .prose', { hasText: 'piece29' }).waitFor();

  await desk.restart();
  await live(page);
  desk.provider.will(says('And it goes on'));
  await desk.server.tell('POST', `/session/${session.id}/prompt_async`, prompt('go on'));
  await page.locator('.step .prose', { hasText: 'And it goes on' }).waitFor();

  const first = await page.locator('.step .prose').first().innerText();
  assert.equal(first.trim(), Array.from({ length: 30 }, (_, i) => `piece${i}`).join(' '));
  assert.deepEqual(await page.locator('.prompt-text').allInnerTexts(), ['stream', 'go on']);
});

test('a wrong link says that it opens nothing', async () => {
  const made = await share('private');

  const page = await desk.tab(`/share/${made.id}#stdy1.${made.id}.wrong.secret`);

  await page.getByText('This share has ended').waitFor();
  assert.equal(await page.getByText('The first answer').count(), 0);
});

test('hostile texts in a share are text', async () => {
  const made = await share();
  await made.send(HOSTILE.flatMap((text, index) => [...prompt(index + 10, text), ...answer(index + 10, text)]));
  const page = await desk.tab(`/share/${made.id}`);
  await live(page);
  for (let y = 0; y < 30; y += 1) {
    await page.locator('.timeline').evaluate((element) => element.scrollBy(0, -900));
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
  }

  assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
});

/** A session with hostile texts, a tool and its output, as the one file of an export. */
async function exported() {
  const session = await desk.session({ title: 'To keep <b>for ever</b>' });
  desk.provider.will(
    (reply) => reply.text(`# A title\n\nWith **bold** and \`code\`.\n\n${HOSTILE.filter((one) => one.length < 1000 && !one.includes('\uD800')).join('\n\n')}`).call('bash', { command: 'echo from the tool', description: 'Says it' }).finish(),
    says('The last word.'),
  );
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'Keep this <i>prompt</i>' }] });
  const path = join(desk.world.root, `${session.id}.html`);
  const made = await sturdy(desk.world, ['session', 'export', session.id, '--html', '--output', path, '--server', desk.server.url]);
  assert.equal(made.code, 0, made.stderr);
  return { session, url: pathToFileURL(path).href };
}

test('an exported file shows the session from the disk, without a server, a request or a script of its own', async () => {
  const { url } = await exported();
  const page = await desk.tab('/favicon.svg');
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.goto(url);

  await page.locator('.step .prose', { hasText: 'The last word.' }).waitFor();
  await page.locator('.card .command', { hasText: 'echo from the tool' }).waitFor();
  assert.equal(await page.locator('h1').innerText(), 'To keep <b>for ever</b>');
  assert.equal(await page.title(), 'To keep <b>for ever</b>');
  await page.locator('.timeline').evaluate((element) => element.scrollTo(0, 0));
  await page.locator('.prompt-text', { hasText: 'Keep this <i>prompt</i>' }).waitFor();
  assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
  assert.deepEqual(asked.filter((one) => !one.startsWith('file:') && !one.startsWith('data:')), []);
  await picture(page, 'export');
});

test('an exported file is readable without script', async () => {
  const { url } = await exported();
  const context = await desk.browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();

  await page.goto(url);

  const text = await page.locator('body').innerText();
  for (const said of ['Keep this <i>prompt</i>', '# A title', 'bash echo from the tool', 'The last word.']) assert.ok(text.includes(said), `${said} is not in ${text.slice(0, 3000)}`);
  await context.close();
});

test('a session is saved as a page from its menu', async () => {
  const session = await desk.session({ title: 'From the menu' });
  await desk.prompt(session, 'Remember me');
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.locator('.session-head').getByRole('button', { name: /^Menu/ }).click();

  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: 'Export as HTML' }).click()]);

  assert.equal(saved.suggestedFilename(), `${session.slug}.html`);
  const path = join(desk.world.root, 'saved.html');
  await saved.saveAs(path);
  await page.goto(pathToFileURL(path).href);
  await page.locator('.prompt-text', { hasText: 'Remember me' }).waitFor();
});

test('a redacted page shows what was said, says that it is redacted, and holds no output', async () => {
  const session = await desk.session({ title: 'To pass on' });
  const secret = 'very-secret';
  desk.provider.will(
    (reply) => reply.reasoning(`Thinking of ${secret}`).call('write', { filePath: 'kept.txt', content: `${secret}\n` }, 'a').call('todowrite', { todos: [{ content: 'First', status: 'pending', priority: 'high' }] }, 'b').finish(),
    (reply) => reply.call('edit', { filePath: 'kept.txt', oldString: secret, newString: `${secret}!` }, 'c').call('read', { filePath: 'kept.txt' }, 'd').call('bash', { command: 'cat kept.txt; exit 3', description: 'Looks' }, 'e').finish(),
    says('Said aloud.'),
  );
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'Say it aloud' }] });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.locator('.session-head').getByRole('button', { name: /^Menu/ }).click();

  await page.getByRole('menuitem', { name: 'Export redacted HTML' }).click();
  const dialog = page.getByRole('dialog', { name: 'Export redacted HTML' });
  for (const what of ['Tool outputs', 'File contents', 'Reasoning']) assert.ok(await dialog.getByLabel(what).isChecked(), what);
  const [saved] = await Promise.all([page.waitForEvent('download'), dialog.getByRole('button', { name: 'Save' }).click()]);

  assert.equal(saved.suggestedFilename(), `${session.slug}-redacted.html`);
  const path = join(desk.world.root, 'redacted.html');
  await saved.saveAs(path);
  assert.ok(!readFileSync(path, 'utf8').includes(secret));
  await page.goto(pathToFileURL(path).href);
  await page.getByText(/Redacted: tool outputs, file contents,? and reasoning removed/).waitFor();
  await page.locator('.prompt-text', { hasText: 'Say it aloud' }).waitFor();
  await page.locator('.card', { hasText: 'cat kept.txt' }).waitFor();
  await page.locator('.step .prose', { hasText: 'Said aloud.' }).waitFor();
  assert.equal(await page.locator('.broken').count(), 0, 'every card is drawn without what it lacks');
  await picture(page, 'export-redacted');
});

test('of a redacted page only what is ticked is left out', async () => {
  const session = await desk.session({ title: 'Half open' });
  desk.provider.will((reply) => reply.reasoning('a private thought').call('bash', { command: 'echo printed-here', description: 'Prints' }, 'a').finish(), says('Said aloud.'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'Print' }] });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.locator('.session-head').getByRole('button', { name: /^Menu/ }).click();
  await page.getByRole('menuitem', { name: 'Export redacted HTML' }).click();
  const dialog = page.getByRole('dialog', { name: 'Export redacted HTML' });

  await dialog.getByLabel('Tool outputs').uncheck();
  await dialog.getByLabel('File contents').uncheck();
  const [saved] = await Promise.all([page.waitForEvent('download'), dialog.getByRole('button', { name: 'Save' }).click()]);

  const path = join(desk.world.root, 'half.html');
  await saved.saveAs(path);
  assert.ok(!readFileSync(path, 'utf8').includes('a private thought'));
  await page.goto(pathToFileURL(path).href);
  await page.getByText('Redacted: reasoning removed.').waitFor();
  await page.locator('.card', { hasText: 'echo printed-here' }).locator('summary').click();
  await page.locator('.terminal', { hasText: 'printed-here' }).waitFor();
});

test('a link with an end ends by itself, with the same sentence as one that is revoked', async () => {
  const made = await share('private');
  const expires_at = Date.now() + 8_000;
  const grant = await desk.server.ask('POST', `/api/share/${made.id}/capabilities`, { scope: ['read'], label: 'for a moment', expires_at }, owner(made));
  assert.equal(grant.status, 201, grant.text);
  const link = new URL(grant.json.url);
  const page = await desk.tab(link.pathname + link.hash);

  await page.getByRole('alert').getByText('This share has ended').waitFor();

  const again = await desk.tab(link.pathname + link.hash);
  await again.getByText('This share has ended').first().waitFor();
  assert.equal(await again.getByText('The first answer').count(), 0);
});
