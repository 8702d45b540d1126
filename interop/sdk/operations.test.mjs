// Every operation the npm package exports, asked of the server with nonsense: each is there and none breaks. The list is made
// from the package itself, so that a new operation is noticed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { operations } from '../lib/operations.mjs';

const it = bench();

const IDS = { sessionID: 'ses_x', messageID: 'msg_x', partID: 'prt_x', ptyID: 'pty_x', requestID: 'per_x', permissionID: 'per_x' };

/** A path that the router does not know, and not a session that does not exist. @param {number} status @param {string} text */
const isUnknownRoute = (status, text) => status === 404 && /There is no (GET|POST|PUT|PATCH|DELETE) /.test(text);

test('a path that is not served says so', async () => {
  const answer = await fetch(`${it.server.url}/no/such/path`);
  assert.ok(isUnknownRoute(answer.status, await answer.text()));
});

test('every operation of the package is here', async () => {
  const all = await operations();
  assert.ok(all.length >= 160, `${all.length} operations`);
  for (const operation of all) {
    const [method, path] = operation.split(' ');
    // What would end or change the server for the others, and what waits for somebody, is asked elsewhere.
    if (['/global/dispose', '/instance/dispose', '/tui/control/next'].includes(path)) continue;
    const url = path.replace(/\{(\w+)\}/g, (_, name) => IDS[name] ?? 'x').replace('*', 'x');
    const stop = new AbortController();
    const answer = await fetch(it.server.url + url, {
      method,
      signal: stop.signal,
      ...(method === 'GET' || method === 'DELETE' ? {} : { body: '{"nonsense":1}', headers: { 'content-type': 'application/json' } }),
    });
    const isStream = answer.headers.get('content-type') === 'text/event-stream';
    const text = isStream ? '' : await answer.text();
    stop.abort();
    assert.ok(answer.status < 500, `${operation} ${answer.status}`);
    assert.ok(!isUnknownRoute(answer.status, text), `${operation} ${text}`);
  }
});
