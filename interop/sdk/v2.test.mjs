// Sessions through `client.v2`, the second version of the API, on the same engine as the first.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createOpencodeClient } from '@opencode-ai/sdk/v2';
import { bench } from '../lib/bench.mjs';

const it = bench({ config: { permission: { bash: 'ask' } } });
const api = () => createOpencodeClient({ baseUrl: it.server.url });
const v2 = () => api().v2.session;
const demo = { providerID: 'demo', id: 'echo' };

async function made() {
  const { data, error } = await v2().create({ model: demo });
  assert.equal(error, undefined);
  return data.data;
}

async function prompted(/** @type {string} */ sessionID, /** @type {string} */ text, /** @type {object} */ more = {}) {
  const admitted = await v2().prompt({ sessionID, prompt: { text }, ...more });
  assert.equal(admitted.error, undefined);
  assert.equal((await v2().wait({ sessionID })).response.status, 204);
  return admitted.data.data;
}

describe('v2', () => {
  test('a prompt is admitted at once, and both versions show the turn', async () => {
    const session = await made();
    const admitted = await prompted(session.id, 'hello v2');

    const { id, admittedSeq, timeCreated, ...rest } = admitted;
    assert.match(id, /^msg_/);
    assert.ok(admittedSeq > 0 && timeCreated > 0);
    assert.deepEqual(rest, { sessionID: session.id, prompt: { text: 'hello v2' }, delivery: 'steer' });
    const { data, cursor } = (await v2().messages({ sessionID: session.id, order: 'asc' })).data;
    assert.deepEqual(data.map((message) => message.type), ['user', 'assistant']);
    assert.deepEqual([data[0].id, data[0].text], [id, 'hello v2']);
    assert.equal(data[1].content.find((part) => part.type === 'text').text, 'hello v2');
    assert.deepEqual(data[1].model, { ...demo, variant: 'default' });
    assert.equal(data[1].finish, 'stop');
    assert.ok(cursor.previous && cursor.next);
    const first = (await api().session.messages({ sessionID: session.id })).data;
    assert.deepEqual(first.map((message) => message.info.id), data.map((message) => message.id));
    assert.deepEqual((await v2().message({ sessionID: session.id, messageID: id })).data.data, data[0]);
    assert.deepEqual((await v2().context({ sessionID: session.id })).data.data, data);
  });

  test('the same id and text is the same admission, another text is a conflict', async () => {
    const session = await made();
    const id = 'msg_00000000000000000000000001';
    const admitted = await prompted(session.id, 'once', { id });

    const again = await v2().prompt({ sessionID: session.id, id, prompt: { text: 'once' } });
    const other = await v2().prompt({ sessionID: session.id, id, prompt: { text: 'twice' } });

    assert.deepEqual(again.data.data, { ...admitted, promotedSeq: admitted.admittedSeq + 1 });
    assert.equal(other.response.status, 409);
    assert.deepEqual(other.error, {
      _tag: 'ConflictError',
      message: `Prompt message ID conflicts with an existing durable record: ${id}`,
      resource: id,
    });
    const { data } = (await v2().messages({ sessionID: session.id })).data;
    assert.equal(data.filter((message) => message.type === 'user').length, 1);
  });

  test('many at once with one id are one prompt', async () => {
    const session = await made();
    const id = 'msg_00000000000000000000000002';
    const all = await Promise.all(
      Array.from({ length: 8 }, () => v2().prompt({ sessionID: session.id, id, prompt: { text: 'hi' } })),
    );
    await v2().wait({ sessionID: session.id });
    assert.deepEqual(all.map((one) => one.response.status), Array(8).fill(200));
    // Who came late may be told that it was taken up.
    assert.equal(new Set(all.map((one) => JSON.stringify({ ...one.data.data, promotedSeq: undefined }))).size, 1);
    assert.equal((await v2().messages({ sessionID: session.id })).data.data.length, 2);
  });

  test('pages go both ways in both orders and a cursor keeps its order', async () => {
    const session = await made();
    for (const text of ['one', 'two', 'three']) await prompted(session.id, text);
    const all = (await v2().messages({ sessionID: session.id, order: 'asc' })).data.data.map((message) => message.id);
    assert.equal(all.length, 6);

    for (const order of /** @type {const} */ (['asc', 'desc'])) {
      const wanted = order === 'asc' ? all : all.toReversed();
      const page = async (query) => (await v2().messages({ sessionID: session.id, limit: 2, ...query })).data;
      const one = await page({ order });
      const two = await page({ cursor: one.cursor.next });
      const three = await page({ cursor: two.cursor.next });
      assert.deepEqual([one, two, three].flatMap(({ data }) => data.map((message) => message.id)), wanted);
      const end = await page({ cursor: three.cursor.next });
      assert.deepEqual([end.data, end.cursor], [[], { previous: null, next: null }]);
      assert.deepEqual(await page({ cursor: three.cursor.previous }), two);
      assert.deepEqual(await page({ cursor: two.cursor.previous }), one);
    }
    const bad = await v2().messages({ sessionID: session.id, cursor: 'nonsense' });
    assert.deepEqual(bad.error, { _tag: 'InvalidCursorError', message: 'Invalid cursor' });
    const both = await v2().messages({ sessionID: session.id, cursor: 'x', order: 'asc' });
    assert.deepEqual(both.error, { _tag: 'InvalidCursorError', message: 'Cursor cannot be combined with order' });
  });

  test('agent and model are switched, and the history, its tail and the stream of the server tell a turn alike', async () => {
    const sessionID = (await v2().create({ agent: 'build' })).data.data.id;
    const stop = new AbortController();
    const { stream } = await api().v2.event.subscribe({ signal: stop.signal });
    // The stream is open once it has said something.
    const events = stream[Symbol.asyncIterator]();
    assert.equal((await events.next()).value.type, 'server.connected');
    assert.equal((await v2().switchAgent({ sessionID, agent: 'plan' })).response.status, 204);
    assert.equal((await v2().switchModel({ sessionID, model: demo })).response.status, 204);
    const admitted = await prompted(sessionID, 'told three times');
    const told = [];
    for (;;) {
      const { value: event } = await events.next();
      if (event.data?.sessionID === sessionID && event.durable) told.push(event);
      if (event.type === 'session.next.step.ended') break;
    }
    stop.abort();

    const { data, hasMore } = (await v2().history({ sessionID, limit: '100' })).data;
    assert.equal(hasMore, false);
    assert.deepEqual(told.map((event) => event.id), data.map((event) => event.id));
    assert.deepEqual(data.slice(0, 3).map((event) => event.type), [
      'session.next.agent.switched', 'session.next.model.switched', 'session.next.prompt.admitted',
    ]);
    assert.equal(data[2].durable.seq, admitted.admittedSeq);
    assert.deepEqual(data.map((event) => event.durable.seq), data.map((_, index) => index + 1));
    const messages = (await v2().messages({ sessionID, order: 'asc' })).data.data;
    assert.deepEqual(messages.map((message) => message.type), ['agent-switched', 'model-switched', 'user', 'assistant']);
    assert.equal((await api().session.get({ sessionID })).data.agent, 'plan');
    const after = String(data[2].durable.seq);
    assert.deepEqual((await v2().history({ sessionID, after, limit: '100' })).data.data, data.slice(3));
    const end = new AbortController();
    const tail = await v2().events({ sessionID, after }, { signal: end.signal });
    const rest = [];
    for await (const event of tail.stream) {
      rest.push(event);
      if (rest.length === data.length - 3) break;
    }
    end.abort();
    assert.deepEqual(rest, data.slice(3));
  });

  test('what does not exist is told in the words of v2', async () => {
    const sessionID = 'ses_0123456789abABCDEFGHIJKLMN';
    const none = { _tag: 'SessionNotFoundError', sessionID, message: `Session not found: ${sessionID}` };
    for (const call of ['get', 'messages', 'context', 'wait', 'compact', 'interrupt']) {
      const { error, response } = await v2()[call]({ sessionID });
      assert.deepEqual([response.status, error], [404, none], call);
    }
    assert.deepEqual((await v2().prompt({ sessionID, prompt: { text: 'x' } })).error, none);
    const session = await made();
    const messageID = 'msg_0123456789abABCDEFGHIJKLMN';
    assert.deepEqual((await v2().message({ sessionID: session.id, messageID })).error, {
      _tag: 'MessageNotFoundError', sessionID: session.id, messageID, message: `Message not found: ${messageID}`,
    });
    const wrong = await v2().prompt({ sessionID: session.id, prompt: /** @type {any} */ ({ words: 'x' }) });
    assert.deepEqual([wrong.response.status, wrong.error._tag], [400, 'InvalidRequestError']);
  });

  test('a permission of a session is listed, got and answered, and not by another session', async () => {
    const session = await made();
    const other = await made();
    const command = '/demo tool bash {"command":"echo allowed","description":"d"}';
    await v2().prompt({ sessionID: session.id, prompt: { text: command } });
    const asks = v2().permission;
    let open = [];
    while (open.length === 0) open = (await asks.list({ sessionID: session.id })).data.data;

    assert.deepEqual([open[0].action, open[0].resources], ['bash', ['echo allowed']]);
    const requestID = open[0].id;
    assert.deepEqual((await asks.get({ sessionID: session.id, requestID })).data.data, open[0]);
    const stranger = await asks.reply({ sessionID: other.id, requestID, reply: 'once' });
    assert.deepEqual([stranger.response.status, stranger.error._tag], [404, 'PermissionNotFoundError']);
    assert.equal((await asks.reply({ sessionID: session.id, requestID, reply: 'once' })).response.status, 204);
    await v2().wait({ sessionID: session.id });
    assert.deepEqual((await asks.list({ sessionID: session.id })).data.data, []);
    const { data } = (await v2().messages({ sessionID: session.id, order: 'asc' })).data;
    const call = data.flatMap((message) => message.content ?? []).find((part) => part.type === 'tool');
    assert.deepEqual(call.state.content, [{ type: 'text', text: 'allowed\n' }]);
  });

  test('a question of a session is answered or rejected', async () => {
    const ask = '/demo tool question {"questions":[{"question":"Which?","header":"h","options":[{"label":"A","description":"a"}]}]}';
    for (const end of ['reply', 'reject']) {
      const session = await made();
      await v2().prompt({ sessionID: session.id, prompt: { text: ask } });
      let open = [];
      while (open.length === 0) open = (await v2().question.list({ sessionID: session.id })).data.data;
      assert.equal(open[0].questions[0].question, 'Which?');
      const done = await v2().question[end]({ sessionID: session.id, requestID: open[0].id, questionV2Reply: { answers: [['A']] } });
      assert.equal(done.response.status, 204, JSON.stringify(done.error));
      await v2().wait({ sessionID: session.id });
      assert.deepEqual((await v2().question.list({ sessionID: session.id })).data.data, []);
    }
  });

  test('a conversation is compacted, and the summary stands first in what the model sees', async () => {
    const session = await made();
    await prompted(session.id, 'something to remember');

    assert.equal((await v2().compact({ sessionID: session.id })).response.status, 204);

    const context = (await v2().context({ sessionID: session.id })).data.data;
    assert.equal(context[0].type, 'compaction');
  });

  test('a key is connected and forgotten, and no login by browser is offered', async () => {
    const integration = api().v2.integration;
    const key = await integration.connect.key({ integrationID: 'anthropic', key: 'sk-secret' });
    assert.equal(key.response.status, 204);
    const one = (await integration.get({ integrationID: 'anthropic' })).data.data;
    assert.deepEqual(one.connections, [{ type: 'credential', id: 'anthropic', label: 'Anthropic' }]);
    const browser = await integration.connect.oauth({ integrationID: 'anthropic', methodID: 'x', inputs: {} });
    assert.deepEqual([browser.response.status, browser.error._tag], [400, 'InvalidRequestError']);
    assert.equal((await api().v2.credential.remove({ credentialID: 'anthropic' })).response.status, 204);
    assert.deepEqual((await integration.get({ integrationID: 'anthropic' })).data.data.connections, []);
  });
});
