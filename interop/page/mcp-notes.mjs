// An MCP server with one note that can be read, over standard input and output, one JSON a line.

import { createInterface } from 'node:readline';

const NOTE = { uri: 'note://milk', name: 'milk', mimeType: 'text/plain' };
const ANSWERS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { resources: {} }, serverInfo: { name: 'notes', version: '1' } }),
  ping: () => ({}),
  'resources/list': () => ({ resources: [NOTE] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'resources/read': ({ uri }) => ({ contents: [{ uri, mimeType: 'text/plain', text: 'Two bottles, and an owl.' }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = ANSWERS[method];
  const told = answer ? { result: answer(params) } : { error: { code: -32601, message: `no ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...told })}\n`);
}
