// One of the two programs with everything around it: a repository, a scripted model, a page on the web, a reader of
// its events. What happened in each turn is written down as it goes.

import { createServer } from 'node:http';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MAIN, Provider } from '../lib/provider.mjs';
import { Reader } from '../lib/sse.mjs';
import { until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';
import { FILES } from './turns.mjs';

const MCP_SERVER = fileURLToPath(new URL('../lib/mcp-server.mjs', import.meta.url));

/** A site with one page. */
async function openPage() {
  const site = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end('<h1>News</h1><p>Clocks go <b>back</b>.</p>');
  });
  await new Promise((resolve) => site.listen(0, '127.0.0.1', () => resolve(undefined)));
  return site;
}

export class Side {
  /** Sessions by the name that the comparison gives them. @type {Record<string, string>} */
  sessions = {};
  /** What each turn left behind, by its name. @type {Record<string, any>} */
  notes = {};
  /** Where the events, requests and messages of each turn begin. @type {{ name: string, frame: number, request: number, message: number }[]} */
  marks = [];
  /** Where the dev server of the project listens. */
  devPort = '';
  /** Events of readers that have ended. @type {import('../lib/sse.mjs').Frame[]} */
  #heard = [];

  /** @param {(world: World) => Promise<import('../lib/server.mjs').Server>} serve */
  static async start(serve) {
    const side = new Side();
    side.serve = serve;
    side.world = await World.make('git');
    side.provider = await Provider.start();
    side.site = await openPage();
    side.page = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (side.site.address()).port}`;
    const config = side.provider.config({
      // The reference writes this line into a file that lacks it.
      $schema: 'https://opencode.ai/config.json',
      permission: { 'small_*': 'ask', private_network: 'allow' },
      mcp: { small: { type: 'local', command: [process.execPath, MCP_SERVER] } },
      share: 'disabled',
      lsp: false,
      formatter: false,
    });
    const models = config.provider.scripted.models;
    models['gpt-5'] = models.main;
    for (const model of Object.values(models)) Object.assign(model, { cost: { input: 1, output: 2 }, attachment: true, modalities: { input: ['text', 'image'], output: ['text'] } });
    await side.world.configure(config);
    for (const [name, text] of Object.entries(FILES)) {
      const file = join(side.world.project, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
    side.world.git(['add', '.']);
    side.world.git(['commit', '--quiet', '--message', 'A clock']);
    side.server = await serve(side.world);
    side.reader = await Reader.open(side.server.url);
    const { id } = await side.server.tell('POST', '/session', {});
    side.session = id;
    side.sessions.day = id;
    await until('the MCP server is connected', async () => (await side.server.tell('GET', '/mcp')).small?.status === 'connected');
    return side;
  }

  /** All events of the day. */
  get frames() {
    return [...this.#heard, ...this.reader.frames];
  }

  /** The server ends and is started again on what it kept. */
  async restart() {
    await this.server.stop();
    this.#heard = this.frames;
    this.server = await this.serve(this.world);
    this.reader = await Reader.open(this.server.url);
  }

  /** @param {import('./turns.mjs').Turn} turn */
  async play({ name, scripts, act = (side) => side.say(`Now: ${name}`) }) {
    const message = (await this.messages(this.session)).length;
    this.marks.push({ name, frame: this.frames.length, request: this.provider.asked.length, message });
    this.provider.scripts = scripts(this);
    await act(this);
    if (this.provider.scripts.length > 0) throw new Error(`${name}: the model was asked too rarely, ${this.provider.scripts.length} scripts are left`);
    this.provider.scripts = [];
  }

  /** A prompt, until it is answered. @param {string} text @param {object} [more] */
  say(text, more = {}, session = this.session, query = '') {
    return this.turn('message', { model: MAIN, parts: [{ type: 'text', text }], ...more }, session, query);
  }

  /** A request that ends with its turn. @param {string} what @param {object} body */
  async turn(what, body, session = this.session, query = '') {
    const from = this.reader.frames.length;
    await this.server.tell('POST', `/session/${session}/${what}${query}`, body);
    // The stream shows one directory; what happens in another is waited for by asking.
    if (query === '') await this.reader.idle(session, from);
    await until('nothing runs', async () => Object.keys(await this.server.tell('GET', `/session/status${query}`)).length === 0);
  }

  /** A prompt whose request is answered. @param {string} text @param {string} reply @param {string} [message] */
  async allowing(text, reply, message) {
    const answer = this.say(text);
    const { id } = await this.asked('permission');
    await this.server.tell('POST', `/permission/${id}/reply`, { reply, message });
    await answer;
  }

  /** @param {'permission' | 'question'} kind */
  asked(kind) {
    return until(`a ${kind} is asked for`, async () => (await this.server.tell('GET', `/${kind}`))[0]);
  }

  /** @param {string} session @returns {Promise<any[]>} */
  messages(session) {
    return this.server.tell('GET', `/session/${session}/message`);
  }

  /** @param {string} what @param {unknown} value */
  note(what, value) {
    this.notes[what] = value;
  }

  async stop() {
    this.reader?.close();
    await this.server?.kill();
    await this.provider?.stop();
    this.site?.closeAllConnections();
    this.site?.close();
    await this.world?.remove();
  }
}
