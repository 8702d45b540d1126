// What a person is asked: permissions through both clients of the SDK, questions through the second,
// which is the one that has them.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { calls, says } from '../lib/provider.mjs';
import { CLIENTS, said, text } from '../lib/sdk.mjs';
import { Server } from '../lib/server.mjs';
import { Reader } from '../lib/sse.mjs';

const it = bench({ config: { permission: { bash: 'ask' } } });

/** A call that leaves a mark when it runs. */
const mark = (name) => ({ command: `touch ${name}`, description: 'Leaves a mark' });
const ran = (name) => existsSync(join(it.world.project, name));

async function watch(t) {
  const reader = await Reader.open(it.server.url);
  t.after(() => reader.close());
  return reader;
}

const asked = async (reader, kind = 'permission') =>
  (await reader.until(`${kind}.asked`, (frame) => frame.type === `${kind}.asked`)).event.properties;

const toolOf = (messages) => messages.flatMap((message) => message.parts).find((part) => part.type === 'tool');

for (const { name, open } of CLIENTS) {
  describe(name, () => {
    const api = () => open({ baseUrl: it.server.url });
    const create = async () => (await api().create({ title: 'Ask' })).data.id;
    const file = (what) => `${what}-${name.replace(' ', '-')}`;

    test('a call that must be asked about waits, and runs when it is allowed', async (t) => {
      const reader = await watch(t);
      const id = await create();
      it.provider.will(calls('bash', mark(file('once'))), says('It ran.'));

      const answer = api().prompt(id, { parts: text('Leave a mark') });
      const request = await asked(reader);

      assert.match(request.id, /^per_/);
      assert.equal(request.sessionID, id);
      assert.equal(request.permission, 'bash');
      assert.deepEqual(request.patterns, [mark(file('once')).command]);
      assert.equal(request.tool.callID, 'call_1');
      assert.equal(ran(file('once')), false);
      assert.deepEqual((await api().status()).data[id], { type: 'busy' });
      assert.deepEqual(await it.server.tell('GET', '/permission'), [request]);

      assert.equal((await api().respond(id, request.id, 'once')).data, true);
      const { data } = await answer;

      assert.equal(said(data), 'It ran.');
      assert.equal(ran(file('once')), true);
      const part = toolOf((await api().messages(id)).data);
      assert.deepEqual([part.tool, part.state.status, part.callID], ['bash', 'completed', 'call_1']);
      assert.deepEqual(await it.server.tell('GET', '/permission'), []);
      const replied = reader.frames.find((frame) => frame.type === 'permission.replied');
      assert.deepEqual(replied.event.properties, { sessionID: id, requestID: request.id, reply: 'once' });
    });

    test('a rejected call does not run and ends the turn', async (t) => {
      const reader = await watch(t);
      const id = await create();
      it.provider.will(calls('bash', mark(file('never'))));
      const turns = it.provider.asked.length + 1;

      const answer = api().prompt(id, { parts: text('Leave a mark') });
      const request = await asked(reader);
      await api().respond(id, request.id, 'reject');

      const { data } = await answer;
      assert.equal(data.info.error, undefined);
      assert.equal(ran(file('never')), false);
      assert.equal(toolOf((await api().messages(id)).data).state.status, 'error');
      assert.equal(it.provider.asked.length, turns, 'the model was not asked again');
      assert.equal((await api().respond(id, request.id, 'once')).response.status, 404);
    });

    test('an abort closes what was asked', async (t) => {
      const reader = await watch(t);
      const id = await create();
      it.provider.will(calls('bash', mark(file('aborted'))));

      const answer = api().prompt(id, { parts: text('Leave a mark') });
      await asked(reader);
      await api().abort(id);

      assert.equal((await answer).data.info.error?.name, 'MessageAbortedError');
      assert.equal(ran(file('aborted')), false);
      assert.deepEqual(await it.server.tell('GET', '/permission'), []);
      assert.deepEqual((await api().status()).data, {});
    });
  });
}

describe('SDK v2 alone', () => {
  const second = CLIENTS[1];
  const api = () => second.open({ baseUrl: it.server.url });
  const create = async () => (await api().create({ title: 'Ask' })).data.id;
  const colours = {
    questions: [
      {
        header: 'Colour',
        question: 'Which colour?',
        options: [
          { label: 'Red', description: 'Warm' },
          { label: 'Blue', description: 'Cold' },
        ],
      },
    ],
  };

  test('a refusal with words is passed on to the model, and the turn goes on', async (t) => {
    const reader = await watch(t);
    const id = await create();
    it.provider.will(calls('bash', mark('words')), says('Then not.'));

    const answer = api().prompt(id, { parts: text('Leave a mark') });
    const request = await asked(reader);
    const replied = await api().client.permission.reply({ requestID: request.id, reply: 'reject', message: 'Use a pencil' });

    assert.equal(replied.data, true);
    assert.equal(said((await answer).data), 'Then not.');
    assert.match(JSON.stringify(it.provider.asked.at(-1).body.messages.at(-1)), /Use a pencil/);
    assert.equal(ran('words'), false);
  });

  test('a call that was always allowed is not asked about again', async (t) => {
    const reader = await watch(t);
    const id = await create();
    it.provider.will(calls('bash', mark('always')), calls('bash', mark('always-again')), says('Both.'));

    const answer = api().prompt(id, { parts: text('Leave marks') });
    const request = await asked(reader);
    await api().client.permission.reply({ requestID: request.id, reply: 'always' });

    assert.equal(said((await answer).data), 'Both.');
    assert.equal(reader.frames.filter((frame) => frame.type === 'permission.asked').length, 1);
    assert.ok(ran('always') && ran('always-again'));
  });

  test('a question is asked and its answer reaches the model', async (t) => {
    const reader = await watch(t);
    const id = await create();
    it.provider.will(calls('question', colours), says('Red it is.'));

    const answer = api().prompt(id, { parts: text('Paint') });
    const request = await asked(reader, 'question');

    assert.match(request.id, /^que_/);
    assert.equal(request.questions[0].question, 'Which colour?');
    assert.deepEqual((await api().client.question.list()).data, [request]);
    const replied = await api().client.question.reply({ requestID: request.id, answers: [['Red']] });

    assert.equal(replied.data, true);
    assert.equal(said((await answer).data), 'Red it is.');
    assert.match(JSON.stringify(it.provider.asked.at(-1).body.messages.at(-1)), /Red/);
    assert.deepEqual((await api().client.question.list()).data, []);
  });

  test('a rejected question ends the turn', async (t) => {
    const reader = await watch(t);
    const id = await create();
    it.provider.will(calls('question', colours));

    const answer = api().prompt(id, { parts: text('Paint') });
    const request = await asked(reader, 'question');
    const rejected = await api().client.question.reject({ requestID: request.id });

    assert.equal(rejected.data, true);
    assert.equal((await answer).data.info.error, undefined);
    assert.equal(toolOf((await api().messages(id)).data).state.status, 'error');
    const gone = await api().client.question.reject({ requestID: request.id });
    assert.equal(gone.response.status, 404);
    assert.equal(gone.error._tag, 'QuestionNotFoundError');
  });

  test('what was asked is still asked after kill -9, and can be answered', async (t) => {
    const reader = await watch(t);
    const id = await create();
    it.provider.will(calls('question', colours));
    await api().promptAsync(id, { parts: text('Paint') });
    const request = await asked(reader, 'question');

    await it.server.kill();
    it.server = await Server.start(it.world);
    const again = await watch(t);

    assert.deepEqual((await api().client.question.list()).data, [request]);
    it.provider.will(says('Blue then.'));
    assert.equal((await api().client.question.reply({ requestID: request.id, answers: [['Blue']] })).data, true);
    await again.idle(id);
    assert.equal(said((await api().messages(id)).data.at(-1)), 'Blue then.');
  });
});
