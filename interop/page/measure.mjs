// What a page costs until it is usable: bytes on the wire by kind, requests, and the browser's own counters.

/**
 * Opens an address with an empty cache.
 * @param {import('./desk.mjs').Desk} desk
 * @param {string} path
 * @param {string | ((page: import('playwright-core').Page) => Promise<unknown>)} ready until it is usable; what is drawn then, to count
 *   exactly what came before it, however late this program hears of it
 * @param {{ cpu: number, latency: number, bytesPerSecond: number }} [slow] how much slower than this machine; -1 is as fast
 * @param {() => void} [first] runs in the page before its own script
 */
export async function measured(desk, path, ready, slow, first) {
  const page = await desk.tab('/favicon.svg', { isFresh: true });
  if (first !== undefined) await page.addInitScript(first);
  if (typeof ready === 'string') await page.addInitScript(watchFor, ready);
  const network = await page.context().newCDPSession(page);
  await network.send('Network.enable');
  await network.send('Performance.enable');
  await network.send('Network.setCacheDisabled', { cacheDisabled: true });
  const kinds = new Map();
  const bytes = { script: 0, style: 0, font: 0, requests: 0 };
  network.on('Network.responseReceived', ({ requestId, type, response }) => {
    // The browser asks for the icon by itself, whenever it likes; the stream never ends.
    if (!/event|favicon/.test(response.url)) bytes.requests += 1;
    kinds.set(requestId, type);
  });
  network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const kind = { Script: 'script', Stylesheet: 'style', Font: 'font' }[kinds.get(requestId)];
    if (kind !== undefined) bytes[kind] += encodedDataLength;
  });
  if (slow !== undefined) {
    await network.send('Emulation.setCPUThrottlingRate', { rate: slow.cpu });
    await network.send('Network.emulateNetworkConditions', { offline: false, latency: slow.latency, downloadThroughput: slow.bytesPerSecond, uploadThroughput: slow.bytesPerSecond });
  }
  const began = Date.now();
  await page.goto(desk.server.url + path);
  if (typeof ready === 'string') await page.waitForFunction(() => globalThis.usableAt !== undefined);
  else await ready(page);
  const tookMs = Date.now() - began;
  const metrics = async () => {
    await network.send('HeapProfiler.collectGarbage');
    const { metrics: list } = await network.send('Performance.getMetrics');
    return Object.fromEntries(list.map(({ name, value }) => [name, value]));
  };
  return { page, bytes: typeof ready === 'string' ? await page.evaluate(loaded) : { ...bytes }, tookMs, metrics };
}

/** In the page, before its own script: notes when something is drawn. */
function watchFor(selector) {
  const look = () => {
    if (document.querySelector(selector)) globalThis.usableAt = performance.now();
    else requestAnimationFrame(look);
  };
  look();
}

/** In the page: what was on the wire until then. The stream has no end, and the icon is asked for by the browser itself. */
function loaded() {
  const before = performance.getEntriesByType('resource').filter((one) => one.responseEnd > 0 && one.responseEnd <= globalThis.usableAt && !/event|favicon/.test(one.name));
  const sum = (ending) => before.filter((one) => ending.test(new URL(one.name).pathname)).reduce((total, one) => total + one.transferSize, 0);
  return { script: sum(/\.js$/), style: sum(/\.css$/), font: sum(/\.(woff2?|ttf|otf)$/), requests: before.length + 1 };
}

/** Bytes and counts that do not depend on the machine. Times are in `bench.mjs`. */
export const BUDGETS = {
  'script until the list, bytes': 38_000,
  'script until a session, bytes': 80_000,
  'script of the share page, bytes': 70_000,
  'style, bytes': 14_000,
  'requests until the list': 5,
  'exported file without its session, packed bytes': 120_000,
};
