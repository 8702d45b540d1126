// What stands between the conversation and the composer: asks of the whole tree, a retry, waiting prompts.

import { For, Show, createMemo, lazy } from "solid-js";
import { Guard } from "../kit/guard.tsx";
import { Icon } from "../kit/icon.tsx";
import { everySecond, useSeconds } from "../kit/ticking.tsx";
import { stop } from "../view/actions.ts";
import { serverNow } from "../view/live.ts";
import { processes } from "../view/processes.ts";
import { readQueueOn, waitingPrompts } from "../view/queue.ts";
import { asks, isWithin, status } from "../view/store.ts";
import { safeHref } from "../text/links.ts";
import { words } from "../words/en.ts";
import type { Ask } from "../wire/types.ts";

// Loaded when somebody is asked, or waits.
const PermissionDock = lazy(() => import("./permission.tsx").then((file) => ({ default: file.PermissionDock })));
const QueueDock = lazy(() => import("./queue.tsx").then((file) => ({ default: file.QueueDock })));
const TrustDock = lazy(() => import("./trust.tsx").then((file) => ({ default: file.TrustDock })));
const ProcessDock = lazy(() => import("./processes.tsx").then((file) => ({ default: file.ProcessDock })));
const QuestionDock = lazy(() => import("./question.tsx").then((file) => ({ default: file.QuestionDock })));

export function Docks(props: { sessionID: string; onEdit: (text: string) => void }) {
  readQueueOn(() => props.sessionID);
  const open = createMemo(() => asks().filter((ask) => isWithin(ask.request.sessionID, props.sessionID)));
  const waiting = createMemo(() => waitingPrompts(props.sessionID));
  return (
    <div class="docks">
      <For each={open().slice(0, 3)}>{(ask) => <Guard of={() => ask}><AskDock ask={ask} /></Guard>}</For>
      <RetryDock sessionID={props.sessionID} />
      <Show when={processes(props.sessionID).length > 0}><ProcessDock processes={processes(props.sessionID)} /></Show>
      <Show when={waiting().length > 0}><Guard><QueueDock sessionID={props.sessionID} waiting={waiting()} onEdit={props.onEdit} /></Guard></Show>
    </div>
  );
}

export function AskDock(props: { ask: Ask }) {
  if (props.ask.kind === "question") return <QuestionDock request={props.ask.request} />;
  return props.ask.request.permission === "trust" ? <TrustDock request={props.ask.request} /> : <PermissionDock request={props.ask.request} />;
}

function RetryDock(props: { sessionID: string }) {
  useSeconds();
  const retry = () => {
    const now = status(props.sessionID);
    return now.type === "retry" ? now : undefined;
  };
  const seconds = (next: number) => (everySecond(), Math.max(0, Math.ceil((next - serverNow()) / 1000)));
  return (
    <Show when={retry()}>
      {(found) => (
        <section class="dock line-dock" aria-label={words.status.retry}>
          <Icon name="refresh-cw" />
          <span class="grow num">{words.retryIn(found().attempt, seconds(found().next), found().message)}</span>
          <Show when={safeHref(found().action?.link ?? "")}>{(link) => <a class="button" href={link()} target="_blank" rel="noopener noreferrer" title={found().action?.message}>{found().action?.label}</a>}</Show>
          <button type="button" onClick={() => void stop(props.sessionID)}>{words.stop}</button>
        </section>
      )}
    </Show>
  );
}
