// The unmodified terminal client of the npm package opencode-ai.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Terminal } from './terminal.mjs';
import { soon } from './wait.mjs';

/** @typedef {import('./world.mjs').World} World */

const program = fileURLToPath(new URL('../node_modules/.bin/opencode', import.meta.url));

/** Nothing but the server under test is talked to. @param {World} world */
const quiet = (world) =>
  world.env({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' });

/**
 * `opencode attach` in a terminal of its own.
 * @param {World} world @param {string} url @param {string[]} [args]
 */
export const attach = (world, url, args = []) =>
  Terminal.open({ root: world.root, cwd: world.project, env: quiet(world) }, [program, 'attach', url, ...args]);

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
