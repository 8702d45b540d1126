// The built program as a process: start it, read where it listens, stop it, kill it.

import { spawn } from 'node:child_process';
import { soon } from './wait.mjs';

/** @typedef {import('./world.mjs').World} World */
/** @typedef {{ code: number | null, signal: NodeJS.Signals | null, stdout: string, stderr: string }} Ended */

const program = process.env.STURDY_BIN;
if (!program) throw new Error('STURDY_BIN is not set: it names the program to test');

/** What opens a share. It is printed for whoever makes a link, and logged for nobody. */
const SECRET = /stdy1\.[\w-]+\.[\w-]+\.[\w-]{8}/;

const LISTENING = /^.* listening on (http:\/\/\S+)$/m;

/** Processes that still run. None outlives the tests, however they end. */
const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/**
 * Runs a program without waiting for anything.
 * @param {World} world
 * @param {string[]} args
 * @param {Record<string, string>} [env]
 * @param {string} [path] of the program; the one under test unless told
 */
export function launch(world, args, env, path = program) {
  const child = spawn(/** @type {string} */ (path), args, {
    cwd: world.project,
    env: world.env(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => (said.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (said.stderr += text));
  /** @type {Promise<Ended>} */
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      running.delete(child);
      const secret = SECRET.exec(said.stderr);
      if (secret) reject(new Error(`what opens a share was logged: …${said.stderr.slice(Math.max(0, secret.index - 200), secret.index)}`));
      else resolve({ code, signal, ...said });
    });
  });
  return { child, said, ended };
}

/**
 * Runs the program to its end.
 * @param {World} world
 * @param {string[]} args
 * @param {Record<string, string>} [env]
 */
export async function sturdy(world, args, env) {
  const { child, ended } = launch(world, args, env);
  try {
    return await soon(`sturdy ${args.join(' ')} ends`, ended);
  } finally {
    child.kill('SIGKILL');
  }
}

/** @param {World} world */
export const verify = (world) => sturdy(world, ['verify', '--data-dir', world.data]);

export class Server {
  /** @param {ReturnType<typeof launch>} process @param {string} url */
  constructor({ child, said, ended }, url) {
    this.url = url;
    this.pid = /** @type {number} */ (child.pid);
    this.child = child;
    this.said = said;
    this.ended = ended;
  }

  /**
   * Starts `sturdy serve` and waits until it says where it listens.
   * @param {World} world
   * @param {{ args?: string[], env?: Record<string, string>, port?: number | string }} [options]
   */
  static start(world, { args = [], env = {}, port = 0 } = {}) {
    const all = ['serve', '--port', String(port), '--data-dir', world.data, ...args];
    return Server.listening(launch(world, all, { STURDY_DEMO_PACE_MS: '1', STURDY_TRUST_ALL: '1', ...env }));
  }

  /**
   * Starts another program that serves the same API.
   * @param {World} world @param {string} path @param {string[]} args @param {Record<string, string>} env
   */
  static startOther(world, path, args, env) {
    return Server.listening(launch(world, args, env, path));
  }

  /** Waits until a process says where it listens. @param {ReturnType<typeof launch>} process */
  static async listening(process) {
    const listening = new Promise((resolve, reject) => {
      const look = () => {
        const found = LISTENING.exec(process.said.stdout);
        if (found) resolve(found[1]);
      };
      process.child.stdout.on('data', look);
      process.ended.then((end) => reject(new Error(`the server ended: ${JSON.stringify(end)}`)), reject);
    });
    try {
      return new Server(process, await soon('the server says where it listens', listening));
    } catch (error) {
      process.child.kill('SIGKILL');
      throw error;
    }
  }

  get port() {
    return new URL(this.url).port;
  }

  /** Asks it to end, and waits for that. */
  stop() {
    this.child.kill('SIGTERM');
    return soon('the server stops', this.ended);
  }

  /** The end nobody is asked about. */
  kill() {
    this.child.kill('SIGKILL');
    return soon('the server is gone', this.ended);
  }

  /**
   * One request, without any client library.
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body] sent as JSON; a string is sent as it is
   * @param {Record<string, string>} [headers]
   */
  async ask(method, path, body, headers = {}) {
    const response = await fetch(this.url + path, {
      method,
      headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await response.text();
    let json;
    try {
      json = JSON.parse(text);
    } catch {
      // Not every answer is JSON; the caller sees `text`.
    }
    return { status: response.status, headers: response.headers, text, json };
  }

  /**
   * The same where only success will do.
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  async tell(method, path, body) {
    const answer = await this.ask(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.json;
  }
}
