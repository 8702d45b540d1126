// Published MCP servers in turns of the built program, seen through the npm SDK.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { createOpencodeClient as createFirst } from '@opencode-ai/sdk';
import { createOpencodeClient as createSecond } from '@opencode-ai/sdk/v2';
import { calls, says } from '../lib/provider.mjs';
import { Server, verify } from '../lib/server.mjs';
import { until } from '../lib/wait.mjs';
import { bench } from './support.mjs';

const it = bench({ permission: { py_fail: 'ask' } });
const api = () => createSecond({ baseUrl: it.server.url });
const create = async () => (await api().session.create({ title: 'Tools' })).data.id;
const text = (words) => [{ type: 'text', text: words }];

/** Lets the model call a tool; gives the part and what the model was told. */
async function called(tool, input) {
  const sessionID = await create();
  it.provider.will(calls(tool, input), says('Done.'));
  await api().session.prompt({ sessionID, parts: text('go') });
  return { ...(await toolOf(sessionID)), told: it.provider.asked.at(-1).body.messages.findLast((message) => message.role === 'tool') };
}

async function toolOf(sessionID) {
  const messages = (await api().session.messages({ sessionID })).data;
  return messages.flatMap((message) => message.parts).find((part) => part.type === 'tool');
}

/** The processes that a process started and that still run. */
function children(pid) {
  const stat = (id) => {
    try {
      return readFileSync(`/proc/${id}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
    } catch {
      return ['', ''];
    }
  };
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return all.filter((id) => stat(id)[1] === String(pid) && stat(id)[0] !== 'Z').map(Number);
}

const exists = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe('published MCP servers', { concurrency: 1, timeout: 300_000 }, () => {
  test('both clients of the SDK see how they stand', async () => {
    const first = (await createFirst({ baseUrl: it.server.url }).mcp.status()).data;
    const second = (await api().mcp.status()).data;

    assert.deepEqual(first, second);
    const { broken, ...others } = second;
    assert.deepEqual(others, {
      every: { status: 'connected' },
      py: { status: 'connected' },
      'every web': { status: 'connected' },
      'py web': { status: 'connected' },
      off: { status: 'disabled' },
    });
    assert.equal(broken.status, 'failed');
    assert.match(broken.error, /no-such-mcp-server/);
  });

  for (const server of ['every', 'every_web']) {
    test(`a tool from npm is called and its answer goes to the model (${server})`, async () => {
      const echo = await called(`${server}_echo`, { message: 'over there' });
      const sum = await called(`${server}_get-sum`, { a: 2, b: 40 });
      const image = await called(`${server}_get-tiny-image`, {});

      assert.equal(echo.state.status, 'completed');
      assert.equal(echo.state.output, 'Echo: over there');
      assert.equal(echo.told.content, 'Echo: over there');
      assert.match(sum.state.output, /42/);
      assert.equal(image.state.attachments.length, 1);
      assert.equal(image.state.attachments[0].mime, 'image/png');
      assert.match(image.state.attachments[0].url, /^data:image\/png;base64,iVBOR/);
    });
  }

  for (const server of ['py', 'py_web']) {
    test(`a tool from PyPI is called and its answer goes to the model (${server})`, async () => {
      const sum = await called(`${server}_add`, { a: 2, b: 40 });
      const wrong = await called(`${server}_add`, { a: 'two', b: 40 });

      assert.equal(sum.state.output, '42');
      assert.equal(wrong.state.status, 'error');
      assert.match(wrong.state.error, /The arguments of \S+_add do not fit: /);
    });
  }

  test('a person is asked, and what failed is told', async () => {
    const sessionID = await create();
    it.provider.will(calls('py_fail', { why: 'because' }), says('I see.'));
    await api().session.promptAsync({ sessionID, parts: text('fail') });
    const request = await until('somebody is asked', async () => (await api().permission.list()).data[0]);

    await api().permission.reply({ requestID: request.id, reply: 'once' });
    await until('the turn ends', async () => !(await api().session.status()).data[sessionID]);

    assert.deepEqual([request.permission, request.patterns, request.always], ['py_fail', ['*'], ['*']]);
    const part = await toolOf(sessionID);
    assert.equal(part.state.status, 'error');
    assert.match(part.state.error, /Error executing tool fail/);
  });

  test('prompts are commands, and run with arguments', async () => {
    const sessionID = await create();
    const listed = (await api().command.list()).data.filter((command) => command.source === 'mcp').map((command) => command.name);
    it.provider.will(says('Hello!'), says('Rain.'));

    await api().session.command({ sessionID, command: 'py:greet', arguments: 'Ada Lovelace' });
    await api().session.command({ sessionID, command: 'every:args-prompt', arguments: 'Paris Texas' });

    assert.ok(listed.includes('py:greet') && listed.includes('every_web:args-prompt'), String(listed));
    const said = it.provider.asked.slice(-2).map(({ body }) => body.messages.at(-1).content);
    assert.deepEqual(said, ['Please greet Ada Lovelace.', "What's weather in Paris, Texas?"]);
  });

  test('resources are listed and go with a prompt', async () => {
    const sessionID = await create();
    const resources = (await api().experimental.resource.list()).data;
    const note = resources['py:note://milk'];
    const source = { type: 'resource', clientName: note.client, uri: note.uri, text: { value: '@milk', start: 0, end: 5 } };

    it.provider.will(says('Milk.'));
    await api().session.prompt({
      sessionID,
      parts: [{ type: 'file', mime: note.mimeType, filename: note.name, url: note.uri, source }],
    });

    assert.match(JSON.stringify(it.provider.asked.at(-1).body.messages), /Remember the milk\./);
  });

  test('a long call says how far it is, and an abort ends it', async () => {
    const sessionID = await create();
    it.provider.will(calls('every_trigger-long-running-operation', { duration: 600, steps: 6000 }));
    await api().session.promptAsync({ sessionID, parts: text('take your time') });
    await until('it is under way', async () => (await toolOf(sessionID))?.state.metadata?.progress > 0);

    await api().session.abort({ sessionID });

    const part = await until('it ends', async () => {
      const found = await toolOf(sessionID);
      return found.state.status === 'error' && found;
    });
    assert.equal(part.state.metadata.interrupted, true);
    assert.equal((await called('every_echo', { message: 'still here' })).state.output, 'Echo: still here');
  });

  test('a server is disconnected, connected and added', async () => {
    await api().mcp.disconnect({ name: 'py' });
    const off = (await api().mcp.status()).data.py;
    await api().mcp.connect({ name: 'py' });
    const on = (await api().mcp.status()).data.py;
    const added = await api().mcp.add({ name: 'late', config: { type: 'local', command: ['no-such-mcp-server'] } });
    const unknown = await api().mcp.connect({ name: 'nobody' });

    assert.deepEqual([off, on], [{ status: 'disabled' }, { status: 'connected' }]);
    assert.equal(added.data.late.status, 'failed');
    assert.equal(unknown.response.status, 404);
    assert.equal(unknown.error._tag, 'McpServerNotFoundError');
  });

  test('a server that is killed is started again', async () => {
    const before = children(it.server.pid);
    assert.equal(before.length, 2, 'two MCP servers are programs');
    before.forEach((pid) => process.kill(pid, 'SIGKILL'));

    await until('both are back', async () => children(it.server.pid).filter((pid) => !before.includes(pid)).length === 2);
    await until('both are connected', async () => {
      const { every, py } = (await api().mcp.status()).data;
      return every.status === 'connected' && py.status === 'connected';
    });

    assert.equal((await called('py_add', { a: 1, b: 1 })).state.output, '2');
  });

  test('killed in a call: the call is interrupted, nothing is left running, everything is right', async () => {
    const sessionID = await create();
    it.provider.will(calls('every_trigger-long-running-operation', { duration: 600, steps: 6000 }));
    await api().session.promptAsync({ sessionID, parts: text('take your time') });
    await until('it is under way', async () => (await toolOf(sessionID))?.state.metadata?.progress > 0);
    const programs = children(it.server.pid);

    await it.server.kill();
    await until('the MCP servers are gone', async () => !programs.some(exists));
    const checked = await verify(it.world);
    it.server = await Server.start(it.world);

    assert.equal(checked.code, 0, checked.stderr);
    const part = await toolOf(sessionID);
    assert.equal(part.state.status, 'error');
    assert.equal(part.state.metadata.interrupted, true);
    assert.equal((await called('every_echo', { message: 'again' })).state.output, 'Echo: again');
  });

  test('a server that ends takes its MCP servers with it', async () => {
    await api().mcp.status();
    const programs = children(it.server.pid);
    assert.equal(programs.length, 2);

    await it.server.stop();

    assert.deepEqual(programs.filter(exists), []);
    it.server = await Server.start(it.world);
  });
});
