// What a page costs until it is usable: bytes on the wire by kind, requests, and the browser's own counters.

/**
 * Opens an address with an empty cache.
 * @param {import('./desk.mjs').Desk} desk
 * @param {string} path
 * @param {(page: import('playwright-core').Page) => Promise<unknown>} ready until it is usable
 * @param {{ cpu: number, latency: number, bytesPerSecond: number }} [slow] how much slower than this machine; -1 is as fast
 * @param {() => void} [first] runs in the page before its own script
 */
export async function measured(desk, path, ready, slow, first) {
  const page = await desk.tab('/favicon.svg', { isFresh: true });
  if (first !== undefined) await page.addInitScript(first);
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
  await ready(page);
  const tookMs = Date.now() - began;
  const metrics = async () => {
    await network.send('HeapProfiler.collectGarbage');
    const { metrics: list } = await network.send('Performance.getMetrics');
    return Object.fromEntries(list.map(({ name, value }) => [name, value]));
  };
  return { page, bytes: { ...bytes }, tookMs, metrics };
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
