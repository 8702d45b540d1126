// What a turn can be besides a prompt, through both clients of the SDK: commands, the user's own shell, summaries,
// copies, objects that fit a schema, work in sessions of its own.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { MAIN, calls, says } from '../lib/provider.mjs';
import { CLIENTS, said, text } from '../lib/sdk.mjs';
import { until } from '../lib/wait.mjs';

const command = {
  greet: { template: 'Greet $1 and then $2. All of it: $ARGUMENTS', description: 'Says hello' },
  look: { template: 'Look around', agent: 'general', subtask: true },
};
const it = bench({ config: { command, permission: { bash: 'allow' } } });

const SCHEMA = { type: 'object', properties: { answer: { type: 'integer' } }, required: ['answer'], additionalProperties: false };
const gives = (object) => calls('StructuredOutput', object);
const toolParts = (messages) => messages.flatMap((message) => message.parts.filter((part) => part.type === 'tool'));

for (const { name, open } of CLIENTS) {
  describe(name, () => {
    const api = () => open({ baseUrl: it.server.url });
    const create = async () => (await api().create({ title: 'Turns' })).data.id;
    const messages = async (id) => (await api().messages(id)).data;

    test('a turn of several steps calls tools at once and one after another', async () => {
      const id = await create();
      it.provider.will(
        (reply) => reply.text('Let me see.').call('bash', { command: 'echo one', description: 'One' }).call('bash', { command: 'echo two', description: 'Two' }).finish(),
        calls('bash', { command: 'echo three', description: 'Three' }),
        says('Three words.'),
      );

      const answer = await api().prompt(id, { parts: text('Count') });

      assert.equal(said(answer.data), 'Three words.');
      const all = await messages(id);
      assert.deepEqual(all.map((message) => message.info.finish), [undefined, 'tool-calls', 'tool-calls', 'stop']);
      assert.deepEqual(toolParts(all).map((part) => [part.state.status, part.state.output]), [['completed', 'one\n'], ['completed', 'two\n'], ['completed', 'three\n']]);
      const session = (await api().get(id)).data;
      assert.deepEqual([session.tokens.input, session.tokens.output], [30, 15]);
    });

    test('a command is its template with the arguments in place', async () => {
      const id = await create();
      it.provider.will(says('Hello, both.'));

      const answer = await api().command(id, { command: 'greet', arguments: 'Ada "Grace Hopper"' });

      assert.equal(answer.error, undefined);
      assert.equal(said(answer.data), 'Hello, both.');
      assert.equal(said((await messages(id))[0]), 'Greet Ada and then Grace Hopper. All of it: Ada "Grace Hopper"');
    });

    test('a command that is a subtask works in a child session', async () => {
      const id = await create();
      it.provider.will(says('I found a hammer.'), says('There is a hammer.'));

      const answer = await api().command(id, { command: 'look', arguments: '' });

      assert.equal(said(answer.data), 'There is a hammer.');
      const [task] = toolParts(await messages(id));
      assert.equal(task.tool, 'task');
      assert.match(task.state.output, /I found a hammer\./);
      const children = (await api().children(id)).data;
      assert.deepEqual(children.map((child) => [child.id, child.parentID]), [[task.state.metadata.sessionId, id]]);
      assert.match(said((await messages(children[0].id)).at(-1)), /I found a hammer\./);
    });

    test('an unknown command is an error and changes nothing', async () => {
      const id = await create();

      const answer = await api().command(id, { command: 'nonesuch', arguments: '' });

      assert.ok(answer.error);
      assert.deepEqual(await messages(id), []);
    });

    test('the user runs a command without a model, and the model is told', async () => {
      const id = await create();

      const ran = await api().shell(id, { agent: 'build', command: 'echo from the shell' });

      assert.equal(ran.error, undefined);
      const [part] = toolParts([ran.data.parts ? ran.data : { parts: (await messages(id))[1].parts }]);
      assert.deepEqual([part.tool, part.state.status, part.state.output], ['bash', 'completed', 'from the shell\n']);
      it.provider.will(says('I saw it.'));
      await api().prompt(id, { parts: text('Did you see?') });
      assert.match(JSON.stringify(it.provider.asked.at(-1).body.messages), /from the shell/);
    });

    test('a conversation is summarised, and the model goes on from the summary', async () => {
      const id = await create();
      it.provider.will(says('The word is xyzzy.'), says('They spoke of a word.'), says('Yes.'));
      await api().prompt(id, { parts: text('Tell me a word') });

      const done = await api().summarize(id, MAIN);

      assert.equal(done.data, true);
      const all = await messages(id);
      assert.deepEqual(all.at(-2).parts.map((part) => [part.type, part.auto]), [['compaction', false]]);
      assert.equal(all.at(-1).info.summary, true);
      assert.equal(said(all.at(-1)), 'They spoke of a word.');
      await api().prompt(id, { parts: text('Do you remember?') });
      const sent = JSON.stringify(it.provider.asked.at(-1).body.messages);
      assert.match(sent, /They spoke of a word\./);
    });

    test('an abort during a tool keeps what it had printed', async () => {
      const id = await create();
      it.provider.will(calls('bash', { command: 'echo begun; sleep 600', description: 'Waits' }));
      const answer = api().prompt(id, { parts: text('Wait') });
      await until('the command has begun', async () => toolParts(await messages(id)).some((part) => part.state.metadata?.output?.includes('begun')));

      assert.equal((await api().abort(id)).data, true);

      const { info } = (await answer).data;
      assert.equal(info.error.name, 'MessageAbortedError');
      const [part] = toolParts(await messages(id));
      assert.ok(['completed', 'error'].includes(part.state.status));
      assert.match(part.state.metadata.output, /begun/);
      assert.deepEqual((await api().status()).data, {});
    });

    test('an object that fits its schema is on the message', async () => {
      const id = await create();
      it.provider.will(gives({ answer: 'many' }), gives({ answer: 42 }));

      const answer = await api().prompt(id, { parts: text('How many?'), format: { type: 'json_schema', schema: SCHEMA, retryCount: 2 } });

      assert.equal(answer.error, undefined);
      assert.deepEqual(answer.data.info.structured, { answer: 42 });
      assert.equal(answer.data.info.error, undefined);
      const listed = await messages(id);
      assert.deepEqual(listed.at(-1).info.structured, { answer: 42 });
    });

    test('an object that never fits is an error with the number of retries', async () => {
      const id = await create();
      it.provider.will(gives({ answer: 'a' }), gives({ answer: 'b' }), gives({ answer: 'c' }));

      const answer = await api().prompt(id, { parts: text('How many?'), format: { type: 'json_schema', schema: SCHEMA, retryCount: 2 } });

      const { error } = answer.data.info;
      assert.deepEqual([error.name, error.data.retries], ['StructuredOutputError', 2]);
      assert.equal((await api().messages(id)).error, undefined);
    });

    test('a copy has what was said before a message and goes its own way', async () => {
      const id = await create();
      it.provider.will(says('First.'), says('Second.'), says('Third.'));
      await api().prompt(id, { parts: text('One') });
      await api().prompt(id, { parts: text('Two') });
      const third = (await messages(id))[2].info.id;

      const copy = (await api().fork(id, third)).data;

      assert.deepEqual((await messages(copy.id)).map(said), ['One', 'First.']);
      assert.match(copy.title, /\(fork #1\)$/);
      await api().prompt(copy.id, { parts: text('Three') });
      assert.deepEqual((await messages(copy.id)).map(said), ['One', 'First.', 'Three', 'Third.']);
      assert.equal((await messages(id)).length, 4);
    });

    test('init asks the model to describe the project', async () => {
      const id = await create();
      it.provider.will(says('Described.'));
      const messageID = `msg_${name === 'SDK v1' ? 'c' : 'd'}123456789ab0123456789abcd`;

      const done = await api().init(id, { ...MAIN, messageID });

      assert.equal(done.data, true);
      const all = await messages(id);
      assert.equal(all[0].info.id, messageID);
      assert.match(said(all[0]), /AGENTS\.md/);
      assert.equal(said(all.at(-1)), 'Described.');
    });

    test('a failure that passes is shown as a retry and then answered', async () => {
      const id = await create();
      it.provider.will((reply) => reply.refuse(503, 'Come back', { 'retry-after-ms': '2000' }), says('Now.'));

      const answer = api().prompt(id, { parts: text('Hello') });

      const retry = await until('a retry', async () => {
        const status = (await api().status()).data[id];
        return status?.type === 'retry' && status;
      });
      assert.deepEqual([retry.attempt, retry.message], [1, 'Come back']);
      assert.equal(said((await answer).data), 'Now.');
    });
  });
}
