// What clients are told, event by event, in the turns that happen every day: every key of every event,
// and their order, compared with the files in `golden/`.
//
// The files say what was found to agree with the reference, or to differ as docs/differences.md says.
// A change that turns one of these tests red changes what every client sees. If it is meant, look at the
// difference, see that it is equal to the reference or written down, and run with GOLDEN=write.

import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { lines, masker } from '../lib/mask.mjs';
import { Provider, calls, says } from '../lib/provider.mjs';
import { Server } from '../lib/server.mjs';
import { Reader } from '../lib/sse.mjs';
import { World } from '../lib/world.mjs';

/** @type {World} */ let world;
/** @type {Provider} */ let provider;
/** @type {Server} */ let server;

before(async () => {
  world = await World.make();
  provider = await Provider.start();
  const prices = { cost: { input: 1, output: 2 } };
  const config = provider.config({ permission: { glob: 'ask' } });
  for (const model of Object.values(config.provider.scripted.models)) Object.assign(model, prices);
  await world.configure(config);
  await writeFile(join(world.project, 'a.txt'), 'hello\n');
  server = await Server.start(world);
});

after(async () => {
  await server?.kill();
  await provider?.stop();
  await world?.remove();
});

/**
 * Plays a turn and compares what was told with what is written down.
 * @param {string} name
 * @param {import('../lib/provider.mjs').Script[]} scripts
 * @param {(turn: { id: string, reader: Reader, ask: Server['ask'], say: (body?: object) => Promise<any> }) => Promise<void>} act
 */
function golden(name, scripts, act = async ({ say }) => void (await say())) {
  test(name, async () => {
    const reader = await Reader.open(server.url);
    try {
      provider.will(...scripts);
      const { id } = await server.tell('POST', '/session', { title: 'Told' });
      const say = (body = {}) =>
        server.tell('POST', `/session/${id}/message`, { parts: [{ type: 'text', text: 'Go' }], ...body });

      await act({ id, reader, say, ask: server.ask.bind(server) });
      await reader.idle(id);

      const { port } = /** @type {import('node:net').AddressInfo} */ (provider.server.address());
      const below = world.project.slice(1);
      const mask = masker({ [`127.0.0.1:${port}`]: 'PROVIDER', [world.project]: 'DIR', [below]: 'BELOW', [world.data]: 'DATA' });
      await compare(name, lines(reader.frames, mask));
    } finally {
      reader.close();
    }
  });
}

/** @param {string} name @param {string[]} told */
async function compare(name, told) {
  const file = new URL(`golden/${name.replaceAll(' ', '-')}.txt`, import.meta.url);
  if (process.env.GOLDEN === 'write') {
    await mkdir(new URL('.', file), { recursive: true });
    return writeFile(file, told.join('\n') + '\n');
  }
  const wanted = (await readFile(file, 'utf8')).trimEnd().split('\n');
  assert.deepEqual(told, wanted);
}

golden('an answer', [says('Hello')]);

golden('thoughts before an answer', [(reply) => reply.reasoning('Hm').text('So').finish()]);

golden('a file is read', [
  calls('read', { filePath: 'a.txt' }),
  says('It says hello'),
]);

golden('a file is written', [calls('write', { filePath: 'new.txt', content: 'one\n' }), says('Done')]);

golden('a file is edited', [
  calls('read', { filePath: 'a.txt' }),
  calls('edit', { filePath: 'a.txt', oldString: 'hello', newString: 'bye' }),
  says('Done'),
]);

golden('a command runs', [calls('bash', { command: 'echo out; exit 3' }), says('Done')]);

golden('a call that cannot be understood', [calls('nosuchtool', { a: 1 }), says('Sorry')]);

golden('a permission is given', [calls('glob', { pattern: '*.txt' }), says('Done')], async ({ reader, say, ask }) => {
  const answer = say();
  const { event } = await reader.until('it is asked', (frame) => frame.type === 'permission.asked');
  await ask('POST', `/permission/${event.properties.id}/reply`, { reply: 'once' });
  await answer;
});

golden('a permission is refused', [calls('glob', { pattern: '*.txt' })], async ({ reader, say, ask }) => {
  const answer = say();
  const { event } = await reader.until('it is asked', (frame) => frame.type === 'permission.asked');
  await ask('POST', `/permission/${event.properties.id}/reply`, { reply: 'reject' });
  await answer;
});

const question = { question: 'Which?', header: 'Pick', options: [{ label: 'Red', description: 'warm' }] };
golden('a question is answered', [calls('question', { questions: [question] }), says('Red it is')], async ({ reader, say, ask }) => {
  const answer = say();
  const { event } = await reader.until('it is asked', (frame) => frame.type === 'question.asked');
  await ask('POST', `/question/${event.properties.id}/reply`, { answers: [['Red']] });
  await answer;
});

golden('a task is delegated', [
  calls('task', { description: 'Look', prompt: 'Look around', subagent_type: 'general' }),
  says('Nothing there'),
  says('Nothing'),
]);

golden('a provider refuses', [(reply) => reply.refuse(400, 'No such thing')]);

golden('a failure passes', [(reply) => reply.refuse(500, 'Busy', { 'retry-after-ms': '1' }), says('Back')]);

golden('a turn is stopped', [(reply) => void reply.text('Half')], async ({ id, reader, say, ask }) => {
  const answer = say();
  await reader.until('it speaks', (frame) => frame.type === 'message.part.delta');
  await ask('POST', `/session/${id}/abort`);
  await answer;
});

golden('a conversation is summarised', [says('First'), says('In short: hello')], async ({ id, reader, say, ask }) => {
  await say();
  const from = reader.frames.length;
  await ask('POST', `/session/${id}/summarize`, { providerID: 'scripted', modelID: 'main' });
  await reader.idle(id, from);
});

golden('a shell command of the user', [], async ({ id, ask }) => {
  await ask('POST', `/session/${id}/shell`, { agent: 'build', command: 'echo hi' });
});
