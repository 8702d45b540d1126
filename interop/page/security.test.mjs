// Hostile text in every place a model, a tool or a person can put it: nothing runs, nothing is fetched, and the
// frame of the page stays where it is.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { MAIN, says } from '../lib/provider.mjs';
import { until } from '../lib/wait.mjs';
import { Desk, live } from './desk.mjs';
import { HOSTILE } from './hostile.mjs';

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

/** What must hold of the page whatever it was told. */
async function unharmed(page) {
  const found = await page.evaluate(() => ({
    pwned: globalThis.pwned,
    scripts: [...document.querySelectorAll('main script, main iframe, main object, main embed, main link, main style, main base, main form[action]')].map((element) => element.tagName),
    handlers: [...document.querySelectorAll('main *')].filter((element) => [...element.attributes].some((attribute) => attribute.name.startsWith('on'))).length,
    badLinks: [...document.querySelectorAll('main a[href]')].map((link) => link.href).filter((href) => !/^(https?|mailto):/.test(href)),
    foreignPictures: [...document.querySelectorAll('main img')].map((image) => image.src).filter((src) => !src.startsWith('data:image/')),
    svgPictures: [...document.querySelectorAll('main img')].filter((image) => image.src.startsWith('data:image/svg')).length,
    width: document.documentElement.scrollWidth - innerWidth,
    rail: document.querySelector('.rail')?.getBoundingClientRect().x,
    composer: document.querySelector('.composer')?.getBoundingClientRect().bottom <= innerHeight,
  }));
  assert.deepEqual(found, {
    pwned: undefined, scripts: [], handlers: 0, badLinks: [], foreignPictures: [], svgPictures: 0, width: 0, rail: 0, composer: true,
  });
}

test('hostile answers are text', { timeout: 600_000 }, async () => {
  const session = await desk.session({ title: HOSTILE[1] });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  for (const [index, text] of HOSTILE.entries()) {
    desk.provider.will((reply) => {
      reply.reasoning(text);
      // In pieces, so that every half of it is drawn as well.
      for (let at = 0; at < text.length; at += Math.ceil(text.length / 4)) reply.text(text.slice(at, at + Math.ceil(text.length / 4)));
      reply.text(`\n\nend ${index}`).finish();
    });
    await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text }] });
  }
  await page.locator('.step .prose', { hasText: `end ${HOSTILE.length - 1}` }).first().waitFor();
  await unharmed(page);
  // Every one of them is drawn on the way up.
  for (let y = 0; y < 60; y += 1) {
    await page.locator('.timeline').evaluate((element) => element.scrollBy(0, -600));
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
    if (y % 10 === 0) await unharmed(page);
  }
  await unharmed(page);
});

test('hostile commands, outputs and errors of tools are text', { timeout: 600_000 }, async () => {
  const session = await desk.session({ title: 'tools' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  for (const text of HOSTILE.filter((one) => !one.includes('\u0000') && one.length < 5000)) {
    desk.provider.will(
      (reply) => reply.call('write', { filePath: 'hostile.txt', content: text }, 'call_w').call('read', { filePath: 'hostile.txt' }, 'call_r').call(`no_${'such'}`, { text }, 'call_n').finish(),
      (reply) => reply.text('done').finish(),
    );
    await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'go' }] });
  }
  await page.locator('.step .card').last().waitFor();
  for (let y = 0; y < 40; y += 1) {
    await page.evaluate(() => document.querySelectorAll('main details').forEach((details) => (details.open = true)));
    await page.locator('.timeline').evaluate((element) => element.scrollBy(0, -700));
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
  }
  await unharmed(page);
});

test('hostile titles, lists, questions and names of files are text', { timeout: 600_000 }, async () => {
  const texts = HOSTILE.filter((one) => !one.includes('\u0000') && one.length < 5000);
  // A longer title is refused.
  for (const title of texts.filter((one) => Buffer.byteLength(one) <= 1024)) await desk.session({ title });
  const session = await desk.session({ title: 'Hostile lists' });
  const answer = await desk.prompt(session, 'go');
  const time = { start: 1_794_800_000_000, end: 1_794_800_002_500 };
  const added = [
    ...texts.map((text) => ({ type: 'file', mime: text, filename: text, url: 'data:text/html;base64,PHNjcmlwdD4=' })),
    ...texts.map((text) => ({ type: 'agent', name: text })),
    ...texts.map((text) => ({ type: 'subtask', prompt: text, description: text, agent: text })),
    ...texts.map((text) => ({ type: 'retry', attempt: 2, error: { name: 'APIError', data: { message: text, statusCode: 429, isRetryable: true } }, time: { created: time.start } })),
    { type: 'patch', hash: texts[1], files: texts },
    { type: 'tool', callID: 'call_h', tool: texts[2], state: { status: 'completed', input: Object.fromEntries(texts.map((text) => [text, text])), output: texts.join('\n'), title: texts[1], metadata: {}, time } },
  ];
  for (const [index, body] of added.entries()) {
    const id = `prt_hostile${String(index).padStart(4, '0')}`;
    await desk.server.tell('PATCH', `/session/${session.id}/message/${answer.info.id}/part/${id}`, { id, sessionID: session.id, messageID: answer.info.id, ...body });
  }
  desk.provider.will((reply) => reply.call('todowrite', { todos: texts.map((content) => ({ content, status: 'pending', priority: 'high' })) }, 'call_t').finish(), says('Listed.'),
    (reply) => reply.call('question', { questions: texts.slice(0, 4).map((question) => ({ question, header: question.slice(0, 12), options: texts.slice(0, 6).map((label) => ({ label, description: label })) })) }, 'call_q').finish());
  await desk.server.tell('POST', `/session/${session.id}/message`, { model: MAIN, parts: [{ type: 'text', text: 'list' }] });
  await desk.server.tell('POST', `/session/${session.id}/prompt_async`, { model: MAIN, parts: [{ type: 'text', text: 'ask' }] });

  const page = await desk.tab('/');
  const harm = () => page.evaluate(() => [globalThis.pwned, document.querySelectorAll('body :is(iframe, object, embed, link, style, base, form[action])').length, [...document.querySelectorAll('body *')].filter((one) => [...one.attributes].some(({ name }) => name.startsWith('on'))).length, document.documentElement.scrollWidth - innerWidth].join());
  const found = [];
  for (const path of ['/', '/board', '/search?q=pwned', '/asks', '/usage', `/s/${session.id}`, `/s/${session.id}?panel=todo`, `/s/${session.id}?panel=changes`, `/s/${session.id}?panel=log`, `/s/${session.id}?panel=family`]) {
    await page.goto(desk.server.url + path);
    await live(page);
    await page.locator(path === '/' ? '.list-row' : path.startsWith('/s/') ? '[data-ask]' : 'main').first().waitFor();
    await page.evaluate(() => document.querySelectorAll('main details').forEach((details) => (details.open = true)));
    for (let y = 0; y < 12; y += 1) {
      await page.evaluate(() => document.querySelectorAll('.timeline, .list-rows, .side-body, .page').forEach((one) => one.scrollBy(0, one.matches('.timeline') ? -1500 : 1500)));
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
    }
    if ((await harm()) !== ',0,0,0') found.push(`${path}: ${await harm()}`);
  }
  await page.keyboard.press('Control+k');
  await page.locator('.palette input:focus').waitFor();
  await page.keyboard.type('pwned');
  await page.locator('.palette [role=option]').first().waitFor();
  if ((await harm()) !== ',0,0,0') found.push(`palette: ${await harm()}`);
  assert.deepEqual(found, []);
});

test('the page cannot be framed and asks nobody else', async () => {
  const answer = await desk.server.ask('GET', '/', undefined, { accept: 'text/html' });
  const policy = answer.headers.get('content-security-policy') ?? '';
  assert.match(policy, /frame-ancestors 'none'/);
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
});

test('text from right to left keeps its direction, and the page keeps its own', async () => {
  const session = await desk.session({ title: 'مرحبا \u202Eevil\u202C' });
  desk.provider.will(says('مرحبا بالعالم\n\nPlain words.\n\nzero\u200B\u200C\u200D\uFEFFwidth'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: '\u2067שלום\u2069' }] });
  const page = await desk.tab(`/s/${session.id}`);

  const paragraphs = page.locator('.step .prose p');
  await paragraphs.nth(2).waitFor();

  const directions = () => paragraphs.evaluateAll((all) => all.map((one) => getComputedStyle(one).direction).join());
  await until('each has its own direction', async () => (await directions()) === 'rtl,ltr,ltr');
  assert.equal(await paragraphs.nth(2).evaluate((one) => one.textContent), 'zero\u200B\u200C\u200D\uFEFFwidth', 'nothing is dropped in silence');
  const list = await page.locator('.list').boundingBox();
  const timeline = await page.locator('.timeline').boundingBox();
  assert.ok(list && timeline && list.x < timeline.x, 'the list stays where it was');
  const row = page.locator(`.list-row a[href="/s/${session.id}"]`);
  assert.equal(await row.locator('.list-meta').evaluate((one) => getComputedStyle(one).direction), 'ltr', 'a title turns nothing else around');
});
