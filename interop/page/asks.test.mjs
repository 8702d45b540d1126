// Permissions and questions: seen whole, answered from a desk, from another tab and from a phone.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { calls, says } from '../lib/provider.mjs';
import { until } from '../lib/wait.mjs';
import { Desk, live, picture } from './desk.mjs';

/** @type {Desk} */
let desk;
before(async () => {
  const delegate = { description: 'Gives work on', mode: 'subagent', prompt: 'You give work on.', permission: { task: 'allow' } };
  desk = await Desk.open({ config: { permission: { bash: 'ask', edit: 'ask' }, agent: { delegate }, subagent_depth: 3 } });
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
  await desk.rest();
});

const ask = (session, text = 'go') =>
  desk.server.tell('POST', `/session/${session.id}/prompt_async`, { parts: [{ type: 'text', text }] });

test('a permission is answered from a phone with the whole command in sight', async () => {
  const session = await desk.session({ title: 'From the phone' });
  const command = 'echo first && echo second && touch answered-from-the-phone';
  desk.provider.will(calls('bash', { command, description: 'Touches a file' }), says('It is done.'));
  await ask(session);
  const page = await desk.tab('/asks', { width: 360, height: 740, touch: true });

  const dock = page.locator('[data-ask]');
  await dock.waitFor();
  await dock.getByText(command).waitFor();
  await picture(page, 'phone-ask');
  const button = dock.getByRole('button', { name: 'Allow once' });
  const box = await button.boundingBox();
  assert.ok(box && box.height >= 44 && box.width > 280, JSON.stringify(box));
  await button.tap();

  await dock.waitFor({ state: 'detached' });
  await until('the command ran', () => existsSync(join(desk.world.project, 'answered-from-the-phone')));
});

test('an ask that another tab answered goes away by itself', async () => {
  const session = await desk.session({ title: 'Two answers' });
  desk.provider.will(calls('bash', { command: 'echo hi', description: 'Says hi' }));
  await ask(session);
  const one = await desk.tab(`/s/${session.id}`);
  const two = await desk.tab(`/s/${session.id}`);
  await one.locator('[data-ask]').waitFor();
  await two.locator('[data-ask]').waitFor();

  // Was: the session was said to work, and the call to run, while both waited for a person.
  await one.locator('.session-head').getByText('Needs you').waitFor();
  await one.locator('.card.tool').getByText('waiting for you').waitFor();

  await one.getByRole('button', { name: 'Deny', exact: true }).click();

  await two.locator('[data-ask]').waitFor({ state: 'detached' });
  await one.locator('.session-head').getByText('Needs you').waitFor({ state: 'detached' });
  await two.locator('.card.is-denied').waitFor();
});

test('an open ask is answered after a restart, and runs', async () => {
  const session = await desk.session({ title: 'Across a restart' });
  desk.provider.will(calls('bash', { command: 'touch after-the-restart', description: 'Touches' }), says('Ran.'));
  await ask(session);
  const page = await desk.tab(`/s/${session.id}`);
  await page.locator('[data-ask]').waitFor();

  await desk.restart();
  await live(page);
  await page.getByRole('button', { name: 'Allow once' }).click();

  await page.locator('[data-ask]').waitFor({ state: 'detached' });
  await until('the command ran', () => existsSync(join(desk.world.project, 'after-the-restart')));
});

test('"always" says what it would allow before it allows it', async () => {
  const session = await desk.session({ title: 'Always' });
  desk.provider.will(calls('bash', { command: 'git status', description: 'Looks' }), says('Looked.'));
  await ask(session);
  const page = await desk.tab(`/s/${session.id}`);
  await page.getByRole('button', { name: 'Allow always', exact: true }).click();
  await page.locator('.always code').first().waitFor();
  assert.match(await page.locator('.always').innerText(), /bash git/);

  await page.getByRole('button', { name: 'Yes, always' }).click();

  await page.locator('.step .prose', { hasText: 'Looked.' }).waitFor();
});

test('a question is answered with an option', async () => {
  const session = await desk.session({ title: 'A question' });
  const questions = [{ question: 'Which colour?', header: 'Colour', options: [{ label: 'Red', description: 'warm' }, { label: 'Blue', description: 'cold' }] }];
  desk.provider.will(calls('question', { questions }), says('Blue it is.'));
  await ask(session);
  const page = await desk.tab(`/s/${session.id}`);
  await page.getByLabel('Blue').check();

  await page.getByRole('button', { name: 'Answer', exact: true }).click();

  await page.locator('.step .prose', { hasText: 'Blue it is.' }).waitFor();
  assert.match(JSON.stringify(desk.provider.asked.at(-1)?.body.messages), /Blue/);
});

test('an ask of a sub-agent stands in the dock of its root, with who asks, and its work is seen in place', async () => {
  const session = await desk.session({ title: 'The root' });
  const work = { description: 'Touch a file', prompt: 'Touch it', subagent_type: 'general' };
  desk.provider.will(calls('task', work), calls('bash', { command: 'touch by-the-child', description: 'Touches' }), says('The child is done.'), says('All is done.'));
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await ask(session);

  const dock = page.locator('[data-ask]');
  await dock.getByText('touch by-the-child').waitFor();
  assert.match(await dock.locator('.chain').innerText(), /^The root › .*Touch a file/);
  await page.locator('.card.task').getByText('Needs you').waitFor();
  // What the child does now is seen without looking inside.
  await page.locator('.card.task .newest-call', { hasText: 'touch by-the-child' }).waitFor();
  await dock.getByRole('button', { name: 'Allow once' }).click();
  await page.locator('.step .prose', { hasText: 'All is done.' }).waitFor();
  assert.ok(existsSync(join(desk.world.project, 'by-the-child')));
  await page.getByRole('button', { name: 'Look inside' }).click();

  await page.locator('.inside .prose', { hasText: 'The child is done.' }).waitFor();
  await page.locator('.inside .command', { hasText: 'touch by-the-child' }).waitFor();
});

test('an ask of a sub-agent of a sub-agent is answered from the root, with the whole chain in sight', async () => {
  const session = await desk.session({ title: 'The root of three' });
  const work = (description) => ({ description, prompt: 'Do it', subagent_type: 'delegate' });
  desk.provider.will(
    calls('task', work('The child')),
    calls('task', work('The grandchild')),
    calls('bash', { command: 'touch by-the-grandchild', description: 'Touches' }),
    says('The grandchild is done.'),
    says('The child is done.'),
    says('All three are done.'),
  );
  const page = await desk.tab(`/s/${session.id}`, { width: 360, height: 740, touch: true });
  await live(page);
  await ask(session);

  const dock = page.locator('[data-ask]');
  await dock.getByText('touch by-the-grandchild').waitFor();
  assert.match(await dock.locator('.chain').innerText(), /^The root of three › .*The child.* › .*The grandchild/);
  await dock.getByRole('button', { name: 'Allow once' }).tap();

  await page.locator('.step .prose', { hasText: 'All three are done.' }).waitFor();
  assert.ok(existsSync(join(desk.world.project, 'by-the-grandchild')));
});

test('a change is asked for with its diff, and a denial can say why', async () => {
  const session = await desk.session({ title: 'A change' });
  desk.provider.will(calls('write', { filePath: 'wanted.txt', content: 'first line\nsecond line\n' }), says('As you like.'));
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await ask(session);
  const dock = page.locator('[data-ask]');
  await dock.locator('.diff', { hasText: 'second line' }).waitFor();
  await dock.locator('.wanted code', { hasText: 'wanted.txt' }).waitFor();

  await dock.getByRole('button', { name: 'Deny and say why' }).click();
  await dock.getByLabel('What should it do instead?').fill('Write it into notes.txt');
  await page.getByRole('link', { name: 'Asks' }).first().click();
  await page.locator('.ask').getByRole('link', { name: 'Open' }).click();
  await page.waitForURL(`**/s/${session.id}`);

  // Was: a dock that was drawn anew had forgotten what was typed into it.
  assert.equal(await dock.getByLabel('What should it do instead?').inputValue(), 'Write it into notes.txt');
  await dock.getByRole('button', { name: 'Deny', exact: true }).click();
  await dock.waitFor({ state: 'detached' });
  await page.locator('.card.is-denied', { hasText: 'Write it into notes.txt' }).waitFor();
  assert.equal(existsSync(join(desk.world.project, 'wanted.txt')), false);
});

test('several questions are answered one at a time, with several choices and own words, and back again', async () => {
  const session = await desk.session({ title: 'Questions' });
  const option = (label) => ({ label, description: `about ${label}` });
  const questions = [
    { question: 'Which colours?', header: 'Colours', multiple: true, options: [option('Red'), option('Blue'), option('Green')] },
    { question: 'Which name?', header: 'Name', options: [option('Ada'), option('Alan')] },
  ];
  desk.provider.will(calls('question', { questions }), says('Noted.'));
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await ask(session);
  const dock = page.locator('[data-ask]');
  await dock.getByText('Question 1 of 2').waitFor();
  await dock.getByLabel('Red').check();
  await dock.getByLabel('Green').check();
  await dock.getByRole('button', { name: 'Next' }).click();
  await dock.getByLabel('Your own answer').fill('Grace');
  await dock.getByRole('button', { name: 'Back' }).click();
  assert.equal(await dock.getByLabel('Green').isChecked(), true);
  await dock.getByRole('button', { name: 'Next' }).click();
  assert.equal(await dock.getByLabel('Your own answer').inputValue(), 'Grace');

  await dock.getByRole('button', { name: 'Answer', exact: true }).click();

  await page.locator('.step .prose', { hasText: 'Noted.' }).waitFor();
  await page.locator('.card.tool', { hasText: 'question' }).locator('summary').click();
  await page.locator('.card .answer', { hasText: 'Red, Green' }).waitFor();
  await page.locator('.card .answer', { hasText: 'Grace' }).waitFor();
});

test('a question that is dismissed is told as such', async () => {
  const session = await desk.session({ title: 'Dismissed' });
  desk.provider.will(calls('question', { questions: [{ question: 'Now?', header: 'Now', options: [{ label: 'Yes', description: '' }] }] }));
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await ask(session);

  await page.locator('[data-ask]').getByRole('button', { name: 'Dismiss' }).click();

  await page.locator('[data-ask]').waitFor({ state: 'detached' });
  await page.locator('.card.is-denied').waitFor();
});

test('prompts that waited when the server was restarted are answered when somebody says so', async () => {
  const session = await desk.session({ title: 'Waits across a restart' });
  desk.provider.will(async (reply) => {
    reply.text('Working');
    await reply.gone;
  });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await ask(session, 'first');
  await page.locator('.step .prose', { hasText: 'Working' }).waitFor();
  await ask(session, 'second');
  await page.locator('.queue li', { hasText: 'second' }).waitFor();

  await desk.restart();
  desk.provider.will(says('The second answer.'));
  // Was: a prompt that was two seconds old at most was never shown as waiting.
  await page.getByRole('button', { name: 'Resume' }).click();

  await page.locator('.step .prose', { hasText: 'The second answer.' }).waitFor();
  await page.locator('.queue').waitFor({ state: 'detached' });
});
