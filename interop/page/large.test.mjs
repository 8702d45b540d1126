// Sessions and outputs that are larger than a page can hold, and many that are opened and left again.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { calls, says } from '../lib/provider.mjs';
import { until } from '../lib/wait.mjs';
import { Desk, live } from './desk.mjs';

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

const NODES_MAX = 6000;
const nodes = (page) => page.evaluate(() => document.querySelectorAll('*').length);

test('a session of 100,000 parts opens at its end, is read back, and never fills the document', { timeout: 600_000 }, async () => {
  const session = await desk.session({ title: 'Endless' });
  const messages = 1000;
  const send = (n) => {
    const parts = Array.from({ length: 100 }, (_, i) => ({ type: 'text', text: `Message ${n}, part ${i}` }));
    return desk.server.tell('POST', `/session/${session.id}/message`, { noReply: true, parts });
  };
  // Ten at a time, and the last one last.
  for (let n = 0; n < messages - 1; n += 10) await Promise.all(Array.from({ length: Math.min(10, messages - 1 - n) }, (_, i) => send(n + i)));
  await send(messages - 1);
  const page = await desk.tab(`/s/${session.id}`);
  await page.getByText(`Message ${messages - 1}, part 99`, { exact: true }).waitFor();
  await live(page);
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));

  const seen = [];
  for (let i = 0; i < 120; i += 1) {
    await page.locator('.timeline').evaluate((element) => element.scrollBy(0, -4000));
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    seen.push(await nodes(page));
  }

  assert.ok(Math.max(...seen) < NODES_MAX, `${Math.max(...seen)} elements`);
  assert.ok(asked.some((url) => url.includes('before=')), 'older messages were read');
  await page.getByRole('button', { name: 'Go to the end' }).click();
  await page.getByText(`Message ${messages - 1}, part 99`, { exact: true }).waitFor();
});

test('a message far away is gone to with two reads, and what is between is read when it is looked at', { timeout: 300_000 }, async () => {
  const session = await desk.session({ title: 'Far' });
  for (let n = 0; n < 300; n += 1) await desk.server.tell('POST', `/session/${session.id}/message`, { noReply: true, parts: [{ type: 'text', text: `Message ${n}.\n\nWith a second line.` }] });
  const all = await desk.server.tell('GET', `/session/${session.id}/message`);
  const page = await desk.tab(`/s/${session.id}`);
  await page.getByText('Message 299.').waitFor();
  await live(page);
  const asked = [];
  page.on('request', (request) => asked.push(new URL(request.url())));

  await page.evaluate((id) => (location.hash = id), all[20].info.id);
  const target = page.getByText('Message 20.');
  await target.waitFor();

  const reads = asked.filter((url) => /outline|message/.test(url.pathname)).map((url) => (url.pathname.endsWith('outline') ? 'outline' : [...url.searchParams.keys()].join()));
  assert.deepEqual(reads.slice(0, 2), ['outline', 'limit,around,large']);
  assert.ok(!reads.some((read) => read.includes('before')), reads.join(' '));
  await until('it is at the top', () => page.evaluate((id) => {
    const box = document.getElementById(id)?.getBoundingClientRect();
    const view = document.querySelector('.timeline').getBoundingClientRect();
    return box && Math.abs(box.top - view.top) < 40;
  }, all[20].info.id));
  // Down through what was never read: toward the first message that was not drawn yet, until each was. Where it is can
  // change with every height that turns out other than guessed, so each look begins with what is drawn then.
  const ids = all.map(({ info }) => info.id);
  const seen = new Set();
  const look = () => page.evaluate(async ({ ids, missing }) => {
    const place = (element) => ids.indexOf(element.id);
    const rows = [...document.querySelectorAll('.timeline .prompt, .timeline .hole')].filter((row) => place(row) >= 0);
    const before = rows.filter((row) => place(row) <= missing).at(-1);
    if (before) before.scrollIntoView();
    else rows[0]?.scrollIntoView({ block: 'end' });
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return [...document.querySelectorAll('.timeline .prompt')].map(place).filter((index) => index >= 0);
  }, { ids, missing: firstMissing() });
  const firstMissing = () => ids.findIndex((_, index) => index >= 20 && !seen.has(index));
  await until('all up to message 120 were drawn', async () => {
    for (const index of await look()) seen.add(index);
    return firstMissing() > 120;
  }, 120_000);
  await page.getByRole('button', { name: /Go to the end|new below/ }).click();
  await page.getByText('Message 299.').waitFor();
  assert.equal(await page.locator('.hole').count(), 0);
});

test('a tool that prints 50 MB shows its end and where the rest is, and the page still answers', { timeout: 300_000 }, async () => {
  const session = await desk.session({ title: 'Loud' });
  desk.provider.will(calls('bash', { command: "yes 'a line of a very long output' | head -c 50000000; echo; echo the very end", description: 'Prints' }), says('Printed.'));
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.getByLabel('Ask, or say what to do').fill('print');
  await page.keyboard.press('Enter');
  await page.locator('.step .prose', { hasText: 'Printed.' }).waitFor({ timeout: 90_000 });

  await page.locator('.card summary').first().click();
  await page.getByText('The whole output is in').waitFor();
  await page.getByLabel('Ask, or say what to do').fill('still here');

  assert.equal(await page.getByLabel('Ask, or say what to do').inputValue(), 'still here');
  assert.ok((await nodes(page)) < NODES_MAX);
});

test('a text of half a million letters in one part is shown whole', { timeout: 300_000 }, async () => {
  const session = await desk.session({ title: 'One long text' });
  desk.provider.will(says(Array.from({ length: 5000 }, (_, i) => `Paragraph ${i} ${'with some words in it '.repeat(5)}`).join('\n\n')));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'write' }] });
  const page = await desk.tab(`/s/${session.id}`);

  await page.getByText('Paragraph 4999 ').waitFor();
  await page.locator('.timeline').evaluate((element) => element.scrollTo(0, 0));
  await page.locator('.prompt-text', { hasText: 'write' }).waitFor();
});

test('two hundred sessions that are opened and left again leave nothing behind', { timeout: 600_000 }, async () => {
  const ROUNDS = 34;
  const sessions = [];
  for (let i = 0; i < 6; i += 1) {
    const session = await desk.session({ title: `Visited ${i}` });
    await desk.prompt(session, `**Visited ${i}** and \`code\``);
    sessions.push(session);
  }
  const page = await desk.tab('/', { isFresh: true });
  await live(page);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  const measure = async () => {
    await devtools.send('HeapProfiler.collectGarbage');
    const { metrics } = await devtools.send('Performance.getMetrics');
    const of = (name) => metrics.find((metric) => metric.name === name)?.value ?? 0;
    return { nodes: of('Nodes'), listeners: of('JSEventListeners'), heap: of('JSHeapUsedSize') };
  };
  /** Each session, then the list with the last of them beside it. In the page: a driver that waits costs more than the page. */
  const round = () => page.evaluate(async (visits) => {
    for (const { path, title } of visits) {
      document.querySelector(path === '/' ? '.brand a' : `.list-row a[href="${path}"]`).click();
      const isThere = () => location.pathname === path && [...document.querySelectorAll('.step .prose')].some((one) => one.textContent.includes(title));
      while (!isThere()) await new Promise((done) => requestAnimationFrame(done));
    }
  }, [...sessions.map(({ id, title }) => ({ path: `/s/${id}`, title })), { path: '/', title: sessions.at(-1).title }]);
  /** What was left is collected when the browser gets to it: looked at until it stays the same. */
  const settled = async () => {
    let last = await measure();
    return until('nothing is on its way', async () => {
      const next = await measure();
      const isSame = next.nodes === last.nodes && next.listeners === last.listeners;
      last = next;
      return isSame && next;
    });
  };
  // Whatever is kept on purpose is there after two rounds.
  await round();
  await round();
  const before = await settled();
  for (let i = 0; i < ROUNDS; i += 1) await round();

  let left;
  const isBack = async () => {
    left = await measure();
    return left.nodes <= before.nodes * 1.2 + 50 && left.listeners <= before.listeners * 1.2 + 20 && left.heap <= before.heap * 1.2 + 2e6;
  };
  await until('nodes, listeners and memory return', isBack, 10_000).catch(() => assert.fail(JSON.stringify({ before, left })));
});
