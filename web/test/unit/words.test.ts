// Numbers, money and times as they are shown: the short ones without the browser's rules, the same as with them.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { words } from "../../src/words/en.ts";

test("numbers are grouped, and money has cents and at most two digits more", () => {
  assert.deepEqual([0, 7, 999, 1000, 1_234_567, 0.5].map(words.number), ["0", "7", "999", "1,000", "1,234,567", "0.5"]);
  assert.deepEqual([0, 0.5, 0.0123, 12, 1234.5, 0.00001].map(words.money), ["$0", "$0.50", "$0.0123", "$12.00", "$1,234.50", "$0.00"]);
  assert.deepEqual([999, 1200, 2_500_000].map(words.compact), ["999", "1.2K", "2.5M"]);
});

test("what is said without the browser's rules is what they would say", () => {
  const grouped = new Intl.NumberFormat("en");
  const dollars = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumFractionDigits: 4 });
  fc.assert(fc.property(fc.integer({ min: -100_000, max: 100_000 }), (n) => assert.equal(words.number(n), grouped.format(n))));
  // In whole hundredths of a cent: what lies exactly between two of them is rounded either way.
  fc.assert(fc.property(fc.integer({ min: 1, max: 20_000_000 }), (n) => assert.equal(words.money(n / 10_000), dollars.format(n / 10_000))));
});

test("a time is that of a clock at the wall, also at midnight", () => {
  // Was: 24:05, which no clock shows.
  assert.equal(words.time(new Date(2026, 10, 18, 0, 5).getTime()), "00:05");
  assert.equal(words.time(new Date(2026, 10, 18, 23, 59).getTime()), "23:59");
});

test("a wait of minutes is said in minutes", () => {
  assert.equal(words.retryIn(1, 12, "slow down"), "Attempt 2 in 12 s · slow down");
  assert.equal(words.retryIn(1, 511, "slow down"), "Attempt 2 in 8 min 31 s · slow down");
});
