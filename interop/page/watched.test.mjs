// A session of this server is shared and watched in a browser, while the server is killed.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { Desk, ECHO, STORY, live, picture } from './desk.mjs';

/** @type {Desk} */
let desk;
before(async () => {
  desk = await Desk.open({ args: ['--share'], env: { STURDY_DEMO_PACE_MS: '20' } });
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
});

test('a watcher of a link sees the session grow, through a kill of the server, until it is unshared', async () => {
  const session = await desk.session({ title: 'Watched' });
  await desk.prompt(session, 'Before anybody watched', ECHO);
  const { share } = await desk.server.tell('POST', `/session/${session.id}/share`);
  const page = await desk.tab(new URL(share.url).pathname);
  await live(page);
  await page.locator('.prompt-text', { hasText: 'Before anybody watched' }).waitFor();

  // A story takes its time; its first words are seen while it is told.
  await desk.server.tell('POST', `/session/${session.id}/prompt_async`, { model: STORY, parts: [{ type: 'text', text: '/demo story 400' }] });
  const last = page.locator('.step .prose').last();
  await page.locator('.prompt-text', { hasText: '/demo story 400' }).waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll('.step .prose')].at(-1)?.textContent.length > 60);
  const seen = (await last.innerText()).trim();
  await desk.restart();

  await live(page);
  await desk.prompt(session, 'After the kill', ECHO);
  await page.locator('.prompt-text', { hasText: 'After the kill' }).waitFor();
  assert.deepEqual(await page.locator('.prompt-text').allInnerTexts(), ['Before anybody watched', '/demo story 400', 'After the kill']);
  const told = await page.locator('.step .prose').allInnerTexts();
  assert.ok(told.some((text) => text.trim().startsWith(seen.slice(0, 40))), `${seen}\n is not in ${told.join('\n')}`);
  await picture(page, 'watched');

  await desk.server.tell('DELETE', `/session/${session.id}/share`);
  await page.getByRole('alert').getByText('This share has ended').waitFor();
});
