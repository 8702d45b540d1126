// The past: words found in what was said, and the log with its slider, where the screen is what it was then.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { Gate, until } from '../lib/wait.mjs';
import { calls, says } from '../lib/provider.mjs';
import { Desk, live, picture } from './desk.mjs';

/** @type {Desk} */
let desk;
before(async () => {
  desk = await Desk.open();
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
  await desk.rest();
});

const shown = async (page) => (await page.locator('.timeline-rows article').allInnerTexts()).map((text) => text.replaceAll(/\d+(\.\d+)? m?s\b|\d\d:\d\d/g, '').replaceAll(/\s+/g, ' ').trim());

const inSight = (page, locator) => until('it is in sight', async () => {
  const box = await locator.boundingBox().catch(() => null);
  const view = await page.locator('.timeline').boundingBox();
  return box !== null && view !== null && box.y >= view.y && box.y + Math.min(box.height, 40) <= view.y + view.height;
});

test('the log shows the screen as it was, step by step, and leads back to now', async () => {
  const session = await desk.session({ title: 'Past' });
  const gates = Array.from({ length: 10 }, () => new Gate());
  desk.provider.will(
    async (reply) => {
      for (const [index, gate] of gates.entries()) {
        reply.text(`piece ${index}, `);
        await gate.opened;
      }
      reply.text('and the end.').call('bash', { command: 'echo hi', description: 'Says hi' }).finish();
    },
    says('All is said.'),
  );
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.getByLabel('Ask, or say what to do').fill('Tell me');
  await page.keyboard.press('Enter');
  // What was on the screen, and at which place of the log.
  const seen = [];
  const look = async () => {
    const position = Number((await desk.server.ask('GET', '/sturdy/overview?limit=1')).headers.get('x-sturdy-position').split('.')[1]);
    seen.push([position, await shown(page)]);
  };
  for (const [index, gate] of gates.entries()) {
    await page.locator('.step .prose', { hasText: `piece ${index},` }).waitFor();
    await look();
    gate.open();
  }
  await page.locator('.step .prose', { hasText: 'All is said.' }).waitFor();
  await page.locator('.session-head .is-busy').waitFor({ state: 'detached' });
  const now = await shown(page);

  await page.getByRole('button', { name: 'Log', exact: true }).click();
  const slider = page.getByRole('slider', { name: 'Log entry' });
  await slider.waitFor();
  // In an order of its own, forwards and back.
  for (const [position, screen] of seen.map((_, index) => seen[(index * 7) % seen.length])) {
    await page.goto(`${desk.server.url}/s/${session.id}?panel=log&at=${position}`);
    await until(`the screen of ${position}`, async () => JSON.stringify(await shown(page)) === JSON.stringify(screen));
    await page.locator('.past-bar').getByText('Nothing can be changed here').waitFor();
    assert.equal(await page.getByLabel('Ask, or say what to do').count(), 0);
  }
  await picture(page, 'log');

  await slider.focus();
  await page.keyboard.press('Home');
  await page.getByText('Before the first entry').waitFor();
  await until('nothing was said yet', async () => (await shown(page)).length === 0);
  await page.getByRole('button', { name: 'Next prompt' }).click();
  await page.locator('.prompt-text', { hasText: 'Tell me' }).waitFor();
  assert.equal(await page.locator('.step .prose').count(), 0);
  await page.getByRole('button', { name: 'Play 64×' }).click();
  await until('it was played to the end', async () => JSON.stringify(await shown(page)) === JSON.stringify(now));

  await page.getByRole('button', { name: 'Back to now' }).click();
  await page.getByLabel('Ask, or say what to do').waitFor();
  assert.deepEqual(await shown(page), now);
});

test('what ran at a moment of the past does not go on counting', async () => {
  const session = await desk.session({ title: 'Stands still' });
  desk.provider.will(calls('bash', { command: 'true', description: 'Runs' }), says('Ran.'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'run' }] });
  const page = await desk.tab('/favicon.svg');
  await page.clock.install();
  await page.goto(`${desk.server.url}/s/${session.id}?panel=log`);
  await page.getByRole('slider').focus();
  await page.keyboard.press('Home');
  const running = page.locator('.card .meta:has(.spin)');
  for (let steps = 0; steps < 60 && (await running.count()) === 0; steps += 1) await page.getByRole('button', { name: 'Next entry' }).click();

  await page.clock.fastForward('01:00:00');
  await page.clock.runFor(1000);

  // Was: by the clock of now.
  assert.match(await running.innerText(), /^(running\s+)?0 s$/);
});

test('a copy is made from a moment of the past', async () => {
  const session = await desk.session({ title: 'Branch' });
  for (const text of ['one', 'two', 'three']) await desk.prompt(session, text);
  const { entries } = await desk.server.tell('GET', `/sturdy/session/${session.id}/entries?limit=2000`);
  const third = entries.find((entry) => entry.events.some(({ type, properties }) => type === 'message.part.updated' && properties.part.text === 'three'));
  const before = entries[entries.indexOf(third) - 2];
  const page = await desk.tab(`/s/${session.id}?panel=log&at=${before.position.split('.')[1]}`);
  await page.locator('.past-bar').waitFor();

  await page.getByRole('button', { name: 'Fork from here' }).last().click();

  await page.waitForURL((url) => url.pathname.startsWith('/s/') && !url.pathname.includes(session.id));
  await page.locator('.prompt-text', { hasText: 'two' }).waitFor();
  assert.deepEqual(await page.locator('.prompt-text').allInnerTexts(), ['one', 'two']);
});

test('words are found in what was said in all sessions, and a hit leads to its message far up', async () => {
  const session = await desk.session({ title: 'A long talk' });
  desk.provider.will(calls('bash', { command: 'echo the wombat speaks', description: 'Speaks' }), says('It spoke.'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'Where does the platypus sleep?' }] });
  for (let i = 0; i < 60; i += 1) await desk.prompt(session, `Filler ${i}\n\nwith a second line`);
  const page = await desk.tab('/search');
  await live(page);
  await page.getByRole('searchbox', { name: 'Search' }).fill('PLATYPUS');

  const hits = page.getByRole('region', { name: 'In messages' });
  await hits.locator('mark', { hasText: 'platypus' }).first().waitFor();
  await picture(page, 'search');
  await hits.getByRole('link').last().click();

  const prompt = page.locator('.prompt', { hasText: 'Where does the platypus sleep?' });
  await prompt.waitFor();
  await until('it is in sight', async () => {
    const box = await prompt.boundingBox();
    return box !== null && box.y > 0 && box.y < 800;
  });
  assert.match(page.url(), /#msg_/);

  // A call far up, folded: it is unfolded, and what was found is in sight.
  await page.goto(`${desk.server.url}/search?q=wombat`);
  await hits.getByRole('link').filter({ hasText: 'tool call' }).first().click();
  await inSight(page, page.locator('.card.tool[open] .terminal', { hasText: 'the wombat speaks' }));
  assert.match(page.url(), /#msg_\w+\/prt_/);
});

test('an address leads to a part of a message, also to one that is folded away with others far up', async () => {
  const session = await desk.session({ title: 'Parts' });
  desk.provider.will((reply) => {
    reply.text('A paragraph.\n\n'.repeat(60));
    for (let i = 0; i < 3; i += 1) reply.call('glob', { pattern: `*.kind${i}` });
    reply.finish();
  }, says('Looked.'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'look around' }] });
  for (let i = 0; i < 60; i += 1) await desk.prompt(session, `Filler ${i}\n\nwith a second line`);
  const all = await desk.server.tell('GET', `/session/${session.id}/message`);
  const [, second] = all.flatMap((message) => message.parts).filter((part) => part.type === 'tool');

  const page = await desk.tab(`/s/${session.id}#${second.id}`);
  const card = page.locator(`.look [data-part="${second.id}"]`);
  await inSight(page, card.getByText('*.kind1'));
  await until('it has the focus', () => card.evaluate((element) => element === document.activeElement));

  // A part that nobody has says so, and the conversation stays.
  await page.goto(`${desk.server.url}/s/${session.id}#prt_nobody`);
  await page.getByText('There is nothing at this URL').waitFor();
  await page.locator('.prompt').first().waitFor();
});

test('an address leads to a part whose script arrives late', async () => {
  const session = await desk.session({ title: 'Late parts' });
  desk.provider.will((reply) => {
    for (let i = 0; i < 3; i += 1) reply.call('glob', { pattern: `*.kind${i}` });
    reply.finish();
  }, says('Looked.'));
  await desk.server.tell('POST', `/session/${session.id}/message`, { parts: [{ type: 'text', text: 'look around' }] });
  const all = await desk.server.tell('GET', `/session/${session.id}/message`);
  const [, second] = all.flatMap((message) => message.parts).filter((part) => part.type === 'tool');
  const page = await desk.tab('/favicon.svg');
  const gate = new Gate();
  let late = 0;
  await page.route('**/ui/**/tools.js', async (route) => {
    late += 1;
    await gate.opened;
    return route.fallback();
  });

  await page.goto(`${desk.server.url}/s/${session.id}#${second.id}`);
  await page.locator('.step .prose', { hasText: 'Looked.' }).waitFor();
  await until('it is asked for', () => late > 0);
  // More than enough for a jump that does not wait.
  await page.evaluate(async () => {
    for (let i = 0; i < 60; i += 1) await new Promise((done) => requestAnimationFrame(done));
  });
  gate.open();

  // Was: what is folded with others stayed folded.
  await inSight(page, page.locator(`.look [data-part="${second.id}"]`).getByText('*.kind1'));
});

test('words are found in the open session, also far above what is drawn, and the keys lead from hit to hit', async () => {
  const session = await desk.session({ title: 'To look through' });
  await desk.prompt(session, 'The first echidna');
  for (let i = 0; i < 40; i += 1) await desk.prompt(session, `Filler ${i}`);
  await desk.prompt(session, 'The last echidna');
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  await page.locator('.prompt-text', { hasText: 'The last echidna' }).waitFor();
  assert.equal(await page.getByText('The first echidna').count(), 0);
  await page.keyboard.press('Control+f');
  const bar = page.getByRole('search', { name: 'Find in this session' });
  const inSight = (text) => until(`${text} is in sight`, async () => {
    const box = await page.locator('.prompt-text', { hasText: text }).boundingBox().catch(() => null);
    return box !== null && box.y > 0 && box.y < 900;
  });

  await bar.getByRole('searchbox').fill('ECHIDNA');
  // Each is said by the prompt and by its echo.
  await bar.getByText(/^1 of \d+$/).waitFor();
  const count = Number(/of (\d+)/.exec(await bar.getByRole('status').innerText())?.[1]);
  assert.ok(count >= 2, String(count));
  for (let i = 1; i < count; i += 1) await page.keyboard.press('Enter');

  await bar.getByText(`${count} of ${count}`).waitFor();
  await inSight('The first echidna');
  await until('the words are marked', () => page.evaluate(() => (CSS.highlights.get('find')?.size ?? 0) > 0));
  await page.keyboard.press('Enter');
  await inSight('The last echidna');
  await bar.getByRole('searchbox').fill('nobody said this');
  await bar.getByText('Nothing found').waitFor();
  await page.keyboard.press('Escape');
  await bar.waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => CSS.highlights.has('find')), false);
});

test('the log names the command that a prompt was made of', async () => {
  const session = await desk.session({ title: 'Commanded' });
  desk.provider.will(says('Written down.'));
  await desk.server.tell('POST', `/session/${session.id}/command`, { command: 'init', arguments: 'only the tests' });

  const page = await desk.tab(`/s/${session.id}?panel=log`);

  await page.locator('.facts li', { hasText: '/init only the tests' }).first().waitFor();
});
