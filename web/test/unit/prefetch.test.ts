// The first requests: each answer is taken once, and a failure is heard by whoever takes it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { OVERVIEW, prefetch, openingPath, sessionIn, takePrefetched } from "../../src/view/prefetch.ts";

function network(answer: () => Promise<Response>): string[] {
  const asked: string[] = [];
  globalThis.fetch = async (path, init) => {
    asked.push(`${String(path)} ${new Headers(init?.headers).get("x-sturdy-page")}`);
    return answer();
  };
  return asked;
}

test("an answer that was asked for early is given once; whoever comes later asks anew", async () => {
  const asked = network(async () => new Response("{}"));

  prefetch(OVERVIEW);

  assert.equal((await takePrefetched(OVERVIEW))?.status, 200);
  assert.equal(takePrefetched(OVERVIEW), undefined);
  assert.equal(takePrefetched("/elsewhere"), undefined);
  assert.deepEqual(asked, [`${OVERVIEW} 1`]);
});

test("a request that fails before anybody takes it is heard of then, and not before", async () => {
  network(() => Promise.reject(new TypeError("no network")));

  prefetch(OVERVIEW);
  await new Promise((done) => setImmediate(done));

  await assert.rejects(takePrefetched(OVERVIEW) ?? Promise.resolve(), /no network/);
});

test("an address names its session, whatever stands behind it", () => {
  assert.equal(sessionIn("/s/ses_1"), "ses_1");
  assert.equal(sessionIn("/s/ses%2F1"), "ses/1");
  // Was: an address with a stray percent sign showed an empty page.
  assert.equal(sessionIn("/s/100%"), "100%");
  for (const path of ["/", "/s", "/s/", "/settings", "/share/shr_1"]) assert.equal(sessionIn(path), undefined, path);
  assert.equal(openingPath("ses/1"), "/sturdy/session/ses%2F1?limit=40&large=link");
});
