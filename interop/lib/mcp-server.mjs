// An MCP server that is one small program: it speaks over standard input and output, one JSON a line.

import { createInterface } from 'node:readline';

/** One grey point. */
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const TOOLS = {
  draw: () => ({ content: [{ type: 'text', text: 'Here it is.' }, { type: 'image', data: PICTURE, mimeType: 'image/png' }] }),
  fail: () => ({ content: [{ type: 'text', text: 'It rains.' }], isError: true }),
};

const ANSWERS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'small', version: '1' } }),
  ping: () => ({}),
  'tools/list': () => ({ tools: Object.keys(TOOLS).map((name) => ({ name, description: name, inputSchema: { type: 'object' } })) }),
  'tools/call': ({ name }) => TOOLS[name](),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = ANSWERS[method];
  const told = answer ? { result: answer(params) } : { error: { code: -32601, message: `no ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...told })}\n`);
}
