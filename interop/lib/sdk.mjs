// The two clients of the npm package @opencode-ai/sdk under one set of names, so that one test speaks
// for both. Each name is one call of the package; nothing is added.

import { createOpencodeClient as createFirst } from '@opencode-ai/sdk';
import { createOpencodeClient as createSecond } from '@opencode-ai/sdk/v2';

/** @param {object} config */
function first(config) {
  const client = createFirst(config);
  const at = (/** @type {string} */ id) => ({ path: { id } });
  return {
    client,
    create: (body) => client.session.create({ body }),
    list: (query) => client.session.list({ query }),
    get: (id) => client.session.get(at(id)),
    rename: (id, title) => client.session.update({ ...at(id), body: { title } }),
    remove: (id) => client.session.delete(at(id)),
    children: (id) => client.session.children(at(id)),
    status: () => client.session.status(),
    prompt: (id, body) => client.session.prompt({ ...at(id), body }),
    promptAsync: (id, body) => client.session.promptAsync({ ...at(id), body }),
    messages: (id, query) => client.session.messages({ ...at(id), query }),
    message: (id, messageID) => client.session.message({ path: { id, messageID } }),
    abort: (id) => client.session.abort(at(id)),
    command: (id, body) => client.session.command({ ...at(id), body }),
    shell: (id, body) => client.session.shell({ ...at(id), body }),
    summarize: (id, body) => client.session.summarize({ ...at(id), body }),
    fork: (id, messageID) => client.session.fork({ ...at(id), body: { messageID } }),
    init: (id, body) => client.session.init({ ...at(id), body }),
    diff: (id, messageID) => client.session.diff({ ...at(id), query: { messageID } }),
    revert: (id, messageID) => client.session.revert({ ...at(id), body: { messageID } }),
    unrevert: (id) => client.session.unrevert(at(id)),
    respond: (id, permissionID, response) =>
      client.postSessionIdPermissionsPermissionId({ path: { id, permissionID }, body: { response } }),
    events: (options) => client.event.subscribe(options),
    allEvents: (options) => client.global.event(options),
  };
}

/** @param {object} config */
function second(config) {
  const client = createSecond(config);
  return {
    client,
    create: (body) => client.session.create(body),
    list: (query) => client.session.list(query),
    get: (sessionID) => client.session.get({ sessionID }),
    rename: (sessionID, title) => client.session.update({ sessionID, title }),
    remove: (sessionID) => client.session.delete({ sessionID }),
    children: (sessionID) => client.session.children({ sessionID }),
    status: () => client.session.status(),
    prompt: (sessionID, body) => client.session.prompt({ sessionID, ...body }),
    promptAsync: (sessionID, body) => client.session.promptAsync({ sessionID, ...body }),
    messages: (sessionID, query) => client.session.messages({ sessionID, ...query }),
    message: (sessionID, messageID) => client.session.message({ sessionID, messageID }),
    abort: (sessionID) => client.session.abort({ sessionID }),
    command: (sessionID, body) => client.session.command({ sessionID, ...body }),
    shell: (sessionID, body) => client.session.shell({ sessionID, ...body }),
    summarize: (sessionID, body) => client.session.summarize({ sessionID, ...body }),
    fork: (sessionID, messageID) => client.session.fork({ sessionID, messageID }),
    init: (sessionID, body) => client.session.init({ sessionID, ...body }),
    diff: (sessionID, messageID) => client.session.diff({ sessionID, messageID }),
    revert: (sessionID, messageID) => client.session.revert({ sessionID, messageID }),
    unrevert: (sessionID) => client.session.unrevert({ sessionID }),
    respond: (sessionID, permissionID, response) => client.permission.respond({ sessionID, permissionID, response }),
    events: (options) => client.event.subscribe({}, options),
    allEvents: (options) => client.global.event(options),
  };
}

export const CLIENTS = [
  { name: 'SDK v1', open: first },
  { name: 'SDK v2', open: second },
];

/** @param {string} text */
export const text = (text) => [{ type: 'text', text }];

/** What a message says. @param {{ parts: any[] }} message */
export const said = (message) =>
  message.parts
    .filter((part) => part.type === 'text')
    .map((part) => part.text)
    .join('');

/**
 * Reads a stream of the package until an event is there, and leaves it open for more.
 * @param {AsyncGenerator<any>} stream
 * @param {(event: any) => boolean} wanted
 * @returns {Promise<any[]>} everything up to it
 */
export async function readUntil(stream, wanted) {
  const seen = [];
  for (;;) {
    const { value, done } = await stream.next();
    if (done) throw new Error(`the stream ended; seen: ${seen.map((event) => (event.payload ?? event).type)}`);
    seen.push(value);
    if (wanted(value)) return seen;
  }
}
