// How many tabs hold a stream at once.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type TabMessage, Tabs } from "../../src/sync/tabs.ts";

/** Tabs of one browser; what one says all others hear. */
function browser(count: number): Tabs[] {
  const hearers: ((message: TabMessage) => void)[] = [];
  return Array.from({ length: count }, (_, index) => {
    const channel = {
      post: (message: TabMessage) => hearers.forEach((hear, to) => to !== index && hear(message)),
      listen: (hear: (message: TabMessage) => void) => void (hearers[index] = hear),
    };
    return new Tabs(channel, `tab ${index}`, () => index);
  });
}

const noPause = () => Promise.resolve();
const last = (tabs: readonly Tabs[]) => tabs.at(-1) as Tabs;

test("four tabs hold a stream over HTTP/1.1, and the fifth has no room", async () => {
  const tabs = browser(5);
  for (const tab of tabs.slice(0, 3)) tab.holding(() => true);
  assert.equal(await last(tabs).hasRoom(noPause, "http/1.1"), true);

  tabs[3]?.holding(() => true);

  assert.equal(await last(tabs).hasRoom(noPause, "http/1.1"), false);
});

test("where one connection carries many streams there is always room", async () => {
  const tabs = browser(9);
  for (const tab of tabs.slice(0, 8)) tab.holding(() => true);

  const rooms = await Promise.all(["h2", "h3", "h3-29", "http/1.1", ""].map((protocol) => last(tabs).hasRoom(noPause, protocol)));

  assert.deepEqual(rooms, [true, true, true, false, false]);
});

test("of those that hold a stream the one that is open longest is asked to let go", async () => {
  const tabs = browser(5);
  const asked: number[] = [];
  tabs.slice(0, 4).forEach((tab, index) => {
    tab.holding(() => true);
    tab.onLetGo = () => asked.push(index);
  });
  await last(tabs).hasRoom(noPause, "http/1.1");

  last(tabs).takeOver();

  assert.deepEqual(asked, [0]);
});
