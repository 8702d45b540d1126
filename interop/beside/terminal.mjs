// A terminal over its WebSocket: how long until a key that was typed is seen, and how long and how much memory a lot of output takes.

/** What `yes` prints in each line, its line end of a terminal included. */
const LINE = 'y\r\n'.length;

const bytesIn = (data) => (typeof data === 'string' ? Buffer.byteLength(data) : data.byteLength);
const wordsIn = (data) => (typeof data === 'string' ? data : Buffer.from(data).toString('utf8'));

export class Terminal {
  #socket;
  /** @type {((data: string | ArrayBuffer) => void) | undefined} */
  #hear;

  /** A shell without a prompt that is connected and ready. @param {{ url: string, tell: Function }} server */
  static async open(server) {
    const { id } = await server.tell('POST', '/pty', { command: '/bin/sh', args: ['-c', 'stty -echo; echo ready; exec cat'] });
    return Terminal.#connect(server, id, 'ready');
  }

  /** A program that prints as many lines as it takes, once it is told to. @param {{ url: string, tell: Function }} server @param {number} bytes */
  static async printing(server, bytes) {
    const lines = Math.ceil(bytes / LINE);
    const script = `stty -echo; echo ready; read line; yes | head -n ${lines}; echo done; read line`;
    const { id } = await server.tell('POST', '/pty', { command: '/bin/sh', args: ['-c', script] });
    return Terminal.#connect(server, id, 'ready');
  }

  static async #connect(server, id, greeting) {
    const terminal = new Terminal();
    terminal.id = id;
    terminal.server = server;
    terminal.#socket = new WebSocket(`${server.url.replace(/^http/, 'ws')}/pty/${id}/connect`);
    terminal.#socket.binaryType = 'arraybuffer';
    terminal.#socket.onmessage = ({ data }) => terminal.#hear?.(data);
    await terminal.#until(greeting);
    return terminal;
  }

  /** Until a word was seen. @param {string} word @returns {Promise<number>} how many bytes came until then */
  #until(word) {
    let tail = '';
    let bytes = 0;
    return new Promise((resolve, reject) => {
      this.#socket.onerror = () => reject(new Error('the terminal is gone'));
      this.#hear = (data) => {
        bytes += bytesIn(data);
        tail = (tail + wordsIn(data)).slice(-100);
        if (tail.includes(word)) resolve(bytes);
      };
    });
  }

  /** What is typed comes back, here by `cat`. @param {string} word @returns {Promise<number>} ms */
  async echo(word) {
    const seen = this.#until(word);
    const began = performance.now();
    this.#socket.send(`${word}\n`);
    await seen;
    return performance.now() - began;
  }

  /** @returns {Promise<{ ms: number, bytes: number }>} */
  async drain() {
    const seen = this.#until('done');
    const began = performance.now();
    this.#socket.send('\n');
    return { bytes: await seen, ms: performance.now() - began };
  }

  async close() {
    this.#socket.close();
    await this.server.ask('DELETE', `/pty/${this.id}`);
  }
}
