// Our OpenAPI document beside the one that the npm program prints: every operation of theirs is here, understands what their
// clients send, and answers what they expect. What is different on purpose stands in DIFFERENT, with its reason.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from '../lib/bench.mjs';
import { referenceDocument } from '../lib/opencode.mjs';
import { differences } from '../lib/shapes.mjs';

const it = bench();

/** Each line is the beginning of what `differences` says, `*` stands for every operation; the reason stands above it. */
const DIFFERENT = `
# One server has no workspaces: whoever names one is answered as if they had not.
* query workspace:
* query location[workspace]:
# Numbers that their document calls texts.
GET /api/fs/find query limit: string
GET /api/pty/{}/connect query cursor: string
GET /api/session/{}/event query after: string
GET /api/session/{}/history query after: string
GET /api/session/{}/history query limit: string
# Wanted there too, and not said: the rest of a path, and a header that a page of another origin cannot send.
GET /api/fs/read/{} path path: wanted
POST /pty/{}/connect-token header x-opencode-ticket: wanted
POST /api/pty/{}/connect-token header x-opencode-ticket: wanted
# What a configuration may say of agents is in docs/configuration.md.
PATCH /config request.agent: any object
PATCH /global/config request.agent: any object
# Nulls, as the reference sends them and its document does not say.
GET /agent 200[]
GET /command 200[]
GET /vcs 200.
GET /api/session 200.cursor.
GET /api/session/{}/message 200.cursor.
GET /api/integration/{} 200.data: null
DELETE /experimental/workspace/{} 200: null
# A flag or the name of a field; a name or a pair; what a form asks: passed on as it is.
GET /config/providers 200.providers[].models{}.capabilities.interleaved
GET /provider 200.all[].models{}.capabilities.interleaved
GET /provider/auth 200{}[].prompts[]
GET /config 200.plugin[]
GET /global/config 200.plugin[]
PATCH /config 200.plugin[]
PATCH /global/config 200.plugin[]
GET /api/reference 200.data[].source
# Always true there; here it may be false, with the reason.
GET /global/health 200.healthy
GET /api/health 200.healthy
DELETE /mcp/{}/auth 200.success
POST /global/upgrade 200.
# Events of our own, which clients pass over, and one shape for every event of the v2 API.
GET /event 200.type
GET /global/event 200.payload.type
GET /api/event 200.type
GET /api/session/{}/history 200.data[].type
# A command that is not known any more is told without its name; an event about the whole server names no directory.
GET /event 200.properties.command
GET /global/event 200.payload.properties.command
GET /global/event 200.directory
# Their document describes the frame of the stream, ours what is in it.
GET /api/session/{}/event 200.
# A prompt without a reply answers with the prompt.
POST /session/{}/message 200.info.
POST /session/{}/command 200.info.
# A reason to stop is one of those there are.
PATCH /session/{}/message/{}/part/{} request.reason
# A WebSocket has no answer to describe, and says which terminal is not there.
GET /pty/{}/connect
GET /api/pty/{}/connect 200
# A query that does not fit is the only thing that can be wrong, and is said by name.
GET /global/event 400
POST /experimental/workspace/warp 400
# Logins by browser, credentials with names, accounts and self-replacement: not offered, and said so with 400 or in the body.
GET /api/integration/attempt/{} 200
POST /api/integration/attempt/{}/complete
POST /api/integration/{}/connect/oauth 200
PATCH /api/credential/{}
POST /experimental/console/switch
# A workspace without a branch is told so with null.
POST /experimental/workspace request.branch
# What is always there is not unavailable, and what cannot fail does not.
GET /api/model 503
GET /api/provider 503
GET /api/provider/{} 503
POST /api/session/{}/compact 503
POST /api/session/{}/wait 503
GET /api/session/{}/context 500
GET /api/session/{}/message 500
POST /api/session/{}/revert/clear 500
POST /api/session/{}/revert/stage 500
GET /experimental/console 500
GET /experimental/console/orgs 500
POST /session/{}/share 500
DELETE /session/{}/share 500
`.split('\n').filter((line) => line && !line.startsWith('#'));

/** @param {string} line @param {string} start */
const isSaidBy = (line, start) => (start.startsWith('* ') ? line.includes(start.slice(1)) : line.startsWith(start));

test('our document keeps what the document of the reference promises', { timeout: 300_000 }, async () => {
  const ours = await it.server.tell('GET', '/doc');
  const theirs = await referenceDocument(it.world);

  const found = differences(ours, theirs);
  const unknown = found.filter((line) => !DIFFERENT.some((start) => isSaidBy(line, start)));
  assert.deepEqual(unknown, []);
  const outlived = DIFFERENT.filter((start) => !found.some((line) => isSaidBy(line, start)));
  assert.deepEqual(outlived, [], 'these are no longer different');
});
