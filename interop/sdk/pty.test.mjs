// Terminals through both clients of the SDK, and a real WebSocket.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createOpencodeClient as createFirst } from '@opencode-ai/sdk';
import { createOpencodeClient as createSecond } from '@opencode-ai/sdk/v2';
import { bench } from '../lib/bench.mjs';

const PASSWORD = 'hush-hush';
const headers = { authorization: `Basic ${Buffer.from(`opencode:${PASSWORD}`).toString('base64')}` };
const it = bench({ env: { SHELL: '/bin/sh', STURDY_SERVER_PASSWORD: PASSWORD } });
const first = () => createFirst({ baseUrl: it.server.url, headers });
const second = () => createSecond({ baseUrl: it.server.url, headers });

/** A WebSocket with what it was sent so far. */
function look(/** @type {string} */ url) {
  const socket = new WebSocket(url.replace(/^http/, 'ws'));
  socket.binaryType = 'arraybuffer';
  const seen = { text: '', cursor: /** @type {number | undefined} */ (undefined), closed: false };
  /** @type {Set<() => void>} */
  const waiting = new Set();
  const wake = () => waiting.forEach((check) => check());
  socket.onmessage = ({ data }) => {
    if (typeof data === 'string') seen.text += data;
    else {
      const bytes = new Uint8Array(data);
      assert.equal(bytes[0], 0);
      seen.cursor = JSON.parse(new TextDecoder().decode(bytes.slice(1))).cursor;
    }
    wake();
  };
  const close = () => {
    seen.closed = true;
    wake();
  };
  socket.onclose = close;
  // A refused upgrade is an error, and not always a close.
  socket.onerror = close;
  const until = (/** @type {() => boolean} */ wanted) =>
    new Promise((resolve) => {
      const check = () => {
        if (!wanted()) return;
        waiting.delete(check);
        resolve(undefined);
      };
      waiting.add(check);
      check();
    });
  return { socket, seen, until };
}

async function connect(/** @type {string} */ id, /** @type {string} */ query = '') {
  const token = await second().pty.connectToken({ ptyID: id }, { headers: { 'x-opencode-ticket': '1' } });
  assert.equal(token.error, undefined);
  assert.equal(token.data.expires_in, 60);
  return look(`${it.server.url}/pty/${id}/connect?ticket=${token.data.ticket}${query}`);
}

describe('terminals', () => {
  test('a terminal is created, listed, got, renamed, resized and removed', async () => {
    const made = (await first().pty.create({ body: { title: 'Mine' } })).data;
    assert.equal(made.title, 'Mine');
    assert.deepEqual([made.command, made.args, made.cwd, made.status], ['/bin/sh', ['-l'], it.world.project, 'running']);

    assert.deepEqual((await first().pty.list()).data, [made]);
    assert.deepEqual((await first().pty.get({ path: { id: made.id } })).data, made);
    assert.deepEqual((await second().pty.get({ ptyID: made.id })).data, made);
    const changed = await second().pty.update({ ptyID: made.id, title: 'Yours', size: { rows: 30, cols: 100 } });
    assert.deepEqual(changed.data, { ...made, title: 'Yours' });
    const sides = await connect(made.id);
    sides.socket.onopen = () => sides.socket.send('stty size\n');
    await sides.until(() => sides.seen.text.includes('30 100'));

    assert.equal((await second().pty.remove({ ptyID: made.id })).data, true);
    await sides.until(() => sides.seen.closed);
    const gone = await second().pty.get({ ptyID: made.id });
    assert.equal(gone.response.status, 404);
    assert.deepEqual(gone.error, { _tag: 'PtyNotFoundError', ptyID: made.id, message: `PTY session not found: ${made.id}` });
  });

  test('the same through v2', async () => {
    const api = second().v2.pty;
    const made = (await api.create({ command: '/bin/cat', title: 'v2' })).data;
    assert.equal(made.location.directory, it.world.project);
    const { id } = made.data;
    assert.deepEqual((await api.list()).data.data, [made.data]);
    assert.deepEqual((await api.get({ ptyID: id })).data.data, made.data);
    assert.equal((await api.update({ ptyID: id, title: 'new' })).data.data.title, 'new');
    const token = await api.connectToken({ ptyID: id }, { headers: { 'x-opencode-ticket': '1' } });
    const { socket, seen, until } = look(`${it.server.url}/api/pty/${id}/connect?ticket=${token.data.data.ticket}`);
    socket.onopen = () => socket.send('meow\n');
    await until(() => seen.text.includes('meow'));
    assert.equal((await api.remove({ ptyID: id })).response.status, 204);
    assert.deepEqual((await api.list()).data.data, []);
  });

  test('a late reader is replayed the past, one with a cursor only what it missed', async () => {
    const { id } = (await first().pty.create({ body: { command: '/bin/cat' } })).data;
    const one = await connect(id);
    await one.until(() => one.seen.cursor === 0);
    one.socket.send('grün 🦀\n');
    await one.until(() => one.seen.text.endsWith('grün 🦀\r\ngrün 🦀\r\n'));
    const position = one.seen.text.length;

    const two = await connect(id);
    await two.until(() => two.seen.cursor !== undefined);
    assert.deepEqual([two.seen.text, two.seen.cursor], [one.seen.text, position]);
    const three = await connect(id, `&cursor=${position - 2}`);
    const four = await connect(id, '&cursor=-1');
    await three.until(() => three.seen.cursor !== undefined);
    await four.until(() => four.seen.cursor !== undefined);
    assert.deepEqual([three.seen.text, four.seen.text], ['\r\n', '']);

    // What one types, all see.
    four.socket.send(new TextEncoder().encode('all\n'));
    await Promise.all([one, two, three, four].map(({ seen, until }) => until(() => seen.text.endsWith('all\r\nall\r\n'))));
    await second().pty.remove({ ptyID: id });
  });

  test('the end of a program is an event, its code is kept, and its last words can be read', async () => {
    const { stream } = await second().event.subscribe({});
    // A stream of the package connects when it is first read.
    assert.equal((await stream.next()).value.type, 'server.connected');
    const made = (await second().pty.create({ command: '/bin/sh', args: ['-c', 'echo bye; exit 3'] })).data;
    const seen = [];
    for await (const event of stream) {
      if (event.type.startsWith('pty.')) seen.push(event);
      if (event.type === 'pty.exited') break;
    }
    assert.deepEqual(seen.map((event) => [event.type, event.properties]), [
      ['pty.created', { info: made }],
      ['pty.exited', { id: made.id, exitCode: 3 }],
    ]);
    const ended = (await second().pty.get({ ptyID: made.id })).data;
    assert.deepEqual([ended.status, ended.exitCode], ['exited', 3]);
    const late = await connect(made.id);
    await late.until(() => late.seen.closed);
    assert.equal(late.seen.text, 'bye\r\n');
    await second().pty.remove({ ptyID: made.id });
  });

  test('a ticket is good once, for its terminal, and needs its header', async () => {
    const { id } = (await second().pty.create({ command: '/bin/cat' })).data;
    const refused = await second().pty.connectToken({ ptyID: id });
    assert.deepEqual([refused.response.status, refused.error._tag], [403, 'PtyForbiddenError']);
    const token = await second().pty.connectToken({ ptyID: id }, { headers: { 'x-opencode-ticket': '1' } });
    const url = `${it.server.url}/pty/${id}/connect?ticket=${token.data.ticket}`;
    const once = look(url);
    await once.until(() => once.seen.cursor !== undefined);
    const twice = look(url);
    await twice.until(() => twice.seen.closed);
    assert.equal(twice.seen.cursor, undefined);
    const without = look(`${it.server.url}/pty/${id}/connect`);
    await without.until(() => without.seen.closed);
    assert.equal(without.seen.cursor, undefined);
    await second().pty.remove({ ptyID: id });
  });

  test('shells are listed, and what cannot start is told', async () => {
    const shells = (await second().pty.shells({})).data;
    assert.ok(shells.some((shell) => shell.path === '/bin/sh' && shell.name === 'sh' && shell.acceptable));
    const missing = await second().pty.create({ command: '/no/such/program' });
    assert.equal(missing.response.status, 400);
    assert.match(missing.error.data.message, /cannot start \/no\/such\/program/);
    assert.equal((await second().pty.create({ cwd: '/no/such/place' })).response.status, 400);
    assert.equal((await second().pty.update({ ptyID: 'pty_none', size: { rows: 0, cols: 1 } })).response.status, 400);
  });
});
