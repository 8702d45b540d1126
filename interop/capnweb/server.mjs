// server.mjs: an npm server on a free loopback port. Prints the port; ends with its standard input.

import { createServer } from "node:http";
import { RpcSession, WebSocketTransport, nodeHttpBatchRpcResponse } from "capnweb";
import { WebSocket, WebSocketServer } from "ws";
import { Service } from "./service.mjs";

globalThis.WebSocket ??= WebSocket;

/** With `?hook=stack`, errors are sent with a stack. */
const options = (url) =>
  url.includes("hook=stack") ? { onSendError: (error) => Object.assign(error, { stack: "STACK" }) } : {};

const server = createServer(async (request, response) => {
  try {
    await nodeHttpBatchRpcResponse(request, response, new Service(), options(request.url));
  } catch {
    response.statusCode = 500;
    response.end();
  }
});

new WebSocketServer({ server, maxPayload: 64 * 1024 * 1024 }).on("connection", (socket, request) => {
  const connection = { socket };
  connection.session = new RpcSession(new WebSocketTransport(socket), new Service(connection), options(request.url));
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit(0));
