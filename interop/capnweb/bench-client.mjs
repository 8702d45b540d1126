// bench-client.mjs: one npm client in a process of its own. Told by its parent where, how many
// calls at a time and for how long; says how many calls were answered and what it paid for them.

import { RpcSession, WebSocketTransport } from "capnweb";
import { WebSocket } from "ws";

globalThis.WebSocket ??= WebSocket;

const open = new Map();

/** One connection per server, kept between rounds. */
async function connect(url, headers) {
  const known = open.get(url);
  if (known) return known;
  const socket = new WebSocket(url, { headers });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const root = new RpcSession(new WebSocketTransport(socket)).getRemoteMain();
  open.set(url, root);
  return root;
}

process.on("message", async ({ url, headers, method, ms, width }) => {
  const root = await connect(url, headers);
  const before = process.cpuUsage();
  const start = performance.now();
  let calls = 0;
  // Each of `width` callers calls again as soon as it is answered, so that so many are always under way.
  const caller = async (at) => {
    while (performance.now() - start < ms) {
      await root[method](at);
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: width }, (_, at) => caller(at)));
  const took = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  process.send({ calls, perSecond: (calls * 1000) / took, cpuUs: user + system });
});
process.on("disconnect", () => process.exit(0));
process.send("ready");
