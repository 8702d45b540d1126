// Requests of the walk at the edges of single routes, asked of a fresh server: bodies of other types, what is missing first, places that are
// not there, and who may ask from a page.

/** @typedef {import('./requests.mjs').Step} Step */

import { says } from '../lib/provider.mjs';

const MAIN = { providerID: 'scripted', modelID: 'main' };
const NOBODY = 'ses_0123456789abcdefghijklmnop';
const NO_MESSAGE = 'msg_0123456789abcdefghijklmnop';
const NO_PART = 'prt_0123456789abcdefghijklmnop';
const MESSAGE = 'msg_0123456789abcdefghijklmn31';
const WAITING = 'msg_0123456789abcdefghijklmn41';
const keepAs = (name, pick) => ({ keep: (known, answer) => (known[name] = pick(answer)) });
const typed = (type, raw) => ({ raw, headers: { 'content-type': type } });
const from = (origin) => ({ headers: { origin } });
const one = (known) => `/session/${known.one}`;
const two = (known) => `/api/session/${known.two}`;
const answer = (known) => `${one(known)}/message/${known.turn.info.id}`;

/** @type {Step[]} */
const SESSIONS = [
  ['create one', 'POST', '/session', { title: 'One' }, keepAs('one', ({ id }) => id)],
  ['create with null', 'POST', '/session', undefined, { raw: 'null' }],
  ['create with a list', 'POST', '/session', []],
  ['create with a text', 'POST', '/session', undefined, { raw: '"x"' }],
  ['create below nobody', 'POST', '/session', { parentID: NOBODY }],
  ['create below one', 'POST', '/session', (known) => ({ parentID: known.one, title: 'Kid' }), keepAs('kid', ({ id }) => id)],
  ['create with an agent', 'POST', '/session', { title: 'agent', agent: 'plan' }],
  ['create with an unknown agent', 'POST', '/session', { title: 'agent', agent: 'nope' }],
  ['create with a model', 'POST', '/session', { title: 'model', model: { providerID: 'scripted', id: 'main', variant: 'high' } }],
  ['create with half a model', 'POST', '/session', { model: { providerID: 'scripted' } }],
  ['create with an unknown model', 'POST', '/session', { title: 'model', model: { providerID: 'nobody', id: 'x' } }],
  ['create in a workspace', 'POST', '/session', { title: 'workspace', workspaceID: 'wrk_0123456789abcdefghijklmnop' }],
  ['create with an unknown key', 'POST', '/session', { title: 'key', nothing: 1 }],
  ['create with metadata', 'POST', '/session', { title: 'metadata', metadata: { a: { b: [1, 'x', null] } } }],
  ['create with half a rule', 'POST', '/session', { permission: [{ permission: 'bash' }] }],
  ['roots', 'GET', '/session?roots=true'],
  ['roots and others', 'GET', '/session?roots=false&limit=3'],
  ['roots, maybe', 'GET', '/session?roots=maybe'],
  ['search in another case', 'GET', '/session?search=ON'],
  ['search for a percent sign', 'GET', '/session?search=%25'],
  ['a limit of nothing', 'GET', '/session?limit=0'],
  ['a negative limit', 'GET', '/session?limit=-1'],
  ['an empty limit', 'GET', '/session?limit='],
  ['children of nobody', 'GET', `/session/${NOBODY}/children`],
  ['todos of nobody', 'GET', `/session/${NOBODY}/todo`],
  ['diff of nobody', 'GET', `/session/${NOBODY}/diff`],
  ['change nothing', 'PATCH', one, {}],
  ['change to null', 'PATCH', one, { title: null }],
  ['change an unknown key', 'PATCH', one, { x: 1 }],
  ['rules', 'PATCH', one, { permission: [{ permission: 'bash', pattern: 'git *', action: 'allow' }] }],
  ['further rules', 'PATCH', one, { permission: [{ permission: 'edit', pattern: '*', action: 'deny' }] }],
  ['metadata', 'PATCH', one, { metadata: { a: 1 } }],
  ['other metadata', 'PATCH', one, { metadata: { b: 2 } }],
  ['archive the kid', 'PATCH', (known) => `/session/${known.kid}`, { time: { archived: 5 } }],
  ['the list without it', 'GET', '/session?limit=30'],
  ['change nobody', 'PATCH', `/session/${NOBODY}`, { title: 'x' }],
  ['remove nobody', 'DELETE', `/session/${NOBODY}`],
  ['abort nobody', 'POST', `/session/${NOBODY}/abort`],
];

/** @type {Step[]} */
const MESSAGES = [
  ['a prompt by a form', 'POST', (known) => `${one(known)}/message`, undefined, typed('application/x-www-form-urlencoded', '{"noReply":true,"parts":[]}')],
  ['a prompt with a charset', 'POST', (known) => `${one(known)}/message`, undefined, typed('application/json; charset=utf-8', '{"noReply":true,"parts":[]}')],
  ['a prompt of another JSON', 'POST', (known) => `${one(known)}/message`, undefined, typed('application/vnd.x+json', '{"noReply":true,"parts":[]}')],
  ['a prompt', 'POST', (known) => `${one(known)}/message`, { model: MAIN, messageID: MESSAGE, parts: [{ type: 'text', text: 'hi' }] },
    { scripts: [says('Ho.')], settle: 'one', ...keepAs('turn', (turn) => turn) }],
  ['no messages', 'GET', (known) => `${one(known)}/message?limit=0`],
  ['fewer than none', 'GET', (known) => `${one(known)}/message?limit=-1`],
  ['messages before something', 'GET', (known) => `${one(known)}/message?before=abc`],
  ['two before something', 'GET', (known) => `${one(known)}/message?limit=2&before=abc`],
  ['the message', 'GET', (known) => `${one(known)}/message/${MESSAGE}`],
  ['the message elsewhere', 'GET', (known) => `/session/${known.kid}/message/${MESSAGE}`],
  ['a message of nobody', 'GET', `/session/${NOBODY}/message/${NO_MESSAGE}`],
  ['remove a part elsewhere', 'DELETE', (known) => `/session/${known.kid}/message/${MESSAGE}/part/${NO_PART}`],
  ['a part of nothing', 'PATCH', (known) => `${one(known)}/message/${MESSAGE}/part/${NO_PART}`, {}],
  ['a part with another id', 'PATCH', (known) => `${answer(known)}/part/${known.turn.parts[1].id}`, (known) => ({ ...known.turn.parts[1], id: NO_PART })],
  ['summarize with nothing', 'POST', (known) => `${one(known)}/summarize`, {}],
  ['revert to nothing', 'POST', (known) => `${one(known)}/revert`, {}],
  ['revert to nowhere', 'POST', (known) => `${one(known)}/revert`, { messageID: NO_MESSAGE }],
  ['take nothing back', 'POST', (known) => `${one(known)}/unrevert`],
  ['a command with nothing', 'POST', (known) => `${one(known)}/command`, {}],
  ['a command without arguments', 'POST', (known) => `${one(known)}/command`, { command: 'greet' }],
  ['a shell with nothing', 'POST', (known) => `${one(known)}/shell`, {}],
  ['a shell without a word', 'POST', (known) => `${one(known)}/shell`, { agent: 'build', command: '' }, { settle: 'one' }],
  ['init with nothing', 'POST', (known) => `${one(known)}/init`, {}],
  ['fork nobody', 'POST', `/session/${NOBODY}/fork`, {}],
  ['fork at a number', 'POST', (known) => `${one(known)}/fork`, { messageID: 7 }],
];

/** @type {Step[]} */
const PLACES = [
  ['files of the directory', 'GET', '/file?path=.'],
  ['a file by its whole path', 'GET', (known) => `/file/content?path=${encodeURIComponent(`${known.project}/notes.md`)}`],
  ['path elsewhere', 'GET', '/path?directory=%2Ftmp'],
  ['path by a header', 'GET', '/path', undefined, { headers: { 'x-opencode-directory': '%2Ftmp' } }],
  ['sessions elsewhere', 'GET', '/session?directory=%2Ftmp'],
  ['vcs elsewhere', 'GET', '/vcs?directory=%2Ftmp'],
  ['a page asks first', 'OPTIONS', '/session', undefined, {
    headers: { origin: 'http://localhost:3000', 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type,x-opencode-directory' },
  }],
  ['a page of this machine', 'GET', '/path', undefined, from('http://localhost:3000')],
  ['a page of the desktop program', 'GET', '/path', undefined, from('tauri://localhost')],
  ['a page of the site', 'GET', '/path', undefined, from('https://app.opencode.ai')],
  ['a key for a name with a slash', 'PUT', '/auth/a%2Fb', { type: 'api', key: 'k' }],
  ['forget that key', 'DELETE', '/auth/a%2Fb'],
  ['an MCP server without a name', 'POST', '/mcp', { name: '', config: { type: 'local', command: ['true'], enabled: false } }],
  ['a question without answers', 'POST', '/question/que_0123456789abcdefghijklmnop/reply', {}],
  ['change nothing of the project', 'PATCH', (known) => `/project/${known.projectID}`, {}],
];

/** @type {Step[]} */
const SECOND = [
  ['v2 create with a title', 'POST', '/api/session', { title: 'Two' }],
  ['v2 create at a place', 'POST', '/api/session', (known) => ({ location: { directory: known.project } }), keepAs('two', ({ data }) => data.id)],
  ['v2 create at a number', 'POST', '/api/session', { location: { directory: 7 } }],
  ['v2 the oldest two', 'GET', '/api/session?order=asc&limit=2'],
  ['v2 two of the directory', 'GET', (known) => `/api/session?directory=${encodeURIComponent(known.project)}&limit=2`],
  ['v2 search', 'GET', '/api/session?search=one'],
  ['v2 a file of nothing', 'POST', (known) => `${two(known)}/prompt`, { prompt: { text: 'x', files: [{}] } }],
  ['v2 an agent of nothing', 'POST', (known) => `${two(known)}/prompt`, { prompt: { text: 'x', agents: [{}] } }],
  ['v2 a prompt that waits', 'POST', (known) => `${two(known)}/prompt`, { id: WAITING, prompt: { text: 'later' }, delivery: 'queue', resume: false }],
  ['v2 an unknown agent', 'POST', (known) => `${two(known)}/agent`, { agent: 'nope' }],
  ['v2 an unknown model', 'POST', (known) => `${two(known)}/model`, { model: { providerID: 'nobody', id: 'x' } }],
  ['v2 ask for nothing', 'POST', (known) => `${two(known)}/permission`, {}],
  // Last: the two differ in whether it makes a session.
  ['create by a form', 'POST', '/session', undefined, typed('application/x-www-form-urlencoded', '{"title":"x"}')],
];

/** @type {Step[]} */
export const EDGES = [...SESSIONS, ...MESSAGES, ...PLACES, ...SECOND];
