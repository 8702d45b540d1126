// Which prompts wait: stored, behind everything that was answered, and not being answered now.

import { message, status, thread } from "./store.ts";

export function waitingPrompts(sessionID: string): string[] {
  const order = thread(sessionID)?.order ?? [];
  const lastAnswer = order.findLastIndex((id) => message(sessionID, id)?.role === "assistant");
  const tail = order.slice(lastAnswer + 1);
  const answer = lastAnswer < 0 ? undefined : message(sessionID, order[lastAnswer] ?? "");
  const isAnswering = answer?.role === "assistant" && answer.time.completed === undefined;
  // While nothing is being answered but the session works, the tail is being taken up.
  if (isAnswering) return tail;
  return status(sessionID).type === "idle" ? tail.filter((id) => !isFresh(sessionID, id)) : [];
}

export function isWaiting(sessionID: string, messageID: string): boolean {
  return waitingPrompts(sessionID).includes(messageID);
}

/** A prompt that came a moment ago: the status that follows it is on its way. */
function isFresh(sessionID: string, messageID: string): boolean {
  const info = message(sessionID, messageID);
  return info !== undefined && Date.now() - info.time.created < 2000;
}
