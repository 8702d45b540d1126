// Which prompts wait: the server says so, with the session and whenever it changes. A message that wants no answer
// is not among them.

import { createEffect, on, onCleanup } from "solid-js";
import { everySecond } from "../kit/ticking.tsx";
import { key } from "../sync/world.ts";
import { segment } from "../wire/api.ts";
import type { MessageWithParts } from "../wire/types.ts";
import { api, serverNow } from "./live.ts";
import { message, queue, status, thread, touch, world } from "./store.ts";

/** What came together is read together. */
const GATHER_MS = 60;

/** Until a server has told of the line by itself, it is read when a message comes or goes, and when work begins or ends. */
export function readQueueOn(sessionID: () => string): void {
  createEffect(on(() => [sessionID(), thread(sessionID())?.order.length, status(sessionID()).type] as const, ([id]) => {
    if (world.isQueueTold) return;
    const abort = new AbortController();
    const timer = setTimeout(() => void readQueue(id, abort.signal), GATHER_MS);
    onCleanup(() => {
      clearTimeout(timer);
      abort.abort();
    });
  }, { defer: true }));
}

async function readQueue(id: string, signal: AbortSignal): Promise<void> {
  const waiting = await api.get<readonly MessageWithParts[]>(`/sturdy/session/${segment(id)}/queue`, { signal }).catch(() => undefined);
  if (waiting === undefined || signal.aborted || world.isQueueTold) return;
  world.queues.set(id, { value: waiting.map((one) => one.info.id), place: world.head });
  touch([key.queue(id)]);
}

export function waitingPrompts(sessionID: string): readonly string[] {
  const waiting = queue(sessionID);
  if (waiting.length === 0 || isAnswering(sessionID)) return waiting;
  // It is being taken up: what says so is on its way.
  return waiting.filter((id) => !isFresh(sessionID, id));
}

export function isWaiting(sessionID: string, messageID: string): boolean {
  return queue(sessionID).includes(messageID) && waitingPrompts(sessionID).includes(messageID);
}

function isAnswering(sessionID: string): boolean {
  if (status(sessionID).type === "idle") return false;
  const last = thread(sessionID)?.order.findLast((id) => message(sessionID, id)?.role === "assistant");
  const answer = last === undefined ? undefined : message(sessionID, last);
  return answer?.role === "assistant" && answer.time.completed === undefined;
}

/** Looked at again every second: nothing else tells that it is fresh no more. */
function isFresh(sessionID: string, messageID: string): boolean {
  everySecond();
  const info = message(sessionID, messageID);
  return info !== undefined && serverNow() - info.time.created < 2000;
}
