// Announcements keep their distance, and the newest is not lost.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Pace } from "../../src/sync/pace.ts";

/** A clock that is moved by hand. */
function desk() {
  let now = 1000;
  let timers: { at: number; run: () => void }[] = [];
  const said: [number, string][] = [];
  const pace = new Pace(3000, {
    now: () => now,
    after: (ms, run) => {
      const timer = { at: now + ms, run };
      timers.push(timer);
      return () => (timers = timers.filter((one) => one !== timer));
    },
    say: (text) => said.push([now, text]),
  });
  const pass = (ms: number) => {
    now += ms;
    const due = timers.filter((one) => one.at <= now);
    timers = timers.filter((one) => one.at > now);
    for (const one of due) one.run();
  };
  return { pace, pass, said };
}

test("the first is said at once, then at most one every three seconds, the newest of them", () => {
  const { pace, pass, said } = desk();

  pace.announce("began");
  pass(0);
  pace.announce("bash finished");
  pass(1000);
  pace.announce("complete");
  pass(1999);
  assert.deepEqual(said, [[1000, "began"]]);
  pass(1);

  assert.deepEqual(said, [[1000, "began"], [4000, "complete"]]);
  pass(5000);
  pace.announce("began");
  pass(0);
  assert.deepEqual(said.at(-1), [9000, "began"]);
});

test("nothing is said after the end", () => {
  const { pace, pass, said } = desk();
  pace.announce("began");

  pace.stop();
  pass(5000);

  assert.deepEqual(said, []);
});
