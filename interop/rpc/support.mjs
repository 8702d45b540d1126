// A server for one test file, and sessions of the npm package to it.

import { after, before } from 'node:test';
import { RpcSession, WebSocketTransport, newHttpBatchRpcSession } from 'capnweb';
import { WebSocket } from 'ws';
import { Server } from '../lib/server.mjs';
import { World } from '../lib/world.mjs';

// Node 20 has no WebSocket of its own, and the package looks for the constants of one.
globalThis.WebSocket ??= WebSocket;

/** Starts the program before the tests of a file, with the demo as its model. */
export function bench({ env = {}, args = [] } = {}) {
  const made = { world: /** @type {World} */ (undefined), server: /** @type {Server} */ (undefined) };
  before(async () => {
    made.world = await World.make();
    made.server = await Server.start(made.world, { env, args });
  });
  after(async () => {
    await made.server?.stop();
    await made.world?.remove();
  });
  return made;
}

/** A batch: everything that is called before the first await goes out in one request. */
export const batch = (server) => newHttpBatchRpcSession(`${server.url}/rpc`);

/** A session over a WebSocket, with the frames that went out. */
export async function connect(server, { headers = {} } = {}) {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/rpc`, { headers });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  const session = new RpcSession(new WebSocketTransport(socket));
  return { session, root: session.getRemoteMain(), socket };
}

/** A session over HTTP, for the tests to have something to look at. */
export const create = async (server, title) => (await server.tell('POST', '/session', { title })).id;

/** Asks the demo and waits for its answer. */
export const ask = (server, id, text) =>
  server.tell('POST', `/session/${id}/message`, { parts: [{ type: 'text', text }] });
