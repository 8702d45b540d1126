// `/undo`, `/redo` and the list of changed files in the unmodified terminal client, in a directory under git.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { attach } from '../lib/opencode.mjs';
import { calls, says } from '../lib/provider.mjs';
import { until } from '../lib/wait.mjs';

const it = bench({ config: {} });
const at = (name) => join(it.world.project, name);
const read = (name) => (existsSync(at(name)) ? readFileSync(at(name), 'utf8') : null);

/** Writes a line and sends it. What was written is on the screen before it is sent. */
async function send(terminal, text) {
  await terminal.type(text);
  await terminal.shows(text);
  await terminal.press('Enter');
}

/** The prompt that was undone is in the input line again, to be changed. Takes it out, once it is there. */
async function clear(terminal, text) {
  await terminal.shows(text);
  await terminal.press('C-u');
  await terminal.hides(text);
}

const files = (expected) =>
  until(`the files are ${JSON.stringify(expected)}`, async () =>
    Object.entries(expected).every(([name, text]) => read(name) === text));
/** What remains, as the session's totals and its diff say it. */
const changed = (expected) =>
  until(`what is changed is ${JSON.stringify(expected)}`, async () => {
    const session = await newest();
    const names = (await it.server.tell('GET', `/session/${session.id}/diff`)).map((one) => one.file).sort();
    return session.summary?.files === expected.length && JSON.stringify(names) === JSON.stringify(expected);
  });
const newest = async () => (await it.server.tell('GET', '/session'))[0];

describe('opencode attach in a repository', { concurrency: 1, timeout: 300_000 }, () => {
  test('lists what turns changed, undoes them one by one and brings them back', async (t) => {
    execFileSync('git', ['init', '--quiet'], { cwd: it.world.project });
    await it.server.tell('POST', '/instance/dispose');
    writeFileSync(at('old.txt'), 'one\n');
    it.provider.will(calls('bash', { command: 'echo two >> old.txt; echo new > made.txt', description: 'Changes files' }), says('First done.'));
    it.provider.will(calls('bash', { command: 'rm made.txt', description: 'Removes a file' }), says('Second done.'));
    const terminal = await attach(it.world, it.server.url);
    t.after(() => terminal.close());
    await terminal.shows('Ask anything');

    await send(terminal, 'Do the first thing');
    await terminal.shows('First done.');
    await terminal.shows('Modified Files');
    await terminal.shows(/made\.txt\s+\+1/);
    await terminal.shows(/old\.txt\s+\+1/);
    await send(terminal, 'Do the second thing');
    await terminal.shows('Second done.');
    await files({ 'old.txt': 'one\ntwo\n', 'made.txt': null });
    await changed(['old.txt']);

    await terminal.command('/undo');
    await files({ 'made.txt': 'new\n' });
    await changed(['made.txt', 'old.txt']);
    await terminal.shows('1 message reverted');
    await terminal.hides('Second done.');
    await until('the session says where it is cut', async () => (await newest()).revert !== undefined);
    await clear(terminal, 'Do the second thing');

    await terminal.command('/undo');
    await files({ 'old.txt': 'one\n', 'made.txt': null });
    await changed([]);
    await terminal.hides('Modified Files');
    await terminal.shows('2 message reverted');
    await clear(terminal, 'Do the first thing');

    await terminal.command('/redo');
    await files({ 'old.txt': 'one\ntwo\n', 'made.txt': 'new\n' });
    await terminal.shows('1 message reverted');
    await terminal.command('/redo');
    await files({ 'old.txt': 'one\ntwo\n', 'made.txt': null });
    await terminal.shows('Second done.');
    await until('nothing is cut', async () => (await newest()).revert === undefined);
    await changed(['old.txt']);
    await terminal.shows('Modified Files');
  });
});
