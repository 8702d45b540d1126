// A way to the server that notices when a client begins to listen.

import net from 'node:net';

/**
 * Passes everything on, both ways. `listens` is kept when the first frame of an event stream has passed.
 * @param {string} url of the server
 */
export async function ear(url) {
  const { hostname, port } = new URL(url);
  let hear;
  const listens = new Promise((resolve) => (hear = resolve));
  const sockets = new Set();
  const door = net.createServer((client) => {
    const server = net.connect(Number(port), hostname);
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    server.on('data', (bytes) => bytes.includes('server.connected') && hear());
    client.pipe(server).pipe(client);
  });
  await new Promise((resolve) => door.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${door.address().port}`,
    listens,
    close() {
      sockets.forEach((socket) => socket.destroy());
      door.close();
    },
  };
}
