// Tabs of a browser, used again by the next test: to start the process of a tab costs more than most tests do.
//
// A tab that is used again is as good as a new one: nothing stored, no cookies, no routes, no listeners, its size and theme
// set anew. What cannot be taken back from a tab (scripts that run first, a clock, anything of its context) marks it, and
// it is closed with its test.

/** A page of the server without a script of its own: there nothing runs, nothing is connected, and the process stays. */
const IDLE = '/favicon.svg';

/** Tabs that wait; most tests have one or two. */
const IDLE_MAX = 4;

/** @typedef {{ page: import('playwright-core').Page, context: import('playwright-core').BrowserContext, origin: string, touch: boolean, isMarked: boolean }} Tab */

export class Tabs {
  /** @param {import('playwright-core').Browser} browser */
  constructor(browser) {
    this.browser = browser;
    /** @type {Tab[]} */
    this.idle = [];
  }

  /**
   * A tab on which nothing is open yet.
   * @param {{ width: number, height: number, touch: boolean, theme: 'light' | 'dark', origin: string, isFresh?: boolean, more?: import('playwright-core').BrowserContextOptions }} options
   * @param {(context: import('playwright-core').BrowserContext) => Promise<void>} prepare what a new context needs
   * @returns {Promise<Tab>}
   */
  async open({ width, height, touch, theme, origin, isFresh = false, more }, prepare) {
    const isUsual = !isFresh && more === undefined;
    const at = isUsual ? this.idle.findIndex((tab) => tab.touch === touch && tab.origin === origin) : -1;
    if (at >= 0) {
      const [tab] = this.idle.splice(at, 1);
      await tab.page.setViewportSize({ width, height });
      await tab.page.emulateMedia({ media: null, colorScheme: theme, reducedMotion: 'reduce', forcedColors: null, contrast: null });
      return tab;
    }
    const context = await this.browser.newContext({ viewport: { width, height }, hasTouch: touch, isMobile: touch, colorScheme: theme, reducedMotion: 'reduce', ...more });
    await prepare(context);
    const tab = { page: await context.newPage(), context, origin, touch, isMarked: !isUsual };
    mark(tab);
    return tab;
  }

  /** The test is over. @param {Tab} tab */
  async close(tab) {
    if (!tab.isMarked && this.idle.length < IDLE_MAX && (await isCleared(tab))) this.idle.push(tab);
    else await tab.context.close();
  }
}

/** Whoever changes what cannot be taken back keeps the tab from being used again. @param {Tab} tab */
function mark(tab) {
  const { page } = tab;
  for (const name of ['addInitScript', 'exposeFunction', 'exposeBinding', 'setExtraHTTPHeaders', 'context', 'close']) {
    const plain = page[name].bind(page);
    page[name] = (...given) => {
      tab.isMarked = true;
      return plain(...given);
    };
  }
  const { clock } = page;
  Object.defineProperty(page, 'clock', {
    get: () => {
      tab.isMarked = true;
      return clock;
    },
  });
}

/** @param {Tab} tab @returns {Promise<boolean>} false if something of the test is still there */
async function isCleared({ page, context, origin }) {
  try {
    page.removeAllListeners();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.mouse.move(-1, -1);
    await page.goto(origin + IDLE);
    await page.evaluate(() => {
      localStorage.clear();
      sessionStorage.clear();
    });
    await context.clearCookies();
    return context.pages().length === 1;
  } catch {
    // A server that is gone, or a page that was closed.
    return false;
  }
}
