// What a person chooses: keys of their own, a narrower search, the usage of one thing; and what the server's log is told of a failure.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { reportOf } from "../../src/view/failure-report.ts";
import { NO_FILTERS, type SearchFilters, searchParameters, hasFilters, searchFiltersOf, searchPath, wantsTitles } from "../../src/view/search-filters.ts";
import { NO_USAGE_FILTERS, usageParameters, usageOf, usagePath } from "../../src/view/usage.ts";
import { KEY_ACTIONS, type KeyAction, type OwnKeys, USUAL_KEYS, actionOf, isSecond, keyOf, readKeys, takenBy, withKey } from "../../src/view/shortcuts.ts";
import { actorName, browserName } from "../../src/wire/actors.ts";
import { codeIn } from "../../src/wire/login-code.ts";

const DAY_MS = 86_400_000;

test("every key does one thing, whatever was chosen in whatever order", () => {
  const choice = fc.tuple(fc.constantFrom(...KEY_ACTIONS), fc.constantFrom(..."abcjkgz[]?/123xy"));
  fc.assert(
    fc.property(fc.array(choice), (choices) => {
      let own: OwnKeys = {};
      for (const [action, key] of choices) if (takenBy(key, action, own) === undefined) own = withKey(action, key, own);

      for (const action of KEY_ACTIONS) assert.equal(actionOf(keyOf(action, own), own, isSecond(action)), action);
      assert.deepEqual(["1", "2", "3"].map((key) => actionOf(key, own, false)), [undefined, undefined, undefined]);
      assert.deepEqual(readKeys(JSON.parse(JSON.stringify(own))), own);
    }),
  );
});

test("a key that is taken is said to be, and one that became free can be had", () => {
  const own = withKey("next", "x", {});

  assert.equal(takenBy("k", "next", {}), "previous");
  assert.equal(takenBy("2", "next", {}), "answers");
  assert.equal(takenBy("j", "previous", own), undefined);
  assert.equal(actionOf("j", own, false), undefined);
  assert.deepEqual(withKey("next", "j", own), {}, "the usual key is not a choice");
});

test("a key pressed after another one is in the way of those pressed after it alone", () => {
  const own = withKey("goBoard", "j", {});

  assert.equal(takenBy("j", "goBoard", {}), undefined);
  assert.equal(takenBy("2", "goBoard", {}), undefined);
  assert.equal(takenBy("l", "goBoard", {}), "goList");
  assert.deepEqual([actionOf("j", own, false), actionOf("j", own, true), actionOf("b", own, true)], ["next", "goBoard", undefined]);
});

test("stored keys that nobody can have are forgotten", () => {
  for (const stored of [undefined, null, "j", { next: "k" }, { next: "" }, { next: "ab" }, { next: " " }, { next: "1" }, { fly: "x" }, { next: "x", copy: "x" }]) {
    assert.deepEqual(readKeys(stored), {}, JSON.stringify(stored));
  }
  assert.deepEqual(readKeys({ next: "ö", fly: "x" }), { next: "ö" });
});

test("what a search is narrowed to comes back from its address", () => {
  const value = fc.oneof(fc.constant(""), fc.string());
  const any = fc.record<SearchFilters>({ project: value, role: value, kind: value, tool: value, days: value });
  fc.assert(
    fc.property(fc.string(), any, (query, filters) => {
      const path = new URL(searchPath(query, filters), "http://page");

      assert.deepEqual([path.searchParams.get("q"), searchFiltersOf(path.search)], [new URLSearchParams({ q: query }).get("q"), { ...filters }]);
    }),
  );
});

test("an age becomes a time of the server's clock, and the rest is asked for as it is", () => {
  const narrowed = { ...NO_FILTERS, role: "user", days: "7" };

  assert.deepEqual(searchParameters(narrowed, 10 * DAY_MS), { role: "user", since: String(3 * DAY_MS) });
  assert.deepEqual(searchParameters({ ...NO_FILTERS, days: "soon" }, DAY_MS), {});
  assert.deepEqual([hasFilters(NO_FILTERS), hasFilters(narrowed), wantsTitles(narrowed), wantsTitles({ ...NO_FILTERS, project: "p" })], [false, true, false, true]);
});

test("a report says what failed and where, and nothing that somebody wrote", () => {
  const failed = new TypeError(`Unexpected token 'H', "Hello secret"... is not "JSON" at https://host/s/ses_secret`);
  failed.stack = `TypeError: Unexpected token "secret\n  secret words:1:2\n    at draw (http://127.0.0.1:4096/ui/abc/session.js?secret#s:10:20)\n    at http://127.0.0.1:4096/ui/abc/core.js:1:2\ncall@http://host/ui/abc/core.js:3:4`;

  assert.equal(reportOf(failed), "TypeError: Unexpected token …, …... is not … at …\ndraw session.js:10:20\ncore.js:1:2\ncall core.js:3:4");
});

test("what is expected, and said where it happened, is not reported", () => {
  const named = (name: string, message = "") => Object.assign(new Error(message), { name });

  assert.equal(reportOf(named("CallError", "The server cannot be reached")), undefined);
  assert.equal(reportOf(named("AbortError")), undefined);
  assert.equal(reportOf(new Error("ResizeObserver loop completed")), undefined);
  assert.equal(reportOf("a secret"), "string");
  assert.equal(reportOf({ secret: 1 }), "something that is not an error");
});

test("a report has an end", () => {
  const long = new Error("x".repeat(5000));
  long.stack = Array.from({ length: 500 }, (_, n) => `    at f${n} (http://h/ui/a/core.js:${n}:1)`).join("\n");

  const lines = reportOf(long)?.split("\n") ?? [];

  assert.deepEqual([lines.length, lines[0]?.length], [13, "Error: ".length + 200]);
});

test("a login ends with the code, or with the address that has it", () => {
  assert.equal(codeIn(" abc "), "abc");
  assert.equal(codeIn("http://127.0.0.1:19876/mcp/oauth/callback?code=a%2Fb&state=s"), "a/b");
  assert.equal(codeIn("http://127.0.0.1/none"), "http://127.0.0.1/none");
});

test("the usual keys are all different", () => {
  const actions: KeyAction[] = KEY_ACTIONS;
  assert.equal(new Set(Object.values(USUAL_KEYS)).size, actions.length);
});

test("a browser is named by what it says it is, and one that nobody knows by its own line", () => {
  const chrome = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0";

  assert.equal(browserName(`Mozilla/5.0 (X11; Linux x86_64) ${chrome} Safari/537.36`), "Chrome, Linux");
  assert.equal(browserName(`Mozilla/5.0 (Linux; Android 15; Pixel 9) ${chrome} Mobile Safari/537.36`), "Chrome, Android");
  assert.equal(browserName(`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${chrome} Safari/537.36 Edg/142.0.0.0`), "Edge, Windows");
  assert.equal(browserName("Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:145.0) Gecko/20100101 Firefox/145.0"), "Firefox, Mac");
  // The server keeps 120 letters of it.
  assert.equal(browserName("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E"), "Safari, iPhone");
  assert.equal(browserName("a browser of the future"), "a browser of the future");
});

test("whoever acted is named if anybody knows them, and as the log has it if not", () => {
  const known = new Map([["device:d1", "Chrome, Linux"], ["token:t1", "the nightly build"]]);

  assert.deepEqual(["device:d1", "token:t1", "device:gone", "user:anna", "local"].map((actor) => actorName(actor, known)), ["Chrome, Linux", "the nightly build", "device:gone", "anna", "local"]);
});

test("what usage is narrowed to comes back from its address, and a day that is none is left out", () => {
  const filters = { day: "2026-11-16", model: "a&b/c d", agent: "plan", project: "prj_1" };

  assert.deepEqual(usageOf(new URL(usagePath(filters), "http://page").search), filters);
  assert.equal(usagePath(NO_USAGE_FILTERS), "/usage");
  assert.deepEqual(usageOf("?day=yesterday&colour=red"), NO_USAGE_FILTERS);
  assert.deepEqual(usageOf("?day=2026-99-99"), NO_USAGE_FILTERS);
});

test("a day bounds every sum but that of the days beside it", () => {
  const day = { ...NO_USAGE_FILTERS, day: "2026-11-16", agent: "plan" };
  const { since, until, ...rest } = usageParameters(day, "model", 5);

  assert.deepEqual(rest, { by: "model", agent: "plan" });
  assert.equal(Number(until) - Number(since), DAY_MS);
  assert.equal(new Date(Number(since)).toLocaleDateString("en-CA"), "2026-11-16");
  assert.deepEqual(usageParameters(day, "day", 5), { by: "day", since: "5", agent: "plan" });
});
