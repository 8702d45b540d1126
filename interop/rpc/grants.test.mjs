// Narrow rights to one session, with the published package: made, redeemed and narrowed over Cap'n Web, and closed with their revocation.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { soon } from '../lib/wait.mjs';
import { batch, bench, connect, create } from './support.mjs';

const it = bench();

const fails = (promise, wanted) => assert.rejects(async () => await promise, wanted);
const text = (words) => ({ noReply: true, parts: [{ type: 'text', text: words }] });
const bearer = (made) => ({ headers: { authorization: `Bearer ${made.reference}` } });

test('a grant is made, redeemed and used in two requests', async () => {
  const sessionID = await create(it.server, 'Granted');
  const made = await batch(it.server).grants().create({ sessionID, rights: ['read', 'prompt'], maxUses: 1 });
  assert.match(made.reference, /^stdy1\.ses_/);

  const api = batch(it.server);
  const narrow = api.redeem(made.reference);
  const [info, asked] = await Promise.all([narrow.info(), narrow.prompt(text('Hello'))]);
  assert.equal(info.id, sessionID);
  assert.match(asked.messageID, /^msg_/);

  await fails(batch(it.server).redeem(made.reference).prompt(text('again')), /used up/);
  await fails(batch(it.server).redeem(made.reference).asks(), /does not allow/);
  const audit = await batch(it.server).grants().audit(made.id);
  assert.deepEqual(audit.map((row) => [row.method, row.transport]), [['create', 'rpc'], ['prompt', 'rpc']]);
});

test('whoever connects with a grant has one object and loses it with the revocation', async () => {
  const sessionID = await create(it.server, 'Watched');
  const made = await batch(it.server).grants().create({ sessionID, rights: ['read'] });
  const { root, socket } = await connect(it.server, bearer(made));
  const closed = new Promise((resolve) => socket.once('close', resolve));

  assert.equal((await root.info()).id, sessionID);
  assert.deepEqual((await root.grant()).rights, ['read']);
  await fails(root.sessions(), /./);
  await fails(root.prompt(text('no')), /does not allow/);
  const child = await root.narrow({ rights: ['read'] });
  assert.equal(child.parent, made.id);

  assert.deepEqual(await batch(it.server).grants().revoke(made.id), { revoked: 2 });
  await soon('the connection ends', closed);
  await fails(batch(it.server).redeem(child.reference).info(), /revoked/);
});
