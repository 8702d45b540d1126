// Every operation the npm package exports, asked of the server: which of them it does not have. The list is made from the
// package itself, so that a new operation, and one that came to be, are both noticed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { ABSENT, operations } from '../lib/operations.mjs';

const it = bench();

const IDS = { sessionID: 'ses_x', messageID: 'msg_x', partID: 'prt_x', ptyID: 'pty_x', requestID: 'per_x', permissionID: 'per_x' };

test('every operation of the package is here, or is listed as absent', async () => {
  const all = await operations();
  assert.ok(all.length >= 160, `${all.length} operations`);
  const absent = [];
  for (const operation of all) {
    const [method, path] = operation.split(' ');
    // What would end or change the server for the others is asked last, elsewhere.
    if (['/global/dispose', '/instance/dispose'].includes(path)) continue;
    const url = path.replace(/\{(\w+)\}/g, (_, name) => IDS[name] ?? 'x').replace('*', 'x');
    const stop = new AbortController();
    const answer = await fetch(it.server.url + url, {
      method,
      signal: stop.signal,
      ...(method === 'GET' || method === 'DELETE' ? {} : { body: '{"nonsense":1}', headers: { 'content-type': 'application/json' } }),
    });
    stop.abort();
    assert.notEqual(answer.status, 500, operation);
    if (answer.status === 501) absent.push(operation);
    else if (answer.status === 404) {
      const text = answer.bodyUsed ? '' : answer.statusText;
      assert.ok(!/There is no/.test(text), operation);
    }
  }
  assert.deepEqual(absent, [...ABSENT].sort());
});
