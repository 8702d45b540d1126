// Providers that misbehave: garbage, silence, a lost connection. The message says why, the server goes on.

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { says } from '../lib/provider.mjs';
import { said, text } from '../lib/sdk.mjs';
import { Server, verify } from '../lib/server.mjs';
import { Reader } from '../lib/sse.mjs';
import { until } from '../lib/wait.mjs';

const it = bench({ options: { headerTimeout: 700, chunkTimeout: 700 } });

const create = async () => (await it.server.tell('POST', '/session', { title: 'Bad provider' })).id;
const ask = (id) => it.server.tell('POST', `/session/${id}/message`, { parts: text('Well?') });

/** After every misfortune the next prompt is answered and nothing runs. */
afterEach(async () => {
  assert.deepEqual(await it.server.tell('GET', '/session/status'), {});
  it.provider.scripts = [says('Fine again.')];
  assert.equal(said(await ask(await create())), 'Fine again.');
});

/** Prompts, and stops the session once it waits to try again. Gives what it waited for. */
async function untilRetry(id) {
  const answer = ask(id);
  const status = await until('it is tried again', async () => {
    const all = await it.server.tell('GET', '/session/status');
    return all[id]?.type === 'retry' && all[id];
  });
  await it.server.tell('POST', `/session/${id}/abort`);
  return { status, message: await answer };
}

test('a page instead of a stream is told as such, and tried again', async () => {
  it.provider.will((reply) => {
    reply.response.writeHead(200, { 'content-type': 'text/html' });
    reply.response.end('<html><body>Welcome to the hotel network</body></html>');
  });

  const { status, message } = await untilRetry(await create());

  assert.match(status.message, /Welcome to the hotel network/);
  assert.ok(message.info.time.completed);
});

test('lines that are no JSON are told as such, and what was said before is kept', async () => {
  it.provider.will((reply) => reply.text('Good so far').raw('data: {"choices": [{"del\n\n').response.end());
  const id = await create();

  const { status } = await untilRetry(id);

  assert.match(status.message, /JSON/);
  const messages = await it.server.tell('GET', `/session/${id}/message`);
  assert.equal(said(messages.at(-1)), 'Good so far');
  const retry = messages.at(-1).parts.find((part) => part.type === 'retry');
  assert.equal(retry.error.name, 'APIError');
});

test('a connection that is lost in mid-answer is tried again, and both halves are kept', async () => {
  it.provider.will(
    async (reply) => {
      reply.text('Half an');
      await until('it was seen', async () => JSON.stringify(await it.server.tell('GET', `/session/${id}/message`)).includes('Half an'));
      reply.breakOff();
    },
    says('A whole answer.'),
  );
  const id = await create();

  const answer = await ask(id);

  assert.equal(answer.info.error, undefined);
  assert.match(said(answer), /A whole answer\./);
  const everything = JSON.stringify(await it.server.tell('GET', `/session/${id}/message`));
  assert.ok(everything.includes('Half an'), 'what was seen is kept');
});

test('silence before the answer is limited', async () => {
  it.provider.will((reply) => reply.gone);

  const { status, message } = await untilRetry(await create());

  assert.equal(status.attempt, 1);
  assert.ok(status.message.length > 0);
  assert.ok(status.next > 0);
  assert.equal(message.info.error.name, 'MessageAbortedError');
});

test('silence in mid-answer is limited, and what was said is kept', async () => {
  it.provider.will(async (reply) => {
    reply.text('And then');
    await reply.gone;
  });
  const id = await create();

  await untilRetry(id);

  const messages = await it.server.tell('GET', `/session/${id}/message`);
  assert.ok(messages.some((message) => said(message) === 'And then'));
});

test('a refusal that passes is tried again when the provider says so', async (t) => {
  const reader = await Reader.open(it.server.url);
  t.after(() => reader.close());
  it.provider.will((reply) => reply.refuse(429, 'Slow down', { 'retry-after-ms': '50' }), says('Now then.'));
  const id = await create();

  const answer = await ask(id);

  assert.equal(said(answer), 'Now then.');
  const retry = reader.frames.find((frame) => frame.type === 'session.status' && frame.event.properties.status.type === 'retry');
  assert.equal(retry.event.properties.status.attempt, 1);
  assert.match(retry.event.properties.status.message, /Slow down|rate/i);
});

test('a key that the provider repeats is shown to nobody', async () => {
  it.provider.will((reply) => reply.refuse(401, 'Wrong key: key-of-the-test'));

  const answer = await ask(await create());

  assert.ok(answer.info.error);
  assert.ok(!JSON.stringify(answer).includes('key-of-the-test'));
  assert.ok(!it.server.said.stderr.includes('key-of-the-test'));
});

test('a call of a tool that does not exist is answered, and the turn goes on', async () => {
  it.provider.will((reply) => reply.call('teleport', { to: 'Mars' }).finish(), says('No teleport here.'));

  const answer = await ask(await create());

  assert.equal(said(answer), 'No teleport here.');
});

test('arguments that are no JSON are answered, and the turn goes on', async () => {
  it.provider.will((reply) => {
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'bash', arguments: '{"command": ' } };
    reply.calls = 1;
    reply.chunk({ delta: { tool_calls: [call] } }).finish();
  }, says('I will write better.'));

  assert.equal(said(await ask(await create())), 'I will write better.');
});

test('after all of it the store keeps its promises', async () => {
  await it.server.stop();
  const { code, stdout, stderr } = await verify(it.world);
  it.server = await Server.start(it.world);

  assert.equal(code, 0, stdout + stderr);
});
