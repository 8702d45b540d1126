// Every page and state by the rules of axe, without violations; and each job by keyboard alone.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, afterEach, before, test } from 'node:test';
import { calls, says } from '../lib/provider.mjs';
import { until } from '../lib/wait.mjs';
import { Desk, live, picture } from './desk.mjs';
import { Screens } from './screens.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const MARKDOWN = '# Title\n\nText with `code`, **bold** and a [link](https://example.com).\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn main() { println!("hi"); }\n```\n\n> said';

/** @type {Desk} */
let desk;
let session;
/** @type {Screens} */
let screens;
before(async () => {
  desk = await Desk.open({ args: ['--share'], config: { permission: { webfetch: 'ask' } } });
  session = await desk.session({ title: 'Everything at once' });
  desk.provider.will(
    (reply) => reply.reasoning('Thinking about it.').text(MARKDOWN).call('bash', { command: 'echo out; exit 3', description: 'Fails' }, 'a').call('write', { filePath: 'a.txt', content: 'one\n' }, 'b').call('todowrite', { todos: [{ content: 'First', status: 'completed', priority: 'high' }, { content: 'Second', status: 'in_progress', priority: 'low' }] }, 'c').finish(),
    (reply) => reply.call('edit', { filePath: 'a.txt', oldString: 'one', newString: 'two' }, 'd').call('glob', { pattern: '*' }, 'e').call('read', { filePath: 'a.txt' }, 'f').finish(),
    says('Done.'),
    (reply) => reply.refuse(401, 'The key is wrong'),
  );
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'Do everything' }] });
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'And fail' }] });
  desk.provider.will(calls('webfetch', { url: 'http://127.0.0.1:1/', format: 'text' }));
  await desk.server.tell('POST', `/session/${session.id}/prompt_async`, { parts: [{ type: 'text', text: 'Ask me' }] });
  screens = new Screens(desk.browser);
  await screens.open();
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
});

/** What axe dislikes, in words. */
async function violations(page) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } }));
  return found.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary?.split('\n')[1] ?? ''}`));
}

/** Screens that are compared with a kept picture: where, how large, which theme. */
const SCREENS = new Set([
  ...['home', 'board', 'asks', 'new', 'search', 'usage', 'settings', 'login', 'session', 'changes', 'todo', 'context', 'files'].map((name) => `desk-light-${name}`),
  ...['session', 'board', 'changes', 'login'].map((name) => `desk-dark-${name}`),
  ...['home', 'session', 'todo'].map((name) => `tablet-light-${name}`),
  ...['home', 'asks', 'session', 'todo'].map((name) => `phone-dark-${name}`),
]);
/** What is there when a screen is whole. */
const WHOLE = { usage: '.numbers-table td', changes: '.side .diff, .side .empty', files: '.side-body li', context: '.bars li', search: '.hits mark', settings: '.approvals li', board: '.tile', home: '.list-row', new: '.composer select', todo: '.todos li' };

/** The name of a screen, by its address. */
const nameOf = (path) => /panel=(\w+)/.exec(path)?.[1] ?? (path.startsWith('/s/') ? 'session' : path === '/' ? 'home' : /^\/(\w+)/.exec(path)?.[1]);

/** In the page: as a link within it does. */
function goTo(path) {
  history.pushState(null, '', path);
  dispatchEvent(new PopStateEvent('popstate'));
}

/** What a screen is looked at for is there. */
const whole = (page, name) => page.locator(WHOLE[name] ?? 'main').first().waitFor({ state: 'attached' });

const PLACES = ['/', '/board', '/asks', '/new', '/search?q=every', '/usage', '/shares', '/settings', '/login'];
for (const theme of ['light', 'dark']) {
  for (const [name, size] of [['desk', { width: 1440, height: 900 }], ['tablet', { width: 820, height: 1100 }], ['phone', { width: 360, height: 740, touch: true }]]) {
    test(`axe finds nothing on any page, and it looks as it did: ${name}, ${theme}`, { timeout: 900_000 }, async (t) => {
      const found = [];
      const different = [];
      const panels = ['changes', 'todo', 'context', 'family', 'files', 'log', 'share', 'access'];
      // One tab for all, and one page: what costs most is to load and to start it.
      const page = await desk.tab('/', { ...size, theme });
      for (const path of [...PLACES, `/s/${session.id}`, ...panels.map((panel) => `/s/${session.id}?panel=${panel}`)]) {
        await page.evaluate(goTo, path);
        await page.locator('main').first().waitFor({ state: 'attached' });
        if (path !== '/login') await live(page);
        if (path.startsWith('/s/')) await page.locator('[data-ask]').waitFor();
        // The last that is drawn.
        if (path.startsWith('/s/')) await page.locator('.marks-rail').waitFor({ state: 'attached' });
        if (path.includes('panel=')) await page.locator('.side-body > *').first().waitFor();
        const screen = `${name}-${theme}-${nameOf(path)}`;
        if (SCREENS.has(screen)) {
          await whole(page, nameOf(path));
          different.push(...(await screens.differences(page, screen)));
        }
        found.push(...(await violations(page)).map((said) => `${path.replace(session.id, 'ID')} ${said}`));
        await picture(page, `${name}-${theme}${path.replace(session.id, 'session').replaceAll(/[^a-z]+/g, '-')}`);
      }
      assert.deepEqual(found, []);
      assert.deepEqual(different, []);
      // Fonts and forms of another version look different: they are written for a person (STURDY_PAGE_PICTURES).
      if (!screens.isComparing) t.diagnostic(`screens were taken with Chromium ${screens.recorded}, this is ${screens.major}: not compared`);
    });
  }
}

test('a screen that has lost its list is noticed', async (t) => {
  if (!screens.isComparing) return t.skip('pictures of this version of Chromium were not taken');
  const page = await desk.tab('/settings');
  await live(page);
  await whole(page, 'settings');
  assert.deepEqual(await screens.differences(page, 'desk-light-settings'), []);

  await page.locator('.rail').evaluate((element) => element.remove());

  assert.equal((await screens.differences(page, 'desk-light-settings', 0)).length, 1);
});

test('a prompt is written, sent and stopped, and a session found, by keyboard alone', async () => {
  const page = await desk.tab('/');
  await live(page);
  await page.keyboard.press('n');
  await page.waitForURL('**/new');
  const field = page.getByLabel('Ask, or say what to do');
  await field.waitFor();
  await page.locator('.composer textarea:focus').waitFor();
  desk.provider.will(async (reply) => {
    reply.text('Going on and on');
    await reply.gone;
  });
  await page.keyboard.type('by keys');
  await page.keyboard.press('Enter');
  await page.locator('.step .prose', { hasText: 'Going on' }).waitFor();

  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.locator('.error.is-thin').waitFor();

  await page.keyboard.press('Control+k');
  await page.locator('.palette input:focus').waitFor();
  await page.keyboard.type('Everything');
  await page.getByRole('option', { name: 'Everything', selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/s/${session.id}`);
});

test('panels, folds and copies are reached by keys', async () => {
  const read = await desk.session({ title: 'Read by keys' });
  desk.provider.will((reply) => reply.reasoning('Hidden thoughts.').text('Said aloud.').finish());
  await desk.server.tell('POST', `/session/${read.id}/message`, { parts: [{ type: 'text', text: 'think' }] });
  const page = await desk.tab(`/s/${read.id}`);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await live(page);
  const step = page.locator('.step', { hasText: 'Said aloud.' });
  await step.focus();

  await page.keyboard.press('o');
  await step.getByText('Hidden thoughts.').first().waitFor();
  assert.equal(await step.locator('details').first().evaluate((fold) => fold.open), true);
  await page.keyboard.press('o');
  assert.equal(await step.locator('details').first().evaluate((fold) => fold.open), false);
  await page.keyboard.press('c');
  await until('it is copied', async () => (await page.evaluate(() => navigator.clipboard.readText())) === 'Said aloud.');
  await page.keyboard.press('Alt+p');
  await page.getByRole('complementary', { name: 'Changes' }).waitFor();
  await page.keyboard.press('Alt+p');
  await page.getByRole('complementary', { name: 'Todo' }).waitFor();
  await page.keyboard.press('?');

  await page.getByRole('heading', { name: 'Shortcuts' }).waitFor();
});

test('axe finds nothing in the undo sheet, in the past, on a share and in an exported file', { timeout: 300_000 }, async () => {
  const found = [];
  const quiet = await desk.session({ title: 'To undo' });
  await desk.prompt(quiet, 'Something to undo');
  const share = await desk.server.tell('POST', '/api/share', { sessionID: quiet.id });
  const [info, messages] = [await desk.server.tell('GET', `/session/${quiet.id}`), await desk.server.tell('GET', `/session/${quiet.id}/message`)];
  await desk.server.tell('POST', `/session/${quiet.id}/share`);
  const data = [{ type: 'session', data: info }, ...messages.flatMap((message) => [{ type: 'message', data: message.info }, ...message.parts.map((part) => ({ type: 'part', data: part }))])];
  await desk.server.tell('POST', `/api/share/${share.id}/sync`, { secret: share.secret, data });
  for (const theme of ['light', 'dark']) {
    for (const size of [{ width: 1440, height: 900 }, { width: 360, height: 740, touch: true }]) {
      const page = await desk.tab(`/s/${quiet.id}`, { ...size, theme });
      await page.locator('.step .prose').last().waitFor();
      await page.locator('.prompt').focus();
      await page.keyboard.press('z');
      await page.getByRole('dialog', { name: 'Undo from here' }).locator('.plan li').waitFor();
      found.push(...(await violations(page)));
      await picture(page, `undo-sheet-${theme}-${size.width}`);
      await page.keyboard.press('Escape');
      await page.evaluate(goTo, `/s/${quiet.id}?panel=log&at=1`);
      await page.locator('.past-bar').waitFor();
      found.push(...(await violations(page)));
      await page.evaluate(goTo, `/s/${quiet.id}?panel=share`);
      const panel = page.getByRole('complementary', { name: 'Share' });
      await panel.getByRole('button', { name: 'Create another link' }).click();
      await panel.locator('[data-grant]').first().waitFor();
      await panel.getByRole('button', { name: 'Show as QR code' }).first().click();
      await panel.getByRole('img').waitFor();
      await panel.getByText('Audit log').click();
      await panel.locator('.audit li code').first().waitFor();
      found.push(...(await violations(page)));
      await picture(page, `share-panel-${theme}-${size.width}`);
      await page.evaluate(goTo, `/s/${quiet.id}`);
      await page.locator('.step .prose').last().waitFor();
      await page.keyboard.press('Control+f');
      await page.getByRole('searchbox', { name: 'Find in this session' }).fill('Something');
      await page.getByText(/^1 of \d+$/).waitFor();
      found.push(...(await violations(page)));
      await page.goto(`${desk.server.url}/share/${share.id}`);
      await page.locator('.step .prose').last().waitFor();
      found.push(...(await violations(page)));
      desk.check();
      await desk.leave();
    }
  }
  assert.deepEqual(found, []);
});

test('an ask is answered, and a turn undone and brought back, by keyboard alone', async () => {
  const asking = await desk.session({ title: 'By keys' });
  const page = await desk.tab(`/s/${asking.id}`);
  await live(page);
  desk.provider.will(calls('webfetch', { url: 'http://127.0.0.1:1/', format: 'text' }), says('Then not.'));
  await page.keyboard.type('fetch it');
  await page.keyboard.press('Enter');
  await page.locator('[data-ask]').waitFor();
  await page.keyboard.press('Alt+a');
  await page.locator('[data-ask] button:focus').waitFor();
  await page.keyboard.press('3');
  await page.locator('[data-ask]').waitFor({ state: 'detached' });
  await page.locator('.session-head .is-busy').waitFor({ state: 'detached' });

  await page.locator('.prompt').focus();
  await page.keyboard.press('z');
  const sheet = page.getByRole('dialog', { name: 'Undo from here' });
  await sheet.locator('.plan li').waitFor();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await sheet.waitFor({ state: 'detached' });
  await page.locator('.undone').getByRole('button', { name: 'Redo all' }).focus();
  await page.keyboard.press('Enter');
  const redo = page.getByRole('dialog', { name: 'Redo all' });
  await redo.getByRole('button', { name: 'Restore the conversation' }).waitFor();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');

  await page.locator('.undone').waitFor({ state: 'detached' });
  await page.locator('.prompt-text', { hasText: 'fetch it' }).waitFor();
});

test('in forced colours and with more contrast everything is still there', async () => {
  for (const more of [{ forcedColors: 'active' }, { contrast: 'more' }]) {
    const page = await desk.tab(`/s/${session.id}?panel=todo`, { more });
    await page.locator('[data-ask]').waitFor();
    assert.deepEqual(await violations(page), []);
    await picture(page, `session-${Object.values(more)[0]}`);
  }
});

test('at 320 pixels and at four times the size nothing is cut off', async () => {
  const page = await desk.tab(`/s/${session.id}`, { width: 320, height: 640, touch: true });
  await page.locator('[data-ask]').waitFor();
  const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.equal(tooWide, 0);
});
