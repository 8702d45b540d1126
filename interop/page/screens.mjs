// Screens compared with kept pictures: by the colours of small squares, so that another font or another time of day is
// no difference and a missing panel is one. Pictures of another major version of Chromium are not compared.
//
//   STURDY_PAGE_SCREENS=record STURDY_BIN=… node --test looks.test.mjs     takes the pictures anew; look at them

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pause } from '../lib/wait.mjs';

const FOLDER = join(import.meta.dirname, 'screens');
const IS_RECORDING = process.env.STURDY_PAGE_SCREENS === 'record';
/** Kept at this share of their size. */
const SCALE = 0.5;
/** Screen pixels to a square. */
const SQUARE = 12;
/** A square differs when a colour of it does by more than this, of 255. */
const COLOUR_MAX = 10;
/** Of all squares. The same screen differs in less than one of a hundred, one without its list in seven or more. */
const DIFFERENT_MAX = 0.05;
/** How long a screen may take until it looks as it did: what is drawn last has no sign of its own. */
const SAME_WITHIN_MS = 10_000;

export class Screens {
  /** @param {import('playwright-core').Browser} browser */
  constructor(browser) {
    this.browser = browser;
    this.major = browser.version().split('.')[0];
  }

  async open() {
    this.painter = await (await this.browser.newContext()).newPage();
    await mkdir(FOLDER, { recursive: true });
    const version = join(FOLDER, 'chromium.txt');
    if (IS_RECORDING) await writeFile(version, `${this.major}\n`);
    this.recorded = (await readFile(version, 'utf8').catch(() => '')).trim();
  }

  get isComparing() {
    return !IS_RECORDING && this.recorded === this.major;
  }

  /** What differs, in words; nothing when it is the same, or becomes it in time, or was recorded. */
  async differences(page, name, withinMs = SAME_WITHIN_MS) {
    if (!IS_RECORDING && !this.isComparing) return [];
    const file = join(FOLDER, `${name}.webp`);
    if (IS_RECORDING) {
      await writeFile(file, await this.packed(await still(page)));
      return [];
    }
    const kept = await readFile(file).catch(() => undefined);
    if (kept === undefined) return [`${name}: there is no picture of it`];
    const end = Date.now() + withinMs;
    for (;;) {
      const share = await this.painter.evaluate(compare, { shot: await shot(page), kept: `data:image/webp;base64,${kept.toString('base64')}`, square: SQUARE, most: COLOUR_MAX });
      if (share <= DIFFERENT_MAX) return [];
      if (Date.now() > end) return [`${name}: ${Math.round(share * 100)} % of it differ from screens/${name}.webp`];
      await pause(100);
    }
  }

  async packed(shot) {
    const url = await this.painter.evaluate(async ({ source, scale }) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const canvas = document.createElement('canvas');
      canvas.width = Math.round(image.width * scale);
      canvas.height = Math.round(image.height * scale);
      const pen = canvas.getContext('2d');
      pen.imageSmoothingQuality = 'high';
      pen.drawImage(image, 0, 0, canvas.width, canvas.height);
      return canvas.toDataURL('image/webp', 0.5);
    }, { source: shot, scale: SCALE });
    return Buffer.from(url.split(',')[1], 'base64');
  }
}

const shot = async (page) => `data:image/png;base64,${(await page.screenshot()).toString('base64')}`;

/** A picture of a screen that has not changed for a while. */
async function still(page) {
  let last = await shot(page);
  for (let same = 0; same < 5; ) {
    await pause(200);
    const next = await shot(page);
    same = next === last ? same + 1 : 0;
    last = next;
  }
  return last;
}

/** In the browser: the share of squares whose colours differ. */
async function compare({ shot, kept, square, most }) {
  const squares = async (source, width, height) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = width ?? Math.ceil(image.width / square);
    canvas.height = height ?? Math.ceil(image.height / square);
    const pen = canvas.getContext('2d', { willReadFrequently: true });
    pen.imageSmoothingQuality = 'high';
    pen.drawImage(image, 0, 0, canvas.width, canvas.height);
    return pen.getImageData(0, 0, canvas.width, canvas.height);
  };
  const now = await squares(shot);
  const then = await squares(kept, now.width, now.height);
  let different = 0;
  for (let i = 0; i < now.data.length; i += 4) {
    const far = [0, 1, 2].some((channel) => Math.abs(now.data[i + channel] - then.data[i + channel]) > most);
    if (far) different += 1;
  }
  return different / (now.data.length / 4);
}
