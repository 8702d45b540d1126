// What the page costs, measured in Chromium against the program in STURDY_BIN. Bytes, requests and nodes do not
// depend on the machine; times do, and are judged only on a machine that does nothing else (STURDY_PAGE_TIMES=1).
//
//   STURDY_BIN=target/release/sturdy node interop/page/bench.mjs
//
// A budget that is exceeded ends it with 1.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { reservePort } from '../lib/port.mjs';
import { Server } from '../lib/server.mjs';
import { World } from '../lib/world.mjs';
import { manyAtOnce, stillReading, streaming, wake } from './bench-live.mjs';
import { Desk, ECHO, live } from './desk.mjs';
import { BUDGETS as BYTES, measured } from './measure.mjs';

const number = (name, usual) => Number(process.env[name] ?? usual);
/** Prompts of the long session that are answered; each makes two messages. */
const LONG = number('STURDY_PAGE_LONG', 400);
/** Messages of the long session, all together. */
const MESSAGES = number('STURDY_PAGE_MESSAGES', 10_000);
/** How long text streams; 3600 is the hour, less is extrapolated. */
const STREAM_SECONDS = number('STURDY_PAGE_STREAM_SECONDS', 90);
/** How long somebody reads further up while text streams. */
const STILL_SECONDS = number('STURDY_PAGE_STILL_SECONDS', 60);
const DIST = join(import.meta.dirname, '../../web/dist');
/** Of these. */
const ONLY = process.env.STURDY_PAGE_ONLY?.split(',');

const BUDGETS = {
  ...BYTES,
  'nodes with a long session open': 6000,
  'heap with a long session open, MB': 120,
  'nodes after streaming': 6000,
  'heap after streaming, MB': 120,
  'heap after an hour of it, MB': 120,
  'fonts, bytes': 0,
  'requests for the messages of a long session': 1,
  'reader further up, moved, px': 0,
  'the page in the program, packed bytes': 600_000,
};
const TIMES = {
  'first paint, slow processor, ms': 300,
  'list usable, slow processor, ms': 600,
  'session of 50 messages usable, slow processor, ms': 800,
  'first paint, slow phone, ms': 1500,
  'list usable, slow phone, ms': 1000,
  'session of 50 messages usable, slow phone, ms': 2800,
  '10,000 messages opened from the list, ms': 300,
  'scrolling, 95th frame, ms': 17,
  'scrolling, longest task, ms': 50,
  'scrolling, longest without text, ms': 100,
  'search, key to hits, ms': 150,
  'jump in the log, ms': 200,
  'streaming, main thread, % of a core': 25,
  'streaming, longest task, ms': 50,
  'streaming, 95th frame, ms': 17,
  'streaming, 95th piece seen after its byte, ms': 50,
  'streaming, 95th key to paint, ms': 50,
  '20 sessions streaming, board, % of a core': 15,
  'awake and live again, ms': 1000,
  'cold start, ms': 12,
  'idle memory, MB': 15,
};
const JUDGES_TIMES = process.env.STURDY_PAGE_TIMES === '1';
/** A phone of some years ago on a mobile network: four times slower, 150 ms away, 1.6 Mbit/s. */
const SLOW = { cpu: 4, latency: 150, bytesPerSecond: 200_000 };

const results = {};
const desk = await Desk.open({ args: ['--share'], env: { STURDY_DEMO_PACE_MS: '0' } });
const wants = (name) => ONLY === undefined || ONLY.includes(name);
const longTasks = (page) => page.evaluate(() => {
  globalThis.longTasks = [];
  new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((entry) => Math.round(entry.duration)))).observe({ type: 'longtask' });
});
const longest = async (page) => Math.max(0, ...(await page.evaluate(() => globalThis.longTasks)));
const median = async (run) => {
  const all = [];
  for (let i = 0; i < 3; i += 1) all.push(await run());
  return all.sort((a, b) => a - b)[1];
};

async function makeSessions() {
  for (let i = 0; i < 59; i += 1) await desk.session({ title: `Session ${i} with a title of some length` });
  const session = await desk.session({ title: 'A long one' });
  const before = Math.max(0, MESSAGES - 2 * LONG);
  for (let i = 0; i < before; i += 1) {
    const parts = Array.from({ length: 6 }, (_, at) => ({ type: 'text', text: `Old message ${i}, part ${at}` }));
    await desk.server.tell('POST', `/session/${session.id}/message`, { noReply: true, parts });
  }
  for (let i = 0; i < LONG; i += 1) await desk.prompt(session, `Message ${i}\n\nwith **some** text and \`code\`.\n\n- one\n- two`, ECHO);
  return session;
}

async function firstLoads(session) {
  const list = await measured(desk, '/', '.list-row');
  results['script until the list, bytes'] = list.bytes.script;
  results['style, bytes'] = list.bytes.style;
  results['fonts, bytes'] = list.bytes.font;
  results['requests until the list'] = list.bytes.requests;
  await desk.leave();
  const small = await desk.session({ title: 'Fifty' });
  for (let i = 0; i < 25; i += 1) await desk.prompt(small, `Message ${i}\n\nwith **some** text.`, ECHO);
  const rows = (page) => page.locator('.list-row').first().waitFor();
  const answers = (page) => page.locator('.step .prose').last().waitFor();
  const opened = await measured(desk, `/s/${session.id}`, '.step .prose');
  results['script until a session, bytes'] = opened.bytes.script;
  await desk.leave();
  await otherLoads(small);
  for (const [name, slow] of [['slow processor', { ...SLOW, latency: 0, bytesPerSecond: -1 }], ['slow phone', SLOW]]) {
    const paints = [];
    results[`list usable, ${name}, ms`] = await median(async () => {
      const { page, tookMs } = await measured(desk, '/', rows, slow);
      paints.push(await page.evaluate(() => Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0)));
      await desk.leave();
      return tookMs;
    });
    results[`first paint, ${name}, ms`] = paints.sort((a, b) => a - b)[1];
    results[`session of 50 messages usable, ${name}, ms`] = await median(async () => {
      const { tookMs } = await measured(desk, `/s/${small.id}`, answers, slow);
      await desk.leave();
      return tookMs;
    });
  }
}

/** The page of a share, and the one file of an export. */
async function otherLoads(session) {
  const { share } = await desk.server.tell('POST', `/session/${session.id}/share`);
  const address = new URL(share.url);
  const shared = await measured(desk, address.pathname + address.hash, '.prompt-text');
  results['script of the share page, bytes'] = shared.bytes.script;
  await desk.leave();
  const empty = await desk.session({ title: 'Empty' });
  const file = await desk.server.ask('GET', `/sturdy/session/${empty.id}/export.html`);
  results['exported file without its session, packed bytes'] = gzipSync(file.text).length;
}

async function longSession(session) {
  const { page, metrics } = await measured(desk, '/board', live);
  await page.evaluate(() => new Promise((done) => setTimeout(done, 3000)));
  let reads = 0;
  page.on('request', (request) => (reads += Number(/\/message\?|\/sturdy\/session\/[^/]+\?/.test(request.url()))));
  results['10,000 messages opened from the list, ms'] = await page.evaluate(async (id) => {
    const begin = performance.now();
    document.querySelector(`a[href="/s/${id}"]`).click();
    while (!document.querySelector('.step .prose')) await new Promise((done) => requestAnimationFrame(done));
    return Math.round(performance.now() - begin);
  }, session.id);
  results['requests for the messages of a long session'] = reads;
  await page.evaluate(() => new Promise((done) => setTimeout(done, 1000)));
  await longTasks(page);
  await page.evaluate(() => {
    const box = document.querySelector('.timeline').getBoundingClientRect();
    let since = performance.now();
    globalThis.blankMs = 0;
    const frame = () => {
      const isThere = [...document.querySelectorAll('.timeline article')].some((one) => {
        const at = one.getBoundingClientRect();
        return at.bottom > box.top && at.top < box.bottom;
      });
      if (isThere) since = performance.now();
      else globalThis.blankMs = Math.max(globalThis.blankMs, performance.now() - since);
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  const frames = await page.locator('.timeline').evaluate(async (element) => {
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
  results['scrolling, longest task, ms'] = await longest(page);
  results['scrolling, longest without text, ms'] = Math.round(await page.evaluate(() => globalThis.blankMs));
  results['nodes with a long session open'] = await page.evaluate(() => document.querySelectorAll('*').length);
  results['heap with a long session open, MB'] = Math.round((await metrics()).JSHeapUsedSize / 1e6);
  await desk.leave();
}

async function searchAndLog(session) {
  const { page } = await measured(desk, '/search', live);
  const typed = Date.now();
  await page.getByRole('searchbox', { name: 'Search', exact: true }).fill('Message 7');
  await page.locator('.hits mark').first().waitFor();
  results['search, key to hits, ms'] = Date.now() - typed;
  await desk.leave();
  const log = await measured(desk, `/s/${session.id}?panel=log`, (log) => log.getByRole('slider').waitFor({ timeout: 120_000 }));
  results['log opened, ms'] = log.tookMs;
  const jumped = Date.now();
  await log.page.getByRole('slider').focus();
  await log.page.keyboard.press('Home');
  await log.page.getByText('Before the first entry').waitFor();
  results['jump in the log, ms'] = Date.now() - jumped;
  await desk.leave();
}

/** The program itself: how soon it listens, what it takes when nothing happens, and what of it is the page. */
async function program() {
  const files = readdirSync(DIST).map((name) => gzipSync(readFileSync(join(DIST, name)), { level: 9 }).length);
  results['the page in the program, packed bytes'] = files.reduce((sum, size) => sum + size, 0);
  const world = await World.make();
  try {
    // The first start makes the store.
    await (await Server.start(world, { port: await reservePort() })).stop();
    results['cold start, ms'] = await median(async () => {
      const port = await reservePort();
      const began = performance.now();
      const server = await Server.start(world, { port });
      const took = Math.round(performance.now() - began);
      results['idle memory, MB'] = Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024);
      await server.stop();
      return took;
    });
  } finally {
    await world.remove();
  }
}

try {
  if (wants('loads') || wants('long') || wants('search')) {
    const session = await makeSessions();
    if (wants('loads')) await firstLoads(session);
    if (wants('long')) await longSession(session);
    if (wants('search')) await searchAndLog(session);
  }
  if (wants('stream')) await streaming(desk, results, STREAM_SECONDS, longTasks, longest);
  if (wants('many')) await manyAtOnce(desk, results, Math.min(30, STREAM_SECONDS));
  if (wants('still')) await stillReading(desk, results, STILL_SECONDS);
  if (wants('wake')) await wake(desk, results);
  if (wants('program')) await program();
} finally {
  await desk.close();
}

let isOver = false;
for (const [name, value] of Object.entries(results)) {
  const budget = BUDGETS[name] ?? TIMES[name];
  const isExceeded = budget !== undefined && value > budget;
  const counts = name in BUDGETS || JUDGES_TIMES;
  isOver ||= isExceeded && counts;
  const verdict = isExceeded ? (counts ? '  EXCEEDED' : '  over, on this machine') : '';
  console.log(`${name.padEnd(44)} ${String(value).padStart(9)}${budget === undefined ? '' : `   budget ${budget}${verdict}`}`);
}
process.exitCode = isOver ? 1 : 0;
