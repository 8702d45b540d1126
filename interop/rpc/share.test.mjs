// The share service over Cap'n Web, with the published package: in one POST, over a WebSocket, and as over REST.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { RpcSession, RpcTarget, WebSocketTransport, newHttpBatchRpcSession } from 'capnweb';
import { WebSocket } from 'ws';
import { soon, until } from '../lib/wait.mjs';
import { bench } from './support.mjs';

const it = bench({ args: ['--share'] });

const at = () => `${it.server.url}/rpc/share`;
const fails = (promise, wanted) => assert.rejects(async () => await promise, wanted);
const hash = (...chunks) => chunks.reduce((sum, chunk) => sum.update(chunk), createHash('sha256')).digest();

/** A writer as the contract describes it: numbers, and a hash over everything sent. */
class Writer {
  constructor(share, id, epoch = 1) {
    this.id = id;
    this.epoch = epoch;
    this.next = 1;
    this.chain = hash(['sturdy-chain-1', share, id].join('\x1f'));
  }

  seal(...ops) {
    const first = this.next;
    const before = this.chain.toString('hex');
    const sealed = ops.map(([kind, key, payload]) => {
      const op = { op_id: `op_${this.id}_${this.next}`, seq: this.next, kind, key, version: this.next, schema: 1, depends_on: [] };
      if (payload !== undefined) op.payload_json = JSON.stringify(payload);
      const line = [op.seq, op.op_id, op.kind, op.key, op.version, op.schema, '', hash(op.payload_json ?? '').toString('hex')].join('\x1f');
      this.chain = hash(this.chain, `${line}\n`);
      this.next += 1;
      return op;
    });
    return {
      writer_id: this.id, batch_id: `bt_${this.id}_${first}`, first_seq: first, last_seq: this.next - 1,
      chain_before: before, chain_after: this.chain.toString('hex'), expected_cursor: null, capability_epoch: this.epoch, ops: sealed,
    };
  }
}

const session = ['session', 'session', { id: 'ses_x' }];
const message = ['message', 'message/msg_1', JSON.parse('{"id":"msg_1","toString":1,"__proto__":{"a":1},"deep":[[[[]]]]}')];
const data = async (made) => (await it.server.ask('GET', `/api/share/${made.id}/data`)).json;
/** What does not depend on names and time. */
const shape = ({ server_time, chain, batch_id, applied, ...ack }) => ({ ...ack, applied: applied.length });

const create = () => newHttpBatchRpcSession(at()).createShare('ses_x', { request_id: `rq_${Math.random()}` });

async function socket() {
  const line = new WebSocket(at().replace('http:', 'ws:'));
  await soon('the socket opens', new Promise((resolve, reject) => line.on('open', resolve).on('error', reject)));
  return { root: new RpcSession(new WebSocketTransport(line)).getRemoteMain(), line };
}

test('redeem and append are one POST, pipelined through the handle', async () => {
  const made = await create();
  assert.match(made.secret, /^stdy1\./);
  const batch = newHttpBatchRpcSession(at());
  const redeemed = batch.redeemShare(made.id, made.secret, { writer_id: 'wr_1' });
  const appended = redeemed.share.appendOps(new Writer(made.id, 'wr_1').seal(session, message));
  const [cursor, epoch, ack] = await Promise.all([redeemed.cursor, redeemed.epoch, appended]);

  assert.deepEqual([cursor, epoch], [0, 1]);
  assert.deepEqual(shape(ack), { status: 'ok', cursor: 2, applied_seq: 2, applied_count: 2, epoch: 1, applied: 2, duplicates: [], rejected: [] });
  assert.deepEqual((await data(made)).map((item) => item.data.id), ['ses_x', 'msg_1']);
});

test('an append through a redeem that is refused is refused with its error', async () => {
  const made = await create();
  const batch = newHttpBatchRpcSession(at());
  const redeemed = batch.redeemShare(made.id, `stdy1.${made.id}.nobody.${'x'.repeat(43)}`);
  const appended = redeemed.share.appendOps(new Writer(made.id, 'wr_1').seal(session));

  await Promise.all([
    fails(redeemed.cursor, (error) => error.code === 'unauthorized' && error.message.startsWith('unauthorized: ')),
    fails(appended, (error) => error.code === 'unauthorized'),
  ]);
  assert.deepEqual(await data(made), []);
});

test('an append through a redeem with a right that was taken back is refused with that', async () => {
  const made = await create();
  const owner = () => newHttpBatchRpcSession(at()).redeemShare(made.id, made.secret).share;
  const { cap_id, sturdy_ref } = await owner().attenuate({ scope: ['writer'] });
  await owner().revoke(cap_id);
  const redeemed = newHttpBatchRpcSession(at()).redeemShare(made.id, sturdy_ref);
  const appended = redeemed.share.appendOps(new Writer(made.id, 'wr_1', 2).seal(session));

  const isRevoked = (error) => error.code === 'revoked' && error.message.startsWith('revoked: ');
  await Promise.all([fails(redeemed.cursor, isRevoked), fails(appended, isRevoked)]);
  assert.deepEqual(await data(made), []);
});

test('the owner does everything over Cap\'n Web that the routes do', async () => {
  const made = await create();
  const { root, line } = await socket();
  const owner = root.redeemShare(made.id, made.secret).share;
  const rest = async (method, path, body) => (await it.server.ask(method, `/api/share/${made.id}${path}`, body, { authorization: `Bearer ${made.secret}` })).json;
  const status = async (right) => (await it.server.ask('GET', `/api/share/${made.id}/data`, undefined, right ? { authorization: `Bearer ${right}` } : {})).status;
  const ends = Date.now() + 3_600_000;
  const box = await owner.attenuate({ scope: ['drop_box'], kinds: ['message'], expires_at: ends, max_ops: 2, label: 'box' });
  const reader = await owner.attenuate({ scope: ['viewer'], label: 'reader' });
  const child = await root.redeemShare(made.id, reader.sturdy_ref).share.attenuate({ scope: ['viewer'], label: 'child' });

  const all = await owner.listCapabilities();
  assert.deepEqual(all, await rest('GET', '/capabilities'));
  assert.deepEqual(all.map((one) => one.label), ['owner', 'box', 'reader', 'child']);
  const { kinds, expires_at, max_ops, scope } = all[1];
  assert.deepEqual({ kinds, expires_at, max_ops, scope }, { kinds: ['message'], expires_at: ends, max_ops: 2, scope: ['append'] });
  const actor = `cap:${reader.cap_id}`;
  assert.deepEqual((await owner.listCapabilities({ actor })).map((one) => one.label), ['child']);
  assert.deepEqual((await owner.audit(0, { actor })).map((row) => row.method), ['redeem', 'attenuate']);
  assert.deepEqual(await owner.audit(0, { actor }), await rest('GET', `/audit?actor=${actor}`));

  const sink = new (class extends RpcTarget {
    event() {}
  })();
  await root.redeemShare(made.id, child.sturdy_ref).share.subscribe(0, sink);
  await until('the reader is counted', async () => (await owner.readers()).some((one) => one.cap_id === child.cap_id && one.count === 1));
  assert.deepEqual(await owner.readers(), await rest('GET', '/readers'));

  assert.equal(await status(), 200);
  assert.deepEqual(await owner.setVisibility('private'), { epoch: 2, visibility: 'private' });
  assert.equal(await status(), 401);
  await owner.setVisibility('link');
  assert.equal(await status(box.sturdy_ref), 403);
  assert.deepEqual(await owner.revoke(reader.cap_id), { epoch: 4 });
  assert.equal(await status(child.sturdy_ref), 403);
  assert.deepEqual(await root.revokeCapability(made.id, made.secret, { all: true }), { epoch: 5 });
  assert.equal(await status(), 401);
  assert.ok((await owner.listCapabilities()).slice(1).every((one) => one.revoked_at !== null));
  assert.deepEqual(await owner.rotate(), { epoch: 6 });
  assert.equal((await owner.info()).epoch, 6);
  assert.deepEqual(await owner.delete('rq_delete'), { success: true });
  assert.equal(await status(made.secret), 410);
  line.terminate();
});

test('a stale epoch says the one that holds', async () => {
  const made = await create();
  const handle = newHttpBatchRpcSession(at()).redeemShare(made.id, made.secret).share;
  assert.deepEqual(await handle.rotate(), { epoch: 2 });

  const stale = newHttpBatchRpcSession(at()).appendOps(made.id, made.secret, 1, new Writer(made.id, 'wr_1').seal(session));
  await fails(stale, (error) => error.code === 'stale_epoch' && error.epoch === 2);
});

test('values without numbers are taken as OpenCode sends them', async () => {
  const made = await create();
  const synced = await newHttpBatchRpcSession(at()).syncShare(made.id, made.secret, [{ type: 'session', data: { id: 'ses_x' } }, { type: 'session_diff', data: [] }]);

  assert.deepEqual(synced, { success: true, syncCount: 1, cursor: 2 });
});

describe('the same operations give the same', () => {
  /** @type {Record<string, (made: any, batches: any[]) => Promise<any[]>>} */
  const transports = {
    rest: async (made, batches) => {
      const acks = [];
      for (const batch of batches) {
        acks.push((await it.server.ask('POST', `/api/share/${made.id}/ops`, batch, { authorization: `Bearer ${made.secret}` })).json);
      }
      return acks;
    },
    batch: async (made, batches) => {
      const handle = newHttpBatchRpcSession(at()).redeemShare(made.id, made.secret).share;
      return Promise.all(batches.map((batch) => handle.appendOps(batch)));
    },
    socket: async (made, batches) => {
      const { root, line } = await socket();
      const handle = root.redeemShare(made.id, made.secret).share;
      const acks = await Promise.all(batches.map((batch) => handle.appendOps(batch)));
      line.terminate();
      return acks;
    },
  };

  test('over REST, in a batch and over a WebSocket', async () => {
    const seen = {};
    for (const [name, send] of Object.entries(transports)) {
      const made = await create();
      const writer = new Writer(made.id, 'wr_1');
      const first = writer.seal(session, message, ['nonsense', 'session', {}]);
      const second = writer.seal(['message.remove', 'message/msg_1'], ['part', 'part/msg_1/prt_1', { id: 'prt_1', text: 'é\u0000😀' }]);
      const acks = await send(made, [first, second, first]);
      const bare = JSON.parse(JSON.stringify(acks.map(shape)).replaceAll(made.id, 'SHARE'));
      seen[name] = { acks: bare, data: await data(made), text: (await it.server.ask('GET', `/api/share/${made.id}/data`)).text };
    }

    assert.deepEqual(seen.batch, seen.rest);
    assert.deepEqual(seen.socket, seen.rest);
    assert.equal(seen.rest.acks[0].rejected[0].code, 'unknown_kind');
    assert.equal(seen.rest.acks[2].duplicates.length, 2);
  });
});

test('a subscriber is told what comes, and that its right was taken back', async () => {
  const made = await create();
  const { root, line } = await socket();
  const owner = root.redeemShare(made.id, made.secret).share;
  const link = await owner.attenuate({ scope: ['viewer'], label: 'a reader' });
  const events = [];
  class Sink extends RpcTarget {
    event(value) {
      events.push(value);
    }
  }
  const reader = root.redeemShare(made.id, link.sturdy_ref).share;
  assert.deepEqual(await reader.subscribe(0, new Sink()), { cursor: 0 });

  await fails(reader.appendOps(new Writer(made.id, 'wr_2').seal(session)), (error) => error.code === 'forbidden_scope');
  await owner.appendOps(new Writer(made.id, 'wr_1').seal(session, message));
  await until('both arrive', () => events.length === 2);
  assert.deepEqual(events.map(({ cursor, key, kind }) => [cursor, key, kind]), [[1, 'session', 'session'], [2, 'message/msg_1', 'message']]);
  assert.equal(events[1].payload_json, JSON.stringify(message[2]));

  await owner.revoke(link.cap_id);
  await until('the end is told', () => events.at(-1).kind === 'closed');
  assert.deepEqual(events.at(-1), { kind: 'closed', code: 'revoked' });
  await fails(reader.snapshot(), (error) => error.code === 'revoked');
  const rows = await owner.audit(0);
  assert.ok(rows.some((row) => row.method === 'revoke' && row.transport === 'rpc'), JSON.stringify(rows));
  line.terminate();
});

test('a viewer over a plain WebSocket gets the snapshot, operations and the end', async () => {
  const made = await create();
  const handle = () => newHttpBatchRpcSession(at()).redeemShare(made.id, made.secret).share;
  const writer = new Writer(made.id, 'wr_1');
  await handle().appendOps(writer.seal(session));
  const line = new WebSocket(`${it.server.url.replace('http:', 'ws:')}/api/share/${made.id}/ws`);
  const heard = [];
  line.on('message', (text) => heard.push(JSON.parse(String(text))));
  await until('the snapshot comes', () => heard.length === 1);
  await handle().appendOps(writer.seal(message));
  await until('the operation comes', () => heard.length === 2);
  const closed = new Promise((resolve) => line.on('close', resolve));
  await newHttpBatchRpcSession(at()).deleteShare(made.id, made.secret);
  await soon('the socket closes', closed);

  assert.deepEqual(heard.map((one) => one.kind), ['snapshot', 'message', 'closed']);
  assert.deepEqual(heard[0].items.map((item) => item.key), ['session']);
  assert.deepEqual(heard[2], { kind: 'closed', code: 'gone' });
});
