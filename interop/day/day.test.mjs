// The same day of work on the reference from npm and on the built program, compared: what stands in the conversations,
// what the model was asked, what the sessions and files are in the end, which events were told.
//
// A difference is a defect unless `explained.mjs` names it, with the line of docs/differences.md that says why.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { serveReference } from '../lib/opencode.mjs';
import { Server } from '../lib/server.mjs';
import { account, differences } from './account.mjs';
import { EXPLAINED } from './explained.mjs';
import { Side } from './side.mjs';
import { TURNS } from './turns.mjs';

/** @param {import('./account.mjs').Difference} difference */
const explains = (difference) => EXPLAINED.filter((one) => one.at.test(difference.place) && (one.if?.(difference) ?? true));

describe('a day of work', { concurrency: 1, timeout: 600_000 }, () => {
  /** @type {Side} */ let reference;
  /** @type {Side} */ let sturdy;
  /** @type {import('./account.mjs').Difference[]} */ let found;

  before(async () => {
    [reference, sturdy] = await Promise.all([Side.start(serveReference), Side.start((world) => Server.start(world))]);
  });
  after(async () => {
    await reference?.stop();
    await sturdy?.stop();
  });

  for (const turn of TURNS) {
    test(turn.name, () => Promise.all([reference.play(turn), sturdy.play(turn)]));
  }

  test('both tell the same of it, except for what is written down', async () => {
    found = differences(await account(reference), await account(sturdy));

    assert.deepEqual(found.filter((difference) => explains(difference).length === 0), []);
  });

  test('every explanation is needed and stands in docs/differences.md', async () => {
    const document = await readFile(new URL('../../docs/differences.md', import.meta.url), 'utf8');
    const used = new Set(found.flatMap(explains));

    for (const one of EXPLAINED) {
      assert.ok(used.has(one), `nothing differs any more at ${one.at}`);
      if (one.line) assert.ok(document.includes(`\n| ${one.line}`), `docs/differences.md has no line that begins: ${one.line}`);
      else assert.ok(one.offline, `no reason is given for ${one.at}`);
    }
  });
});
