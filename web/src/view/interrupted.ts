// Which turns a restart of the server interrupted, in all sessions that were at work when it was last heard.

import { createEffect, createSignal, on, onCleanup } from "solid-js";
import { segment } from "../wire/api.ts";
import { isInterrupted } from "../wire/failure.ts";
import type { Message, MessageWithParts } from "../wire/types.ts";
import { api, lineState, restarted } from "./live.ts";
import { message, session, thread } from "./store.ts";

/** The server's clock is known as well as an answer is quick. */
const CLOCKS_APART_MS = 5000;
/** Sessions whose last message is read at the same time. */
const AT_ONCE = 4;

export interface InterruptedTurn {
  readonly sessionID: string;
  readonly messageID: string;
}

/** Not one that a person had stopped, nor one of an earlier restart. */
function isByThis(info: Message | undefined): info is Message {
  if (info?.role !== "assistant" || info.error === undefined) return false;
  return isInterrupted(info.error) && (info.time.completed ?? 0) >= (restarted()?.lostAt ?? 0) - CLOCKS_APART_MS;
}

/** `open` is the session on the screen, whose end comes with the stream; those of others are read once. */
export function useInterrupted(open: () => string | undefined): () => readonly InterruptedTurn[] {
  const [others, setOthers] = createSignal<readonly InterruptedTurn[]>([]);
  createEffect(on(() => [restarted(), lineState().name === "live"] as const, ([now, isLive]) => {
    setOthers([]);
    if (now === undefined || !isLive) return;
    const abort = new AbortController();
    onCleanup(() => abort.abort());
    const waiting = [...now.busy];
    const read = async () => {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
        const sessionID = id;
        const answer = await api.get<MessageWithParts[]>(`/session/${segment(sessionID)}/message?limit=1&large=link`, { signal: abort.signal }).catch(() => undefined);
        if (abort.signal.aborted) return;
        const info = answer?.at(-1)?.info;
        if (isByThis(info)) setOthers((known) => [...known, { sessionID, messageID: info.id }]);
      }
    };
    for (let reader = 0; reader < AT_ONCE; reader += 1) void read();
  }));
  return () => {
    const id = open();
    const last = id === undefined ? undefined : thread(id)?.order.at(-1);
    const info = id === undefined || last === undefined ? undefined : message(id, last);
    const here = id !== undefined && isByThis(info) && session(id) !== undefined ? [{ sessionID: id, messageID: info.id }] : [];
    return [...here, ...others().filter((one) => one.sessionID !== id)];
  };
}
