// Undo, redo and diffs through both clients of the SDK, in a directory under git.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { calls, says } from '../lib/provider.mjs';
import { CLIENTS, said, text } from '../lib/sdk.mjs';

const it = bench({ config: {} });

const at = (name) => join(it.world.project, name);
const read = (name) => (existsSync(at(name)) ? readFileSync(at(name), 'utf8') : null);

for (const { name, open } of CLIENTS) {
  describe(name, () => {
    const api = () => open({ baseUrl: it.server.url });

    /** A turn in which the model runs one command. */
    async function turn(id, command) {
      it.provider.will(calls('bash', { command, description: 'Changes files' }), says('Done.'));
      await api().prompt(id, { parts: text('Go') });
      const { data } = await api().messages(id);
      return data.filter((message) => message.info.role === 'user').at(-1).info.id;
    }

    test('what a turn changed is shown, taken back and brought again', async () => {
      execFileSync('git', ['init', '--quiet'], { cwd: it.world.project });
      await it.server.tell('POST', '/instance/dispose');
      writeFileSync(at('old.txt'), 'one\n');
      rmSync(at('made.txt'), { force: true });
      const { data: session } = await api().create({ title: 'Undo' });
      const id = session.id;
      const first = await turn(id, 'echo two >> old.txt; echo new > made.txt');
      const second = await turn(id, 'rm made.txt');

      const { data: diff } = await api().diff(id, first);
      assert.deepEqual(
        diff.map((file) => [file.file, file.status, file.additions, file.deletions]),
        [['made.txt', 'added', 1, 0], ['old.txt', 'modified', 1, 0]],
      );
      const { data: all } = await api().diff(id);
      assert.deepEqual(all.map((file) => file.file), ['old.txt']);
      const range = await it.server.tell('GET', `/session/${id}/diff?messageID=${first}&toMessageID=${second}`);
      assert.deepEqual(range, all, 'both turns are the whole session');
      assert.deepEqual(await it.server.tell('GET', `/session/${id}/diff?messageID=${first}&toMessageID=${first}`), diff);

      const { data: undone } = await api().revert(id, second);
      assert.equal(undone.revert.messageID, second);
      assert.match(undone.revert.diff, /^diff --git a\/made.txt b\/made.txt\nnew file mode 100644\n/);
      assert.equal(read('made.txt'), 'new\n');

      const { data: further } = await api().revert(id, first);
      assert.equal(further.revert.messageID, first);
      assert.deepEqual([read('old.txt'), read('made.txt')], ['one\n', null]);

      const { data: redone } = await api().unrevert(id);
      assert.equal(redone.revert, undefined);
      assert.deepEqual([read('old.txt'), read('made.txt')], ['one\ntwo\n', null]);

      await api().revert(id, second);
      it.provider.will(says('Something else.'));
      const { data: answer } = await api().prompt(id, { parts: text('Rather not') });
      assert.equal(said(answer), 'Something else.');
      const { data: messages } = await api().messages(id);
      assert.ok(messages.some((message) => message.info.id === first));
      assert.ok(!messages.some((message) => message.info.id === second));
      assert.equal(read('made.txt'), 'new\n');
    });
  });
}
