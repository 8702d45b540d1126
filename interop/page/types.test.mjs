// The shapes that the page believes in are those of the server's own document: what `/doc` says of a value must fit the
// type of `web/src/wire/types.ts` that the page reads it as. A field that was renamed, or can be absent now, is found here.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Desk } from './desk.mjs';

const WEB = join(import.meta.dirname, '../../web');

/** By the name in `/doc`, and in the page if that is another one. */
const SHAPES = {
  Session: 'Session', UserMessage: 'UserMessage', AssistantMessage: 'AssistantMessage', Message: 'Message', MessageWithParts: 'MessageWithParts', Part: 'Part', ToolState: 'ToolState',
  Status: 'Status', Todo: 'Todo', PermissionRequest: 'PermissionRequest', QuestionRequest: 'QuestionRequest', Question: 'Question', FileDiff: 'FileDiff', Tokens: 'Tokens', Failure: 'Failure',
  BackgroundProcess: 'BackgroundProcess', Project: 'Project', Overview: 'Overview', OpenedSession: 'Opening', SessionRow: 'OverviewRow', RevertPlan: 'RevertPlan', RevertUncaptured: 'Uncaptured',
};

/** The document does not say which request goes with which kind. */
const OPEN_ASK = '{ readonly kind: "permission"; readonly request: PermissionRequest } | { readonly kind: "question"; readonly request: QuestionRequest }';

/** @type {Desk} */
let desk;
let schemas;
before(async () => {
  desk = await Desk.open();
  schemas = (await desk.server.tell('GET', '/doc')).components.schemas;
});
after(() => desk.close());

/** A schema of the document as a type. */
function typeOf(schema) {
  if (schema === undefined || schema === true || Object.keys(schema).length === 0) return 'unknown';
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  const any = schema.oneOf ?? schema.anyOf;
  if (any) return `(${any.map(typeOf).join(' | ')})`;
  if (schema.allOf) return `(${schema.allOf.map(typeOf).join(' & ')})`;
  if (schema.enum) return `(${schema.enum.map((value) => JSON.stringify(value)).join(' | ')})`;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const kinds = [schema.type].flat().map((type) => kindOf(type, schema));
  return kinds.length > 1 ? `(${kinds.join(' | ')})` : kinds[0];
}

function kindOf(type, schema) {
  switch (type) {
    case 'integer':
      return 'number';
    case 'array':
      return `readonly (${typeOf(schema.items)})[]`;
    case 'object': {
      const required = new Set(schema.required ?? []);
      const fields = Object.entries(schema.properties ?? {}).map(([name, value]) => `readonly ${JSON.stringify(name)}${required.has(name) ? '' : '?'}: ${typeOf(value)};`);
      if (fields.length === 0) return `{ readonly [name: string]: ${typeof schema.additionalProperties === 'object' ? typeOf(schema.additionalProperties) : 'unknown'} }`;
      return `{ ${fields.join(' ')} }`;
    }
    case undefined:
      return 'unknown';
    default:
      return type;
  }
}

/** What the compiler says of the page's types beside those of a document. */
function differences(of) {
  const folder = join(WEB, 'build', `drift-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const doc = Object.entries(of).map(([name, schema]) => `export type ${name} = ${name === 'OpenAsk' ? OPEN_ASK : typeOf(schema)};`);
  const checks = Object.entries(SHAPES).map(([theirs, ours]) => `export const ${theirs}: (told: doc.${theirs}) => page.${ours} = (told) => told;`);
  writeFileSync(join(folder, 'doc.ts'), doc.join('\n'));
  writeFileSync(join(folder, 'check.ts'), `import type * as doc from "./doc.ts";\nimport type * as page from "../../src/wire/types.ts";\n${checks.join('\n')}\n`);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../../tsconfig.json', compilerOptions: { noEmit: true, types: [] }, include: ['check.ts'] }));
  try {
    execFileSync(join(WEB, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' });
    return '';
  } catch (cause) {
    return String(cause.stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('what the server says it sends is what the page takes it for', () => {
  assert.deepEqual(Object.keys(SHAPES).filter((name) => schemas[name] === undefined), []);

  assert.equal(differences(schemas), '');
});

test('a field that is renamed, or can be absent now, is noticed', () => {
  const { title: _, ...fields } = schemas.Session.properties;
  const renamed = { ...schemas.Session, properties: { ...fields, name: { type: 'string' } } };
  const optional = { ...schemas.Todo, required: schemas.Todo.required.filter((name) => name !== 'status') };

  assert.match(differences({ ...schemas, Session: renamed }), /title/);
  assert.match(differences({ ...schemas, Todo: optional }), /status/);
});
