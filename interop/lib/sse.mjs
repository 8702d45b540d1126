// A reader of event streams that keeps every frame as it came, and can come back with a cursor.
//
// Written by hand over a plain request: what a test compares are bytes, not what a library made of them.

import { request } from 'node:http';
import { soon } from './wait.mjs';

/** @typedef {{ id: string | undefined, raw: string, event: any, type: string, directory?: string }} Frame */

export class Reader {
  /** @param {import('node:http').IncomingMessage} response @param {() => void} close */
  constructor(response, close) {
    this.close = close;
    this.headers = response.headers;
    /** @type {Frame[]} */
    this.frames = [];
    this.isOpen = true;
    /** @type {Set<() => void>} */
    this.watchers = new Set();
    let rest = '';
    response.setEncoding('utf8').on('data', (text) => {
      const blocks = (rest + text).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) this.frames.push(parse(block));
      this.wake();
    });
    /** Resolves when nothing more can come, also when the server was killed. */
    this.ended = new Promise((resolve) => response.on('close', () => resolve(undefined)));
    this.ended.then(() => {
      this.isOpen = false;
      this.wake();
    });
    response.on('error', () => {});
  }

  wake() {
    for (const watcher of [...this.watchers]) watcher();
  }

  /**
   * @param {string} url of the server
   * @param {{ path?: string, cursor?: string, headers?: Record<string, string> }} [options]
   * @returns {Promise<Reader>} once the stream has begun
   */
  static async open(url, { path = '/event', cursor, headers = {} } = {}) {
    const all = cursor === undefined ? headers : { ...headers, 'last-event-id': cursor };
    const reader = await soon(
      `${path} answers`,
      new Promise((resolve, reject) => {
        const asked = request(url + path, { headers: all, agent: false }, (response) => {
          if (response.statusCode !== 200) {
            response.resume();
            reject(new Error(`${path}: ${response.statusCode}`));
          } else {
            resolve(new Reader(response, () => asked.destroy()));
          }
        });
        asked.on('error', reject);
        asked.end();
      }),
    );
    await reader.until('the first frame', (frame) => frame.type === 'server.connected');
    return reader;
  }

  /** What is stored, and so can be asked for again. */
  get stored() {
    return this.frames.filter((frame) => frame.id !== undefined && frame.type !== 'server.connected');
  }

  /** The cursor a client would come back with. */
  get cursor() {
    return this.frames.findLast((frame) => frame.id !== undefined)?.id;
  }

  /**
   * Waits for a frame, counting from the beginning.
   * @param {string} what
   * @param {(frame: Frame, index: number) => boolean} wanted
   * @param {number} [from] index of the first frame that counts
   * @returns {Promise<Frame>}
   */
  until(what, wanted, from = 0) {
    let next = from;
    /** @type {() => void} */
    let watcher = () => {};
    const found = new Promise((resolve, reject) => {
      watcher = () => {
        for (; next < this.frames.length; next++) {
          if (wanted(this.frames[next], next)) return resolve(this.frames[next]);
        }
        if (!this.isOpen) reject(new Error(`the stream ended before: ${what}`));
      };
      this.watchers.add(watcher);
      watcher();
    });
    return soon(what, found).finally(() => this.watchers.delete(watcher));
  }

  /**
   * Waits until a session is done.
   * @param {string} session
   * @param {number} [from]
   */
  idle(session, from = 0) {
    const done = (/** @type {Frame} */ frame) =>
      frame.type === 'session.idle' && frame.event.properties.sessionID === session;
    return this.until(`session ${session} is idle`, done, from);
  }

  /**
   * What a person at this stream has read, part by part.
   * @returns {Map<string, { message: string, text: string }>}
   */
  texts() {
    const texts = new Map();
    for (const { type, event } of this.frames) {
      if (type === 'message.part.updated') {
        const { id, messageID, text } = event.properties.part;
        if (typeof text === 'string') texts.set(id, { message: messageID, text });
      } else if (type === 'message.part.delta') {
        const { partID, messageID, delta } = event.properties;
        texts.set(partID, { message: messageID, text: (texts.get(partID)?.text ?? '') + delta });
      }
    }
    return texts;
  }
}

/** The cursor before everything, in the store that another cursor is of. @param {string | undefined} cursor */
export const beginning = (cursor) => `${cursor?.split('.')[0]}.0`;

/** Where a cursor stands: by entry, and behind its last event when it names none. @param {string} cursor */
export const place = (cursor) => {
  const [, position, seen = Infinity] = cursor.split('.').map(Number);
  return [position, seen];
};

/** Whether one cursor is behind another. @param {string} one @param {string} other */
export const isBehind = (one, other) => {
  const [a, b] = [place(one), place(other)];
  return a[0] > b[0] || (a[0] === b[0] && a[1] > b[1]);
};

/** @param {string} block @returns {Frame} */
function parse(block) {
  let id;
  const data = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('id: ')) id = line.slice(4);
    else if (line.startsWith('data: ')) data.push(line.slice(6));
    else throw new Error(`not a line of the wire: ${JSON.stringify(line)}`);
  }
  const outer = JSON.parse(data.join('\n'));
  const event = outer.payload ?? outer;
  return { id, raw: block, event, type: event.type, directory: outer.directory };
}
