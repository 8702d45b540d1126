// A terminal that nobody sits at: tmux on a socket of its own, keys in, screen out. The socket lies in the
// world, and goes with it.

import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DEADLINE_MS, until } from './wait.mjs';

const run = promisify(execFile);
const WIDTH = '140';
const HEIGHT = '40';

/** Sockets of terminals that are still open. None outlives the tests, however they end. */
const open = new Set();
process.on('exit', () => open.forEach((socket) => end(socket)));

/** @param {string} socket */
function end(socket) {
  try {
    execFileSync('tmux', ['-S', socket, 'kill-server'], { stdio: 'ignore' });
  } catch {
    // It ended by itself.
  }
  open.delete(socket);
}

/** @param {string} screen @param {string | RegExp} words */
const has = (screen, words) => (typeof words === 'string' ? screen.includes(words) : words.test(screen));

export class Terminal {
  /** @param {string} socket */
  constructor(socket) {
    this.socket = socket;
  }

  /**
   * Runs a program in a new terminal.
   * @param {{ root: string, cwd: string, env: Record<string, string> }} place
   * @param {string[]} command
   */
  static async open({ root, cwd, env }, command) {
    const terminal = new Terminal(join(root, `tmux-${randomBytes(4).toString('hex')}`));
    open.add(terminal.socket);
    const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    // The screen of a program that ended stays, so that its last words can be read.
    const settings = ['set-option', '-g', 'remain-on-exit', 'on', ';', 'set-option', '-g', 'default-terminal', 'tmux-256color'];
    await run('tmux', ['-S', terminal.socket, '-f', '/dev/null', 'start-server', ';', ...settings, ';',
      'new-session', '-d', '-x', WIDTH, '-y', HEIGHT, '-c', cwd, quoted], { env: { ...env, TERM: 'xterm-256color' } });
    return terminal;
  }

  /** @param {string[]} args */
  async tmux(...args) {
    return (await run('tmux', ['-S', this.socket, ...args])).stdout;
  }

  /** What is on the screen now. */
  screen() {
    return this.tmux('capture-pane', '-p');
  }

  /** Text, letter by letter as from a keyboard. @param {string} text */
  async type(text) {
    await this.tmux('send-keys', '-l', text);
  }

  /** A command of the client, chosen from the list that opens while it is typed. @param {string} name with its slash */
  async command(name) {
    await this.type(name);
    await this.shows(new RegExp(`${name} {2,}\\S`));
    await this.press('Enter');
  }

  /** Keys by name: Enter, Escape, C-x. @param {string[]} keys */
  async press(...keys) {
    await this.tmux('send-keys', ...keys);
  }

  /**
   * Waits for something on the screen.
   * @param {string | RegExp} wanted
   * @param {number} [withinMs]
   */
  async shows(wanted, withinMs = DEADLINE_MS) {
    let screen = '';
    try {
      return await until(`the screen shows ${wanted}`, async () => has((screen = await this.screen()), wanted) && screen, withinMs);
    } catch (error) {
      throw new Error(`${error.message}; it shows:\n${screen.trimEnd()}`);
    }
  }

  /** Waits until something is no longer on the screen. @param {string | RegExp} unwanted @param {number} [withinMs] */
  hides(unwanted, withinMs = DEADLINE_MS) {
    return until(`the screen no longer shows ${unwanted}`, async () => !has(await this.screen(), unwanted), withinMs);
  }

  /**
   * Presses a key until something is no longer on the screen. A dialog is drawn before it listens, and a
   * key that comes between is lost.
   * @param {string} key @param {string | RegExp} unwanted
   */
  async dismiss(key, unwanted) {
    for (let tries = 1; ; tries++) {
      await this.press(key);
      try {
        return await this.hides(unwanted, DEADLINE_MS / 6);
      } catch (error) {
        if (tries === 6) throw error;
      }
    }
  }

  /** Waits for the end of the program. */
  ended() {
    return until('the program ends', async () => (await this.tmux('list-panes', '-F', '#{pane_dead}')).trim() === '1');
  }

  close() {
    end(this.socket);
  }
}
