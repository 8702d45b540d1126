// Every operation the npm package exports, asked of the server: which of them it does not have. The list is made from the
// package itself, so that a new operation, and one that came to be, are both noticed.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { bench } from '../lib/bench.mjs';

const it = bench();

/** What answers 501, with its reason in docs/http.md. */
const ABSENT = new Set(`
DELETE /experimental/project/{projectID}/copy
DELETE /experimental/workspace/{id}
GET /api/event
GET /api/session/{sessionID}/event
GET /api/session/{sessionID}/history
GET /tui/control/next
POST /api/session/{sessionID}/agent
POST /api/session/{sessionID}/model
POST /api/session/{sessionID}/permission
POST /experimental/control-plane/move-session
POST /experimental/project/{projectID}/copy
POST /experimental/project/{projectID}/copy/generate-name
POST /experimental/project/{projectID}/copy/refresh
POST /experimental/workspace
POST /experimental/workspace/warp
POST /provider/{providerID}/oauth/authorize
POST /provider/{providerID}/oauth/callback
POST /sync/history
POST /sync/replay
POST /tui/control/response
`.trim().split('\n'));

const IDS = { sessionID: 'ses_x', messageID: 'msg_x', partID: 'prt_x', ptyID: 'pty_x', requestID: 'per_x', permissionID: 'per_x' };

/** @returns {Promise<string[]>} `GET /session/{sessionID}` and so on */
async function operations() {
  const found = new Set();
  for (const file of ['v2/gen/sdk.gen.js', 'gen/sdk.gen.js']) {
    const text = await readFile(new URL(`../node_modules/@opencode-ai/sdk/dist/${file}`, import.meta.url), 'utf8');
    for (const [, method, path] of text.matchAll(/\.(get|post|put|patch|delete)\(\{\s*url: "([^"]+)"/g)) {
      // The first version calls every id of a session "id".
      found.add(`${method.toUpperCase()} ${path.replace('/session/{id}', '/session/{sessionID}').replace('/pty/{id}', '/pty/{ptyID}').replace('/provider/{id}', '/provider/{providerID}')}`);
    }
    for (const [, method, path] of text.matchAll(/sse\.(get|post)\(\{\s*url: "([^"]+)"/g)) found.add(`${method.toUpperCase()} ${path}`);
  }
  return [...found].sort();
}

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
