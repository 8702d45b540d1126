// Whether one OpenAPI document keeps what another promises: its operations, their parameters, what is sent, what comes back
// and what errors look like. The questions a client of the other document would ask, not equality.

/** @typedef {{ paths: any, components: { schemas: Record<string, any> } }} Document */

/** A path without the names of its parameters. */
const bare = (path) => path.replace(/\{[^}]*\}/g, '{}').replace('/*', '/{}');

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** @returns {Map<string, any>} by `GET /session/{}` */
function operations(document) {
  const found = new Map();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const method of METHODS) if (methods[method]) found.set(`${method.toUpperCase()} ${bare(path)}`, methods[method]);
  }
  return found;
}

/** What a client of `theirs` would find wrong with `ours`. @returns {string[]} */
export function differences(ours, theirs) {
  const here = operations(ours);
  const wrong = [];
  for (const [name, wanted] of operations(theirs)) {
    const found = here.get(name);
    if (!found) {
      wrong.push(`${name}: missing`);
      continue;
    }
    const say = (what) => wrong.push(`${name} ${what}`);
    for (const what of parameters(ours, found, theirs, wanted)) say(what);
    requests(found, wanted);
    answers(found, wanted);

    function requests(found, wanted) {
      const given = json(wanted.requestBody?.content);
      if (!given) {
        if (found.requestBody?.required) say('request: wanted');
        return;
      }
      const taken = json(found.requestBody?.content);
      if (!taken) return say('request: not described');
      // Whoever sends what they describe is understood here: the roles are turned. Their document does not say which
      // bodies may be left out.
      for (const what of fits(theirs, given, ours, taken, 'request', TAKEN)) say(what);
    }

    function answers(found, wanted) {
      for (const [status, response] of Object.entries(wanted.responses)) {
        const theirShape = json(response.content) ?? stream(response.content);
        const ourResponse = found.responses[status];
        if (!ourResponse) {
          // One server has no such errors: what a status is for is listed where this is called.
          say(`${status}: not described`);
          continue;
        }
        const ourShape = json(ourResponse.content) ?? stream(ourResponse.content);
        if (!theirShape) continue;
        if (!ourShape) {
          say(`${status}: no shape`);
          continue;
        }
        if (Number(status) < 400) for (const what of fits(ours, ourShape, theirs, theirShape, status, SENT)) say(what);
        // Of errors one shape that the client knows is enough; others have a name it can show.
        else if (!choices(ours, ourShape).some((one) => fits(ours, one, theirs, theirShape, status, SENT).length === 0)) say(`${status}: no error that they know`);
      }
    }
  }
  return wrong.sort();
}

/** What a client of `theirs` puts into the address and the headers is known to `ours`, and no more is wanted. @returns {string[]} */
function parameters(ours, found, theirs, wanted) {
  const taken = named(found);
  const given = named(wanted);
  const wrong = [];
  for (const [name, theirOne] of given) {
    const ourOne = taken.get(name);
    if (!ourOne) {
      wrong.push(`${name}: not taken`);
      continue;
    }
    if (ourOne.required && !theirOne.required) wrong.push(`${name}: wanted`);
    if (theirOne.required && !ourOne.required) wrong.push(`${name}: not wanted`);
    wrong.push(...fits(theirs, asText(theirOne.schema), ours, asText(ourOne.schema), name, TAKEN));
    if (asText(theirOne.schema).enum && !asText(ourOne.schema).enum) wrong.push(`${name}: any word`);
  }
  for (const [name, ourOne] of taken) if (ourOne.required && !given.has(name)) wrong.push(`${name}: wanted`);
  return wrong;
}

/** The parameters by `query limit`; an object in the query is each of its fields. @returns {Map<string, { required: boolean, schema: any }>} */
function named(operation) {
  const found = new Map();
  for (const { in: place, name, required = false, schema, style } of operation.parameters ?? []) {
    if (style !== 'deepObject') found.set(`${place} ${name}`, { required, schema });
    else for (const [field, inner] of Object.entries(schema.properties)) found.set(`${place} ${name}[${field}]`, { required: false, schema: inner });
  }
  return found;
}

/** In an address a flag is one of two words, whichever way a document says so, and every number is a whole one. */
function asText(schema) {
  if ((schema.anyOf ?? [schema]).some((one) => one.type === 'boolean')) return { type: 'string', enum: ['true', 'false'] };
  return schema.type === 'number' ? { ...schema, type: 'integer' } : schema;
}

const json = (content) => content?.['application/json']?.schema;
const stream = (content) => content?.['text/event-stream']?.schema;

function resolve(document, schema) {
  let at = schema;
  while (at?.$ref) at = document.components.schemas[at.$ref.split('/').at(-1)];
  return at ?? {};
}

function choices(document, schema) {
  const at = resolve(document, schema);
  const some = at.anyOf ?? at.oneOf;
  return some ? some.flatMap((one) => choices(document, one)) : [at];
}

const types = (schema) => (Array.isArray(schema.type) ? schema.type : schema.type ? [schema.type] : []);

/** What is answered may have fields that the client does not know; what is sent has none that the server does not. */
const SENT = { isEveryFieldKnown: false };
const TAKEN = { isEveryFieldKnown: true };

/**
 * Whether everything `from` describes is something that `to` describes.
 * @returns {string[]} why not
 */
function fits(fromDocument, from, toDocument, to, place, rule, seen = new Set()) {
  const key = `${from?.$ref}>${to?.$ref}`;
  if (from?.$ref && to?.$ref) {
    if (seen.has(key)) return [];
    seen.add(key);
  }
  const targets = choices(toDocument, to);
  const wrong = [];
  for (const source of choices(fromDocument, from)) {
    for (const type of types(source).length > 1 ? types(source) : [undefined]) {
      const one = type ? { ...source, type } : source;
      let best;
      for (const target of ordered(one, targets)) {
        const why = plain(fromDocument, one, toDocument, target, place, rule, seen);
        if (!best || why.length < best.length) best = why;
        if (best.length === 0) break;
      }
      wrong.push(...(best ?? [`${place}: nothing to fit`]));
    }
  }
  return wrong;
}

/** Those with the same tag first, and only those. */
function ordered(source, targets) {
  for (const tag of ['type', 'status', 'role', 'name', '_tag']) {
    const word = source.properties?.[tag]?.enum?.[0];
    if (word === undefined) continue;
    const same = targets.filter((one) => one.properties?.[tag]?.enum?.includes(word));
    if (same.length > 0) return same;
  }
  return targets;
}

const SAME = { integer: 'number' };

function plain(fromDocument, from, toDocument, to, place, rule, seen) {
  const wanted = types(to);
  if (wanted.length === 0 && !to.properties && !to.enum) return [];
  const given = types(from);
  // A value of any kind was said to be one: believed, not proven.
  if (given.length === 0 && !from.properties) return [`${place}: not described`];
  const kind = given[0] ?? 'object';
  if (wanted.length > 0 && !wanted.includes(kind) && !wanted.includes(SAME[kind])) return [`${place}: ${kind} for ${wanted.join(' or ')}`];
  if (to.enum && !(from.enum ?? []).every((word) => to.enum.includes(word))) return [`${place}: ${from.enum} for ${to.enum}`];
  if (to.enum && !from.enum) return [`${place}: any ${kind} for ${to.enum}`];
  if (kind === 'array') return fits(fromDocument, from.items ?? {}, toDocument, to.items ?? {}, `${place}[]`, rule, seen);
  if (kind !== 'object') return [];
  const wrong = [];
  for (const [name, schema] of Object.entries(to.properties ?? {})) {
    const mine = from.properties?.[name];
    if (!mine) {
      if (to.required?.includes(name)) wrong.push(`${place}.${name}: missing`);
      continue;
    }
    if (to.required?.includes(name) && !from.required?.includes(name)) wrong.push(`${place}.${name}: may be left out`);
    wrong.push(...fits(fromDocument, mine, toDocument, schema, `${place}.${name}`, rule, seen));
  }
  if (rule.isEveryFieldKnown && !to.additionalProperties) {
    if (from.properties && !to.properties) return [`${place}: any object`];
    for (const name of Object.keys(from.properties ?? {})) if (!to.properties[name]) wrong.push(`${place}.${name}: not taken`);
  }
  if (typeof to.additionalProperties === 'object' && typeof from.additionalProperties === 'object') {
    wrong.push(...fits(fromDocument, from.additionalProperties, toDocument, to.additionalProperties, `${place}{}`, rule, seen));
  }
  return wrong;
}
