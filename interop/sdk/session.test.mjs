// Sessions through both clients of the SDK: make, find, rename, remove.

import assert from 'node:assert/strict';
import { relative } from 'node:path';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { CLIENTS } from '../lib/sdk.mjs';

const it = bench();

for (const { name, open } of CLIENTS) {
  describe(name, () => {
    const api = (config = {}) => open({ baseUrl: it.server.url, ...config });

    test('a session is created with what was asked for', async () => {
      const made = await api().create({ title: 'Fix the flaky test' });

      assert.equal(made.error, undefined);
      assert.match(made.data.id, /^ses_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
      assert.match(made.data.slug, /^[a-z]+-[a-z]+$/);
      const { id, slug, time, ...rest } = made.data;
      assert.equal(time.created, time.updated);
      assert.deepEqual(rest, {
        projectID: it.world.projectID,
        directory: it.world.project,
        path: relative(it.world.top, it.world.project),
        title: 'Fix the flaky test',
        cost: 0,
        tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
        version: '1.18.33',
      });
    });

    test('a session without a title gets one with its time', async () => {
      const made = await api().create();

      assert.match(made.data.title, /^New session - \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    });

    test('a session is got as it was made', async () => {
      const made = await api().create({ title: 'Once' });

      const got = await api().get(made.data.id);

      assert.deepEqual(got.data, made.data);
    });

    test('a renamed session has the new title everywhere', async () => {
      const { data } = await api().create({ title: 'Before' });

      const renamed = await api().rename(data.id, 'After');

      assert.deepEqual(renamed.data, { ...data, title: 'After' });
      assert.deepEqual((await api().get(data.id)).data, renamed.data);
      const listed = (await api().list()).data.find((session) => session.id === data.id);
      assert.deepEqual(listed, renamed.data);
    });

    test('a removed session is gone', async () => {
      const { data } = await api().create({ title: 'Soon gone' });

      const removed = await api().remove(data.id);

      assert.equal(removed.data, true);
      assert.equal((await api().get(data.id)).response.status, 404);
      assert.ok((await api().list()).data.every((session) => session.id !== data.id));
      assert.equal((await api().remove(data.id)).response.status, 404);
    });

    test('children are listed with their parent and removed with it', async () => {
      const parent = (await api().create({ title: 'Parent' })).data;
      const child = (await api().create({ title: 'Child', parentID: parent.id })).data;

      const children = await api().children(parent.id);

      assert.deepEqual(children.data, [child]);
      await api().remove(parent.id);
      assert.equal((await api().get(child.id)).response.status, 404);
    });

    test('the list is newest first and can be cut and searched', async () => {
      const mark = `${name} ${Date.now()}`;
      const ids = [];
      for (const number of [1, 2, 3]) ids.unshift((await api().create({ title: `${mark} ${number}` })).data.id);

      const all = (await api().list({ search: mark.toLowerCase() })).data;
      assert.deepEqual(
        all.map((session) => session.id),
        ids,
      );
      const newest = (await api().list({ limit: 1 })).data;
      assert.deepEqual(
        newest.map((session) => session.id),
        ids.slice(0, 1),
      );
    });

    test('a session belongs to the directory the client was made for', async () => {
      const directory = await it.world.directory(`other place of ${name}`);

      const { data } = await api({ directory }).create({ title: 'Elsewhere' });

      assert.equal(data.directory, directory);
      // The session's own directory wins over the client's.
      assert.deepEqual((await api().get(data.id)).data, data);
      const there = (await api({ directory }).list()).data;
      assert.deepEqual(
        there.map((session) => session.id),
        [data.id],
      );
      const here = (await api({ directory: it.world.project }).list()).data;
      assert.ok(here.every((session) => session.id !== data.id));
    });
  });
}
