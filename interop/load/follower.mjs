// A reader of all events that keeps what a person would have read, part by part, and nothing else: it may run for
// an hour. It comes back with its cursor whenever its connection ends, also when the server was killed.

import { request } from 'node:http';
import { pause } from '../lib/wait.mjs';

const COME_BACK_MS = 100;

export class Follower {
  /** Text of each part, by session. @type {Map<string, Map<string, string>>} */
  sessions = new Map();
  /** Titles of sessions that were seen. @type {Set<string>} */
  titles = new Set();
  /** @type {string | undefined} */
  cursor;
  connections = 0;
  /** Answers that began, read or not. */
  answers = 0;
  frames = 0;
  /** Times that the server said it could not go on from the cursor. */
  resyncs = 0;
  /** Ids that came twice or not in order. @type {string[]} */
  wrong = [];
  #isOver = false;
  #isStalled = false;
  /** @type {import('node:http').ClientRequest | undefined} */
  #request;
  /** @type {import('node:http').IncomingMessage | undefined} */
  #response;

  /** @param {() => string} url where the server is now */
  constructor(url) {
    this.url = url;
  }

  /** Resolves once the first connection stands. */
  start() {
    return new Promise((resolve) => {
      this.ended = this.#run(() => resolve(undefined));
    });
  }

  /** Stops reading, and keeps the connection. */
  stall() {
    this.#isStalled = true;
    this.#response?.pause();
  }

  resume() {
    this.#isStalled = false;
    this.#response?.resume();
  }

  /** Goes away; it comes back by itself. */
  leave() {
    this.#request?.destroy();
  }

  stop() {
    this.#isOver = true;
    this.#request?.destroy();
    return this.ended;
  }

  /** @param {() => void} begun */
  async #run(begun) {
    while (!this.#isOver) {
      await this.#connect(begun);
      if (!this.#isOver) await pause(COME_BACK_MS);
    }
  }

  /** @param {() => void} begun */
  #connect(begun) {
    return new Promise((resolve) => {
      const headers = this.cursor === undefined ? {} : { 'last-event-id': this.cursor };
      const asked = request(`${this.url()}/global/event`, { headers, agent: false }, (response) => {
        this.#response = response;
        this.answers += 1;
        let rest = '';
        response.setEncoding('utf8').on('data', (text) => {
          const blocks = (rest + text).split('\n\n');
          rest = blocks.pop() ?? '';
          for (const block of blocks) this.#take(block, begun);
        });
        response.on('error', () => {});
        response.on('close', () => resolve(undefined));
        if (this.#isStalled) response.pause();
      });
      this.#request = asked;
      asked.on('error', () => resolve(undefined));
      asked.end();
    });
  }

  /** @param {string} block @param {() => void} begun */
  #take(block, begun) {
    /** @type {string | undefined} */
    let id;
    let data = '';
    for (const line of block.split('\n')) {
      if (line.startsWith('id: ')) id = line.slice(4);
      else if (line.startsWith('data: ')) data += line.slice(6);
    }
    if (data === '') return;
    const outer = JSON.parse(data);
    const { type, properties } = outer.payload ?? outer;
    this.frames += 1;
    if (type === 'sturdy.resync') this.resyncs += 1;
    if (id !== undefined) {
      if (this.cursor !== undefined && !isLater(id, this.cursor)) this.wrong.push(`${id} after ${this.cursor}`);
      this.cursor = id;
    }
    if (type === 'server.connected') {
      this.connections += 1;
      return begun();
    }
    this.#read(type, properties);
  }

  /** @param {string} type @param {any} properties */
  #read(type, properties) {
    if (type === 'session.created') {
      this.sessions.set(properties.info.id, new Map());
      this.titles.add(properties.info.title);
    } else if (type === 'session.deleted') {
      this.sessions.delete(properties.info.id);
    } else if (type === 'message.part.updated') {
      const { id, sessionID, text } = properties.part;
      if (typeof text === 'string') this.sessions.get(sessionID)?.set(id, text);
    } else if (type === 'message.part.delta') {
      const parts = this.sessions.get(properties.sessionID);
      parts?.set(properties.partID, (parts.get(properties.partID) ?? '') + properties.delta);
    } else if (type === 'message.part.removed') {
      this.sessions.get(properties.sessionID)?.delete(properties.partID);
    }
  }
}

/** Ids are a position, perhaps behind the name of the store, perhaps with a place inside the position. */
function isLater(/** @type {string} */ id, /** @type {string} */ before) {
  const numbers = (/** @type {string} */ text) => text.split('.').filter((part) => /^\d+$/.test(part)).map(Number);
  const [now, then] = [numbers(id), numbers(before)];
  for (let at = 0; at < Math.max(now.length, then.length); at++) {
    const [one, other] = [now[at] ?? -1, then[at] ?? -1];
    if (one !== other) return one > other;
  }
  return false;
}
