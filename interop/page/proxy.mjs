// A network between the page and the server that can be cut, held or made slow: bytes of every connection go through here.

import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** `open` passes everything on; `cut` has no connections; `held` has them, and nothing comes through; `slow` passes a few bytes at a time. */
export class Proxy {
  /** @type {'open' | 'cut' | 'held' | 'slow'} */
  #state = 'open';
  #sockets = new Set();
  /** Bytes from the server that are on their way, in order. @type {{ chunk: Buffer, to: import('node:net').Socket }[]} */
  #held = [];
  #timer;

  /** @param {string} port of the server */
  static async to(port) {
    const proxy = new Proxy();
    proxy.server = createServer((client) => proxy.#join(client, Number(port)));
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    proxy.port = String(proxy.server.address().port);
    proxy.url = `http://127.0.0.1:${proxy.port}`;
    return proxy;
  }

  #join(client, port) {
    if (this.#state === 'cut') return client.destroy();
    const server = connect(port, '127.0.0.1');
    for (const [from, to] of [[client, server], [server, client]]) {
      this.#sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
    client.on('data', (chunk) => server.write(chunk));
    server.on('data', (chunk) => {
      if (this.#state === 'open' && this.#held.length === 0) return client.write(chunk);
      // A proxy that gathers what it passes on cuts it anywhere, also in the middle of a letter.
      for (let at = 0; at < chunk.length; at += 7) this.#held.push({ chunk: chunk.subarray(at, at + 7), to: client });
    });
  }

  #pass(count) {
    for (const { chunk, to } of this.#held.splice(0, count)) if (!to.destroyed) to.write(chunk);
  }

  /** @param {'open' | 'cut' | 'held' | 'slow'} state */
  become(state) {
    this.#state = state;
    clearInterval(this.#timer);
    if (state === 'cut') {
      this.#held = [];
      for (const socket of this.#sockets) socket.destroy();
    } else if (state === 'slow') this.#timer = setInterval(() => this.#pass(60), 20);
    else if (state === 'open') this.#pass(this.#held.length);
  }

  /** How many connections there are now. */
  get connections() {
    return this.#sockets.size / 2;
  }

  async close() {
    this.become('cut');
    this.server.close();
    await once(this.server, 'close');
  }
}
