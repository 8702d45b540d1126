// Undo with its plan before anything happens, a conflict that is left alone, redo; and the review of what changed.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { calls, says } from '../lib/provider.mjs';
import { until } from '../lib/wait.mjs';
import { Desk, live, picture } from './desk.mjs';

/** @type {Desk} */
let desk;
before(async () => {
  desk = await Desk.open();
  execFileSync('git', ['init', '--quiet'], { cwd: desk.world.project });
  await desk.server.tell('POST', '/instance/dispose');
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
  await desk.rest();
});

const at = (name) => join(desk.world.project, name);
const read = (name) => (existsSync(at(name)) ? readFileSync(at(name), 'utf8') : null);

/** A turn in which the model runs one command. */
async function turn(session, text, command) {
  desk.provider.will(calls('bash', { command, description: 'Changes files' }), says(`Done: ${text}`));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text }] });
}

/** The sheet, from the menu of a prompt. */
async function openSheet(page, text) {
  const prompt = page.locator('.prompt', { hasText: text });
  await prompt.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Undo from here' }).click();
  const sheet = page.getByRole('dialog', { name: 'Undo from here' });
  await sheet.locator('.plan li').first().waitFor();
  return sheet;
}

test('undo shows its plan, leaves a conflict alone, and redo brings everything back', async () => {
  writeFileSync(at('old.txt'), 'one\n');
  writeFileSync(at('shared.txt'), 'theirs\n');
  const session = await desk.session({ title: 'Undo' });
  await turn(session, 'first turn', 'echo two >> old.txt');
  await turn(session, 'second turn', 'echo new > made.txt; echo agent >> shared.txt');
  writeFileSync(at('shared.txt'), 'theirs\nagent\nand mine\n');
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);

  const sheet = await openSheet(page, 'second turn');
  await picture(page, 'undo-sheet');
  const planned = await sheet.locator('.plan li').evaluateAll((rows) => rows.map((row) => [row.dataset.file, row.className]));
  assert.deepEqual(planned.sort(), [['made.txt', 'is-delete'], ['shared.txt', 'is-conflict']]);
  assert.equal(await sheet.getByRole('checkbox').isChecked(), false);
  assert.equal(read('made.txt'), 'new\n', 'a plan changes nothing');
  await sheet.getByRole('button', { name: 'Undo 1 file, leave 1' }).click();
  await sheet.waitFor({ state: 'detached' });

  const undone = page.locator('.undone');
  await undone.getByText('1 left because it was changed since').waitFor();
  assert.deepEqual([read('made.txt'), read('shared.txt'), read('old.txt')], [null, 'theirs\nagent\nand mine\n', 'one\ntwo\n']);
  await until('the words are back', async () => (await page.getByLabel('Ask, or say what to do').inputValue()) === 'second turn');
  await picture(page, 'undone');
  await page.reload();
  await undone.getByRole('button', { name: 'Redo all' }).click();
  const redo = page.getByRole('dialog', { name: 'Redo all' });
  await redo.locator('.plan li').first().waitFor();
  const coming = await redo.locator('.plan li').evaluateAll((rows) => rows.map((row) => [row.dataset.file, row.className]));
  assert.deepEqual(coming, [['made.txt', 'is-create']]);
  assert.equal(read('made.txt'), null, 'a plan changes nothing');
  await redo.getByRole('button', { name: 'Restore 1 file' }).click();

  await undone.waitFor({ state: 'detached' });
  await page.locator('.step .prose', { hasText: 'Done: second turn' }).waitFor();
  assert.deepEqual([read('made.txt'), read('shared.txt')], ['new\n', 'theirs\nagent\nand mine\n']);
});

test('the plan of a redo names a file that was changed since the undo, and it is left alone', async () => {
  const session = await desk.session({ title: 'Changed meanwhile' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  desk.provider.will(calls('bash', { command: 'echo new > again.txt; echo new > mine-since.txt', description: 'Write' }), says('Written.'));
  await page.getByLabel('Ask, or say what to do').fill('write two');
  await page.keyboard.press('Enter');
  await page.locator('.step .prose', { hasText: 'Written.' }).waitFor();
  await page.locator('.session-head .is-busy').waitFor({ state: 'detached' });
  const [prompt] = await desk.server.tell('GET', `/session/${session.id}/message`);
  await desk.server.tell('POST', `/session/${session.id}/revert`, { messageID: prompt.info.id });
  writeFileSync(join(desk.world.project, 'mine-since.txt'), 'a person was here\n');

  await page.locator('.undone').getByRole('button', { name: 'Redo all' }).click();
  const redo = page.getByRole('dialog', { name: 'Redo all' });
  await redo.locator('.plan li').first().waitFor();

  const coming = await redo.locator('.plan li').evaluateAll((rows) => rows.map((row) => [row.dataset.file, row.className]));
  assert.deepEqual(coming, [['again.txt', 'is-create'], ['mine-since.txt', 'is-conflict']]);
  await redo.getByRole('button', { name: 'Restore 1 file, leave 1' }).click();
  await page.locator('.undone').waitFor({ state: 'detached' });
  assert.deepEqual([read('again.txt'), read('mine-since.txt')], ['new\n', 'a person was here\n']);
});

test('a conflict that is ticked goes back too, and one turn is brought back alone', async () => {
  writeFileSync(at('mine.txt'), 'before\n');
  const session = await desk.session({ title: 'Forced' });
  await turn(session, 'make it', 'echo after > mine.txt');
  await turn(session, 'go on', 'echo late > late.txt');
  writeFileSync(at('mine.txt'), 'somebody else\n');
  const page = await desk.tab(`/s/${session.id}`, { width: 360, height: 740, touch: true });
  await live(page);

  const sheet = await openSheet(page, 'make it');
  await sheet.getByRole('checkbox', { name: /mine\.txt/ }).check();
  await picture(page, 'undo-phone');
  await sheet.getByRole('button', { name: 'Undo 2 files' }).click();
  await sheet.waitFor({ state: 'detached' });
  await until('both went back', () => read('mine.txt') === 'before\n' && read('late.txt') === null);

  await page.locator('.undone').getByRole('button', { name: 'Redo one' }).click();
  const redo = page.getByRole('dialog', { name: 'Redo one' });
  await redo.locator('[data-file="mine.txt"]').waitFor();
  assert.equal(await redo.locator('[data-file="late.txt"]').count(), 0, 'what stays undone is not in the plan');
  assert.equal(read('mine.txt'), 'before\n', 'a plan changes nothing');
  await redo.getByRole('button', { name: /^Restore 1 file/ }).click();
  await page.locator('.prompt', { hasText: 'make it' }).waitFor();

  await until('what was there before the undo is back', () => read('mine.txt') === 'somebody else\n');
  assert.equal(read('late.txt'), null, 'the second turn stays undone');
});

test('the changes of a turn are reviewed, and a comment on a line goes into the prompt', async () => {
  writeFileSync(at('story.txt'), 'Once upon a time\nthere was a fox.\n');
  const session = await desk.session({ title: 'Review' });
  await turn(session, 'the first change', "sed -i 's/fox/brown bear/' story.txt");
  await turn(session, 'the second change', 'echo The end. > end.txt');
  const page = await desk.tab(`/s/${session.id}?panel=changes`);
  await live(page);
  const side = page.getByRole('complementary', { name: 'Changes' });
  await side.locator('[data-changes="session"]').waitFor();
  assert.deepEqual((await side.locator('.file-diff summary code').allInnerTexts()).sort(), ['end.txt', 'story.txt']);

  const first = await side.getByLabel('Changes of').locator('option', { hasText: 'the first change' }).getAttribute('value');
  await side.getByLabel('Changes of').selectOption(first);
  await side.locator(`[data-changes="${first}"]`).waitFor();
  assert.deepEqual(await side.locator('.file-diff summary code').allInnerTexts(), ['story.txt']);
  assert.deepEqual(await side.locator('.diff mark').allInnerTexts(), ['fox', 'brown bear']);
  assert.match(page.url(), /turn=msg_/);
  await picture(page, 'changes');
  await side.getByLabel('Side by side').check();
  await side.locator('.diff.is-split td.add').waitFor();
  await side.getByLabel('Side by side').uncheck();

  await side.getByRole('button', { name: 'Comment on line 2' }).last().click();
  await side.getByRole('textbox', { name: 'Comment on line 2' }).fill('Make it a badger.');
  await side.getByRole('button', { name: 'Add to the prompt' }).click();
  assert.equal(await page.getByLabel('Ask, or say what to do').inputValue(), '> story.txt:2\n> there was a brown bear.\n\nMake it a badger.');

  await side.getByLabel('Viewed').check();
  await side.getByText('1 of 1 viewed').waitFor();
  // Was: what was looked through was forgotten when the panel was closed.
  await side.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Changes' }).click();
  await side.getByText('1 of 2 viewed').waitFor();

  await page.route('**/session/*/diff*', (route) => route.fulfill({ status: 500, json: { name: 'UnknownError', data: { message: 'The tree cannot be read' } } }));
  await side.getByLabel('Changes of').selectOption(first);
  // Was: "No changes".
  await side.getByText('The changes cannot be read').waitFor();
  await side.getByText('The tree cannot be read').waitFor();
});

test('both numbers of a line stand on one line', async () => {
  writeFileSync(at('aligned.txt'), 'same\nold\nend\n');
  const session = await desk.session({ title: 'Aligned' });
  await turn(session, 'align', "printf 'same\\nnew\\nend\\n' > aligned.txt");
  const page = await desk.tab(`/s/${session.id}?panel=changes`);
  const row = page.locator('.side .diff tr', { hasText: 'same' });
  await row.locator('.no button').waitFor();

  // Was: the number that is a button stood three pixels below the one that is none.
  const tops = await row.locator('td.no').evaluateAll((cells) => cells.map((cell) => {
    const letters = document.createRange();
    letters.selectNodeContents(cell.querySelector('button') ?? cell);
    return Math.round(letters.getBoundingClientRect().top);
  }));
  assert.ok(tops.length === 2 && tops[0] === tops[1], tops.join());
});

test('a step that changed files says how many lines, and shows them', async () => {
  writeFileSync(at('poem.txt'), 'one\ntwo\n');
  const session = await desk.session({ title: 'Lines' });
  await turn(session, 'change the poem', "sed -i 's/two/three/' poem.txt; printf 'a\\nb\\n' > added.txt");
  const page = await desk.tab(`/s/${session.id}`);
  const patch = page.locator('.card.patch', { hasText: 'Changed 2 files' });

  await patch.getByText('+3').waitFor();
  await patch.getByText('−1').waitFor();
  await patch.locator('summary').click();

  await patch.locator('.diff', { hasText: 'three' }).waitFor();
  assert.equal(await patch.locator('.diff').count(), 2);
});

test('a step beside another that changed the same file opens to its own difference', async () => {
  const session = await desk.session({ title: 'Twice' });
  desk.provider.will(calls('bash', { command: 'echo a > twice.txt', description: 'Writes' }), calls('bash', { command: 'echo b >> twice.txt', description: 'Writes' }), says('Both.'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'write twice' }] });
  const page = await desk.tab(`/s/${session.id}`);
  await page.locator('.step .prose', { hasText: 'Both.' }).waitFor();

  const patches = page.locator('.card.patch', { hasText: 'Changed 1 file' });
  await until('both steps are drawn', async () => (await patches.count()) === 2);

  assert.equal(await patches.locator('.plus').count(), 0, 'the numbers of the turn are not its own');
  for (const [at, letter] of ['a', 'b'].entries()) {
    const step = patches.nth(at);
    await step.locator('summary').click();
    await step.locator('.diff', { hasText: letter }).waitFor();
    await step.locator('summary .plus', { hasText: '+1' }).waitFor();
    await step.locator('summary .minus', { hasText: '−0' }).waitFor();
  }
});

test('a call whose changes are not known is named before anything is undone', async () => {
  const session = await desk.session({ title: 'Uncaptured' });
  await turn(session, 'do it', 'echo x > known.txt');
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.route('**/revert/plan', async (route) => {
    const answer = await route.fetch();
    const plan = { ...(await answer.json()), uncaptured: [{ partID: 'prt_1', tool: 'bash', why: 'the server was killed while it ran' }] };
    return route.fulfill({ response: answer, json: plan });
  });

  const sheet = await openSheet(page, 'do it');

  await sheet.getByText('Changes of 1 tool call were not recorded and stay:').waitFor();
  await sheet.getByText('the server was killed while it ran').waitFor();
  await sheet.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(read('known.txt'), 'x\n');
});
