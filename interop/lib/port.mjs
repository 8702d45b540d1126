// A port of one's own, for servers that are killed and have to come back at the same address.
//
// Below the range from which the system hands out ports by itself, so that no connection and no other server is given
// it meanwhile. Its neighbour is held for as long as this process lives: whoever else reserves ports sees that.

import { createServer } from 'node:net';

const FIRST = 18_000;
const LAST = 28_000;

/** @param {number} port @returns {Promise<import('node:net').Server | undefined>} */
const held = (port) =>
  new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server.unref()));
  });

/** Nobody listens there now. @param {number} port */
async function isFree(port) {
  const probe = await held(port);
  await new Promise((closed) => (probe ? probe.close(closed) : closed(undefined)));
  return probe !== undefined;
}

/** @returns {Promise<number>} */
export async function reservePort() {
  const start = FIRST + 2 * (process.pid % ((LAST - FIRST) / 2));
  for (let tried = 0; tried < LAST - FIRST; tried += 2) {
    const port = FIRST + ((start - FIRST + tried) % (LAST - FIRST));
    const neighbour = await held(port + 1);
    if (neighbour === undefined) continue;
    if (await isFree(port)) return port;
    neighbour.close();
  }
  throw new Error(`no port is free between ${FIRST} and ${LAST}`);
}
