// values.test.mjs: npm client, Rust server: every kind of value there and back.

import assert from "node:assert/strict";
import { both, overSocket, overBatch, outcome, rawEnd } from "./support.mjs";

both("IC-001", "call with one number", async (open) => {
  assert.equal(await open().square(5), 25);
});

both("IC-002", "two independent calls, awaited together", async (open) => {
  const root = open();
  assert.deepEqual(await Promise.all([root.square(3), root.square(4)]), [9, 16]);
});

both("IC-007", "undefined and null are told apart", async (open) => {
  const root = open();
  assert.deepEqual(await Promise.all([root.returnUndefined(), root.returnNull()]), [undefined, null]);
});

both("IC-008", "missing trailing arguments", async (open) => {
  assert.equal(await open().greet(), "hello world");
});

both("IC-009", "extra arguments are ignored", async (open) => {
  assert.equal(await open().square(5, 6, 7), 25);
});

both("IC-018", "numbers", async (open) => {
  const numbers = [0, -1, 1.5, 1e21, 2 ** 53, 0.1 + 0.2, 5e-324, 1.7976931348623157e308, NaN, Infinity, -Infinity];
  assert.deepEqual(await open().echo(numbers), numbers);
});

both("IC-019", "strings", async (open) => {
  const strings = ["", "\0", "\u2028\u2029", "😀 é \"quoted\" \\ back", "x".repeat(1024 * 1024)];
  assert.deepEqual(await open().echo(strings), strings);
});

both("IC-020", "a lone surrogate is replaced and the session lives", async (open) => {
  assert.equal(await open().echo("a\ud800b"), "a\ufffdb");
  assert.equal(await open().echo("\udc00\ud83d\ude00"), "\ufffd😀");
  assert.equal(await open().square(2), 4);
});

both("IC-021", "nested and empty objects and arrays", async (open) => {
  const value = { a: { b: [1, { c: [] }], d: {} }, e: [], f: [[], {}], "": 1 };
  assert.deepEqual(await open().echo(value), value);
});

both("IC-022", "arrays of arrays", async (open) => {
  const value = [[1, [2, [3, []]]], [["undefined"]], [["export", -1]]];
  assert.deepEqual(await open().echo(value), value);
});

both("IC-023", "undefined members and array holes", async (open) => {
  const back = await open().echo({ a: undefined, b: [1, , 3] });
  assert.ok("a" in back);
  assert.deepEqual(back, { a: undefined, b: [1, undefined, 3] });
});

both("IC-024", "bigints", async (open) => {
  const numbers = [0n, -1n, 2n ** 4096n, -(2n ** 64n)];
  assert.deepEqual(await open().echo(numbers), numbers);
});

both("IC-025", "dates", async (open) => {
  const back = await open().echo([new Date(0), new Date(1234567890123.75), new Date(-1), new Date(8.64e15), new Date(NaN)]);
  assert.deepEqual(back.slice(0, 4).map(Number), [0, 1234567890123, -1, 8.64e15]);
  assert.ok(Number.isNaN(Number(back[4])));
});

both("IC-026", "bytes of many lengths", async (open) => {
  const lengths = [0, 1, 2, 3, 4, 5, 200_000];
  const bytes = lengths.map((length) => Uint8Array.from({ length }, (_, at) => (at * 7) & 255));
  bytes.push(Uint8Array.of(72, 0x3d));
  const back = await open().echo(bytes);
  bytes.forEach((value, at) => assert.deepEqual(new Uint8Array(back[at]), value));
});

both("IC-027", "typed buffers, also views with an offset", async (open) => {
  const memory = Uint8Array.from({ length: 32 }, (_, at) => at + 1).buffer;
  const kinds = [
    Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
    Float32Array, Float64Array, BigInt64Array, BigUint64Array,
  ];
  const values = kinds.map((Kind) => new Kind(memory, 8, 8 / Kind.BYTES_PER_ELEMENT));
  values.push(new DataView(memory, 3, 5), memory.slice(1, 4));
  const back = await open().echo(values);
  values.forEach((value, at) => {
    // Node hands plain bytes out as its own Buffer.
    assert.ok(back[at] instanceof value.constructor, value.constructor.name);
    const bytes = (view) => Buffer.from(view.buffer ?? view, view.byteOffset ?? 0, view.byteLength);
    assert.deepEqual(bytes(back[at]), bytes(value), value.constructor.name);
  });
});

overSocket("IC-028", "a misaligned typed buffer ends the session", async () => {
  const { received, close } = await rawEnd(['["push",["bytes","AQID","Int16Array"]]']);
  assert.match(received[0], /abort.*Invalid byte length 3 for Int16Array/);
  assert.equal(close.code, 3000);
});

both("IC-029", "URLs arrive normalised", async (open) => {
  const back = await open().echo(new URL("https://e.com/a b?q=ü#x"));
  assert.ok(back instanceof URL);
  assert.equal(back.href, "https://e.com/a%20b?q=%C3%BC#x");
});

both("IC-030", "headers with a repeated name are joined", async (open) => {
  const headers = new Headers([["X-A", "1"], ["x-a", "2"], ["b", "3"]]);
  const back = await open().echo(headers);
  assert.deepEqual([...back], [["b", "3"], ["x-a", "1, 2"]]);
  assert.deepEqual(await open().headerPairs(headers), [["b", "3"], ["x-a", "1, 2"]]);
});

both("IC-031", "requests and responses without a body", async (open) => {
  const request = await open().echo(new Request("http://e.com/x", { method: "DELETE", headers: { a: "b" } }));
  assert.deepEqual([request.method, request.url, request.headers.get("a")], ["DELETE", "http://e.com/x", "b"]);
  const response = await open().echo(new Response(null, { status: 404, statusText: "Not Found", headers: { c: "d" } }));
  assert.deepEqual([response.status, response.statusText, response.headers.get("c")], [404, "Not Found", "d"]);
});

overSocket("IC-032", "requests and responses with a body", async (open) => {
  const request = new Request("http://e.com/p", { method: "POST", body: "abc" });
  assert.deepEqual({ ...(await open().requestInfo(request)) }, { method: "POST", url: "http://e.com/p", text: "abc" });
  assert.deepEqual({ ...(await open().responseInfo(new Response("xyz", { status: 201 }))) }, { status: 201, text: "xyz" });
  const response = await open().getResponse();
  assert.deepEqual([response.status, await response.text()], [201, "body text"]);
});

both("IC-033", "members with blocked names are dropped", async (open) => {
  const value = { constructor: 1, toString: 2, toJSON: 3, hasOwnProperty: 4, valueOf: 5, kept: 6 };
  assert.deepEqual({ ...(await open().echo(value)) }, { kept: 6 });
});

both("IC-035", "a value that cannot be sent back rejects, the session lives", async (open) => {
  const { error } = await outcome(open().returnUnsupported());
  assert.ok(error instanceof TypeError);
  assert.equal(await open().square(2), 4);
});

both("IC-036", "a value that cannot be sent throws locally", async (open) => {
  await assert.rejects(async () => open().echo(new Map()), TypeError);
});

both("PROBE", "probeValue and probeCallback of the server", async (open, connection) => {
  const given = { when: new Date(0), bytes: Uint8Array.of(1, 2, 255), nested: { deep: [1, "x"] } };
  assert.deepEqual(await open().probeValue(given), {
    when: "1970-01-01T00:00:00.000Z", bytes: [1, 2, 255], size: 3, nested: { deep: [1, "x"] },
  });
  if (connection) assert.equal(await open().probeCallback((n) => n * 2), 42);
});
