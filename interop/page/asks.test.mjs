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
  desk = await Desk.open({ config: { permission: { bash: 'ask', edit: 'ask' } } });
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

  await one.getByRole('button', { name: 'Deny', exact: true }).click();

  await two.locator('[data-ask]').waitFor({ state: 'detached' });
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
  await page.getByRole('button', { name: 'Always', exact: true }).click();
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
