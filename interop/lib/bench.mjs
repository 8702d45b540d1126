// World, provider and server of one test file, and their end.

import { after, afterEach, before } from 'node:test';
import { Provider } from './provider.mjs';
import { Server } from './server.mjs';
import { World } from './world.mjs';

/**
 * One server for all tests of a file, with the scripted provider as its default model.
 * @param {{ config?: object, options?: object, env?: Record<string, string>, args?: string[], kind?: import('./world.mjs').Kind }} [setup]
 */
export function bench({ config = {}, options = {}, env = {}, args = [], kind } = {}) {
  const made = {
    /** @type {World} */ world: /** @type {any} */ (undefined),
    /** @type {Provider} */ provider: /** @type {any} */ (undefined),
    /** @type {Server} */ server: /** @type {any} */ (undefined),
  };
  before(async () => {
    made.world = await World.make(kind);
    made.provider = await Provider.start();
    await made.world.configure(made.provider.config(config, options));
    made.server = await Server.start(made.world, { env, args });
  });
  // What a failed test did not use is not an answer to the next one.
  afterEach(() => {
    made.provider.scripts = [];
  });
  after(async () => {
    await made.server?.stop();
    await made.provider?.stop();
    await made.world?.remove();
  });
  return made;
}
