// Every function of both clients of the npm package, called on the built program: with arguments that fit, and what comes back
// looked at. The list is made from the package, so that an operation that is new in it fails here until somebody says how it
// is asked.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { createOpencodeClient as createFirst } from '@opencode-ai/sdk';
import { createOpencodeClient as createSecond } from '@opencode-ai/sdk/v2';
import { functionsOf, operations } from '../lib/operations.mjs';
import { soon } from '../lib/wait.mjs';

const it = bench({ config: { permission: { bash: 'ask' } } });
const JSON_TYPE = { 'content-type': 'application/json' };
const model = { providerID: 'demo', modelID: 'echo' };
const demo = { providerID: 'demo', id: 'echo' };

/** @returns {Promise<{ status: number, body: any, type: string }>} */
async function call(method, path, body) {
  const stop = new AbortController();
  const answer = await fetch(it.server.url + path, {
    method,
    signal: stop.signal,
    headers: body === undefined ? {} : JSON_TYPE,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const type = answer.headers.get('content-type') ?? '';
  if (type === 'text/event-stream') {
    stop.abort();
    return { status: answer.status, body: undefined, type };
  }
  const text = await answer.text();
  return { status: answer.status, body: type.includes('json') && text ? JSON.parse(text) : text, type };
}

const session = async () => (await call('POST', '/session', {})).body.id;

/** A session with one answered prompt. */
async function talked(text = 'hello') {
  const id = await session();
  const answer = await call('POST', `/session/${id}/message`, { model, parts: [{ type: 'text', text }] });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const [user] = (await call('GET', `/session/${id}/message`)).body;
  return { id, user: user.info.id, part: user.parts[0].id, answer: answer.body.info.id };
}

/** A session that waits for a person. */
async function asking(what) {
  const id = await session();
  const tool = what === 'permission'
    ? 'bash {"command":"echo x","description":"d"}'
    : 'question {"questions":[{"question":"Which?","header":"h","options":[{"label":"A","description":"a"}]}]}';
  await call('POST', `/session/${id}/prompt_async`, { model, parts: [{ type: 'text', text: `/demo tool ${tool}` }] });
  for (;;) {
    const open = (await call('GET', `/${what}`)).body.filter((ask) => ask.sessionID === id);
    if (open.length > 0) return { id, ask: open[0].id };
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const terminal = async () => (await call('POST', '/pty', { title: 't', command: '/bin/sh' })).body.id;

/** What every test shares. */
const at = /** @type {any} */ ({});
const array = (body) => Array.isArray(body);
const data = (body) => array(body.data);
const yes = (body) => body === true;
const object = (body) => typeof body === 'object' && body !== null && !array(body);
/** What the package makes of an answer without a body. */
const nothing = (body) => body === undefined || body === null || body === '' || (object(body) && Object.keys(body).length === 0);
const has = (...keys) => (body) => keys.every((key) => key in body);
const dataHas = (...keys) => (body) => keys.every((key) => key in body.data);
const named = (name) => (body) => body.name === name;
const tagged = (tag) => (body) => body._tag === tag;
const stream = (body, type) => type === 'text/event-stream';

/** How each is asked: `[path, status, check, body]`, made when its turn comes. @type {Record<string, () => any>} */
const HOW = {
  'DELETE /api/credential/{credentialID}': () => ['/api/credential/anthropic', 204, nothing],
  'DELETE /api/integration/attempt/{attemptID}': () => ['/api/integration/attempt/x', 204, nothing],
  'DELETE /api/permission/saved/{id}': () => ['/api/permission/saved/psv_x', 204, nothing],
  'DELETE /api/pty/{ptyID}': async () => [`/api/pty/${await terminal()}`, 204, nothing],
  'DELETE /auth/{providerID}': () => ['/auth/anthropic', 200, yes],
  'DELETE /experimental/worktree': () => ['/experimental/worktree', 400, has('name'), { directory: '/nowhere' }],
  'DELETE /mcp/{name}/auth': () => ['/mcp/none/auth', 404, tagged('McpServerNotFoundError')],
  'DELETE /pty/{ptyID}': async () => [`/pty/${await terminal()}`, 200, yes],
  'DELETE /session/{sessionID}': async () => [`/session/${await session()}`, 200, yes],
  'DELETE /session/{sessionID}/message/{messageID}': async () => {
    const { id, user } = await talked();
    return [`/session/${id}/message/${user}`, 200, yes];
  },
  'DELETE /session/{sessionID}/message/{messageID}/part/{partID}': async () => {
    const { id, user, part } = await talked();
    return [`/session/${id}/message/${user}/part/${part}`, 200, yes];
  },
  'DELETE /session/{sessionID}/share': () => [`/session/${at.talk.id}/share`, 200, has('id')],
  'GET /agent': () => ['/agent', 200, array],
  'GET /api/agent': () => ['/api/agent', 200, data],
  'GET /api/command': () => ['/api/command', 200, data],
  'GET /api/event': () => ['/api/event', 200, stream],
  'GET /api/fs/find': () => ['/api/fs/find?query=notes', 200, (body) => body.data.some((file) => file.path === 'notes.md')],
  'GET /api/fs/list': () => ['/api/fs/list?path=', 200, data],
  // The function of the package has no argument for the path, and asks for a file of this name.
  'GET /api/fs/read/*': async () => {
    await writeFile(join(it.world.project, '*'), 'a starred file\n');
    const read = await call('GET', '/api/fs/read/notes.md');
    assert.equal(read.body, 'some words\n');
    return ['/api/fs/read/*', 200, async (body) => (await new Response(body).text()) === 'a starred file\n'];
  },
  'GET /api/health': () => ['/api/health', 200, (body) => body.healthy === true],
  'GET /api/integration': () => ['/api/integration', 200, data],
  'GET /api/integration/attempt/{attemptID}': () => ['/api/integration/attempt/x', 400, tagged('InvalidRequestError')],
  'GET /api/integration/{integrationID}': () => ['/api/integration/demo', 200, dataHas('id', 'methods')],
  'GET /api/location': () => ['/api/location', 200, has('directory', 'project')],
  'GET /api/model': () => ['/api/model', 200, data],
  'GET /api/permission/request': () => ['/api/permission/request', 200, data],
  'GET /api/permission/saved': () => ['/api/permission/saved', 200, data],
  'GET /api/provider': () => ['/api/provider', 200, data],
  'GET /api/provider/{providerID}': () => ['/api/provider/demo', 200, dataHas('id', 'api')],
  'GET /api/pty': () => ['/api/pty', 200, data],
  'GET /api/pty/{ptyID}': () => [`/api/pty/${at.pty}`, 200, dataHas('id', 'status')],
  'GET /api/pty/{ptyID}/connect': () => [`/api/pty/${at.pty}/connect`, 400, () => true],
  'GET /api/question/request': () => ['/api/question/request', 200, data],
  'GET /api/reference': () => ['/api/reference', 200, data],
  'GET /api/session': () => ['/api/session?limit=1', 200, (body) => body.data.length === 1 && 'next' in body.cursor],
  'GET /api/session/active': () => ['/api/session/active', 200, (body) => object(body.data)],
  'GET /api/session/{sessionID}': () => [`/api/session/${at.talk.id}`, 200, dataHas('id', 'location')],
  'GET /api/session/{sessionID}/context': () => [`/api/session/${at.talk.id}/context`, 200, data],
  'GET /api/session/{sessionID}/event': () => [`/api/session/${at.talk.id}/event`, 200, stream],
  'GET /api/session/{sessionID}/history': () => [`/api/session/${at.talk.id}/history`, 200, (body) => body.data.length > 4 && body.hasMore === false],
  'GET /api/session/{sessionID}/message': () => [`/api/session/${at.talk.id}/message`, 200, (body) => body.data.filter(({ type }) => !type.endsWith('-switched')).length === 2],
  'GET /api/session/{sessionID}/message/{messageID}': () => [`/api/session/${at.talk.id}/message/${at.talk.user}`, 200, dataHas('id', 'text')],
  'GET /api/session/{sessionID}/permission': () => [`/api/session/${at.talk.id}/permission`, 200, data],
  'GET /api/session/{sessionID}/permission/{requestID}': async () => {
    const { id, ask } = await asking('permission');
    return [`/api/session/${id}/permission/${ask}`, 200, dataHas('id', 'action', 'resources')];
  },
  'GET /api/session/{sessionID}/question': () => [`/api/session/${at.talk.id}/question`, 200, data],
  'GET /api/skill': () => ['/api/skill', 200, data],
  'GET /command': () => ['/command', 200, array],
  'GET /config': () => ['/config', 200, object],
  'GET /config/providers': () => ['/config/providers', 200, has('providers', 'default')],
  'GET /event': () => ['/event', 200, stream],
  'GET /experimental/capabilities': () => ['/experimental/capabilities', 200, object],
  'GET /experimental/console': () => ['/experimental/console', 200, object],
  'GET /experimental/console/orgs': () => ['/experimental/console/orgs', 200, object],
  'GET /experimental/resource': () => ['/experimental/resource', 200, object],
  'GET /experimental/session': () => ['/experimental/session', 200, array],
  'GET /experimental/tool': () => ['/experimental/tool?provider=demo&model=echo', 200, array],
  'GET /experimental/tool/ids': () => ['/experimental/tool/ids', 200, array],
  'GET /experimental/workspace': () => ['/experimental/workspace', 200, array],
  'GET /experimental/workspace/adapter': () => ['/experimental/workspace/adapter', 200, array],
  'GET /experimental/workspace/status': () => ['/experimental/workspace/status', 200, array],
  'GET /experimental/worktree': () => ['/experimental/worktree', 200, array],
  'GET /file': () => ['/file?path=', 200, array],
  'GET /file/content': () => ['/file/content?path=notes.md', 200, (body) => body.content.includes('some words')],
  'GET /file/status': () => ['/file/status', 200, array],
  'GET /find': () => ['/find?pattern=words', 200, (body) => body.length === 1],
  'GET /find/file': () => ['/find/file?query=notes', 200, (body) => body.includes('notes.md')],
  'GET /find/symbol': () => ['/find/symbol?query=x', 200, array],
  'GET /formatter': () => ['/formatter', 200, array],
  'GET /global/config': () => ['/global/config', 200, object],
  'GET /global/event': () => ['/global/event', 200, stream],
  'GET /global/health': () => ['/global/health', 200, (body) => body.healthy === true],
  'GET /lsp': () => ['/lsp', 200, array],
  'GET /mcp': () => ['/mcp', 200, object],
  'GET /path': () => ['/path', 200, has('home', 'directory')],
  'GET /permission': () => ['/permission', 200, array],
  'GET /project': () => ['/project', 200, array],
  'GET /project/current': () => ['/project/current', 200, has('id')],
  'GET /project/{projectID}/directories': () => [`/project/${at.project}/directories`, 200, array],
  'GET /provider': () => ['/provider', 200, has('all', 'connected')],
  'GET /provider/auth': () => ['/provider/auth', 200, object],
  'GET /pty': () => ['/pty', 200, array],
  'GET /pty/shells': () => ['/pty/shells', 200, array],
  'GET /pty/{ptyID}': () => [`/pty/${at.pty}`, 200, has('id', 'status')],
  'GET /pty/{ptyID}/connect': () => [`/pty/${at.pty}/connect`, 400, () => true],
  'GET /question': () => ['/question', 200, array],
  'GET /session': () => ['/session', 200, array],
  'GET /session/status': () => ['/session/status', 200, object],
  'GET /session/{sessionID}': () => [`/session/${at.talk.id}`, 200, has('id', 'title')],
  'GET /session/{sessionID}/children': () => [`/session/${at.talk.id}/children`, 200, array],
  'GET /session/{sessionID}/diff': () => [`/session/${at.talk.id}/diff`, 200, array],
  'GET /session/{sessionID}/message': () => [`/session/${at.talk.id}/message`, 200, (body) => body.length === 2],
  'GET /session/{sessionID}/message/{messageID}': () => [`/session/${at.talk.id}/message/${at.talk.user}`, 200, has('info', 'parts')],
  'GET /session/{sessionID}/todo': () => [`/session/${at.talk.id}/todo`, 200, array],
  'GET /skill': () => ['/skill', 200, array],
  'GET /vcs': () => ['/vcs', 200, object],
  'GET /vcs/diff': () => ['/vcs/diff?mode=git', 200, array],
  'GET /vcs/diff/raw': () => ['/vcs/diff/raw', 200, (body) => typeof body === 'string'],
  'GET /vcs/status': () => ['/vcs/status', 200, array],
  'PATCH /api/credential/{credentialID}': () => ['/api/credential/anthropic', 400, tagged('InvalidRequestError'), { label: 'mine' }],
  'PATCH /config': () => ['/config', 200, object, { username: 'ada' }],
  'PATCH /global/config': () => ['/global/config', 200, object, { username: 'ada' }],
  'PATCH /project/{projectID}': () => [`/project/${at.project}`, 200, has('id'), { name: 'Mine' }],
  'PATCH /session/{sessionID}': () => [`/session/${at.talk.id}`, 200, (body) => body.title === 'Renamed', { title: 'Renamed' }],
  'PATCH /session/{sessionID}/message/{messageID}/part/{partID}': async () => {
    const { id, user, part } = await talked();
    const body = { id: part, sessionID: id, messageID: user, type: 'text', text: 'rewritten' };
    return [`/session/${id}/message/${user}/part/${part}`, 200, (answer) => answer.text === 'rewritten', body];
  },
  'POST /api/integration/attempt/{attemptID}/complete': () => ['/api/integration/attempt/x/complete', 400, tagged('InvalidRequestError'), {}],
  'POST /api/integration/{integrationID}/connect/key': () => ['/api/integration/anthropic/connect/key', 204, nothing, { key: 'sk-x' }],
  'POST /api/integration/{integrationID}/connect/oauth': () => ['/api/integration/demo/connect/oauth', 400, tagged('InvalidRequestError'), { methodID: 'x', inputs: {} }],
  'POST /api/pty': () => ['/api/pty', 200, dataHas('id', 'pid'), { title: 't', command: '/bin/sh' }],
  'POST /api/session': () => ['/api/session', 200, dataHas('id', 'location'), { model: demo }],
  'POST /api/session/{sessionID}/agent': () => [`/api/session/${at.talk.id}/agent`, 204, nothing, { agent: 'plan' }],
  'POST /api/session/{sessionID}/compact': async () => [`/api/session/${(await talked()).id}/compact`, 204, nothing],
  'POST /api/session/{sessionID}/interrupt': () => [`/api/session/${at.talk.id}/interrupt`, 204, nothing],
  'POST /api/session/{sessionID}/model': () => [`/api/session/${at.talk.id}/model`, 204, nothing, { model: demo }],
  'POST /api/session/{sessionID}/permission/{requestID}/reply': async () => {
    const { id, ask } = await asking('permission');
    return [`/api/session/${id}/permission/${ask}/reply`, 204, nothing, { reply: 'once' }];
  },
  'POST /api/session/{sessionID}/prompt': async () => [`/api/session/${await session()}/prompt`, 200, dataHas('id', 'admittedSeq', 'delivery'), { prompt: { text: 'x' } }],
  'POST /api/session/{sessionID}/question/{requestID}/reject': async () => {
    const { id, ask } = await asking('question');
    return [`/api/session/${id}/question/${ask}/reject`, 204, nothing];
  },
  'POST /api/session/{sessionID}/question/{requestID}/reply': async () => {
    const { id, ask } = await asking('question');
    return [`/api/session/${id}/question/${ask}/reply`, 204, nothing, { answers: [['A']] }];
  },
  'POST /api/session/{sessionID}/revert/clear': async () => [`/api/session/${(await talked()).id}/revert/clear`, 204, nothing],
  'POST /api/session/{sessionID}/revert/commit': async () => [`/api/session/${(await talked()).id}/revert/commit`, 204, nothing],
  'POST /api/session/{sessionID}/revert/stage': async () => {
    const { id, user } = await talked();
    return [`/api/session/${id}/revert/stage`, 200, dataHas('messageID'), { messageID: user }];
  },
  'POST /api/session/{sessionID}/wait': () => [`/api/session/${at.talk.id}/wait`, 204, nothing],
  'POST /api/pty/{ptyID}/connect-token': () => [`/api/pty/${at.pty}/connect-token`, 403, tagged('ForbiddenError')],
  'POST /experimental/console/switch': () => ['/experimental/console/switch', 400, tagged('BadRequest'), { accountID: 'a', orgID: 'b' }],
  'POST /experimental/session/{sessionID}/background': () => [`/experimental/session/${at.talk.id}/background`, 200, () => true],
  'POST /experimental/workspace/sync-list': () => ['/experimental/workspace/sync-list', 204, nothing],
  'POST /experimental/worktree': () => ['/experimental/worktree', 400, has('name'), {}],
  'POST /experimental/worktree/reset': () => ['/experimental/worktree/reset', 400, has('name'), { directory: '/nowhere' }],
  'POST /global/upgrade': () => ['/global/upgrade', 200, (body) => body.success === false, {}],
  'POST /log': () => ['/log', 200, yes, { service: 't', level: 'info', message: 'm' }],
  'POST /mcp': () => ['/mcp', 200, object, { name: 'none-such', config: { type: 'local', command: ['/nowhere/mcp'], enabled: false } }],
  'POST /mcp/{name}/auth': () => ['/mcp/none/auth', 404, tagged('McpServerNotFoundError')],
  'POST /mcp/{name}/auth/authenticate': () => ['/mcp/none/auth/authenticate', 404, tagged('McpServerNotFoundError')],
  'POST /mcp/{name}/auth/callback': () => ['/mcp/none/auth/callback', 404, tagged('McpServerNotFoundError'), { code: 'x' }],
  'POST /mcp/{name}/connect': () => ['/mcp/none/connect', 404, tagged('McpServerNotFoundError')],
  'POST /mcp/{name}/disconnect': () => ['/mcp/none/disconnect', 404, tagged('McpServerNotFoundError')],
  'POST /permission/{requestID}/reply': async () => [`/permission/${(await asking('permission')).ask}/reply`, 200, yes, { reply: 'reject' }],
  'POST /project/git/init': () => ['/project/git/init', 200, has('id')],
  'POST /pty': () => ['/pty', 200, has('id', 'pid'), { title: 't', command: '/bin/sh' }],
  'POST /pty/{ptyID}/connect-token': () => [`/pty/${at.pty}/connect-token`, 403, tagged('PtyForbiddenError')],
  'POST /question/{requestID}/reject': async () => [`/question/${(await asking('question')).ask}/reject`, 200, yes],
  'POST /question/{requestID}/reply': async () => [`/question/${(await asking('question')).ask}/reply`, 200, yes, { answers: [['A']] }],
  'POST /session': () => ['/session', 200, has('id', 'title'), { title: 'x' }],
  'POST /session/{sessionID}/abort': () => [`/session/${at.talk.id}/abort`, 200, yes],
  'POST /session/{sessionID}/command': async () => [`/session/${await session()}/command`, 200, has('info', 'parts'), { command: 'init', arguments: '', model: 'demo/echo' }],
  'POST /session/{sessionID}/fork': () => [`/session/${at.talk.id}/fork`, 200, has('id'), {}],
  'POST /session/{sessionID}/init': async () => {
    const { id, user } = await talked();
    return [`/session/${id}/init`, 200, yes, { messageID: `${user.slice(0, -3)}zzz`, ...model }];
  },
  'POST /session/{sessionID}/message': async () => [`/session/${await session()}/message`, 200, has('info', 'parts'), { model, parts: [{ type: 'text', text: 'x' }] }],
  'POST /session/{sessionID}/permissions/{permissionID}': async () => {
    const { id, ask } = await asking('permission');
    return [`/session/${id}/permissions/${ask}`, 200, yes, { response: 'once' }];
  },
  'POST /session/{sessionID}/prompt_async': async () => [`/session/${await session()}/prompt_async`, 204, nothing, { model, parts: [{ type: 'text', text: 'x' }] }],
  'POST /session/{sessionID}/revert': async () => {
    const { id, user } = await talked();
    return [`/session/${id}/revert`, 200, has('revert'), { messageID: user }];
  },
  'POST /session/{sessionID}/share': async () => [`/session/${await session()}/share`, 400, object],
  'POST /session/{sessionID}/shell': async () => [`/session/${await session()}/shell`, 200, has('info'), { agent: 'build', model, command: 'true' }],
  'POST /session/{sessionID}/summarize': async () => [`/session/${(await talked()).id}/summarize`, 200, yes, model],
  'POST /session/{sessionID}/unrevert': async () => [`/session/${(await talked()).id}/unrevert`, 200, has('id')],
  'POST /sync/start': () => ['/sync/start', 200, yes],
  'POST /sync/steal': () => ['/sync/steal', 400, tagged('BadRequest'), { sessionID: at.talk.id }],
  'POST /tui/append-prompt': () => ['/tui/append-prompt', 200, yes, { text: 'x' }],
  'POST /tui/clear-prompt': () => ['/tui/clear-prompt', 200, yes],
  'POST /tui/execute-command': () => ['/tui/execute-command', 200, yes, { command: 'session_new' }],
  'POST /tui/open-help': () => ['/tui/open-help', 200, yes],
  'POST /tui/open-models': () => ['/tui/open-models', 200, yes],
  'POST /tui/open-sessions': () => ['/tui/open-sessions', 200, yes],
  'POST /tui/open-themes': () => ['/tui/open-themes', 200, yes],
  'POST /tui/publish': () => ['/tui/publish', 200, yes, { type: 'tui.toast.show', properties: { message: 'x', variant: 'info' } }],
  'POST /tui/select-session': () => ['/tui/select-session', 200, yes, { sessionID: at.talk.id }],
  'POST /tui/show-toast': () => ['/tui/show-toast', 200, yes, { message: 'x', variant: 'info' }],
  'POST /tui/submit-prompt': () => ['/tui/submit-prompt', 200, yes],
  'POST /vcs/apply': () => ['/vcs/apply', 400, has('name'), { patch: 'nonsense' }],
  'PUT /api/pty/{ptyID}': () => [`/api/pty/${at.pty}`, 200, dataHas('id'), { title: 'new' }],
  'PUT /auth/{id}': () => ['/auth/anthropic', 200, yes, { type: 'api', key: 'sk-x' }],
  'PUT /auth/{providerID}': () => ['/auth/anthropic', 200, yes, { type: 'api', key: 'sk-x' }],
  'PUT /pty/{ptyID}': () => [`/pty/${at.pty}`, 200, has('id'), { title: 'new' }],
  'DELETE /experimental/project/{projectID}/copy': () => [`/experimental/project/${at.project}/copy`, 400, named('ProjectCopyError'), { directory: '/nowhere', force: false }],
  'DELETE /experimental/workspace/{id}': () => ['/experimental/workspace/wrk_x', 200, nothing],
  'GET /tui/control/next': async () => {
    // Until somebody waits nothing is kept for it; what others told since somebody did comes first.
    const tell = setInterval(() => call('POST', '/tui/show-toast', { message: 'x', variant: 'info' }), 50);
    let heard;
    do heard = (await call('GET', '/tui/control/next')).body;
    while (heard.body.type !== 'tui.toast.show');
    clearInterval(tell);
    assert.deepEqual([heard.path, heard.body.properties.message], ['/tui/publish', 'x']);
    // One more, so that the call itself finds something.
    await call('POST', '/tui/show-toast', { message: 'y', variant: 'info' });
    return ['/tui/control/next', 200, has('path', 'body')];
  },
  'POST /api/session/{sessionID}/permission': async () => {
    const rules = await call('POST', `/api/session/${at.talk.id}/permission`, { action: 'read', resources: ['notes.md'] });
    assert.equal(rules.body.data.effect, 'allow', JSON.stringify(rules.body));
    return [`/api/session/${at.talk.id}/permission`, 200, (body) => body.data.effect === 'ask' && body.data.id.startsWith('per'), { action: 'bash', resources: ['ls'] }];
  },
  'POST /experimental/control-plane/move-session': () => ['/experimental/control-plane/move-session', 400, named('MoveSessionError'), { sessionID: at.talk.id, destination: { directory: '/nowhere' } }],
  'POST /experimental/project/{projectID}/copy': () => [`/experimental/project/${at.project}/copy`, 400, named('ProjectCopyError'), { strategy: 'none', directory: '/nowhere' }],
  'POST /experimental/project/{projectID}/copy/generate-name': () => [`/experimental/project/${at.project}/copy/generate-name`, 200, (body) => body.name === 'fix-the-flaky-test', { context: 'Fix the flaky test please' }],
  'POST /experimental/project/{projectID}/copy/refresh': () => [`/experimental/project/${at.project}/copy/refresh`, 204, nothing],
  'POST /experimental/workspace': () => ['/experimental/workspace', 400, named('WorkspaceCreateError'), { type: 'remote', branch: null }],
  'POST /experimental/workspace/warp': () => ['/experimental/workspace/warp', 204, nothing, { id: null, sessionID: at.talk.id }],
  'POST /provider/{providerID}/oauth/authorize': () => ['/provider/anthropic/oauth/authorize', 400, named('ProviderAuthOauthMissing'), { method: 0 }],
  'POST /provider/{providerID}/oauth/callback': () => ['/provider/anthropic/oauth/callback', 400, named('ProviderAuthOauthMissing'), { method: 0, code: 'x' }],
  'POST /sync/history': () => ['/sync/history', 200, (body) => body.some((row) => row.type === 'message.updated.1' && row.aggregate_id === at.talk.id), { ses_other: 1 }],
  'POST /sync/replay': () => ['/sync/replay', 400, named('BadRequest'), { directory: it.world.project, events: [{ id: 'evt_x', aggregateID: 'ses_x', seq: 1, type: 'session.created.1', data: {} }] }],
  'POST /tui/control/response': () => ['/tui/control/response', 200, yes, { any: 'thing' }],
  // Last: they let go of what the others use.
  'POST /instance/dispose': () => ['/instance/dispose', 200, yes],
  'POST /global/dispose': () => ['/global/dispose', 200, yes],
};

test('the package has no operation that is not asked for here', async () => {
  const known = Object.keys(HOW).sort();
  assert.deepEqual(await operations(), known);
});

/** The list is read before there is a server, so its functions are found again when they are called. */
const CLIENTS = /** @type {const} */ ([['SDK v1', createFirst], ['SDK v2', createSecond]]);
const ORDER = Object.keys(HOW);

for (const [client, create] of CLIENTS) {
  const listed = functionsOf(create({ baseUrl: 'http://127.0.0.1:9' }));
  const last = (operation) => (operation.endsWith('/dispose') ? ORDER.indexOf(operation) : 0);
  listed.sort((one, other) => last(one.operation) - last(other.operation));

  describe(client, () => {
    before(async () => {
      await writeFile(join(it.world.project, 'notes.md'), 'some words\n');
      at.talk = await talked();
      at.pty = await terminal();
      at.project = (await call('GET', '/project/current')).body.id;
    });

    test('has functions', () => {
      assert.ok(listed.length > 60, `${listed.length} functions`);
    });

    for (const { name, operation, isStream } of listed) {
      test(`${name}: ${operation}`, async () => {
        const [path, status, check, body] = await HOW[operation]();
        const called = functionsOf(create({ baseUrl: it.server.url })).find((one) => one.name === name);
        const answer = await called.call({ path, body });
        if (isStream) {
          const { value } = await soon(`${name} tells something`, answer.stream.next());
          await answer.stream.return();
          const event = value.payload ?? value;
          assert.equal(typeof event.type, 'string', JSON.stringify(value));
          return;
        }
        const content = answer.error ?? answer.data;
        assert.equal(answer.response.status, status, JSON.stringify(content));
        assert.ok(await check(content, answer.response.headers.get('content-type')), JSON.stringify(content)?.slice(0, 500));
      });
    }
  });
}
