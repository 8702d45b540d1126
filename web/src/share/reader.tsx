// One session, only shown: its head and its conversation. The share page and an exported file are made of it.

import { type JSX, Show } from "solid-js";
import "../style/base.css";
import "../style/tokens.css";
import "../style/prose.css";
import "../style/parts.css";
import "../style/pages.css";
import { Timeline } from "../timeline/timeline.tsx";
import { session, thread } from "../view/store.ts";
import { words } from "../words/en.ts";

export function Reader(props: { sessionID: string; note: JSX.Element; children?: JSX.Element }) {
  const info = () => session(props.sessionID);
  return (
    <main class="session reader" id="main" aria-label={info()?.title ?? words.name}>
      <header class="session-head">
        <div class="grow">
          <h1 class="cut" dir="auto">{info()?.title ?? words.name}</h1>
          <p class="list-meta num">
            <Show when={info()?.time.created}>{(at) => <time>{new Date(at()).toLocaleString("en")}</time>}</Show>
            <Show when={info()?.model}>{(model) => <span class="cut wide-only">{model().id}</span>}</Show>
            <Show when={(info()?.cost ?? 0) > 0}><span>{words.money(info()?.cost ?? 0)}</span></Show>
          </p>
        </div>
        <div class="small muted">{props.note}</div>
      </header>
      {props.children}
      <Show when={(thread(props.sessionID)?.order.length ?? 0) > 0} fallback={<div class="timeline" />}>
        <Timeline sessionID={props.sessionID} target={undefined} />
      </Show>
    </main>
  );
}
