// Debian's Chromium, driven by playwright-core, and pages served under any name.
//
// Whoever uses it has playwright-core in its own package.json and hands it over.

import { createServer } from 'node:http';

/**
 * A browser for which some names lead to this machine, as a stranger's name server could say.
 * @param {import('playwright-core').BrowserType} chromium
 * @param {{ names?: string[] }} [options]
 */
export const openBrowser = (chromium, { names = [] } = {}) =>
  chromium.launch({
    executablePath: process.env.CHROMIUM_BIN ?? '/usr/bin/chromium',
    // Tests run as root in containers, where Chromium's own sandbox cannot be set up.
    chromiumSandbox: false,
    args: names.length ? [`--host-resolver-rules=${names.map((name) => `MAP ${name} 127.0.0.1`).join(',')}`] : [],
  });

/**
 * A web site on a port of its own: every path shows an empty page.
 * @returns {Promise<{ port: number, close: () => Promise<void> }>}
 */
export async function openSite() {
  const site = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<!doctype html><title>a page</title><body></body>');
  });
  await new Promise((resolve) => site.listen(0, '127.0.0.1', () => resolve(undefined)));
  const address = /** @type {import('node:net').AddressInfo} */ (site.address());
  return {
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        site.close(() => resolve());
        site.closeAllConnections();
      }),
  };
}
