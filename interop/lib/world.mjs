// A place of its own for each test: home, data and project below one temporary directory, and an
// environment that holds nothing of the machine's user.

import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class World {
  /** @param {string} root */
  constructor(root) {
    this.root = root;
    this.home = join(root, 'home');
    this.data = join(root, 'data');
    this.project = join(root, 'project');
  }

  static async make() {
    const world = new World(await realpath(await mkdtemp(join(tmpdir(), 'sturdy-interop-'))));
    await mkdir(world.home);
    await mkdir(world.project);
    return world;
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
