// Takes the pictures of the README and of docs/page.md: a small invented project, a scripted model, six screens.
//
//   STURDY_BIN=target/debug/sturdy node interop/page/pictures.mjs docs/pictures

import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Desk, live } from './desk.mjs';

const out = process.argv[2] ?? 'docs/pictures';
const DELAY = `use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

pub fn delay(attempt: u32) -> Duration {
    FIRST * 2u32.pow(attempt)
}
`;
const CHECK = `#!/bin/sh
printf 'running 3 tests\\n\\033[32mtest delay::grows ... ok\\ntest delay::starts_small ... ok\\ntest delay::a_late_attempt_waits_thirty_seconds ... ok\\033[0m\\n'
`;
const ANSWER = `The overflow was in \`delay\`: **2³² attempts** are not needed for it, 32 are enough. The exponent is bounded now, and the wait never exceeds thirty seconds.

| Attempt | Before | Now |
|---|---|---|
| 1 | 1 s | 1 s |
| 6 | 32 s | 30 s |
| 32 | *panic* | 30 s |

The test \`a_late_attempt_waits_thirty_seconds\` fails without the change.`;

const desk = await Desk.open({ config: { permission: { bash: { '*': 'allow', 'git push*': 'ask' } } } });
const { project } = desk.world;
const git = (...args) => execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], { cwd: project });
await mkdir(join(project, 'src'));
await writeFile(join(project, 'src/delay.rs'), DELAY);
await writeFile(join(project, 'check'), CHECK, { mode: 0o755 });
git('init', '-q');
git('add', '.');
git('commit', '-qm', 'delay');
// The directory was looked at before it was under git.
await desk.server.tell('POST', '/instance/dispose');

const ask = (session, text, how = 'message') => desk.server.tell('POST', `/session/${session.id}/${how}`, { parts: [{ type: 'text', text }] });
for (const title of ['Why is the release build slow?', 'Port the importer to the new schema', 'Release notes for 0.4', 'Flaky test in feed::catches_up']) {
  const other = await desk.session({ title });
  desk.provider.will((reply) => reply.text('Done.').finish());
  await ask(other, title);
}
const session = await desk.session({ title: 'The retry delay overflows after 32 attempts' });
const todos = (...states) => ['Read the delay code', 'Write a failing test', 'Bound the exponent'].map((content, index) => ({ content, status: states[index], priority: 'medium' }));
desk.provider.will(
  (reply) => reply.reasoning('The power grows without a bound, so it overflows.').call('read', { filePath: 'src/delay.rs' }, 'a').call('grep', { pattern: 'delay\\(' }, 'b').call('todowrite', { todos: todos('completed', 'in_progress', 'pending') }, 'c').finish(),
  (reply) => reply.call('edit', { filePath: 'src/delay.rs', oldString: '    FIRST * 2u32.pow(attempt)', newString: '    (FIRST * 2u32.pow(attempt.min(6))).min(LONGEST)' }, 'd').call('bash', { command: './check delay', description: 'Run the tests' }, 'e').call('todowrite', { todos: todos('completed', 'completed', 'completed') }, 'f').finish(),
  (reply) => reply.text(ANSWER).finish(),
);
await ask(session, 'cargo test panics in delay() when the provider is down for a while. Find out why and fix it.');
const pushing = await desk.session({ title: 'Push the fix' });
desk.provider.will((reply) => reply.text('The branch is ready.').call('bash', { command: 'git push origin fix/retry-delay', description: 'Push the branch' }, 'p').finish());
await ask(pushing, 'Push it', 'prompt_async');

await mkdir(out, { recursive: true });
const painter = await (await desk.browser.newContext()).newPage();
/** A third of the size, and every browser shows it. */
async function packed(png) {
  const url = await painter.evaluate(async (source) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', 0.86);
  }, `data:image/png;base64,${png.toString('base64')}`);
  return Buffer.from(url.split(',')[1], 'base64');
}
const shoot = async (name, path, options, prepare = async () => {}) => {
  const page = await desk.tab(path, options);
  await live(page);
  await prepare(page);
  await page.evaluate(() => new Promise((done) => setTimeout(done, 600)));
  const shot = await page.screenshot();
  await writeFile(join(out, `${name}.webp`), await packed(shot));
  await desk.leave();
};
await shoot('session', `/s/${session.id}?panel=changes`, { width: 1360, height: 820 }, (page) => page.locator('.side .diff').waitFor());
await shoot('session-dark', `/s/${session.id}?panel=todo`, { width: 1360, height: 820, theme: 'dark' }, (page) => page.locator('.side .todos').waitFor());
await shoot('ask-phone', '/asks', { width: 390, height: 740, touch: true }, (page) => page.locator('[data-ask]').waitFor());
await shoot('board', '/board', { width: 1360, height: 560 });
await shoot('log', `/s/${session.id}?panel=log`, { width: 1360, height: 820, theme: 'dark' }, async (page) => {
  await page.getByRole('button', { name: 'Next prompt' }).click();
  await page.locator('.past-bar').waitFor();
  for (let i = 0; i < 14; i += 1) await page.getByRole('button', { name: 'Next entry' }).click();
});
await writeFile(join(project, 'src/delay.rs'), DELAY.replace('FIRST * 2u32.pow(attempt)', '(FIRST * 2u32.pow(attempt.min(5))).min(LONGEST)'));
await shoot('undo', `/s/${session.id}`, { width: 1360, height: 820 }, async (page) => {
  await page.locator('.prompt').first().focus();
  await page.keyboard.press('z');
  await page.locator('.plan li details summary').first().click();
  await page.locator('.plan .diff').waitFor();
});
desk.check();
await desk.close();
