// A server with a password, through both clients of the SDK.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { says } from '../lib/provider.mjs';
import { CLIENTS, said, text } from '../lib/sdk.mjs';
import { soon } from '../lib/wait.mjs';

const PASSWORD = 'correct:horse battery';
const it = bench({ env: { OPENCODE_SERVER_PASSWORD: PASSWORD, OPENCODE_SERVER_USERNAME: 'ada' } });

const token = (user, password) => Buffer.from(`${user}:${password}`).toString('base64');
const basic = (user, password) => ({ headers: { Authorization: `Basic ${token(user, password)}` } });

for (const { name, open } of CLIENTS) {
  describe(name, () => {
    const api = (config = {}) => open({ baseUrl: it.server.url, ...config });

    test('whoever has the password is answered, also on streams', async (t) => {
      const control = new AbortController();
      t.after(() => control.abort());
      const known = api(basic('ada', PASSWORD));
      const { data } = await known.create({ title: 'Secret' });
      it.provider.will(says('Psst.'));

      const answer = await known.prompt(data.id, { parts: text('Quiet?') });
      const { stream } = await known.events({ signal: control.signal });
      const first = await soon('connected', stream.next());

      assert.equal(said(answer.data), 'Psst.');
      assert.equal(first.value.type, 'server.connected');
    });

    test('nobody else is told anything', async () => {
      const wrong = [{}, basic('ada', 'wrong'), basic('opencode', PASSWORD), basic('ada', ''), { headers: { Authorization: 'Bearer x' } }];

      for (const config of wrong) {
        const { data, error, response } = await api(config).list();
        assert.equal(data, undefined);
        assert.ok(error);
        assert.equal(response.status, 401);
        assert.equal(response.headers.get('www-authenticate'), 'Basic realm="Secure Area"');
      }
    });
  });
}

test('a token in the address is as good as a header, and wins over it', async () => {
  const right = encodeURIComponent(token('ada', PASSWORD));
  const wrong = encodeURIComponent(token('ada', 'wrong'));
  const header = basic('ada', PASSWORD).headers;

  assert.equal((await it.server.ask('GET', `/session?auth_token=${right}`)).status, 200);
  assert.equal((await it.server.ask('GET', `/session?auth_token=${wrong}`, undefined, header)).status, 401);
});

test('the v2 API refuses in its own words', async () => {
  const { status, json } = await it.server.ask('GET', '/api/session');

  assert.equal(status, 401);
  assert.deepEqual(json, { _tag: 'UnauthorizedError', message: 'Authentication required' });
});

test('a preflight needs no password', async () => {
  const headers = { origin: 'http://localhost:3000', 'access-control-request-method': 'POST' };
  const { status } = await it.server.ask('OPTIONS', '/session', undefined, headers);

  assert.equal(status, 204);
});

test('the password is not in the log', async () => {
  assert.ok(!it.server.said.stderr.includes(PASSWORD));
  assert.ok(!it.server.said.stdout.includes(PASSWORD));
});
