// Messages that are looked at and not held: read one after the other, the newest wish first.

import { pause, readAround } from "./live.ts";
import { world } from "./store.ts";

/** After a read that failed. */
const AGAIN_MS = 2000;

/** Ids of messages, by session. */
const wanted = new Map<string, Set<string>>();
let isReading = false;

/** It is drawn now; the answer is no longer wanted when that is over. */
export function wantMessage(sessionID: string, messageID: string): () => void {
  const ids = wanted.get(sessionID) ?? new Set();
  wanted.set(sessionID, ids.add(messageID));
  void readWanted();
  return () => {
    ids.delete(messageID);
    if (ids.size === 0 && wanted.get(sessionID) === ids) wanted.delete(sessionID);
  };
}

async function readWanted(): Promise<void> {
  if (isReading) return;
  isReading = true;
  // A fast reader passes many: what is left a moment later is looked at.
  await pause(0);
  for (let next = newest(); next !== undefined; next = newest()) {
    // What it brings is drawn, and is not wanted any more then. One that is gone is taken out by its own event.
    const { session, message } = next;
    await readAround(session, message).catch(() => {});
    if (world.threads.get(session)?.holes.has(message) !== true) wanted.get(session)?.delete(message);
    else await pause(AGAIN_MS);
  }
  isReading = false;
}

function newest(): { readonly session: string; readonly message: string } | undefined {
  for (const [session, ids] of [...wanted].toReversed()) {
    const message = [...ids].at(-1);
    if (message !== undefined) return { session, message };
  }
  return undefined;
}
