// Turns whose events are compared with the files in `golden/`.

import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { lines, masker } from '../lib/mask.mjs';
import { Provider } from '../lib/provider.mjs';
import { Server } from '../lib/server.mjs';
import { Reader } from '../lib/sse.mjs';
import { World } from '../lib/world.mjs';

/** @typedef {{ world: World, provider: Provider, server: Server }} Made */
/** @typedef {{ id: string, reader: Reader, world: World, ask: Server['ask'], say: (body?: object) => Promise<any> }} Turn */

/**
 * A server for all tests of a file. `names` are what else is hidden in what it says.
 * @param {{ config?: object, env?: Record<string, string>, files?: Record<string, string>, names?: () => Record<string, string> }} [options]
 */
export function told({ config: more = {}, env = {}, files = {}, names: others = () => ({}) } = {}) {
  const made = /** @type {Made} */ ({});

  before(async () => {
    made.world = await World.make();
    made.provider = await Provider.start();
    const prices = { cost: { input: 1, output: 2 } };
    // The reference captures nothing in a directory without git; what we add there is no part of the comparison.
    const config = made.provider.config({ snapshot: false, ...more });
    for (const model of Object.values(config.provider.scripted.models)) Object.assign(model, prices);
    await made.world.configure(config);
    for (const [name, text] of Object.entries({ 'a.txt': 'hello\n', ...files })) {
      const file = join(made.world.project, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
    made.server = await Server.start(made.world, { env });
    // Who listens is told of MCP servers too; that is not part of a turn.
    await made.server.tell('GET', '/mcp');
  });

  after(async () => {
    await made.server?.kill();
    await made.provider?.stop();
    await made.world?.remove();
  });

  /**
   * Plays a turn and compares what was told with what is written down.
   * @param {string} name
   * @param {import('../lib/provider.mjs').Script[]} scripts
   * @param {(turn: Turn) => Promise<void>} act
   */
  function golden(name, scripts, act = async ({ say }) => void (await say())) {
    test(name, async () => {
      const { world, provider, server } = made;
      const reader = await Reader.open(server.url);
      try {
        provider.will(...scripts);
        const { id } = await server.tell('POST', '/session', { title: 'Told' });
        const say = (body = {}) =>
          server.tell('POST', `/session/${id}/message`, { parts: [{ type: 'text', text: 'Go' }], ...body });

        await act({ id, reader, say, world, ask: server.ask.bind(server) });
        await reader.idle(id);
        // What is shown behind everything else: an answer may come before the last events of its turn.
        const last = await server.tell('POST', '/session', { title: 'Behind it' });
        const isLast = (frame) => frame.type === 'session.created' && frame.event.properties.info.id === last.id;
        const frames = reader.frames.slice(0, reader.frames.indexOf(await reader.until('the frame behind it', isLast)));

        const { port } = /** @type {import('node:net').AddressInfo} */ (provider.server.address());
        const below = world.project.slice(1);
        const names = { ...others(), [`127.0.0.1:${port}`]: 'PROVIDER', [world.project]: 'DIR', [below]: 'BELOW', [world.data]: 'DATA', [world.root]: 'ROOT', [world.root.slice(1)]: 'ABOVE' };
        await compare(name, lines(frames, masker(names)), world.kind);
      } finally {
        reader.close();
      }
    });
  }
  return golden;
}

/**
 * What is written down, as it reads in a repository: the project is named after its first commit, and paths are
 * told from the top of the checkout and not from the root of the disk.
 * @param {string} text
 */
const inRepository = (text) =>
  text
    .replaceAll('"projectID":"global"', '"projectID":"HASH"')
    .replaceAll('"root":"/"', '"root":"DIR"')
    .replaceAll('BELOW/', '')
    .replaceAll('BELOW', '')
    .replaceAll('ABOVE', '..');

/** @param {string} name @param {string[]} found @param {import('../lib/world.mjs').Kind} kind */
async function compare(name, found, kind) {
  const file = new URL(`golden/${name.replaceAll(' ', '-')}.txt`, import.meta.url);
  if (process.env.GOLDEN === 'write') {
    assert.equal(kind, 'plain', 'the files say what is told in a plain directory');
    await mkdir(new URL('.', file), { recursive: true });
    return writeFile(file, found.join('\n') + '\n');
  }
  const written = (await readFile(file, 'utf8')).trimEnd();
  const wanted = kind === 'plain' ? written : inRepository(written);
  assert.deepEqual(found, wanted.split('\n'));
}

/**
 * Waits for a request to a person.
 * @param {Reader} reader @param {'permission' | 'question'} kind @param {number} [from] the first frame that counts
 */
export async function asked(reader, kind, from = 0) {
  const { event } = await reader.until('it is asked', (frame) => frame.type === `${kind}.asked`, from);
  return event.properties.id;
}
