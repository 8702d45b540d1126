// What the page costs, measured in Chromium against the program in STURDY_BIN. Bytes, requests and nodes do not
// depend on the machine; times do, and are printed for comparison only.
//
//   STURDY_BIN=target/release/sturdy node interop/page/bench.mjs
//
// A budget of bytes, requests, nodes or movement that is exceeded ends it with 1.

import { Gate, until } from '../lib/wait.mjs';
import { Desk, ECHO, live } from './desk.mjs';
import { BUDGETS as BYTES, measured } from './measure.mjs';

const BUDGETS = {
  ...BYTES,
  'nodes with a long session open': 6000,
  'heap with a long session open, MB': 120,
  'heap after 20,000 growths, MB': 120,
};
/** Prompts of the long session; each makes two messages. */
const LONG = Number(process.env.STURDY_PAGE_LONG ?? 400);

const desk = await Desk.open({ env: { STURDY_DEMO_PACE_MS: '0' } });
const results = {};

try {
  const session = await desk.session({ title: 'A long one' });
  for (let i = 0; i < LONG; i += 1) await desk.prompt(session, `Message ${i}\n\nwith **some** text and \`code\`.`, ECHO);

  const list = await measured(desk, '/', (page) => page.locator('.list-row').first().waitFor());
  results['script until the list, bytes'] = list.bytes.script;
  results['style, bytes'] = list.bytes.style;
  results['requests until the list'] = list.bytes.requests;
  results['list usable, ms'] = list.tookMs;

  const opened = await measured(desk, `/s/${session.id}`, (page) => page.locator('.step .prose').last().waitFor());
  results['script until a session, bytes'] = opened.bytes.script;
  results['session usable, ms'] = opened.tookMs;
  await live(opened.page);
  await opened.page.evaluate(() => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((entry) => Math.round(entry.duration)))).observe({ type: 'longtask' });
  });
  const frames = await opened.page.locator('.timeline').evaluate(async (element) => {
    const times = [];
    let last = performance.now();
    for (let i = 0; i < 200; i += 1) {
      element.scrollBy(0, -1500);
      await new Promise((done) => requestAnimationFrame(done));
      times.push(performance.now() - last);
      last = performance.now();
    }
    return times.sort((a, b) => a - b);
  });
  results['scrolling, 95th frame, ms'] = Math.round(frames[Math.floor(frames.length * 0.95)]);
  results['scrolling, longest task, ms'] = Math.max(0, ...(await opened.page.evaluate(() => globalThis.longTasks)));
  const long = await opened.metrics();
  results['nodes with a long session open'] = await opened.page.evaluate(() => document.querySelectorAll('*').length);
  results['heap with a long session open, MB'] = Math.round(long.JSHeapUsedSize / 1e6);

  const search = await measured(desk, '/search', live);
  const typed = Date.now();
  await search.page.getByRole('searchbox', { name: 'Search' }).fill('Message 7');
  await search.page.locator('.hits mark').first().waitFor();
  results['search, key to hits, ms'] = Date.now() - typed;

  const log = await measured(desk, `/s/${session.id}?panel=log`, (page) => page.getByRole('slider').waitFor());
  results['log opened, ms'] = log.tookMs;
  const jumped = Date.now();
  await log.page.getByRole('slider').focus();
  await log.page.keyboard.press('Home');
  await log.page.getByText('Before the first entry').waitFor();
  results['jump in the log, ms'] = Date.now() - jumped;

  const streaming = await desk.session({ title: 'Streaming' });
  const stream = await measured(desk, `/s/${streaming.id}`, live);
  const gate = new Gate();
  desk.provider.will(async (reply) => {
    reply.text('go ');
    await gate.opened;
    for (let i = 0; i < 20_000; i += 1) {
      reply.text(i % 40 === 39 ? 'word\n\n' : 'word ');
      if (i % 50 === 49) await new Promise((done) => setTimeout(done, 100));
    }
    reply.finish();
  });
  await desk.server.tell('POST', `/session/${streaming.id}/prompt_async`, { parts: [{ type: 'text', text: 'go' }] });
  await stream.page.locator('.step .prose', { hasText: 'go' }).waitFor();
  const before = await stream.metrics();
  const began = Date.now();
  gate.open();
  await until('the stream has ended', async () => (await desk.server.tell('GET', `/session/${streaming.id}/message?limit=1`))[0].info.time.completed, 300_000);
  const after = await stream.metrics();
  const seconds = (Date.now() - began) / 1000;
  results['growths per second'] = Math.round(20_000 / seconds);
  results['main thread at that, % of a core'] = Math.round(((after.TaskDuration - before.TaskDuration) / seconds) * 100);
  results['heap after 20,000 growths, MB'] = Math.round(after.JSHeapUsedSize / 1e6);
} finally {
  await desk.close();
}

let isOver = false;
for (const [name, value] of Object.entries(results)) {
  const budget = BUDGETS[name];
  const over = budget !== undefined && value > budget;
  isOver ||= over;
  console.log(`${name.padEnd(40)} ${String(value).padStart(9)}${budget === undefined ? '' : `   budget ${budget}${over ? '  EXCEEDED' : ''}`}`);
}
process.exitCode = isOver ? 1 : 0;
