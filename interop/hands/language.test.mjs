// A real language server from npm: what it says of a change reaches the model and the client, and its
// process ends with the server.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { Reader } from '../lib/sse.mjs';
import { calls, says } from '../lib/provider.mjs';
import { until } from '../lib/wait.mjs';

const program = createRequire(import.meta.url).resolve('vscode-json-languageserver/bin/vscode-json-languageserver');

const made = bench({
  config: { lsp: { json: { command: [process.execPath, program, '--stdio'], extensions: ['.json'] } } },
  env: { OPENCODE_EXPERIMENTAL_LSP_TOOL: '1' },
});

/** Processes that run the language server. */
async function servers() {
  const found = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const env = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (line.includes(program) && env.includes(made.world.data)) found.push(Number(pid));
  }
  return found;
}

/** One turn in which the model writes a file; the state of its call. @param {string} content */
const written = (content) => called('write', { filePath: 'wrong.json', content });

/** One turn with one call; its state. @param {string} tool @param {object} input */
async function called(tool, input) {
  const { server, provider } = made;
  const session = (await server.tell('POST', '/session', { title: 'Words' })).id;
  provider.scripts = [calls(tool, input), says('Seen.')];
  await server.tell('POST', `/session/${session}/message`, { parts: [{ type: 'text', text: 'Go' }] });
  const messages = await server.tell('GET', `/session/${session}/message`);
  return messages.flatMap((message) => message.parts).find((part) => part.type === 'tool').state;
}

test('a fault is told to the model, the client and the status', { timeout: 60_000 }, async () => {
  const { server, provider } = made;
  assert.deepEqual(await server.tell('GET', '/lsp'), []);
  const reader = await Reader.open(server.url);

  const state = await written('{ "a": 1, }');

  assert.equal(state.status, 'completed');
  assert.match(state.output, /ERROR \[1:\d+\] \S+/);
  const [diagnostics] = Object.values(state.metadata.diagnostics);
  assert.equal(diagnostics[0].severity, 1);
  assert.equal(diagnostics[0].range.start.line, 0);
  const told = provider.asked.at(-1).body.messages.find((message) => message.role === 'tool');
  assert.match(JSON.stringify(told), /ERROR \[1:/);
  await reader.until('a server was started', (frame) => frame.type === 'lsp.updated');
  assert.deepEqual(await server.tell('GET', '/lsp'), [{ id: 'json', name: 'json', root: '', status: 'connected' }]);
  assert.equal((await servers()).length, 1);
});

test('a file without faults is not talked about', { timeout: 60_000 }, async () => {
  const state = await written('{ "a": 1 }');
  // It exists and was not read in this session: that is another story.
  assert.equal(state.status, 'error');
  await made.server.tell('DELETE', `/session/${(await made.server.tell('GET', '/session'))[0].id}`);
});

test('the model asks it by the tool lsp', { timeout: 60_000 }, async () => {
  const place = { filePath: 'wrong.json', line: 1, character: 3 };

  const symbols = await called('lsp', { operation: 'documentSymbol', ...place });

  assert.equal(symbols.status, 'completed');
  assert.match(symbols.title, /^documentSymbol \S*wrong\.json:1:3$/);
  assert.equal(symbols.metadata.result[0].name, 'a');
  assert.match(symbols.output, /"name": "a"/);
  const told = made.provider.asked.at(-1)?.body.messages.find((message) => message.role === 'tool');
  assert.equal(told.content, symbols.output);

  // What the server does not know, and a file that no server knows.
  const nowhere = await called('lsp', { operation: 'goToImplementation', ...place });
  assert.equal(nowhere.status, 'error');
  assert.match(nowhere.error, /Use grep or read instead/);
  const unknown = await called('lsp', { operation: 'hover', filePath: 'opencode.txt', line: 1, character: 1 });
  assert.equal(unknown.status, 'error');
});

test('the process ends with the directory, and comes back when it is needed', { timeout: 60_000 }, async () => {
  await made.server.tell('POST', '/instance/dispose');
  await until('no language server runs', async () => (await servers()).length === 0);
  assert.deepEqual(await made.server.tell('GET', '/lsp'), []);
});
