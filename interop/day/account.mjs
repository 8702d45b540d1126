// What a side tells of the day, without what differs from run to run, and where two accounts differ.

import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { masker } from '../lib/mask.mjs';

/** @typedef {import('./side.mjs').Side} Side */
/** @typedef {{ place: string, reference: unknown, sturdy: unknown }} Difference */

/** Everything that is compared, section by section. @param {Side} side @returns {Promise<Record<string, any>>} */
export async function account(side) {
  const mask = masker({
    [new URL(side.provider.config().provider.scripted.options.baseURL).host]: 'PROVIDER',
    [new URL(side.page).host]: 'PAGE',
    [`127.0.0.1:${side.devPort}`]: 'DEV',
    [side.world.project]: 'DIR',
    [side.world.data]: 'DATA',
    [side.world.home]: 'HOME',
    [side.world.root]: 'ROOT',
    [side.world.root.slice(1)]: 'ABOVE',
  });
  const told = {};

  // Ids are numbered in the order in which they are met, so the conversation comes first.
  const messages = mask(await side.messages(side.session));
  for (const [index, { name, message }] of side.marks.entries()) {
    told[`messages of ${name}`] = messages.slice(message, side.marks[index + 1]?.message);
  }
  const children = (await side.server.tell('GET', `/session/${side.session}/children`)).sort(byTime);
  told.children = mask(children);
  for (const [index, { id }] of children.entries()) {
    told[`messages of child ${index + 1}`] = mask(await side.messages(id));
  }
  told['messages of the shed'] = mask(await side.messages(side.sessions.shed));
  told.session = mask(await side.server.tell('GET', `/session/${side.session}`));
  told.todo = mask(await side.server.tell('GET', `/session/${side.session}/todo`));
  told.files = await files(side.world.project);
  told.notes = mask(side.notes);

  for (const [index, { name, request }] of side.marks.entries()) {
    const end = side.marks[index + 1]?.request ?? side.provider.asked.length;
    told[`requests of ${name}`] = mask(requests(side.provider.asked, request, end));
  }
  for (const [index, { name, frame }] of side.marks.entries()) {
    told[`events of ${name}`] = events(side.frames.slice(frame, side.marks[index + 1]?.frame));
  }
  return withoutPartIds(told);
}

/** Parts are told apart by their place: one part more would give every later one another number. @param {any} value @returns {any} */
function withoutPartIds(value) {
  if (Array.isArray(value)) return value.map(withoutPartIds);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key, one]) => !(key === 'id' && /^prt\d+$/.test(String(one))));
  return Object.fromEntries(kept.map(([key, one]) => [key, withoutPartIds(one)]));
}

const byTime = (one, other) => one.time.created - other.time.created;

/** The files of a directory with their text, without those of git. @param {string} directory */
async function files(directory) {
  const found = {};
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name).slice(directory.length + 1);
    if (!entry.isFile() || path.startsWith('.git/') || UNSTABLE.includes(path)) continue;
    found[path] = await readFile(join(directory, path), 'utf8');
  }
  return found;
}

/** Written with ports and process ids of the run. */
const UNSTABLE = ['port.txt', 'pid.txt', 'opencode.json'];

/**
 * What the model was asked: of each request what none before it had, so that one difference is not told with every
 * later request again. What a system prompt and the description of a tool say is each program's own.
 * @param {import('../lib/provider.mjs').Asked[]} asked @param {number} from @param {number} to
 */
function requests(asked, from, to) {
  const plain = asked.slice(0, to).map(({ body }) => body.messages.map((message) => (message.role === 'system' ? { role: 'system' } : message)));
  const known = plain.map((messages) => messages.map((message) => JSON.stringify(message)));
  return asked.slice(from, to).map(({ body }, index) => {
    const place = from + index;
    const repeated = Math.max(0, ...known.slice(0, place).map((before) => sharedLength(before, known[place])));
    const { messages, tools = [], ...parameters } = body;
    return {
      parameters,
      messages: plain[place].slice(repeated),
      tools: Object.fromEntries(tools.map((tool) => [tool.function.name, schema(tool.function.parameters)])),
    };
  });
}

/** How many elements two lists begin with alike. @param {string[]} one @param {string[]} other */
function sharedLength(one, other) {
  const first = one.findIndex((value, place) => value !== other[place]);
  return first < 0 ? one.length : first;
}

/** @param {any} parameters of a tool */
const schema = ({ properties = {}, required = [] }) => ({ properties: Object.keys(properties).sort(), required: [...required].sort() });

/** How often each event was told, or that it was. @param {import('../lib/sse.mjs').Frame[]} frames */
function events(frames) {
  const counts = {};
  for (const { type } of frames) {
    if (WHENEVER.includes(type)) continue;
    counts[type] = TOLD_AGAIN.includes(type) ? 'some' : (counts[type] ?? 0) + 1;
  }
  return counts;
}

/** Beats of the line, and a watcher of files that tells of some of what changed, some time later. */
const WHENEVER = ['server.heartbeat', 'file.watcher.updated'];

/** How often these are told depends on how fast the machine is. */
const TOLD_AGAIN = ['message.part.delta', 'message.part.updated', 'message.updated', 'session.updated', 'session.diff'];

/**
 * Where two accounts differ. Lists of messages or parts that are made of other kinds are one difference, and are
 * not compared further.
 * @param {any} reference @param {any} sturdy @param {string} place @returns {Difference[]}
 */
export function differences(reference, sturdy, place = '') {
  if (Array.isArray(reference) && Array.isArray(sturdy)) {
    const [one, other] = [reference.map(kind), sturdy.map(kind)];
    if (JSON.stringify(one) !== JSON.stringify(other)) return [{ place, reference: one, sturdy: other }];
    return reference.flatMap((value, index) => differences(value, sturdy[index], `${place}[${index}]`));
  }
  if (isObject(reference) && isObject(sturdy)) {
    const keys = [...new Set([...Object.keys(reference), ...Object.keys(sturdy)])].sort();
    return keys.flatMap((key) => differences(reference[key], sturdy[key], place ? `${place} › ${key}` : key));
  }
  return JSON.stringify(reference) === JSON.stringify(sturdy) ? [] : [{ place, reference, sturdy }];
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What an element of a list is, for lists that are compared by their kinds first. */
function kind(value) {
  if (!isObject(value)) return typeof value;
  if (value.info) return value.info.role;
  if (value.tool) return `${value.type} ${value.tool}`;
  return value.role ?? value.type ?? value.file ?? value.title ?? 'object';
}
