// The same as `events.test.mjs` for what tools do: their states, what they show of themselves, and what
// they ask.

import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { calls, says } from '../lib/provider.mjs';
import { asked, told } from './told.mjs';

const page = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
  response.end('<h1>News</h1><ul><li>One</li></ul>');
});
const address = () => `127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (page.address()).port}`;

before(() => new Promise((resolve) => page.listen(0, '127.0.0.1', () => resolve(undefined))));
after(() => page.close());

const golden = told({
  config: {
    permission: { glob: 'ask', webfetch: 'ask', 'small_*': 'ask' },
    mcp: { small: { type: 'local', command: [process.execPath, fileURLToPath(new URL('../lib/mcp-server.mjs', import.meta.url))] } },
  },
  env: { STURDY_REACH_PRIVATE: '1' },
  files: {
    'b.txt': 'one\ntwo\n',
    'c.txt': 'three\n',
    '.opencode/skill/paint/SKILL.md': '---\nname: paint\ndescription: How to paint\n---\nUse a brush.\n',
    '.opencode/skill/paint/scripts/mix.sh': 'true\n',
  },
  names: () => ({ [address()]: 'PAGE' }),
});

/** Lets the first request of a turn pass. @param {import('./told.mjs').Turn} turn @param {object} [reply] */
async function allowed({ reader, say, ask }, reply = { reply: 'once' }) {
  const answer = say();
  await ask('POST', `/permission/${await asked(reader, 'permission')}/reply`, reply);
  await answer;
}

golden(
  'a page is fetched',
  [(reply) => reply.call('webfetch', { url: `http://${address()}/`, format: 'markdown' }).finish(), says('News')],
  allowed,
);

const patch = [
  '*** Begin Patch',
  '*** Add File: sub/new.txt',
  '+one',
  '*** Update File: b.txt',
  '*** Move to: moved.txt',
  '@@',
  ' one',
  '-two',
  '+2',
  '*** Delete File: c.txt',
  '*** End Patch',
].join('\n');
golden('a patch is applied', [calls('apply_patch', { patchText: patch }), says('Done')]);

golden('a patch is refused', [calls('apply_patch', { patchText: 'no patch' }), says('Sorry')]);

golden('a list of things to do is kept', [
  calls('todowrite', { todos: [{ content: 'Look', status: 'in_progress', priority: 'high' }] }),
  calls('todowrite', { todos: [{ content: 'Look', status: 'completed', priority: 'high' }] }),
  says('Done'),
]);

golden('a skill is loaded', [calls('skill', { name: 'paint' }), says('I can paint')]);

const pick = (/** @type {string} */ header) => ({ question: `${header}?`, header, options: [{ label: 'Red', description: 'warm' }] });
golden('two questions are answered', [
  calls('question', { questions: [{ ...pick('First'), multiple: true }, { ...pick('Second'), custom: true }] }),
  says('Fine'),
], async ({ reader, say, ask }) => {
  const answer = say();
  await ask('POST', `/question/${await asked(reader, 'question')}/reply`, { answers: [['Red', 'Blue'], ['My own']] });
  await answer;
});

golden('a question is dismissed', [calls('question', { questions: [pick('Which')] })], async ({ reader, say, ask }) => {
  const answer = say();
  await ask('POST', `/question/${await asked(reader, 'question')}/reject`);
  await answer;
});

golden('a file outside is asked about', [(reply) => reply.call('read', { filePath: outside }).finish(), says('Read')], async (turn) => {
  outside = join(await turn.world.directory('outside'), 'o.txt');
  await writeFile(outside, 'far\n');
  await allowed(turn);
});
let outside = '';

golden('a command over its time is ended', [calls('bash', { command: 'exec sleep 60', timeout: 200, description: 'Waits' }), says('Slow')]);

golden('a refusal with a reason goes to the model', [calls('glob', { pattern: '*.txt' }), says('Then not')], (turn) =>
  allowed(turn, { reply: 'reject', message: 'Look elsewhere' }));

golden('a sub-agent asks', [
  calls('task', { description: 'Look', prompt: 'Look around', subagent_type: 'general' }),
  calls('glob', { pattern: '*.md' }),
  says('Nothing there'),
  says('Nothing'),
], allowed);

golden('a sub-agent fails', [
  calls('task', { description: 'Look', prompt: 'Look around', subagent_type: 'general' }),
  (reply) => reply.refuse(400, 'No such thing'),
  says('It failed'),
]);

golden('a tool of a server draws', [calls('small_draw', {}), says('Nice')], allowed);

golden('a tool of a server fails', [calls('small_fail', {}), says('Wet')], allowed);
