// A day of work, turn by turn: what a person says, what the model answers, and what else happens.
//
// Every turn is a name, the scripts of the model, and what the person does. It is played on whatever serves the
// API, so nothing here knows which program that is.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MAIN, calls, says } from '../lib/provider.mjs';
import { until } from '../lib/wait.mjs';

/** @typedef {import('./side.mjs').Side} Side */
/** @typedef {{ name: string, scripts: (side: Side) => import('../lib/provider.mjs').Script[], act?: (side: Side) => Promise<void> }} Turn */

export const FILES = {
  'README.md': '# Clock\n\nA clock that ticks.\n',
  'src/clock.js': "export const tick = () => 'tick';\nexport const tock = () => 'tock';\n",
  'src/hands.js': "import { tick } from './clock.js';\n\nexport const move = () => tick();\n",
  'src/old.js': 'one\ntwo\n',
  'src/dead.js': 'three\n',
  'serve.mjs': [
    "import { createServer } from 'node:http';",
    "import { writeFileSync } from 'node:fs';",
    "const server = createServer((_, answer) => answer.end('The clock page'));",
    "server.listen(0, '127.0.0.1', () => writeFileSync('port.txt', String(server.address().port)));",
    '',
  ].join('\n'),
  '.gitignore': 'port.txt\npid.txt\n',
  '.opencode/skill/oiling/SKILL.md': '---\nname: oiling\ndescription: How to oil a clock\n---\nUse one drop.\n',
  '.opencode/command/wind.md': '---\ndescription: Winds the clock\n---\nWind it $1 times, $ARGUMENTS in all.\n',
};

const at = (/** @type {Side} */ side, /** @type {string} */ path) => join(side.world.project, path);

const PATCH = [
  '*** Begin Patch',
  '*** Add File: src/new.js',
  '+export const fresh = 1;',
  '*** Update File: src/old.js',
  '@@',
  ' one',
  '-two',
  '+2',
  '*** Delete File: src/dead.js',
  '*** End Patch',
].join('\n');

const TODOS = [
  { content: 'Oil the clock', status: 'in_progress', priority: 'high' },
  { content: 'Wind the clock', status: 'pending', priority: 'low' },
];

const QUESTIONS = [
  { header: 'Hands', question: 'Which hands?', options: [{ label: 'Gold', description: 'They shine' }, { label: 'Iron', description: 'They last' }] },
];

/** The address that the dev server wrote down. @param {Side} side */
async function devServer(side) {
  side.devPort = await until('the dev server listens', () => readFile(at(side, 'port.txt'), 'utf8').catch(() => ''));
  return `http://127.0.0.1:${side.devPort}/`;
}

/** @type {Turn[]} */
export const TURNS = [
  { name: 'hello', scripts: () => [says('Good morning.')] },
  { name: 'think', scripts: () => [(reply) => reply.reasoning('It ticks, so it runs.').text('It runs.').finish()] },
  { name: 'read', scripts: (side) => [calls('read', { filePath: at(side, 'src/clock.js') }), says('Two functions.')] },
  { name: 'read a directory', scripts: (side) => [calls('read', { filePath: at(side, 'src') }), says('Four files.')] },
  { name: 'read what is not there', scripts: (side) => [calls('read', { filePath: at(side, 'src/clock.ts') }), says('It is not there.')] },
  { name: 'glob', scripts: () => [calls('glob', { pattern: 'src/h*.js' }), says('One of them has hands.')] },
  { name: 'grep', scripts: () => [calls('grep', { pattern: 'export const t', include: '*.js' }), says('Two lines.')] },
  {
    name: 'read and search at once',
    scripts: (side) => [
      (reply) => reply.text('Both.').call('read', { filePath: at(side, 'src/hands.js') }).call('glob', { pattern: '*.md' }).finish(),
      says('Seen both.'),
    ],
  },
  { name: 'write', scripts: (side) => [calls('write', { filePath: at(side, 'src/bell.js'), content: "export const ring = () => 'dong';\n" }), says('Written.')] },
  {
    name: 'edit',
    scripts: (side) => [calls('edit', { filePath: at(side, 'src/clock.js'), oldString: "'tock'", newString: "'TOCK'" }), says('Louder.')],
  },
  {
    name: 'an edit that does not fit',
    scripts: (side) => [calls('edit', { filePath: at(side, 'src/clock.js'), oldString: 'cuckoo', newString: 'owl' }), says('No bird here.')],
  },
  { name: 'bash', scripts: () => [calls('bash', { command: 'ls src && git status --short', description: 'Lists what changed' }), says('Listed.')] },
  { name: 'bash that fails', scripts: () => [calls('bash', { command: 'echo broken >&2; exit 3', description: 'Fails' }), says('It failed.')] },
  { name: 'a tool that is not there', scripts: () => [calls('cuckoo', { loud: true }), says('Not that one.')] },
  { name: 'webfetch', scripts: (side) => [calls('webfetch', { url: `${side.page}/news`, format: 'markdown' }), says('News.')] },
  { name: 'todowrite', scripts: () => [calls('todowrite', { todos: TODOS }), says('Planned.')] },
  {
    name: 'task',
    scripts: () => [
      calls('task', { description: 'Count the files', prompt: 'Count the files of src', subagent_type: 'general' }),
      calls('glob', { pattern: 'src/*.js' }),
      says('There are five.'),
      says('Five, says my helper.'),
    ],
  },
  {
    name: 'question',
    scripts: () => [calls('question', { questions: QUESTIONS }), says('Iron it is.')],
    act: async (side) => {
      const answer = side.say('Ask me');
      const { id } = await side.asked('question');
      await side.server.tell('POST', `/question/${id}/reply`, { answers: [['Iron']] });
      await answer;
    },
  },
  { name: 'skill', scripts: () => [calls('skill', { name: 'oiling' }), says('One drop.')] },
  {
    name: 'apply_patch',
    scripts: () => [calls('apply_patch', { patchText: PATCH }), says('Patched.')],
    act: (side) => side.say('Patch it', { model: { providerID: 'scripted', modelID: 'gpt-5' } }),
  },
  {
    name: 'a tool of an MCP server, with permission',
    scripts: () => [calls('small_draw', {}), says('A grey point.')],
    act: (side) => side.allowing('Draw it', 'once'),
  },
  {
    name: 'a tool of an MCP server that fails',
    scripts: () => [calls('small_fail', {}), says('Rain.')],
    act: (side) => side.allowing('Try the other', 'once'),
  },
  {
    name: 'a refusal with a reason',
    scripts: () => [calls('small_draw', {}), says('Then not.')],
    act: (side) => side.allowing('Draw again', 'reject', 'One is enough'),
  },
  {
    name: 'a subtask',
    scripts: () => [says('It is clean.'), says('Clean, it says.')],
    act: (side) =>
      side.say('', { parts: [{ type: 'subtask', agent: 'general', description: 'Look for rust', prompt: 'Is there rust?' }] }),
  },
  {
    name: 'a command of the project',
    scripts: () => [says('Wound.')],
    act: (side) => side.turn('command', { command: 'wind', arguments: 'seven times', model: 'scripted/main' }),
  },
  {
    name: 'a command of the person',
    scripts: () => [],
    act: (side) => side.turn('shell', { agent: 'build', model: MAIN, command: 'echo from the shell' }),
  },
  { name: 'a provider that is busy once', scripts: () => [(reply) => reply.refuse(503, 'Busy', { 'retry-after-ms': '1' }), says('Back.')] },
  { name: 'a provider that refuses', scripts: () => [(reply) => reply.refuse(400, 'Not like this')] },
  {
    name: 'a dev server in the background, fetched and stopped',
    scripts: (side) => [
      calls('bash', { command: 'nohup node serve.mjs >/dev/null 2>&1 & echo $! > pid.txt', description: 'Starts the dev server' }),
      async (reply) => reply.call('webfetch', { url: await devServer(side), format: 'text' }).finish(),
      calls('bash', { command: 'kill "$(cat pid.txt)"', description: 'Stops the dev server' }),
      says('It served.'),
    ],
  },
  {
    name: 'stopped by the person',
    scripts: () => [(reply) => void reply.text('Without end')],
    act: async (side) => {
      const from = side.reader.frames.length;
      const answer = side.say('Talk for ever');
      await side.reader.until('it speaks', (frame) => frame.type === 'message.part.delta', from);
      await side.server.tell('POST', `/session/${side.session}/abort`);
      await answer;
    },
  },
  {
    name: 'a compaction',
    scripts: () => [says('They mend a clock.')],
    act: async (side) => {
      await side.turn('summarize', { providerID: 'scripted', modelID: 'main' });
    },
  },
  { name: 'after the compaction', scripts: () => [says('I remember the clock.')] },
  {
    name: 'an undo',
    scripts: (side) => [calls('write', { filePath: at(side, 'src/mistake.js'), content: 'oops\n' }), says('Oops.')],
    act: async (side) => {
      await side.say('Make a mistake');
      const messages = await side.messages(side.session);
      const { id } = messages.findLast(({ info }) => info.role === 'user').info;
      await side.server.tell('POST', `/session/${side.session}/revert`, { messageID: id });
      side.note('after the undo', await readFile(at(side, 'src/mistake.js'), 'utf8').catch(() => 'not there'));
      await side.server.tell('POST', `/session/${side.session}/unrevert`);
      side.note('after the redo', await readFile(at(side, 'src/mistake.js'), 'utf8').catch(() => 'not there'));
    },
  },
  {
    name: 'a directory that becomes a repository',
    scripts: () => [calls('bash', { command: 'pwd', description: 'Says where it is' }), says('In the shed.'), says('Still in the shed.')],
    act: async (side) => {
      const shed = await side.world.directory('shed');
      await mkdir(join(shed, 'tools'));
      await writeFile(join(shed, 'tools', 'saw.txt'), 'sharp\n');
      await writeFile(join(shed, 'opencode.json'), await readFile(at(side, 'opencode.json')));
      const there = `?directory=${encodeURIComponent(shed)}`;
      const { id } = await side.server.tell('POST', `/session${there}`, { title: 'Shed' });
      side.sessions.shed = id;
      await side.say('Where are you', {}, id, there);
      side.world.makeRepository(shed);
      await side.restart();
      const project = await side.server.tell('GET', `/project/current${there}`);
      side.note('project', { vcs: project.vcs, worktree: project.worktree });
      await side.say('And now', {}, id, there);
      const listed = await side.server.tell('GET', `/session${there}`);
      side.note('sessions of the repository', listed.map((session) => session.title));
      const session = await side.server.tell('GET', `/session/${id}${there}`);
      side.note('is of the repository', session.projectID === project.id);
    },
  },
];
