// The same requests to the reference from npm and to the built program, every group of routes in ordinary and odd cases, compared
// answer by answer: status, kind of body, headers that clients look at, and what is said.
//
// A difference is a defect unless `explained.mjs` names it, with the line of docs/differences.md that says why.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import { differences } from '../day/account.mjs';
import { serveReference } from '../lib/opencode.mjs';
import { Server } from '../lib/server.mjs';
import { EDGES } from './edges.mjs';
import { EXPLAINED, EXPLAINED_EDGES, EXPLAINED_FURTHER, EXPLAINED_OUTSIDE } from './explained.mjs';
import { FURTHER } from './further.mjs';
import { OUTSIDE } from './outside.mjs';
import { STEPS } from './requests.mjs';
import { walk } from './walk.mjs';

for (const [what, steps, explained, kind] of /** @type {const} */ ([
  ['a walk through the API', STEPS, EXPLAINED, 'git'],
  ['a walk through its corners', FURTHER, EXPLAINED_FURTHER, 'git'],
  ['a walk along its edges', EDGES, EXPLAINED_EDGES, 'git'],
  ['a walk outside of a repository', OUTSIDE, EXPLAINED_OUTSIDE, 'plain'],
])) {
  describe(what, { concurrency: 1, timeout: 600_000 }, () => {
    /** @type {import('../day/account.mjs').Difference[]} */ let found;

    before(async () => {
      const [reference, sturdy] = [await walk(serveReference, steps, kind), await walk((world) => Server.start(world), steps, kind)];
      found = differences(reference, sturdy);
    });

    test('both answer the same, except for what is written down', () => {
      assert.deepEqual(found.filter(({ place }) => !explained.some(({ at }) => at.test(place))), []);
    });

    test('every explanation is needed and stands in the documents', async () => {
      const page = await readFile(new URL('../../docs/differences.md', import.meta.url), 'utf8');
      for (const { line, at } of explained) {
        assert.ok(page.includes(`| ${line}`), `no line begins with: ${line}`);
        assert.ok(found.some(({ place }) => at.test(place)), `nothing differs at ${at}`);
      }
    });
  });
}
