// Clients of this wire that other people wrote and published: ai-sdk-provider-opencode-sdk (npm), opencode-agent-sdk and
// opencode-py (PyPI). Each does a turn with the built program.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { generateText, streamText } from 'ai';
import { createOpencode } from 'ai-sdk-provider-opencode-sdk';
import { bench } from '../lib/bench.mjs';

const it = bench();
const run = promisify(execFile);

function model() {
  const { hostname, port } = new URL(it.server.url);
  return createOpencode({ hostname, port: Number(port), autoStartServer: false })('demo/echo');
}

test('ai-sdk-provider-opencode-sdk generates a text', async () => {
  const { text, finishReason } = await generateText({ model: model(), prompt: 'hello from the AI SDK' });
  assert.equal(text, 'hello from the AI SDK');
  assert.equal(finishReason, 'stop');
});

test('ai-sdk-provider-opencode-sdk streams a text', async () => {
  const { textStream } = streamText({ model: model(), prompt: 'one two three' });
  let text = '';
  for await (const chunk of textStream) text += chunk;
  assert.equal(text, 'one two three');
});

test('opencode-agent-sdk and opencode-py do a turn', async () => {
  const { stdout } = await run('.venv/bin/python', ['turns.py', it.server.url], { cwd: import.meta.dirname });
  const said = JSON.parse(stdout);
  assert.equal(said.agent.ends, 1);
  assert.match(said.agent.text, /hello from the agent SDK/);
  assert.deepEqual(said.python, {
    healthy: true,
    first: 'hello from v1',
    second: 'hello from v2',
    kinds: ['user', 'assistant', 'user', 'assistant'],
    todos: [],
  });
});
