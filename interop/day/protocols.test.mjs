// The same turns over every protocol and family of models, on the reference from npm and on the built program: what
// the models were asked, and what it cost, is compared field by field.
//
// A difference is a defect unless it stands in `EXPLAINED`, with how the line of docs/differences.md begins that
// says why, or with the reason why both are right.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import { serveReference } from '../lib/opencode.mjs';
import { Server } from '../lib/server.mjs';
import { differences } from './account.mjs';
import { speak } from './protocols.mjs';

/** @typedef {import('./account.mjs').Difference} Difference */
/** @typedef {{ line?: string, reason?: string, at: RegExp }} Explained */

/** The request of the last step, after six others. */
const LAST = '\\[6\\] › body › ';

/** @type {Explained[]} */
const EXPLAINED = [
  { line: 'the limit of `steps` is advice', at: new RegExp(`${LAST}(messages|contents|input|tool_choice( › type)?|toolConfig › .*)$`) },
  { line: 'cache marks of a compatible server', at: /^requests to claude behind a compatible server\[\d\] › body › messages\[\d+\] › (.*cache_control|content)$/ },
  { reason: 'OpenRouter takes a text alone or in a list, and a result with or without the name of its tool', at: /^requests to gemini behind openrouter\[\d\] › body › messages\[\d+\] › (content|name)$/ },
  { line: 'a Claude model behind a compatible server', at: new RegExp(`^requests to claude behind a compatible server${LAST}top_p$`) },
  { reason: 'Gemini joins neighbours of one role either way', at: /^requests to an older gemini\[[3-6]\] › body › contents$/ },
  { reason: 'Gemini knows a field for what went wrong', at: /^requests to (an older )?gemini\[\d\] › body › contents\[\d+\] › parts\[0\] › functionResponse › response › (content|error)$/ },
  { reason: 'these servers count what they stream in either way', at: /^requests to (a server of groq|gemini behind openrouter)\[\d\] › body › stream_options$/ },
  { reason: 'the scripted server counts in `usage` alone; the package of the reference for Groq reads a field of Groq\'s own', at: /^usage of a server of groq › / },
];

/** @param {Difference} difference */
const explains = (difference) => EXPLAINED.filter((one) => one.at.test(difference.place));

describe('the same turns over every protocol', { concurrency: 1, timeout: 300_000 }, () => {
  /** @type {Difference[]} */ let found;

  before(async () => {
    const [reference, sturdy] = await Promise.all([speak(serveReference), speak((world) => Server.start(world))]);
    found = differences(reference, sturdy);
  });

  test('both ask the same of the models, except for what is written down', () => {
    assert.deepEqual(found.filter((difference) => explains(difference).length === 0), []);
  });

  test('every explanation is needed and stands in docs/differences.md', async () => {
    const document = await readFile(new URL('../../docs/differences.md', import.meta.url), 'utf8');
    const used = new Set(found.flatMap(explains));

    for (const one of EXPLAINED) {
      assert.ok(used.has(one), `nothing differs any more at ${one.at}`);
      if (one.line) assert.ok(document.includes(`\n| ${one.line}`), `docs/differences.md has no line that begins: ${one.line}`);
      else assert.ok(one.reason, `no reason is given for ${one.at}`);
    }
  });
});
