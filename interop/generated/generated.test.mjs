// Clients that are made of the server's own document, by a generator of TypeScript and one of Python: both are made, the
// first is checked by the compiler, and each does a turn.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { bench } from '../lib/bench.mjs';

const it = bench({ config: { model: 'demo/echo' } });
const exec = promisify(execFile);
const here = import.meta.dirname;
const run = (program, args) => exec(program, args, { cwd: here, env: { ...process.env, PYTHONPATH: here } });

describe('generated clients', () => {
  before(async () => {
    await rm(`${here}/made`, { recursive: true, force: true });
    await mkdir(`${here}/made`);
    await writeFile(`${here}/made/doc.json`, await (await fetch(`${it.server.url}/doc`)).text());
    await writeFile(`${here}/made/__init__.py`, '');
  });

  test('openapi-typescript: it compiles and does a turn', async () => {
    await run('node_modules/.bin/openapi-typescript', ['made/doc.json', '-o', 'made/schema.d.ts']);
    await run('node_modules/.bin/tsc', [
      '--strict', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck', '--lib', 'es2022,dom',
      '--outDir', 'made', 'globals.d.ts', 'turn.ts',
    ]);
    const { stdout } = await run('node', ['made/turn.js', it.server.url]);
    const { parts, kinds, hasMore, missing } = JSON.parse(stdout);
    assert.equal(kinds[0], 'session.next.prompt.admitted');
    assert.ok(kinds.includes('session.next.step.ended'));
    assert.deepEqual([hasMore, missing], [false, 'SessionNotFoundError']);
    assert.deepEqual(parts.slice(0, 2), ['text', 'agent']);
  });

  test('openapi-python-client: it is made and does a turn', async () => {
    await run('.venv/bin/openapi-python-client', ['generate', '--path', 'made/doc.json', '--meta', 'none', '--output-path', 'made/sturdy', '--overwrite']);
    const { stdout } = await run('.venv/bin/python', ['turn.py', it.server.url]);
    const { title, kinds, roles } = JSON.parse(stdout);
    assert.equal(title, 'generated');
    assert.ok(kinds.includes('session.next.step.ended'));
    assert.deepEqual(roles, ['user', 'assistant', 'user']);
  });
});
