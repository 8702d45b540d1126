// What the page costs, measured in Chromium against the program in STURDY_BIN. Bytes, requests and nodes do not
// depend on the machine; times do, and are printed for comparison only.
//
//   STURDY_BIN=target/release/sturdy node interop/page/bench.mjs
//
// A budget of bytes, requests, nodes or movement that is exceeded ends it with 1.

import { Gate, until } from '../lib/wait.mjs';
import { Desk, ECHO, live } from './desk.mjs';

const BUDGETS = {
  'script until the list, bytes': 38_000,
  'script until a session, bytes': 80_000,
  'style, bytes': 14_000,
  'requests until the list': 5,
  'nodes with a long session open': 6000,
  'heap with a long session open, MB': 120,
  'heap after 20,000 growths, MB': 120,
};
/** Prompts of the long session; each makes two messages. */
const LONG = Number(process.env.STURDY_PAGE_LONG ?? 400);

const desk = await Desk.open({ env: { STURDY_DEMO_PACE_MS: '0' } });
const results = {};

async function measured(path, ready) {
  const page = await desk.tab('/favicon.svg');
  const network = await page.context().newCDPSession(page);
  await network.send('Network.enable');
  await network.send('Performance.enable');
  await network.send('Network.setCacheDisabled', { cacheDisabled: true });
  const kinds = new Map();
  const bytes = { script: 0, style: 0, requests: 0 };
  network.on('Network.responseReceived', ({ requestId, type, response }) => {
    // The browser asks for the icon by itself, whenever it likes; the stream never ends.
    if (!/event|favicon/.test(response.url)) bytes.requests += 1;
    kinds.set(requestId, type);
  });
  network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (kinds.get(requestId) === 'Script') bytes.script += encodedDataLength;
    if (kinds.get(requestId) === 'Stylesheet') bytes.style += encodedDataLength;
  });
  const began = Date.now();
  await page.goto(desk.server.url + path);
  await ready(page);
  const metrics = async () => {
    await network.send('HeapProfiler.collectGarbage');
    const { metrics: list } = await network.send('Performance.getMetrics');
    return Object.fromEntries(list.map(({ name, value }) => [name, value]));
  };
  return { page, bytes: { ...bytes }, tookMs: Date.now() - began, metrics };
}

try {
  const session = await desk.session({ title: 'A long one' });
  for (let i = 0; i < LONG; i += 1) await desk.prompt(session, `Message ${i}\n\nwith **some** text and \`code\`.`, ECHO);

  const list = await measured('/', (page) => page.locator('.list-row').first().waitFor());
  results['script until the list, bytes'] = list.bytes.script;
  results['style, bytes'] = list.bytes.style;
  results['requests until the list'] = list.bytes.requests;
  results['list usable, ms'] = list.tookMs;

  const opened = await measured(`/s/${session.id}`, (page) => page.locator('.step .prose').last().waitFor());
  results['script until a session, bytes'] = opened.bytes.script;
  results['session usable, ms'] = opened.tookMs;
  await live(opened.page);
  for (let i = 0; i < 200; i += 1) {
    await opened.page.locator('.timeline').evaluate((element) => element.scrollBy(0, -1500));
    await opened.page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
  }
  const long = await opened.metrics();
  results['nodes with a long session open'] = await opened.page.evaluate(() => document.querySelectorAll('*').length);
  results['heap with a long session open, MB'] = Math.round(long.JSHeapUsedSize / 1e6);

  const streaming = await desk.session({ title: 'Streaming' });
  const stream = await measured(`/s/${streaming.id}`, live);
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
