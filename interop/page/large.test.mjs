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
  for (let n = 0; n < messages; n += 1) await send(n);
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

test('a tool that prints 50 MB shows its end and where the rest is, and the page still answers', { timeout: 120_000 }, async () => {
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

test('a text of half a million letters in one part is shown whole', { timeout: 120_000 }, async () => {
  const session = await desk.session({ title: 'One long text' });
  desk.provider.will(says(Array.from({ length: 5000 }, (_, i) => `Paragraph ${i} ${'with some words in it '.repeat(5)}`).join('\n\n')));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'write' }] });
  const page = await desk.tab(`/s/${session.id}`);

  await page.getByText('Paragraph 4999 ').waitFor();
  await page.locator('.timeline').evaluate((element) => element.scrollTo(0, 0));
  await page.locator('.prompt-text', { hasText: 'write' }).waitFor();
});

test('sessions that are opened and left again leave nothing behind', { timeout: 120_000 }, async () => {
  const sessions = [];
  for (let i = 0; i < 6; i += 1) {
    const session = await desk.session({ title: `Visited ${i}` });
    await desk.prompt(session, `Hello ${i}\n\n**bold** and \`code\``);
    sessions.push(session);
  }
  const page = await desk.tab('/');
  await live(page);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  const measure = async () => {
    await devtools.send('HeapProfiler.collectGarbage');
    const { metrics } = await devtools.send('Performance.getMetrics');
    const of = (name) => metrics.find((metric) => metric.name === name)?.value ?? 0;
    return { nodes: of('Nodes'), listeners: of('JSEventListeners') };
  };
  const round = async () => {
    for (const session of sessions) {
      await page.locator('.list-row', { hasText: session.title }).locator('a').first().click();
      await page.waitForURL(`**/s/${session.id}`);
      await page.locator('.step .prose', { hasText: 'bold' }).waitFor();
    }
    await page.locator('.brand a').click();
    await until('the list alone', async () => (await page.locator('.step').count()) === 0);
    return measure();
  };
  await round();
  const before = await round();
  for (let i = 0; i < 4; i += 1) await round();
  const after = await round();

  assert.ok(after.nodes <= before.nodes * 1.2 + 50, JSON.stringify({ before, after }));
  assert.ok(after.listeners <= before.listeners * 1.2 + 20, JSON.stringify({ before, after }));
});
