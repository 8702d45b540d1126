// One server walked through all requests: what it answered to each, without what differs from run to run.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { masker } from '../lib/mask.mjs';
import { Provider } from '../lib/provider.mjs';
import { pause, until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';

/** @typedef {{ status: number, type: string | null, headers: Record<string, string>, body: any }} Told */

/** Headers that clients look at. */
const HEADERS = [
  'x-next-cursor', 'link', 'www-authenticate', 'cache-control', 'x-accel-buffering', 'location', 'allow',
  'access-control-expose-headers', 'access-control-allow-origin', 'access-control-allow-methods', 'access-control-allow-headers', 'access-control-max-age',
];

/** What a run makes up: times in titles, ids that nobody asks for again, references of errors. @type {[RegExp, string][]} */
const MADE_UP = [
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'DATE'],
  [/\b(evt|pty)_[0-9a-zA-Z]{20,}/g, '$1'],
  [/\berr_[0-9a-f]{8}\b/g, 'REF'],
  [/\bTerminal \w{4}\b/g, 'Terminal NAME'],
  [/^\d{13}$/, 'TIME'],
];

/** Cursors are JSON that nobody should look into; here it is looked into. */
const CURSOR = /eyJ[0-9a-zA-Z_-]+/g;
const opened = (cursor) => JSON.stringify(JSON.parse(Buffer.from(cursor, 'base64url').toString()), (key, value) => (key === 'time' ? 'TIME' : value));

/** @param {any} value @param {string} [key] @returns {any} */
function settled(value, key = '') {
  if (['pid', 'ticket'].includes(key)) return key.toUpperCase();
  if (Array.isArray(value)) return value.map((one) => settled(one));
  if (typeof value === 'object' && value !== null) return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, settled(one, name)]));
  if (typeof value !== 'string') return value;
  return MADE_UP.reduce((text, [what, name]) => text.replace(what, name), value.replace(CURSOR, opened));
}

/** One red dot. */
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

/** @param {World} world */
async function makeProject(world) {
  await mkdir(join(world.project, 'src'), { recursive: true });
  await writeFile(join(world.project, 'notes.md'), 'some words\n');
  await writeFile(join(world.project, 'src/clock.ts'), 'export const hour = 1;\n');
  await writeFile(join(world.project, 'dot.png'), Buffer.from(DOT, 'base64'));
  if (world.kind !== 'plain') {
    world.git(['add', '.']);
    world.git(['commit', '--quiet', '--message', 'A clock']);
  }
  await writeFile(join(world.project, 'notes.md'), 'other words\n');
}

/**
 * @param {(world: World) => Promise<import('../lib/server.mjs').Server>} serve
 * @param {import('./requests.mjs').Step[]} steps
 * @param {import('../lib/world.mjs').Kind} [kind] of the project
 * @returns {Promise<Record<string, Told>>} by the name of the request
 */
export async function walk(serve, steps, kind = 'git') {
  const world = await World.make(kind);
  const provider = await Provider.start();
  const config = provider.config({
    $schema: 'https://opencode.ai/config.json',
    share: 'disabled',
    lsp: false,
    formatter: false,
    command: {
      greet: { template: 'Say hi to $ARGUMENTS', description: 'Greets' },
      pair: { template: 'First $1 second $2', agent: 'plan', model: 'scripted/main' },
      apart: { template: 'Look at $ARGUMENTS', agent: 'general', subtask: true },
    },
  });
  await world.configure(config);
  await makeProject(world);
  const server = await serve(world);
  const mask = masker({
    [new URL(server.url).host]: 'SERVER',
    [new URL(config.provider.scripted.options.baseURL).host]: 'PROVIDER',
    [world.project]: 'DIR',
    [world.home]: 'HOME',
    [world.root]: 'ROOT',
    [world.projectID]: 'PROJECT',
    // As sessions outside of a repository tell where they are.
    [world.project.slice(1)]: 'BELOW',
  });
  /** @type {Record<string, Told>} */
  const told = {};
  const known = { project: world.project, projectID: world.projectID };
  try {
    // It reads its settings behind the first question.
    await server.ask('GET', '/api/model');
    await until('the models are there', async () => (await server.ask('GET', '/api/model')).json?.data?.length > 0);
    for (const [name, method, path, body, more = {}] of steps) {
      told[name] = await step(server, provider, known, mask, [name, method, path, body, more]);
    }
  } finally {
    await server.kill();
    await provider.stop();
    await world.remove();
  }
  return told;
}

/** @param {import('./requests.mjs').Step} step @returns {Promise<Told>} */
async function step(server, provider, known, mask, [name, method, path, body, more = {}]) {
  // A turn that waits for a person is answered by later steps, so its scripts stay.
  if (more.scripts) provider.scripts = [...more.scripts];
  await more.before?.(server, known);
  if (more.pause) await pause(more.pause);
  const place = typeof path === 'function' ? path(known) : path;
  const sent = more.raw ?? (typeof body === 'function' ? body(known) : body);
  const answer = await server.ask(method, place, sent, more.sent?.(known) ?? more.headers ?? {});
  try {
    if (answer.status < 300) more.keep?.(known, answer.json);
    more.keepHeaders?.(known, answer.headers);
  } catch (cause) {
    throw new Error(`${name}: ${answer.status} ${answer.text}`, { cause });
  }
  if (more.settle) {
    const session = known[more.settle];
    await until(`${name} has ended`, async () => {
      const [first, second] = await Promise.all([server.tell('GET', '/session/status'), server.tell('GET', '/api/session/active')]);
      return provider.scripts.length === 0 && !(session in first) && !(session in second.data);
    });
  }
  const headers = {};
  for (const header of HEADERS) if (answer.headers.get(header) !== null) headers[header] = mask(settled(answer.headers.get(header)));
  return { status: answer.status, type: answer.headers.get('content-type'), headers, body: mask(settled(more.pick ? more.pick(answer.json) : (answer.json ?? answer.text))) };
}
