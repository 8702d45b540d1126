// What a screen reader is told: that an answer began or ended, and that somebody is asked. Never the stream.

import { createEffect, createSignal, on } from "solid-js";
import { words } from "../words/en.ts";
import { route } from "./router.ts";
import { asks, status } from "./store.ts";

export function Announcer() {
  const [polite, setPolite] = createSignal("");
  const [urgent, setUrgent] = createSignal("");
  createEffect(on(() => { const now = route(); return now.page === "session" ? status(now.id).type : "idle"; }, (now, before) => {
    if (before === undefined || now === before) return;
    setPolite(now === "idle" ? "Answer complete" : now === "busy" ? "Answer began" : words.status.retry);
  }));
  createEffect(on(() => asks().length, (now, before) => {
    if (before !== undefined && now > before) setUrgent(`${words.status.asks}: ${asks().at(-1)?.kind ?? ""}`);
  }));
  return (
    <>
      <div class="off-screen" aria-live="polite">{polite()}</div>
      <div class="off-screen" aria-live="assertive">{urgent()}</div>
    </>
  );
}
