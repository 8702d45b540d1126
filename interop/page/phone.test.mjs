// A phone: everything that is tapped is large enough, nothing hides behind its edges, and it can be put on the home screen.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { calls, says } from '../lib/provider.mjs';
import { Desk, live } from './desk.mjs';

const PHONE = { width: 360, height: 740, touch: true };

/** @type {Desk} */
let desk;
let session;
before(async () => {
  desk = await Desk.open({ config: { permission: { bash: 'ask' } } });
  session = await desk.session({ title: 'On a phone' });
  desk.provider.will((reply) => reply.reasoning('Hm.').text('Text with `code`.\n\n```rust\nfn main() {}\n```').call('todowrite', { todos: [{ content: 'One', status: 'pending', priority: 'high' }] }).finish(), says('Done.'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'Do it' }] });
  desk.provider.will(calls('bash', { command: 'ls', description: 'Looks' }));
  await desk.server.tell('POST', `/session/${session.id}/prompt_async`, { parts: [{ type: 'text', text: 'Ask me' }] });
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
});

/** Buttons, fields and folds that are smaller than a finger; links in the middle of a text are not meant. */
const tooSmall = (page) => page.evaluate(() => {
  const isSeen = (box) => box.width > 0 && box.height > 0;
  const found = [...document.querySelectorAll('button, summary, select, textarea, input:not([type=checkbox], [type=radio]), .places a, .list-row > a, a.button')];
  return found
    .filter((one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && one.closest('.off-screen, .skip') === null)
    .map((one) => ({ one, box: one.getBoundingClientRect() }))
    .filter(({ box }) => isSeen(box) && (Math.round(box.height) < 44 || Math.round(box.width) < 44))
    .map(({ one, box }) => `${one.tagName.toLowerCase()}.${one.className} "${(one.getAttribute('aria-label') ?? one.textContent ?? '').trim().slice(0, 30)}" ${Math.round(box.width)}x${Math.round(box.height)}`);
});

test('whatever is tapped is 44 pixels large', async () => {
  const found = {};
  for (const path of ['/', '/asks', '/board', '/new', `/s/${session.id}`, `/s/${session.id}?panel=todo`, '/search?q=code', '/settings']) {
    const page = await desk.tab(path, PHONE);
    await live(page);
    if (path.startsWith('/s/')) await page.locator('[data-ask]').waitFor();
    const small = await tooSmall(page);
    if (small.length > 0) found[path.replace(session.id, 'ID')] = small;
    await page.close();
  }
  assert.deepEqual(found, {});
});

test('that the page is live is in sight everywhere', async () => {
  for (const path of ['/', '/board', '/settings', `/s/${session.id}`]) {
    const page = await desk.tab(path, PHONE);
    await live(page);
    const box = await page.locator('.pill.is-live .dot').boundingBox();
    // Was: in the list and nowhere else.
    assert.ok(box && box.width >= 6 && box.x >= 0 && box.x + box.width <= 360 && box.y >= 0 && box.y < 60, `${path} ${JSON.stringify(box)}`);
    await page.close();
  }
});

test('a command of the shell is sent from a phone: its button stays on the screen', async () => {
  const page = await desk.tab(`/s/${session.id}`, PHONE);
  await live(page);
  await page.getByLabel('Ask, or say what to do').or(page.getByPlaceholder('Will be answered after this step')).first().fill('!ls -la');

  await page.getByText("A shell command: it runs in the session's directory").waitFor();

  const box = await page.getByRole('button', { name: 'Send' }).boundingBox();
  // Was: pushed out of the window by the words beside it.
  assert.ok(box && box.x + box.width <= 360, JSON.stringify(box));
  await page.getByLabel('Ask, or say what to do').fill('');
});

test('the page can be put on the home screen, and keeps clear of the edges of the screen', async () => {
  const page = await desk.tab('/', PHONE);
  await live(page);
  const manifest = await page.evaluate(async () => (await fetch(document.querySelector('link[rel=manifest]').href)).json());
  assert.deepEqual([manifest.display, manifest.start_url, manifest.name], ['standalone', '/', 'Sturdy']);
  const icons = [...manifest.icons.map((icon) => icon.src), await page.locator('link[rel="apple-touch-icon"]').getAttribute('href')];
  for (const icon of icons) {
    const size = await page.evaluate(async (src) => {
      const image = new Image();
      image.src = src;
      await image.decode();
      return image.naturalWidth;
    }, icon);
    assert.ok(size > 0, icon);
  }
  const viewport = await page.locator('meta[name=viewport]').getAttribute('content');
  assert.match(viewport ?? '', /viewport-fit=cover/);
  const rules = await page.evaluate(() => [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).map((rule) => rule.cssText).join('\n'));
  for (const edge of ['top', 'bottom', 'left', 'right']) assert.ok(rules.includes(`safe-area-inset-${edge}`), `nothing keeps clear of the ${edge}`);
});
