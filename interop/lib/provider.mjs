// A model provider that does as it is told: chat completions over a real socket on loopback.
//
// `main` answers with the next script of a queue; a script is a function that says things and may wait
// at gates. `small` is for titles and always gives the same one, so that scripts count only turns.

import { createServer } from 'node:http';
import { pause } from './wait.mjs';

export const PROVIDER = 'scripted';
export const MAIN = { providerID: PROVIDER, modelID: 'main' };
export const TITLE = 'A title from the small model';

/** @typedef {{ url: string, headers: import('node:http').IncomingHttpHeaders, body: any }} Asked */
/** @typedef {(reply: Reply, asked: Asked) => void | Promise<void>} Script */

/** What a script may do. */
export class Reply {
  /** @param {import('node:http').ServerResponse} response @param {string} model */
  constructor(response, model) {
    this.response = response;
    this.model = model;
    this.calls = 0;
    this.gone = new Promise((resolve) => response.on('close', () => resolve(undefined)));
  }

  begin() {
    if (this.response.headersSent) return;
    this.response.writeHead(200, { 'content-type': 'text/event-stream' });
  }

  /** @param {object} choice @param {object} [more] */
  chunk(choice, more = {}) {
    this.begin();
    const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: this.model };
    this.raw(`data: ${JSON.stringify({ ...head, choices: [{ index: 0, ...choice }], ...more })}\n\n`);
    return this;
  }

  /** Bytes as they are. @param {string} bytes */
  raw(bytes) {
    this.begin();
    if (!this.response.destroyed) this.response.write(bytes);
    return this;
  }

  /** @param {string} content */
  text(content) {
    return this.chunk({ delta: { role: 'assistant', content } });
  }

  /** @param {string} reasoning_content */
  reasoning(reasoning_content) {
    return this.chunk({ delta: { reasoning_content } });
  }

  /** @param {string} name @param {object} input @param {string} [id] */
  call(name, input, id = `call_${this.calls + 1}`) {
    const index = this.calls++;
    const call = { index, id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
    return this.chunk({ delta: { tool_calls: [call] } });
  }

  /** @param {string} [reason] */
  finish(reason = this.calls > 0 ? 'tool_calls' : 'stop') {
    this.chunk({ delta: {}, finish_reason: reason });
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const last = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: this.model };
    this.raw(`data: ${JSON.stringify({ ...last, choices: [], usage })}\n\ndata: [DONE]\n\n`);
    this.response.end();
  }

  /** A refusal. @param {number} status @param {string} message @param {Record<string, string>} [headers] */
  refuse(status, message, headers = {}) {
    this.response.writeHead(status, { 'content-type': 'application/json', ...headers });
    this.response.end(JSON.stringify({ error: { message } }));
  }

  /** The connection is lost. */
  breakOff() {
    this.response.destroy();
  }
}

/** Says a text whole. @param {string} text @returns {Script} */
export const says = (text) => (reply) => reply.text(text).finish();

/**
 * Says pieces, one after the other, until the reader goes away.
 * @param {string[]} pieces @param {number} paceMs @returns {Script}
 */
export const paced = (pieces, paceMs) => async (reply) => {
  for (const piece of pieces) {
    if (reply.response.destroyed) return;
    reply.text(piece);
    await pause(paceMs);
  }
  reply.finish();
};

/** Calls a tool. @param {string} name @param {object} input @returns {Script} */
export const calls = (name, input) => (reply) => reply.call(name, input).finish();

export class Provider {
  constructor() {
    /** @type {Script[]} */
    this.scripts = [];
    /** Requests to `main`, in order. @type {Asked[]} */
    this.asked = [];
    this.server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (more) => (text += more));
      request.on('end', () => void this.answer(request, JSON.parse(text), response));
      response.on('error', () => {});
    });
  }

  static async start() {
    const provider = new Provider();
    await new Promise((resolve) => provider.server.listen(0, '127.0.0.1', () => resolve(undefined)));
    return provider;
  }

  /** What is said next, and after that. @param {Script[]} scripts */
  will(...scripts) {
    this.scripts.push(...scripts);
  }

  /**
   * @param {import('node:http').IncomingMessage} request @param {any} body
   * @param {import('node:http').ServerResponse} response
   */
  async answer(request, body, response) {
    const asked = { url: request.url ?? '', headers: request.headers, body };
    const reply = new Reply(response, body.model);
    if (body.model === 'small') return reply.text(TITLE).finish();
    this.asked.push(asked);
    const script = this.scripts.shift() ?? says('There is no script for this.');
    await script(reply, asked);
  }

  /**
   * What goes into `opencode.json`.
   * @param {object} [more] @param {object} [options] of the provider
   */
  config(more = {}, options = {}) {
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.server.address());
    const model = { limit: { context: 100_000, output: 4_000 }, tool_call: true };
    return {
      model: `${PROVIDER}/main`,
      small_model: `${PROVIDER}/small`,
      provider: {
        [PROVIDER]: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'key-of-the-test', ...options },
          models: { main: model, small: model },
        },
      },
      ...more,
    };
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(() => resolve(undefined)));
  }
}
