// A desk for tests of the page: a world, a server, a scripted provider, a browser, and a page that fails
// its test on a console error, a policy violation, an unhandled rejection or a request to another host.

import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { chromium } from 'playwright-core';
import { openBrowser } from '../lib/browser.mjs';
import { reservePort } from '../lib/port.mjs';
import { Provider } from '../lib/provider.mjs';
import { Server } from '../lib/server.mjs';
import { World } from '../lib/world.mjs';
import { Tabs } from './tabs.mjs';

export const STORY = { providerID: 'demo', modelID: 'story' };
export const ECHO = { providerID: 'demo', modelID: 'echo' };

/** Kept after the run, for a person to look at. */
const PICTURES = process.env.STURDY_PAGE_PICTURES;

/** Files of the page from this folder instead of from the program: for whoever works on it, without building the program. */
const FILES = process.env.STURDY_PAGE_FILES;

/** Of everything that is waited for in a page: a busy machine is slow, and a test that passes never waits so long. */
const PATIENCE_MS = 60_000;

const KINDS = { js: 'text/javascript', css: 'text/css', html: 'text/html', txt: 'text/plain' };

/** @param {import('playwright-core').BrowserContext} context @param {string} origin */
async function serveFrom(folder, context, origin) {
  const file = async (name) => ({ body: await readFile(join(folder, name)), contentType: `${KINDS[name.split('.').at(-1)] ?? 'text/plain'}; charset=utf-8` });
  await context.route(`${origin}/ui/**`, async (route) => route.fulfill(await file(basename(new URL(route.request().url()).pathname))));
  await context.route((url) => url.origin === origin, async (route) => {
    if (route.request().resourceType() !== 'document') return route.fallback();
    const answer = await route.fetch();
    if (!(answer.headers()['content-type'] ?? '').startsWith('text/html')) return route.fulfill({ response: answer });
    const name = new URL(route.request().url()).pathname.startsWith('/share/') ? 'share.html' : 'index.html';
    const shell = (await readFile(join(folder, name), 'utf8')).replace(/(name="sturdy-build" content=")[^"]*/, '$1');
    return route.fulfill({ response: answer, body: shell });
  });
}

/** In the page: what its policy forbids is an error. */
function watchPolicy() {
  document.addEventListener('securitypolicyviolation', (event) => {
    console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
  });
}

export class Desk {
  static async open({ args = [], env = {}, config = {} } = {}) {
    const desk = new Desk();
    desk.world = await World.make();
    desk.provider = await Provider.start();
    desk.config = { ...desk.provider.config(), ...config };
    await desk.world.configure(desk.config);
    // Its own, so that it is the same after a kill.
    desk.options = { args, env, port: await reservePort() };
    desk.server = await Server.start(desk.world, desk.options);
    desk.browser = await openBrowser(chromium);
    desk.pool = new Tabs(desk.browser);
    desk.tabs = [];
    return desk;
  }

  async close() {
    await this.browser?.close();
    await this.server?.stop();
    await this.provider?.stop();
    await this.world?.remove();
  }

  /** The same store, another process, the same port. */
  async restart() {
    await this.server.kill();
    this.server = await Server.start(this.world, this.options);
  }

  session(body = {}) {
    return this.server.tell('POST', '/session', body);
  }

  prompt(session, text, model = ECHO) {
    return this.server.tell('POST', `/session/${session.id}/message`, { model, parts: [{ type: 'text', text }] });
  }

  /**
   * A tab that watches itself. It talks to the server, or to what stands before it (`at`). It may have been used by an
   * earlier test, unless it has to be fresh: with an empty cache and a process of its own.
   * @param {string} path
   * @param {{ width?: number, height?: number, touch?: boolean, theme?: 'light' | 'dark', context?: import('playwright-core').BrowserContext, isFresh?: boolean, allow?: RegExp, at?: { url: string, port: string }, more?: import('playwright-core').BrowserContextOptions }} [options]
   */
  async tab(path, { width = 1440, height = 900, touch = false, theme = 'light', context, isFresh, allow, at = this.server, more } = {}) {
    const own = context === undefined ? undefined : { page: await context.newPage(), context, isMarked: true };
    // What stands before the server goes with its test, and its address with it.
    const isOnce = isFresh || at !== this.server;
    const opened = own ?? (await this.pool.open({ width, height, touch, theme, isFresh: isOnce, more, origin: at.url }, async (made) => {
      made.setDefaultTimeout(PATIENCE_MS);
      await made.addInitScript(watchPolicy);
      if (FILES) await serveFrom(FILES, made, at.url);
    }));
    const { page } = opened;
    const wrong = [];
    page.on('console', (said) => {
      if (said.type() === 'error' && !(allow ?? /net::ERR|Failed to load resource/).test(said.text())) wrong.push(`console: ${said.text()}`);
    });
    page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (['http:', 'https:', 'ws:', 'wss:'].includes(url.protocol) && url.port !== at.port) wrong.push(`request: ${request.url()}`);
    });
    await page.goto(at.url + path);
    const tab = { ...opened, opened, wrong };
    this.tabs.push(tab);
    return page;
  }

  /** Nothing went wrong in any tab since the last look. */
  check() {
    const wrong = this.tabs.flatMap((tab) => tab.wrong.splice(0));
    assert.deepEqual(wrong, []);
  }

  async leave() {
    for (const { opened } of this.tabs) await this.pool.close(opened);
    this.tabs = [];
  }

  /** Nothing runs, and no answer waits: a turn that goes on would take the next test's answers from the provider. */
  async rest() {
    const running = await this.server.tell('GET', '/session/status');
    for (const session of Object.keys(running)) await this.server.tell('POST', `/session/${session}/abort`);
    this.provider.scripts = [];
  }
}

export const live = (page) => page.locator('[data-line="live"]').waitFor({ state: 'attached' });

/** A picture of the screen, if somebody wants them. */
export async function picture(page, name) {
  if (!PICTURES) return;
  await mkdir(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}
