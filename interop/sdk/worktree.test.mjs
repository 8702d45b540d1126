// Worktrees, making a repository, raw files, and what one server means by the rest, through the SDK.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createOpencodeClient } from '@opencode-ai/sdk/v2';
import { bench } from '../lib/bench.mjs';

const it = bench();
const api = (/** @type {string} */ directory) => createOpencodeClient({ baseUrl: it.server.url, directory });

function git(/** @type {string} */ cwd, /** @type {string[]} */ ...words) {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'];
  return execFileSync('git', [...who, ...words], { cwd, env: { PATH: process.env.PATH, HOME: it.world.home } }).toString();
}

describe('worktrees', () => {
  test('a directory becomes a repository, and a worktree of it is made, listed, reset and removed', async () => {
    const directory = await it.world.directory('fresh');
    const client = api(directory);
    assert.deepEqual((await client.worktree.list({})).data, []);
    const none = await client.worktree.create({});
    assert.deepEqual([none.response.status, none.error.name], [400, 'WorktreeNotGitError']);

    const project = (await client.project.initGit({})).data;
    assert.deepEqual([project.vcs, project.worktree], ['git', directory]);
    await writeFile(join(directory, 'a.txt'), 'one\n');
    git(directory, 'add', '.');
    git(directory, 'commit', '-qm', 'one');
    await client.instance.dispose({});

    const made = (await client.worktree.create({ worktreeCreateInput: { name: 'My Fix' } })).data;
    assert.deepEqual([made.name, made.branch], ['my-fix', 'sturdy/my-fix']);
    assert.deepEqual((await client.worktree.list({})).data, [made.directory]);
    const tree = api(made.directory);
    assert.equal((await tree.project.current({})).data.worktree, directory);
    await writeFile(join(made.directory, 'a.txt'), 'two\n');
    assert.equal((await client.worktree.reset({ worktreeResetInput: { directory: made.directory } })).data, true);
    assert.equal((await tree.file.read({ path: 'a.txt' })).data.content, 'one');
    const main = await client.worktree.remove({ worktreeRemoveInput: { directory } });
    assert.deepEqual([main.response.status, main.error.name], [400, 'WorktreeRemoveFailedError']);
    assert.equal((await client.worktree.remove({ worktreeRemoveInput: { directory: made.directory } })).data, true);
    assert.equal(existsSync(made.directory), false);
    assert.deepEqual((await client.worktree.list({})).data, []);
  });

  test('a file is read as it is, and none outside', async () => {
    const directory = await it.world.directory('files');
    await writeFile(join(directory, 'page.html'), '<script>alert(1)</script>');
    const read = (/** @type {string} */ path) =>
      fetch(`${it.server.url}/api/fs/read/${path}?location[directory]=${encodeURIComponent(directory)}`);

    const page = await read('page.html');
    assert.equal(await page.text(), '<script>alert(1)</script>');
    assert.match(page.headers.get('content-type'), /^text\/plain/);
    assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
    for (const path of ['gone.txt', '..%2F..%2Fetc%2Fpasswd', '%2Fetc%2Fpasswd']) {
      const refused = await read(path);
      assert.equal(refused.status, 400, path);
      assert.equal((await refused.json())._tag, 'InvalidRequestError');
    }
  });

  test('one server has nothing to mirror, nobody to switch to, and does not replace itself', async () => {
    const client = api(it.world.project);
    assert.equal((await client.sync.start({})).data, true);
    assert.equal((await client.sync.steal({ sessionID: 'ses_x' })).response.status, 400);
    assert.deepEqual((await client.experimental.workspace.adapter.list({})).data, []);
    assert.equal((await client.global.upgrade({ target: '2.0.0' })).data.success, false);
    const { data } = await client.session.create({});
    assert.equal((await client.experimental.session.background({ sessionID: data.id })).data, false);
  });

  test('a session with a chosen id is created once', async () => {
    const id = 'ses_00000000000000000000000001';
    const sessions = api(it.world.project).v2.session;
    const once = await sessions.create({ id });
    const again = await sessions.create({ id });
    assert.equal(once.data.data.id, id);
    assert.deepEqual(again.data, once.data);
  });
});
