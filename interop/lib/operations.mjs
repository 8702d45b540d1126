// The operations of the npm package @opencode-ai/sdk, read from its own code, and which of them the server does not have.

import { readFile } from 'node:fs/promises';

/** What answers 501, with its reason in docs/http.md. */
export const ABSENT = `
DELETE /experimental/project/{projectID}/copy
DELETE /experimental/workspace/{id}
GET /tui/control/next
POST /api/session/{sessionID}/permission
POST /experimental/control-plane/move-session
POST /experimental/project/{projectID}/copy
POST /experimental/project/{projectID}/copy/generate-name
POST /experimental/project/{projectID}/copy/refresh
POST /experimental/workspace
POST /experimental/workspace/warp
POST /provider/{providerID}/oauth/authorize
POST /provider/{providerID}/oauth/callback
POST /sync/history
POST /sync/replay
POST /tui/control/response
`.trim().split('\n');

/** @returns {Promise<string[]>} `GET /session/{sessionID}` and so on */
export async function operations() {
  const found = new Set();
  for (const file of ['v2/gen/sdk.gen.js', 'gen/sdk.gen.js']) {
    const text = await readFile(new URL(`../node_modules/@opencode-ai/sdk/dist/${file}`, import.meta.url), 'utf8');
    for (const [, method, path] of text.matchAll(/\.(get|post|put|patch|delete)\(\{\s*url: "([^"]+)"/g)) {
      // The first version calls every id of a session "id".
      const named = path
        .replace('/session/{id}', '/session/{sessionID}')
        .replace('/pty/{id}', '/pty/{ptyID}')
        .replace('/provider/{id}', '/provider/{providerID}');
      found.add(`${method.toUpperCase()} ${named}`);
    }
  }
  return [...found].sort();
}
