// What goes wrong, as both clients of the SDK show it.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { says } from '../lib/provider.mjs';
import { CLIENTS, said, text } from '../lib/sdk.mjs';

const it = bench();
const GONE = 'ses_0123456789abAAAAAAAAAAAAAA';

for (const { name, open } of CLIENTS) {
  describe(name, () => {
    const api = (config = {}) => open({ baseUrl: it.server.url, ...config });
    const create = async () => (await api().create({ title: 'Wrong' })).data.id;

    /** Everything the package says of a failure. */
    const failure = async (asking) => {
      const { data, error, response } = await asking;
      assert.equal(data, undefined);
      return { status: response.status, error };
    };

    test('an unknown session is not found, on every route of a session', async () => {
      const expected = { status: 404, error: { name: 'NotFoundError', data: { message: `Session not found: ${GONE}` } } };

      assert.deepEqual(await failure(api().get(GONE)), expected);
      assert.deepEqual(await failure(api().rename(GONE, 'x')), expected);
      assert.deepEqual(await failure(api().remove(GONE)), expected);
      assert.deepEqual(await failure(api().children(GONE)), expected);
      assert.deepEqual(await failure(api().messages(GONE)), expected);
      assert.deepEqual(await failure(api().prompt(GONE, { parts: text('x') })), expected);
      assert.deepEqual(await failure(api().promptAsync(GONE, { parts: text('x') })), expected);
      assert.equal((await api().abort(GONE)).data, true);
    });

    test('an unknown message is not found', async () => {
      const id = 'msg_0123456789abAAAAAAAAAAAAAA';

      const { status, error } = await failure(api().message(await create(), id));

      assert.equal(status, 404);
      assert.deepEqual(error, { name: 'NotFoundError', data: { message: `Message not found: ${id}` } });
    });

    test('an id of another kind is refused before it is looked for', async () => {
      for (const asking of [api().get('msg_0123456789abAAAAAAAAAAAAAA'), api().message(await create(), GONE)]) {
        const { status, error } = await failure(asking);
        assert.equal(status, 400);
        assert.equal(error.name, 'BadRequest');
        assert.equal(error.data.kind, 'Params');
        assert.match(error.data.message, /Expected a string starting with "(ses|msg)"/);
      }
    });

    test('an unknown model is refused with the names there are, and nothing has changed', async () => {
      const id = await create();

      const model = { providerID: 'scripted', modelID: 'mian' };
      const { status, error } = await failure(api().prompt(id, { model, parts: text('x') }));

      assert.equal(status, 400);
      assert.equal(error.name, 'BadRequest');
      assert.match(error.data.message, /mian/);
      assert.match(error.data.message, /main/);
      assert.deepEqual((await api().messages(id)).data, []);
      it.provider.will(says('Fine.'));
      assert.equal(said((await api().prompt(id, { parts: text('x') })).data), 'Fine.');
    });

    test('an unknown provider is refused', async () => {
      const model = { providerID: 'nobody', modelID: 'main' };

      const { status, error } = await failure(api().promptAsync(await create(), { model, parts: text('x') }));

      assert.equal(status, 400);
      assert.match(error.data.message, /nobody/);
    });

    test('an unknown agent is refused with the names there are', async () => {
      const { status, error } = await failure(api().prompt(await create(), { agent: 'biuld', parts: text('x') }));

      assert.equal(status, 400);
      assert.match(error.data.message, /biuld/);
      assert.match(error.data.message, /build/);
    });

    test('a prompt without parts is refused with the place', async () => {
      const { status, error } = await failure(api().prompt(await create(), { noReply: true }));

      assert.equal(status, 400);
      assert.deepEqual([error.name, error.data.kind], ['BadRequest', 'Payload']);
      assert.match(error.data.message, /parts/);
    });

    test('a wrong limit is refused', async () => {
      const { status, error } = await failure(api().messages(await create(), { limit: -1 }));

      assert.equal(status, 400);
      assert.equal(error.data.kind, 'Query');
    });

    test('a cursor without a limit, or one that cannot be read, is refused', async () => {
      const id = await create();
      const expected = { status: 400, error: { _tag: 'BadRequest' } };

      assert.deepEqual(await failure(api().messages(id, { before: 'AAAA' })), expected);
      assert.deepEqual(await failure(api().messages(id, { before: 'AAAA', limit: 2 })), expected);
    });

    test('a message id that is taken is a conflict', async () => {
      const id = await create();
      const messageID = `msg_0123456789ab${name === 'SDK v1' ? 'A' : 'B'}BBBBBBBBBBBBB`;
      await api().prompt(id, { messageID, noReply: true, parts: text('Mine') });

      const { status, error } = await failure(api().prompt(id, { messageID, noReply: true, parts: text('Other') }));

      assert.equal(status, 409);
      assert.equal(error._tag, 'ConflictError');
    });

    test('JSON that cannot be read is refused as a body', async () => {
      const broken = (request) => fetch(new Request(request, { body: '{"parts": [', method: 'POST', duplex: 'half' }));
      const id = await create();

      const { status, error } = await failure(api({ fetch: broken }).prompt(id, { parts: text('x') }));

      assert.equal(status, 400);
      assert.deepEqual([error.name, error.data.kind], ['BadRequest', 'Body']);
    });

    test('throwOnError throws a sentence', async () => {
      const strict = api({ throwOnError: true });

      await assert.rejects(strict.get(GONE), (error) => {
        assert.ok(error instanceof Error);
        assert.equal(error.message, `Session not found: ${GONE}`);
        return true;
      });
    });
  });
}

test('an unknown route is an error and not a page', async () => {
  const { status, json } = await it.server.ask('GET', '/nothing/here');

  assert.equal(status, 404);
  assert.equal(json.name, 'NotFoundError');
});

test('a body of another type is refused', async () => {
  const { status, text } = await it.server.ask('POST', '/session', '{}', { 'content-type': 'text/plain' });

  assert.equal(status, 415);
  assert.equal(text, 'Unsupported content-type: text/plain');
});
