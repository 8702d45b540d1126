// What the page costs while things happen: text that streams, many sessions at once, a reader who is further up, a line
// that comes back. Used by bench.mjs.

import { MAIN } from '../lib/provider.mjs';
import { Gate, until } from '../lib/wait.mjs';
import { live } from './desk.mjs';
import { measured } from './measure.mjs';

/** Pieces of text a second. */
const PACE = 500;

/** Says pieces at their pace; each names the moment it was sent at. */
const streams = (gate, seconds, pace = PACE) => async (reply) => {
  reply.text('go ');
  await gate.opened;
  const first = Date.now();
  for (let i = 0; i < pace * seconds; i += 1) {
    reply.text(i % 40 === 39 ? 'word\n\n' : i % 10 === 0 ? `at${Date.now()} ` : 'word ');
    if (i % 25 === 24) await new Promise((done) => setTimeout(done, Math.max(0, first + ((i + 1) * 1000) / pace - Date.now())));
  }
  reply.finish();
};

const ask = (desk, session, text) => desk.server.tell('POST', `/session/${session.id}/prompt_async`, { model: MAIN, parts: [{ type: 'text', text }] });
const ended = (desk, session) => until('the answer has ended', async () => (await desk.server.tell('GET', `/session/${session.id}/message?limit=1`))[0].info.time.completed, 300_000);
const p95 = (values) => Math.round([...values].sort((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0);

/** In the page: the time between two frames, and between the arrival of a piece and the frame that shows it. */
function watchFrames() {
  globalThis.frameTimes = [];
  globalThis.seenAfter = [];
  let last = performance.now();
  let shown = '';
  const frame = () => {
    const now = performance.now();
    globalThis.frameTimes.push(now - last);
    last = now;
    const newest = [...document.querySelectorAll('.step .prose')].at(-1)?.textContent.match(/at\d+/g)?.at(-1) ?? '';
    const came = globalThis.arrivals?.get(newest);
    if (newest !== shown && came !== undefined) globalThis.seenAfter.push(now - came);
    shown = newest;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

/** In the page, before its own script: when the bytes of each piece came. */
function watchArrivals() {
  globalThis.arrivals = new Map();
  const read = ReadableStreamDefaultReader.prototype.read;
  const decoder = new TextDecoder();
  ReadableStreamDefaultReader.prototype.read = async function () {
    const answer = await read.call(this);
    if (answer.value instanceof Uint8Array) for (const [name] of decoder.decode(answer.value).matchAll(/at\d{13}/g)) globalThis.arrivals.set(name, performance.now());
    return answer;
  };
}

/** Turns of half a minute until the time is over: main thread, frames, memory; and a person who types meanwhile. */
export async function streaming(desk, results, seconds, longTasks, longest) {
  const session = await desk.session({ title: 'Streaming' });
  const { page, metrics } = await measured(desk, `/s/${session.id}`, live, undefined, watchArrivals);
  const samples = [];
  let grown = 0;
  let busy = 0;
  let wall = 0;
  const began = Date.now();
  await longTasks(page);
  do {
    const gate = new Gate();
    const span = Math.min(30, seconds);
    desk.provider.will(streams(gate, span));
    await ask(desk, session, `go ${samples.length}`);
    await page.locator('.step .prose', { hasText: 'go' }).last().waitFor();
    const before = await metrics();
    const from = Date.now();
    gate.open();
    await ended(desk, session);
    const after = await metrics();
    grown += PACE * span;
    busy += after.TaskDuration - before.TaskDuration;
    wall += (Date.now() - from) / 1000;
    samples.push({ at: (Date.now() - began) / 1000, heap: after.JSHeapUsedSize / 1e6 });
  } while ((Date.now() - began) / 1000 < seconds);
  const last = samples.at(-1);
  const first = samples.length > 2 ? samples[1] : samples[0];
  const perSecond = last.at > first.at ? Math.max(0, (last.heap - first.heap) / (last.at - first.at)) : 0;
  results['streaming, pieces per second'] = Math.round(grown / wall);
  results['streaming, main thread, % of a core'] = Math.round((busy / wall) * 100);
  results['streaming, longest task, ms'] = await longest(page);
  results['streamed, seconds'] = Math.round(last.at);
  results['heap after streaming, MB'] = Math.round(last.heap);
  results['heap after an hour of it, MB'] = Math.round(last.heap + perSecond * Math.max(0, 3600 - last.at));
  results['nodes after streaming'] = await page.evaluate(() => document.querySelectorAll('*').length);
  await typing(desk, results, session, page);
  await desk.leave();
}

/** Not while the main thread is measured: watching costs, too. */
async function typing(desk, results, session, page) {
  const gate = new Gate();
  desk.provider.will(streams(gate, 10));
  await ask(desk, session, 'once more');
  await page.getByLabel('Ask, or say what to do').focus();
  await page.evaluate(watchFrames);
  await page.evaluate(() => {
    globalThis.keyTimes = [];
    new PerformanceObserver((list) => globalThis.keyTimes.push(...list.getEntries().filter((entry) => entry.name === 'keydown').map((entry) => entry.duration))).observe({ type: 'event', durationThreshold: 16 });
  });
  gate.open();
  for (let i = 0; i < 60; i += 1) {
    await page.keyboard.press('x');
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
  await ended(desk, session);
  const seen = await page.evaluate(() => ({ frames: globalThis.frameTimes, after: globalThis.seenAfter, keys: globalThis.keyTimes }));
  results['streaming, 95th frame, ms'] = p95(seen.frames);
  results['streaming, 95th piece seen after its byte, ms'] = p95(seen.after);
  // Those below 16 ms are not told.
  results['streaming, 95th key to paint, ms'] = p95([...seen.keys, ...Array(Math.max(0, 60 - seen.keys.length)).fill(16)]);
}

/** Twenty sessions stream, and the board is on the screen. */
export async function manyAtOnce(desk, results, seconds) {
  const sessions = [];
  for (let i = 0; i < 20; i += 1) sessions.push(await desk.session({ title: `At once ${i}` }));
  const { page, metrics } = await measured(desk, '/board', live);
  const gate = new Gate();
  desk.provider.will(...sessions.map(() => streams(gate, seconds, 25)));
  for (const session of sessions) await ask(desk, session, 'go');
  await until('all work', async () => Object.keys(await desk.server.tell('GET', '/session/status')).length === sessions.length);
  await page.locator('.tile').first().waitFor();
  const before = await metrics();
  const from = Date.now();
  gate.open();
  for (const session of sessions) await ended(desk, session);
  const after = await metrics();
  results['20 sessions streaming, board, % of a core'] = Math.round(((after.TaskDuration - before.TaskDuration) / ((Date.now() - from) / 1000)) * 100);
  await desk.leave();
}

/** The line under the eye of somebody who is further up. */
export async function stillReading(desk, results, seconds) {
  const session = await desk.session({ title: 'Still' });
  await desk.prompt(session, Array.from({ length: 120 }, (_, i) => `Paragraph ${i} of a long answer.`).join('\n\n'));
  const { page } = await measured(desk, `/s/${session.id}`, live);
  const gate = new Gate();
  desk.provider.will(streams(gate, seconds));
  await ask(desk, session, 'go');
  await page.locator('.step .prose', { hasText: 'go' }).last().waitFor();
  await page.locator('.timeline').hover();
  await page.mouse.wheel(0, -1500);
  await page.locator('.to-end').waitFor();
  await page.evaluate(() => new Promise((done) => setTimeout(done, 500)));
  await page.evaluate(() => {
    const view = document.querySelector('.timeline').getBoundingClientRect();
    const line = [...document.querySelectorAll('.prose p')].find((one) => one.getBoundingClientRect().top > view.top + view.height / 2);
    const first = line.getBoundingClientRect().top;
    globalThis.moved = 0;
    const frame = () => {
      globalThis.moved = Math.max(globalThis.moved, Math.abs(line.getBoundingClientRect().top - first));
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  gate.open();
  await ended(desk, session);
  results['reader further up, moved, px'] = Math.round(await page.evaluate(() => globalThis.moved));
  await desk.leave();
}

/** In the page: its tab is left, or looked at again. */
function show(state) {
  Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
  document.dispatchEvent(new Event('visibilitychange'));
}

/** A hidden page lets its line go after a while; much happens, and it is looked at again. */
export async function wake(desk, results) {
  const session = await desk.session({ title: 'Woken' });
  const { page } = await measured(desk, `/s/${session.id}`, live);
  await page.evaluate(show, 'hidden');
  await page.locator('[data-line="asleep"]').waitFor({ state: 'attached', timeout: 60_000 });
  const head = async () => Number((await desk.server.ask('GET', '/sturdy/overview?limit=1')).json.position.split('.')[1]);
  const from = await head();
  const isEnough = async () => (await head()) - from >= 3000;
  for (let i = 0; !(await isEnough()); i += 1) {
    for (let n = 0; n < 50; n += 1) await desk.server.tell('POST', `/session/${session.id}/message`, { noReply: true, parts: [{ type: 'text', text: `Missed ${i}-${n}` }] });
  }
  results['entries missed'] = (await head()) - from;
  const began = Date.now();
  await page.evaluate(show, 'visible');
  await live(page);
  results['awake and live again, ms'] = Date.now() - began;
  await desk.leave();
}
