// A place of its own for each test: home, data and project below one temporary directory, and an
// environment that holds nothing of the machine's user.
//
// A project is a plain directory, a git repository or a linked worktree of one. A test that does not say
// which takes what INTEROP_WORLD names, so that `interop/run sdk@git` runs the same tests in a repository.

import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** @typedef {'plain' | 'git' | 'linked'} Kind */

/** @type {Kind[]} */
const KINDS = ['plain', 'git', 'linked'];

/** @returns {Kind} */
function chosenKind() {
  const name = process.env.INTEROP_WORLD ?? 'plain';
  const kind = KINDS.find((one) => one === name);
  if (!kind) throw new Error(`INTEROP_WORLD is ${name}; it may be ${KINDS.join(', ')}`);
  return kind;
}

export class World {
  /** @param {string} root @param {Kind} kind */
  constructor(root, kind) {
    this.root = root;
    this.kind = kind;
    this.home = join(root, 'home');
    this.data = join(root, 'data');
    this.project = join(root, 'project');
  }

  /** @param {Kind} [kind] */
  static async make(kind = chosenKind()) {
    const world = new World(await realpath(await mkdtemp(join(tmpdir(), 'sturdy-interop-'))), kind);
    await mkdir(world.home);
    if (kind === 'linked') {
      const origin = await world.directory('origin');
      world.makeRepository(origin);
      world.git(['worktree', 'add', '--quiet', '-b', 'linked', world.project], origin);
      return world;
    }
    await mkdir(world.project);
    if (kind === 'git') world.makeRepository(world.project);
    return world;
  }

  /** A repository with one commit, as a project is when work begins. @param {string} directory */
  makeRepository(directory) {
    this.git(['init', '--quiet', '--initial-branch', 'main'], directory);
    this.git(['commit', '--quiet', '--allow-empty', '--message', 'Begin'], directory);
  }

  /** The id that the server gives the project: a repository is named after its first commit. */
  get projectID() {
    return this.kind === 'plain' ? 'global' : this.git(['rev-list', '--max-parents=0', 'HEAD']).trim();
  }

  /** Where paths are told from: the top of the checkout, or the root of the disk. */
  get top() {
    return this.kind === 'plain' ? '/' : this.project;
  }

  /** Runs git, without the settings of the machine's user. @param {string[]} args @param {string} [cwd] */
  git(args, cwd = this.project) {
    const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'];
    return execFileSync('git', [...who, ...args], { cwd, env: this.env({ GIT_CONFIG_NOSYSTEM: '1' }) }).toString();
  }

  /** @param {Record<string, string>} [more] */
  env(more = {}) {
    return {
      PATH: process.env.PATH ?? '',
      LANG: 'C.UTF-8',
      HOME: this.home,
      XDG_DATA_HOME: join(this.home, '.local/share'),
      XDG_CONFIG_HOME: join(this.home, '.config'),
      XDG_STATE_HOME: join(this.home, '.local/state'),
      XDG_CACHE_HOME: join(this.home, '.cache'),
      TMPDIR: tmpdir(),
      ...more,
    };
  }

  /**
   * Another directory beside the project.
   * @param {string} name
   */
  async directory(name) {
    const path = join(this.root, name);
    await mkdir(path, { recursive: true });
    return path;
  }

  /**
   * What `opencode.json` of the project says.
   * @param {object} config
   */
  async configure(config) {
    await writeFile(join(this.project, 'opencode.json'), JSON.stringify(config, null, 2));
  }

  async remove() {
    await rm(this.root, { recursive: true, force: true, maxRetries: 3 });
  }
}
