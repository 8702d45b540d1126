// Prompts, answers and messages through both clients of the SDK.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { MAIN, TITLE, says } from '../lib/provider.mjs';
import { CLIENTS, said, text } from '../lib/sdk.mjs';
import { Gate, until } from '../lib/wait.mjs';

const it = bench();

for (const { name, open } of CLIENTS) {
  describe(name, () => {
    const api = () => open({ baseUrl: it.server.url });
    const create = async () => (await api().create({ title: 'Talk' })).data.id;
    const settled = (id) => until('the session is idle', async () => !(await api().status()).data[id]);

    test('a prompt is answered when the turn has ended', async () => {
      const id = await create();
      it.provider.will((reply) => reply.reasoning('They greet. ').reasoning('So do I.').text('Good ').text('morning').finish());

      const answer = await api().prompt(id, { parts: text('Good morning') });

      assert.equal(answer.error, undefined);
      const { info, parts } = answer.data;
      assert.equal(info.role, 'assistant');
      assert.equal(info.sessionID, id);
      assert.equal(info.finish, 'stop');
      assert.deepEqual([info.providerID, info.modelID, info.agent, info.mode], [MAIN.providerID, MAIN.modelID, 'build', 'build']);
      assert.deepEqual(info.tokens, { total: 15, input: 10, output: 5, reasoning: 0, cache: { read: 0, write: 0 } });
      assert.deepEqual(info.path, { cwd: it.world.project, root: it.world.top });
      assert.ok(info.time.completed >= info.time.created);
      assert.deepEqual(
        parts.map((part) => [part.type, part.text]),
        [['step-start', undefined], ['reasoning', 'They greet. So do I.'], ['text', 'Good morning'], ['step-finish', undefined]],
      );
    });

    test('the provider is sent what was said so far', async () => {
      const id = await create();
      it.provider.will(says('Blue.'), says('Yes.'));
      await api().prompt(id, { parts: text('Which colour?') });

      await api().prompt(id, { parts: text('Sure?') });

      const talk = it.provider.asked.at(-1).body.messages.filter((message) => message.role !== 'system');
      assert.deepEqual(
        talk.map((message) => [message.role, JSON.stringify(message.content).match(/Which colour\?|Blue\.|Sure\?/)?.[0]]),
        [['user', 'Which colour?'], ['assistant', 'Blue.'], ['user', 'Sure?']],
      );
      assert.equal(it.provider.asked.at(-1).headers.authorization, 'Bearer key-of-the-test');
    });

    test('prompt_async answers at once, and the turn goes on', async () => {
      const id = await create();
      const gate = new Gate();
      it.provider.will(async (reply) => {
        reply.text('Half ');
        await gate.opened;
        reply.text('and whole').finish();
      });

      const sent = await api().promptAsync(id, { parts: text('Go') });

      assert.equal(sent.response.status, 204);
      const open = await until('the first half is stored', async () => {
        const { data } = await api().messages(id);
        return data.find((message) => message.info.role === 'assistant' && said(message) === 'Half ');
      });
      assert.equal(open.info.time.completed, undefined);
      assert.deepEqual((await api().status()).data[id], { type: 'busy' });
      gate.open();
      await settled(id);
      const { data } = await api().messages(id);
      assert.deepEqual(data.map(said), ['Go', 'Half and whole']);
    });

    test('a prompt while busy waits, and both callers get the last answer', async () => {
      const id = await create();
      const gate = new Gate();
      it.provider.will(async (reply) => {
        reply.text('First');
        await gate.opened;
        reply.finish();
      }, says('Second'));
      const asked = it.provider.asked.length;
      const first = api().prompt(id, { parts: text('One') });
      // Busy is not enough: what comes before the model was asked is answered in the same breath.
      await until('the model is asked', () => it.provider.asked.length > asked);

      const second = api().prompt(id, { parts: text('Two') });
      await until('the second is stored', async () => (await api().messages(id)).data.filter((m) => m.info.role === 'user').length === 2);
      gate.open();

      const [one, two] = [(await first).data, (await second).data];
      assert.equal(said(two), 'Second');
      assert.deepEqual(one, two);
    });

    test('noReply stores a message and asks nobody', async () => {
      const id = await create();
      const asked = it.provider.asked.length;

      const answer = await api().prompt(id, { noReply: true, parts: text('For later') });

      assert.equal(answer.data.info.role, 'user');
      assert.equal(said(answer.data), 'For later');
      assert.equal(it.provider.asked.length, asked);
    });

    test('ids that the client made are kept', async () => {
      const id = await create();
      const suffix = `${name === 'SDK v1' ? 'a' : 'b'}0123456789abc`;
      const [messageID, part] = [`msg_0123456789ab${suffix}`, `prt_0123456789ab${suffix}`];
      it.provider.will(says('Kept.'));

      const answer = await api().prompt(id, { messageID, parts: [{ id: part, type: 'text', text: 'Mine' }] });

      assert.equal(answer.data.info.parentID, messageID);
      const stored = await api().message(id, messageID);
      assert.deepEqual(stored.data.parts.map((stored) => stored.id), [part]);
    });

    test('messages are read in pages, newest page first', async () => {
      const id = await create();
      for (const number of [1, 2, 3, 4, 5]) await api().prompt(id, { noReply: true, parts: text(`Note ${number}`) });

      const pages = [];
      let before;
      do {
        const page = await api().messages(id, { limit: 2, ...(before ? { before } : {}) });
        assert.equal(page.error, undefined);
        pages.push(page.data.map(said));
        before = page.response.headers.get('x-next-cursor');
      } while (before);

      assert.deepEqual(pages, [['Note 4', 'Note 5'], ['Note 2', 'Note 3'], ['Note 1']]);
      assert.deepEqual((await api().messages(id)).data.map(said), pages.reverse().flat());
    });

    test('the first prompt of an untitled session gives it a title', async () => {
      const id = (await api().create()).data.id;
      it.provider.will(says('Hello.'));

      await api().prompt(id, { parts: text('Hello') });

      await until('a title', async () => (await api().get(id)).data.title === TITLE);
    });

    test('an abort keeps what was said and says that it was stopped', async () => {
      const id = await create();
      it.provider.will(async (reply) => {
        reply.text('So far');
        await reply.gone;
      });
      const answer = api().prompt(id, { parts: text('Talk') });
      await until('text', async () => (await api().messages(id)).data.some((message) => said(message) === 'So far'));

      const aborted = await api().abort(id);

      assert.equal(aborted.data, true);
      const { info, parts } = (await answer).data;
      assert.equal(info.error.name, 'MessageAbortedError');
      assert.ok(info.time.completed);
      assert.equal(said({ parts }), 'So far');
      assert.deepEqual((await api().status()).data, {});
      it.provider.will(says('Again.'));
      assert.equal(said((await api().prompt(id, { parts: text('Still there?') })).data), 'Again.');
    });

    test('an abort of an idle session is true', async () => {
      assert.equal((await api().abort(await create())).data, true);
    });

    test('a failure of the model stands on the message, not on the request', async () => {
      const id = await create();
      it.provider.will((reply) => reply.refuse(400, 'This model has no ears'));

      const answer = await api().prompt(id, { parts: text('Hello?') });

      assert.equal(answer.response.status, 200);
      const { error } = answer.data.info;
      assert.equal(error.name, 'APIError');
      assert.equal(error.data.statusCode, 400);
      assert.equal(error.data.isRetryable, false);
      assert.match(error.data.message, /This model has no ears/);
    });
  });
}
