// A share's items in any order, and its stream: everything first, then what is new, until it is over.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Follower, type FollowState } from "../../src/share/follow.ts";
import { type ShareItem, changesOf, putItem } from "../../src/share/items.ts";
import { type World, emptyWorld } from "../../src/sync/world.ts";

const message = (n: number): ShareItem => ({ cursor: n, kind: "message", key: `message/msg_${n}`, data: { id: `msg_${n}`, role: "user", time: { created: 1000 - n } } });
const part = (n: number, of: number): ShareItem => ({ cursor: n, kind: "part", key: `part/msg_${of}/prt_${n}`, data: { id: `prt_${n}`, messageID: `msg_${of}`, type: "text", text: `text ${n}` } });
const ITEMS = [{ cursor: 0, kind: "session", key: "session", data: { title: "A title", time: {} } }, ...[1, 2, 3].map(message), ...[1, 2, 3, 4, 5, 6].map((n) => part(n, (n % 3) + 1))];

function seen(world: World) {
  const thread = world.threads.get("share");
  return thread?.order.map((id) => [id, thread.parts.get(id)?.map((one) => (thread.part.get(one)?.value as { text: string }).text)]);
}

test("items of a share give the same in whatever order they come", () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(ITEMS, { minLength: ITEMS.length }), (items) => {
      const world = emptyWorld();
      for (const item of items) putItem(world, "share", item);

      assert.deepEqual(seen(world), [["msg_3", ["text 2", "text 5"]], ["msg_2", ["text 1", "text 4"]], ["msg_1", ["text 3", "text 6"]]]);
      assert.equal(world.sessions.get("share")?.value.title, "A title");
    }),
  );
});

test("what is removed from a share is gone", () => {
  const world = emptyWorld();
  for (const item of ITEMS) putItem(world, "share", item);

  putItem(world, "share", { cursor: 9, kind: "part.remove", key: "part/msg_3/prt_2" });
  putItem(world, "share", { cursor: 10, kind: "message.remove", key: "message/msg_2" });

  assert.deepEqual(seen(world), [["msg_3", ["text 5"]], ["msg_1", ["text 3", "text 6"]]]);
});

test("what a session changed is a list of files, whatever was sent", () => {
  const item = (data: unknown): ShareItem => ({ cursor: 1, kind: "session_diff", key: "session_diff", data });
  const file = { file: "a.txt", patch: "@@ -1 +1 @@\n-a\n+b", additions: 1, deletions: 1 };

  assert.deepEqual(changesOf(item([file])), [file]);
  assert.deepEqual(changesOf(item([])), []);
  assert.deepEqual(changesOf(item([{ file: 7 }, null, "x"])), [{ file: "", patch: "", additions: 0, deletions: 0 }]);
  assert.deepEqual(changesOf(item({ file: "a.txt" })), []);
  assert.equal(changesOf(message(1)), undefined);
});

/** Answers with these streams, one after the other. */
function follow(answers: (() => Response)[]) {
  const states: FollowState[] = [];
  const asked: Record<string, string>[] = [];
  const got: string[] = [];
  const follower = new Follower("shr", "stdy1.right", {
    fetch: (_, init) => {
      asked.push(init.headers as Record<string, string>);
      const next = answers.shift();
      return next ? Promise.resolve(next()) : Promise.reject(new Error("no network"));
    },
    after: (_, run) => (answers.length > 0 ? queueMicrotask(run) : undefined),
    random: () => 0,
    state: (state) => states.push(state),
    snapshot: (items) => got.push(`snapshot ${items.length}`),
    item: (item) => got.push(item.key),
  });
  return { follower, states, asked, got };
}

const SNAPSHOT = `id: 7\nevent: snapshot\ndata: {"cursor":7,"items":[{"cursor":7,"kind":"session","key":"session","data":{}}]}\n\n`;
const OP = `: alive\n\nid: 8\nevent: op\ndata: {"cursor":8,"kind":"message","key":"message/msg_1","data":{}}\n\n`;
const CLOSED = `event: closed\ndata: {"code":"revoked"}\n\n`;

test("a stream that breaks off goes on from where it was, and one that is closed is not opened again", async () => {
  const { follower, states, asked, got } = follow([() => new Response(SNAPSHOT), () => new Response(null, { status: 503 }), () => new Response(OP + CLOSED), () => new Response(SNAPSHOT)]);

  await follower.open();
  while (states.at(-1)?.name !== "ended") await new Promise((done) => setImmediate(done));
  await follower.open();

  assert.deepEqual(got, ["snapshot 1", "message/msg_1"]);
  assert.deepEqual(asked.map((headers) => [headers["last-event-id"], headers["authorization"]]), [[undefined, "Bearer stdy1.right"], ["7", "Bearer stdy1.right"], ["7", "Bearer stdy1.right"]]);
  assert.deepEqual(states.at(-1), { name: "ended", code: "revoked" });
});

test("a right that opens nothing ends at once", async () => {
  const { follower, states } = follow([() => new Response('{"error":{"code":"unauthorized"}}', { status: 401 }), () => new Response(SNAPSHOT)]);

  await follower.open();

  assert.deepEqual(states, [{ name: "ended", code: "unauthorized" }]);
});

test("an answer that is nobody's word about the share is asked for again", async () => {
  const busy = SNAPSHOT + `event: closed\ndata: {"code":"overloaded"}\n\n`;
  const proxy = () => new Response("<h1>not found</h1>", { status: 404 });
  const { follower, states, got } = follow([() => new Response(busy), proxy, () => new Response(OP + CLOSED), () => new Response(SNAPSHOT)]);

  await follower.open();
  while (states.at(-1)?.name !== "ended") await new Promise((done) => setImmediate(done));

  assert.deepEqual(got, ["snapshot 1", "message/msg_1"]);
  assert.deepEqual(states.at(-1), { name: "ended", code: "revoked" });
});
