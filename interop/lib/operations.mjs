// The operations of the npm package @opencode-ai/sdk, read from its own code.

import { readFile } from 'node:fs/promises';

/** The first version calls every id of a session "id". @param {string} path */
const plainNames = (path) =>
  path
    .replace('/session/{id}', '/session/{sessionID}')
    .replace('/pty/{id}', '/pty/{ptyID}')
    .replace('/provider/{id}', '/provider/{providerID}');

/** @returns {Promise<string[]>} `GET /session/{sessionID}` and so on */
export async function operations() {
  const found = new Set();
  for (const file of ['v2/gen/sdk.gen.js', 'gen/sdk.gen.js']) {
    const text = await readFile(new URL(`../node_modules/@opencode-ai/sdk/dist/${file}`, import.meta.url), 'utf8');
    for (const [, method, path] of text.matchAll(/\.(get|post|put|patch|delete)\(\{\s*url: "([^"]+)"/g)) {
      found.add(`${method.toUpperCase()} ${plainNames(path)}`);
    }
  }
  return [...found].sort();
}

/**
 * The functions of a client of the package, each with the operation it asks for. Found by walking the client, so that
 * one that is new in the package is found too.
 * @param {any} client @param {string} [prefix]
 * @returns {{ name: string, operation: string, isStream: boolean, call: (wanted: Wanted) => Promise<any> }[]}
 * @typedef {{ path: string, body?: any }} Wanted
 */
export function functionsOf(client, prefix = '') {
  const found = [];
  const own = Object.getOwnPropertyDescriptors(client);
  const inherited = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(client));
  for (const name of new Set([...Object.keys(own), ...Object.keys(inherited)])) {
    if (name === 'constructor' || name.startsWith('_') || name === 'client') continue;
    const value = client[name];
    if (typeof value === 'function') {
      const source = value.toString();
      const asked = /\.(?:sse\.)?(get|post|put|patch|delete)(?:\.sse)?\(\{\s*url: "([^"]+)"/.exec(source);
      if (!asked) throw new Error(`${prefix}${name} asks for nothing that can be read in its source`);
      const [whole, method, url] = asked;
      found.push({
        name: prefix + name,
        operation: `${method.toUpperCase()} ${plainNames(url)}`,
        isStream: whole.includes('sse'),
        call: (wanted) => value.call(client, argumentsOf(source, url, wanted)),
      });
    } else if (isPartOfClient(value)) {
      found.push(...functionsOf(value, `${prefix}${name}.`));
    }
  }
  return found;
}

/** Whether a value of a client has functions of its own: `client.session`, not a setting. @param {any} value */
const isPartOfClient = (value) => typeof value === 'object' && value !== null && Object.getPrototypeOf(value) !== Object.prototype;

/** What a function is given so that it asks for a path with a body. @param {string} source @param {string} url @param {Wanted} wanted */
function argumentsOf(source, url, { path, body }) {
  const asked = new URL(path, 'http://server');
  const names = [...url.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const values = new RegExp(`^${url.replace('*', '.*').replace(/\{\w+\}/g, '([^/]+)')}$`).exec(asked.pathname)?.slice(1) ?? [];
  const given = {
    path: Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(values[index])])),
    query: Object.fromEntries(asked.searchParams),
    body,
  };
  // The first version takes the three as they are; the second one list of names, and says where each belongs.
  if (!source.includes('buildClientParams')) return given;
  const flat = {};
  for (const [, place, key, target] of source.matchAll(/\{ (?:in: "(\w+)", )?key: "(\w+)"(?:, map: "(\w+)")? \}/g)) {
    const value = place === undefined ? given[target] : given[place]?.[target ?? key];
    if (value !== undefined) flat[key] = value;
  }
  return flat;
}
