// A world with published MCP servers: from npm and from PyPI, as programs and over HTTP.

import { spawn } from 'node:child_process';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { reservePort } from '../lib/port.mjs';
import { Provider } from '../lib/provider.mjs';
import { Server } from '../lib/server.mjs';
import { until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
const EVERYTHING = here('node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const PYTHON = [here('.venv/bin/python'), here('server.py')];

/** Servers over HTTP; none outlives the tests. */
const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** @param {World} world @param {string[]} command @param {Record<string, string>} [env] */
async function serve(world, command, port, env = {}) {
  const child = spawn(command[0], command.slice(1), { env: world.env(env), stdio: 'ignore' });
  running.add(child);
  child.on('exit', () => running.delete(child));
  const url = `http://127.0.0.1:${port}/mcp`;
  await until(`${url} answers`, () => fetch(url).then(() => true, () => false));
  return { child, entry: { type: 'remote', url } };
}

/** One server for all tests of a file, with all four MCP servers. @param {object} [config] */
export function bench(config = {}) {
  const made = { world: /** @type {any} */ (undefined), provider: /** @type {any} */ (undefined), server: /** @type {any} */ (undefined) };
  before(async () => {
    made.world = await World.make();
    made.provider = await Provider.start();
    const [port, other] = [await reservePort(), await reservePort()];
    const node = await serve(made.world, ['node', EVERYTHING, 'streamableHttp'], port, { PORT: String(port) });
    const python = await serve(made.world, [...PYTHON, 'http', String(other)], other);
    const mcp = {
      every: { type: 'local', command: ['node', EVERYTHING] },
      py: { type: 'local', command: PYTHON },
      'every web': node.entry,
      'py web': python.entry,
      off: { type: 'local', command: ['false'], enabled: false },
      broken: { type: 'local', command: ['no-such-mcp-server'] },
    };
    await made.world.configure(made.provider.config({ mcp, ...config }));
    made.server = await Server.start(made.world);
  });
  after(async () => {
    await made.server?.stop();
    await made.provider?.stop();
    running.forEach((child) => child.kill('SIGKILL'));
    await made.world?.remove();
  });
  return made;
}
