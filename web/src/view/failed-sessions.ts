// Which sessions ended badly, for a page that shows many of them: the list does not say, so the last message of
// each is read, once for each change, a few at a time.

import { createEffect, createSignal, onCleanup } from "solid-js";
import { isStopped } from "../wire/failure.ts";
import { segment } from "../wire/api.ts";
import type { MessageWithParts, Session } from "../wire/types.ts";
import { api } from "./live.ts";
import { statusNow } from "./store.ts";

const AT_ONCE = 4;

/** Whether the last turn of a session failed or was interrupted; false until that is known. */
export function useFailedSessions(sessions: () => readonly Session[]): (id: string) => boolean {
  const [failed, setFailed] = createSignal<ReadonlySet<string>>(new Set());
  const known = new Map<string, number>();
  const abort = new AbortController();
  onCleanup(() => abort.abort());
  const mark = (id: string, isFailed: boolean) => {
    if (failed().has(id) === isFailed) return;
    const next = new Set(failed());
    if (!next.delete(id)) next.add(id);
    setFailed(next);
  };
  const waiting: Session[] = [];
  let readers = 0;
  const read = async () => {
    readers += 1;
    for (let next = waiting.shift(); next !== undefined && !abort.signal.aborted; next = waiting.shift()) {
      const { id } = next;
      const path = `/session/${segment(id)}/message?limit=1`;
      const answer = await api.get<MessageWithParts[]>(path, { signal: abort.signal }).catch(() => undefined);
      const last = answer?.at(-1)?.info;
      if (answer === undefined) known.delete(id);
      else mark(id, last?.role === "assistant" && last.error !== undefined && !isStopped(last.error));
    }
    readers -= 1;
  };
  createEffect(() => {
    for (const one of sessions()) {
      if (statusNow(one.id).type !== "idle") known.delete(one.id);
      else if (known.get(one.id) !== one.time.updated) {
        known.set(one.id, one.time.updated);
        waiting.push(one);
      }
    }
    while (readers < AT_ONCE && waiting.length > 0) void read();
  });
  return (id) => failed().has(id);
}
