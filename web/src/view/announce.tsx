// What a screen reader is told: that an answer began or ended, and that somebody is asked. Never the stream, and
// not more often than it can be listened to.

import { createEffect, createSignal, on, onCleanup, untrack } from "solid-js";
import { Pace } from "../sync/pace.ts";
import { words } from "../words/en.ts";
import { route } from "./router.ts";
import { asks, part, partIds, status, statusNow, thread } from "./store.ts";

/** Between two announcements that can wait. */
const PAUSE_MS = 3000;

/** How many words the answer that just ended has. */
function ended(): string {
  const now = route();
  const found = now.page === "session" ? untrack(() => thread(now.id)) : undefined;
  const last = found?.order.at(-1) ?? "";
  const texts = (found?.parts.get(last) ?? []).map((id) => found?.part.get(id)?.value).map((part) => (part?.type === "text" ? part.text : ""));
  return words.answerComplete(texts.join(" ").split(/\s+/).filter(Boolean).length);
}

/** A call ends, and the next step of its answer is there in the same moment. */
const STEPS_BACK = 3;

/** The call that ended last in the newest steps. */
function newestCall(): { readonly session: string; readonly id: string; readonly tool: string } | undefined {
  const now = route();
  if (now.page !== "session") return undefined;
  const ids = (thread(now.id)?.order.slice(-STEPS_BACK) ?? []).flatMap((messageID) => partIds(now.id, messageID));
  const ended = ids
    .map((id) => part(now.id, id))
    .filter((found) => found?.type === "tool")
    .filter((call) => call.state.status === "completed" || call.state.status === "error")
    .at(-1);
  return { session: now.id, id: ended?.id ?? "", tool: ended?.tool ?? "" };
}

export function Announcer() {
  const [polite, setPolite] = createSignal("");
  const [urgent, setUrgent] = createSignal("");
  const pace = new Pace(PAUSE_MS, {
    now: () => Date.now(),
    after: (ms, run) => {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    say: setPolite,
  });
  onCleanup(() => pace.stop());
  createEffect(on(() => { const now = route(); return now.page === "session" ? status(now.id).type : "idle"; }, (now, before) => {
    if (before === undefined || now === before) return;
    pace.announce(now === "idle" ? ended() : now === "busy" ? words.answerBegan : words.status.retry);
  }));
  createEffect(on(newestCall, (now, before) => {
    const isHere = now !== undefined && now.session === before?.session && statusNow(now.session).type !== "idle";
    if (isHere && now.id !== "" && now.id !== before.id) pace.announce(words.callFinished(now.tool));
  }));
  const askName = () => {
    const ask = asks().at(-1);
    return ask?.kind === "permission" ? ask.request.permission : (ask?.request.questions[0]?.question ?? "");
  };
  createEffect(on(() => asks().length, (now, before) => {
    if (before !== undefined && now > before) setUrgent(`${words.status.asks}: ${askName()}`);
  }));
  return (
    <>
      <div class="off-screen" aria-live="polite">{polite()}</div>
      <div class="off-screen" aria-live="assertive">{urgent()}</div>
    </>
  );
}
