// What a JavaScript client of /rpc does, with the published package.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RpcTarget } from 'capnweb';
import { isBehind } from '../lib/sse.mjs';
import { soon, until } from '../lib/wait.mjs';
import { ask, batch, bench, connect, create } from './support.mjs';

const it = bench();

/** What a promise of the package fails with; it is none that `assert` takes. */
const fails = (promise, wanted) => assert.rejects(async () => await promise, wanted);
/** The package makes a Buffer of bytes in node. */
const plain = (value) => (Buffer.isBuffer(value) ? new Uint8Array(value) : value);

/** The same tests in a batch and over a WebSocket. */
for (const transport of ['batch', 'socket']) {
  describe(transport, () => {
    /** @param {(root: any) => Promise<void>} body */
    const withRoot = async (body) => {
      if (transport === 'batch') return body(batch(it.server));
      const { root, socket } = await connect(it.server);
      try {
        await body(root);
      } finally {
        socket.terminate();
      }
    };
    const NO_SESSION = 'ses_0123456789abABCDEFGHIJKLMN';

    for (const [name, value] of /** @type {[string, any][]} */ ([
      ['null', null],
      ['undefined', undefined],
      ['booleans', [true, false]],
      ['numbers', [0, -1, 0.1, 1e300, 5e-324, Number.MAX_SAFE_INTEGER, NaN, Infinity, -Infinity]],
      ['bigints', [0n, -1n, 2n ** 200n]],
      ['strings', ['', 'é😀\u0000\u2028', '"\\\n']],
      ['dates', [new Date(0), new Date(-1), new Date(1767323045678)]],
      ['bytes', new Uint8Array([0, 127, 128, 255])],
      ['typed arrays', [new Float64Array([1.5, -2]), new Int16Array([-3])]],
      ['arrays in arrays', [[], [[1]], [[[]]]]],
      ['objects', { a: { b: [{ c: null }] }, '': 1, undefined: undefined }],
      ['a URL', new URL('https://example.org/a?b#c')],
    ])) {
      test(`echo of ${name}`, () => withRoot(async (root) => assert.deepEqual(plain(await root.echo(value)), value)));
    }

    test('echo of an error', () =>
      withRoot(async (root) => {
        const back = await root.echo(Object.assign(new RangeError('far'), { code: 'out' }));
        assert.ok(back instanceof RangeError);
        assert.deepEqual([back.message, back.code], ['far', 'out']);
      }));

    test('echo of headers', () =>
      withRoot(async (root) => {
        const back = await root.echo(new Headers({ 'x-one': '1' }));
        assert.deepEqual([...back], [['x-one', '1']]);
      }));

    test('probeValue shows what arrived', () =>
      withRoot(async (root) => {
        const when = new Date('2026-01-02T03:04:05.678Z');
        const nested = { list: [1, { deep: null }], text: 'é' };
        const shown = await root.probeValue({ when, bytes: new Uint8Array([1, 0, 255]), nested });
        assert.deepEqual(shown, { when: when.toISOString(), bytes: [1, 0, 255], size: 3, nested });
      }));

    test('probeValue refuses what it cannot show', () =>
      withRoot((root) => fails(root.probeValue({ when: 'today' }), TypeError)));

    test('list, get, info and messages in one round trip', async () => {
      const id = await create(it.server, `Pipelined ${transport}`);
      await ask(it.server, id, 'hello');
      await withRoot(async (root) => {
        const sessions = root.sessions();
        const session = sessions.get(id);
        const [list, info, messages] = await Promise.all([
          sessions.list({ search: `pipelined ${transport}` }),
          session.info(),
          session.messages({ limit: 1 }),
        ]);
        assert.deepEqual(info, await it.server.tell('GET', `/session/${id}`));
        assert.deepEqual(list, [info]);
        const page = await it.server.ask('GET', `/session/${id}/message?limit=1`);
        assert.deepEqual({ ...messages }, { items: page.json, next: page.headers.get('x-next-cursor') });
      });
    });

    test('an unknown session is an error with a code, for everything asked of it', () =>
      withRoot((root) =>
        fails(root.sessions().get(NO_SESSION).info(), (error) => {
          assert.deepEqual([error.code, error.status, error.message], ['NotFoundError', 404, `Session not found: ${NO_SESSION}`]);
          return true;
        }),
      ));
  });
}

test('a batch is one request and one answer', async () => {
  const lines = ['["push",["pipeline",0,["sessions"],[]]]', '["push",["pipeline",1,["list"],[{"limit":0}]]]', '["pull",2]'];
  const answer = await it.server.ask('POST', '/rpc', lines.join('\n'), { 'content-type': 'text/plain' });
  assert.equal(answer.status, 200);
  assert.match(answer.text, /^\["resolve",2,\[\[/);
});

test('echo of a function and of an object gives the originals back', async () => {
  const { root, socket } = await connect(it.server);
  class Counter extends RpcTarget {
    #count = 0;
    next() {
      return ++this.#count;
    }
  }

  const back = await root.echo({ double: (x) => x * 2, counter: new Counter() });

  assert.equal(await back.double(21), 42);
  assert.deepEqual([await back.counter.next(), await back.counter.next()], [1, 2]);
  socket.terminate();
});

test('probeCallback answers what the callback answered', async () => {
  const { root, socket } = await connect(it.server);

  assert.deepEqual(await root.probeCallback(() => ({ when: new Date(5) })), { when: new Date(5) });
  assert.equal(await root.probeCallback(async () => 'later'), 'later');
  await fails(root.probeCallback(() => { throw new TypeError('no'); }), { name: 'TypeError', message: 'no' });
  await fails(batch(it.server).probeCallback(() => 1), { code: 'batch_no_return_path' });
  socket.terminate();
});

test('a subscription shows a turn, its disposal ends it, and it goes on after a cursor', async () => {
  const id = await create(it.server, 'Watched');
  const { root, session: rpc, socket } = await connect(it.server);
  const session = await root.sessions().get(id);
  /** @type {[any, string][]} */
  const seen = [];
  const handle = await session.subscribe(null, (event, cursor) => void seen.push([event, cursor]));
  await ask(it.server, id, '/demo long 20');
  await until('the turn ends', () => seen.some(([event]) => event.type === 'session.idle'));
  const text = seen.filter(([event]) => event.type === 'message.part.delta' && event.properties.field === 'text');
  assert.ok(text.length > 0);
  assert.ok(seen.every(([event]) => event.properties.sessionID === id && event.id.startsWith('evt_')));
  assert.ok(seen.every(([, cursor], at) => at === 0 || isBehind(cursor, seen[at - 1][1])));

  const exports = rpc.getStats().exports;
  handle[Symbol.dispose]();

  await until('the server lets the sink go', () => rpc.getStats().exports < exports);
  const count = seen.length;
  await ask(it.server, id, 'unseen');
  await root.echo(0);
  assert.equal(seen.length, count);

  const [, middle] = seen[Math.floor(count / 2)];
  /** @type {[any, string][]} */
  const again = [];
  const second = await session.subscribe(middle, (event, cursor) => void again.push([event, cursor]));
  await until('both turns', () => again.filter(([event]) => event.type === 'session.idle').length === 2);
  assert.deepEqual(again.slice(0, count - Math.floor(count / 2) - 1), seen.slice(Math.floor(count / 2) + 1));
  const ended = second.ended();
  second[Symbol.dispose]();
  assert.equal(await soon('the end is told', ended), 'disposed');
  socket.terminate();
});

test('a subscription says why it ended', async () => {
  const id = await create(it.server, 'Short');
  const { root, socket } = await connect(it.server);
  const session = await root.sessions().get(id);
  const failing = await session.subscribe(null, () => { throw new Error('enough'); });
  const following = await session.subscribe(null, () => {});

  await it.server.tell('PATCH', `/session/${id}`, { title: 'Shorter' });
  assert.equal(await soon('the failing one ends', failing.ended()), 'sink_failed');
  await it.server.tell('DELETE', `/session/${id}`);
  assert.equal(await soon('the other ends', following.ended()), 'session_removed');
  socket.terminate();
});

test('a page of another site gets no connection', async () => {
  await fails(connect(it.server, { headers: { origin: 'https://evil.example' } }), /403/);
});

describe('with a password', () => {
  const locked = bench({ env: { OPENCODE_SERVER_PASSWORD: 'sesame' } });

  test('a root is for those who know it', async () => {
    await fails(connect(locked.server), /401/);
    await fails(batch(locked.server).echo(1), /401/);
    const authorization = `Basic ${Buffer.from('opencode:sesame').toString('base64')}`;
    const { root, socket } = await connect(locked.server, { headers: { authorization } });
    assert.equal(await root.echo('in'), 'in');
    socket.terminate();
  });
});

test('a server that stops ends the session with its reason', async () => {
  const { root, session, socket } = await connect(it.server);
  await root.echo(1);
  const broken = new Promise((resolve) => root.onRpcBroken(resolve));

  await it.server.stop();

  const error = /** @type {any} */ (await soon('the session is broken', broken));
  assert.match(error.message, /shutting down/);
  void [session, socket];
});
