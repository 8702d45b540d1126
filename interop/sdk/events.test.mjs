// Events through both clients of the SDK: the order of a turn, directories, and a stream that comes
// back by itself after the server was killed.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { paced, says } from '../lib/provider.mjs';
import { CLIENTS, readUntil, said, text } from '../lib/sdk.mjs';
import { Server } from '../lib/server.mjs';
import { soon } from '../lib/wait.mjs';

const it = bench();

/** A stream that ends with the test. */
function stop(t) {
  const control = new AbortController();
  t.after(() => control.abort());
  return { signal: control.signal, sseDefaultRetryDelay: 50 };
}

/** The package asks when its stream is first read. */
async function connected(subscribing) {
  const { stream } = await subscribing;
  const { value } = await soon('connected', stream.next());
  assert.equal((value.payload ?? value).type, 'server.connected');
  return stream;
}

const isIdle = (id) => (event) => event.type === 'session.idle' && event.properties.sessionID === id;

/** What a turn looks like, without the text of its pieces. */
function outline(event) {
  const { info, part, status } = event.properties;
  if (info?.role) return `${event.type} ${info.role}${info.time.completed ? ' done' : ''}`;
  if (part) return `${event.type} ${part.type}${part.time?.end ? ' done' : ''}`;
  return status ? `${event.type} ${status.type}` : event.type;
}

for (const { name, open } of CLIENTS) {
  describe(name, () => {
    const api = (config = {}) => open({ baseUrl: it.server.url, ...config });

    test('a turn is told in the order clients rely on', async (t) => {
      const stream = await connected(api().events(stop(t)));
      const id = (await api().create({ title: 'Watch' })).data.id;
      it.provider.will((reply) => reply.text('One ').text('two').finish());

      await api().prompt(id, { parts: text('Count') });
      const seen = await soon('the turn is told', readUntil(stream, isIdle(id)));

      const told = seen.map(outline).filter((line, index, all) => line !== all[index - 1]);
      const wanted = [
        'message.updated user',
        'message.part.updated text',
        'session.status busy',
        'message.updated assistant',
        'message.part.updated step-start',
        'message.part.updated text',
        'message.part.delta',
        'message.part.updated text done',
        'message.part.updated step-finish',
        'message.updated assistant done',
        'session.status idle',
        'session.idle',
      ];
      let from = 0;
      for (const line of wanted) {
        from = told.indexOf(line, from) + 1;
        assert.ok(from > 0, `${line} is missing, or not in its place, in:\n${told.join('\n')}`);
      }
      assert.equal(told.at(-2), 'session.status idle');
      assert.ok(seen.every((event) => /^evt_/.test(event.id)));
      const deltas = seen.filter((event) => event.type === 'message.part.delta');
      assert.equal(deltas.map((event) => event.properties.delta).join(''), 'One two');
    });

    test('the stream of a directory tells of no other', async (t) => {
      const directory = await it.world.directory(`watched by ${name}`);
      const stream = await connected(api({ directory }).events(stop(t)));

      await api().create({ title: 'Here' });
      const there = (await api({ directory }).create({ title: 'There' })).data;

      const seen = await soon('it is told', readUntil(stream, (event) => event.type === 'session.created'));
      assert.deepEqual(
        seen.map((event) => event.properties.info),
        [there],
      );
    });

    test('the stream of the server tells of all directories, each with its own', async (t) => {
      const directory = await it.world.directory(`also watched by ${name}`);
      const stream = await connected(api().allEvents(stop(t)));

      await api().create({ title: 'Here' });
      await api({ directory }).create({ title: 'There' });

      let left = 2;
      const created = (event) => event.payload.type === 'session.created';
      const seen = await soon('both are told', readUntil(stream, (event) => created(event) && --left === 0));
      assert.deepEqual(
        seen.filter(created).map((event) => [event.directory, event.project, event.payload.properties.info.title]),
        [[it.world.project, it.world.projectID, 'Here'], [directory, 'global', 'There']],
      );
    });

    test('a rename and a removal are told', async (t) => {
      const stream = await connected(api().events(stop(t)));
      const { id } = (await api().create({ title: 'Short' })).data;
      await api().rename(id, 'Shorter');
      await api().remove(id);

      const seen = await soon('the removal is told', readUntil(stream, (event) => event.type === 'session.deleted'));

      assert.deepEqual(
        seen.map((event) => [event.type, event.properties.info?.title]),
        [['session.created', 'Short'], ['session.updated', 'Shorter'], ['session.deleted', 'Shorter']],
      );
    });

    test('after kill -9 the stream comes back by itself and misses nothing', async (t) => {
      const stream = await connected(api().events(stop(t)));
      const { id } = (await api().create({ title: 'Killed' })).data;
      it.provider.will(paced(Array.from({ length: 5000 }, (_, index) => `${index} `), 1));
      await api().promptAsync(id, { parts: text('Count') });
      let pieces = 0;
      const tenth = (event) => event.type === 'message.part.delta' && ++pieces === 10;
      const seen = await soon('ten pieces', readUntil(stream, tenth));

      await it.server.kill();
      it.server = await Server.start(it.world, { port: it.server.port });
      it.provider.will(says('Back.'));
      await api().prompt(id, { parts: text('And now?') });
      const isBack = (event) => event.properties?.part?.text === 'Back.';
      seen.push(...(await soon('the new answer', readUntil(stream, isBack))));
      seen.push(...(await soon('its end', readUntil(stream, isIdle(id)))));

      const stored = (await api().messages(id)).data;
      assert.deepEqual(
        stored.map((message) => message.info.error?.name),
        [undefined, 'MessageAbortedError', undefined, undefined],
      );
      const told = spelled(seen);
      for (const message of stored.filter((message) => message.info.role === 'assistant')) {
        // The pieces, put together, are the text: none is missing, none came twice.
        for (const part of message.parts.filter((part) => part.type === 'text')) {
          assert.equal(told.get(part.id), part.text);
        }
      }
      const ids = seen.filter((event) => !event.type.startsWith('server.')).map((event) => event.id);
      assert.equal(new Set(ids).size, ids.length, 'no event twice');
      assert.equal(said(stored.at(-1)), 'Back.');
    });
  });
}

/** Puts the pieces of each part together. */
function spelled(events) {
  const texts = new Map();
  for (const { type, properties } of events) {
    if (type !== 'message.part.delta') continue;
    texts.set(properties.partID, (texts.get(properties.partID) ?? '') + properties.delta);
  }
  return texts;
}
