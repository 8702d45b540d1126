// The unmodified program of the npm package opencode-ai: its terminal client, and its server as the reference.

import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reservePort } from './port.mjs';
import { Server } from './server.mjs';
import { Terminal } from './terminal.mjs';
import { soon } from './wait.mjs';

/** @typedef {import('./world.mjs').World} World */

const program = fileURLToPath(new URL('../node_modules/.bin/opencode', import.meta.url));

/** A port that nobody listens at, on this machine. */
const NOWHERE = 'http://127.0.0.1:9';

/**
 * Nothing is fetched from the network. The program installs a package into every configuration directory it finds,
 * so the registry and the way out lead nowhere.
 */
const OFFLINE = {
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  npm_config_registry: NOWHERE,
  npm_config_fetch_retries: '0',
  HTTP_PROXY: NOWHERE,
  HTTPS_PROXY: NOWHERE,
  NO_PROXY: '127.0.0.1,localhost',
};

/** Nothing but the server under test is talked to. @param {World} world */
const quiet = (world) => world.env(OFFLINE);

/**
 * `opencode serve`: the reference itself, in place of the server under test.
 * @param {World} world
 */
export async function serveReference(world) {
  // It takes port 0 for its usual one.
  const port = await reservePort();
  return Server.startOther(world, program, ['serve', '--hostname', '127.0.0.1', '--port', String(port)], OFFLINE);
}

/**
 * `opencode attach` in a terminal of its own.
 * @param {World} world @param {string} url @param {string[]} [args]
 */
export const attach = (world, url, args = []) =>
  Terminal.open({ root: world.root, cwd: world.project, env: quiet(world) }, [program, 'attach', url, ...args]);

/**
 * `sturdy attach`: the program under test finds or starts its server, and the client in PATH.
 * @param {World} world @param {string[]} [args]
 */
export function attachWithSturdy(world, args = []) {
  const env = quiet(world);
  env.PATH = `${dirname(program)}:${env.PATH}`;
  env.STURDY_TRUST_ALL = '1';
  const sturdy = /** @type {string} */ (process.env.STURDY_BIN);
  return Terminal.open({ root: world.root, cwd: world.project, env }, [sturdy, 'attach', '--data-dir', world.data, ...args]);
}

/**
 * `opencode run --attach`, to its end.
 * @param {World} world @param {string} url @param {string[]} args
 * @returns {Promise<{ code: number | null, stdout: string, stderr: string }>}
 */
export async function runAttached(world, url, args) {
  const child = spawn(program, ['run', '--attach', url, ...args], {
    cwd: world.project,
    env: quiet(world),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
  try {
    return await soon('opencode run ends', ended, 60_000);
  } finally {
    child.kill('SIGKILL');
  }
}

/** The OpenAPI document of the program. @param {World} world @returns {Promise<any>} */
export async function referenceDocument(world) {
  const child = spawn(program, ['generate'], { cwd: world.project, env: quiet(world), stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (more) => (text += more));
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => resolve(JSON.parse(text)));
  });
  try {
    return await soon('opencode generate ends', ended, 240_000);
  } finally {
    child.kill('SIGKILL');
  }
}
