// What stands between the conversation and the composer: asks of the whole tree, a retry, waiting prompts.

import { For, Show, createMemo, lazy } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { everySecond, useSeconds } from "../kit/ticking.tsx";
import { resume, stop, withdraw } from "../view/actions.ts";
import { serverNow } from "../view/live.ts";
import { waitingPrompts } from "../view/queue.ts";
import { asks, isWithin, status } from "../view/store.ts";
import { partsOf } from "../timeline/turn.tsx";
import { words } from "../words/en.ts";
import type { Ask } from "../wire/types.ts";

// Loaded when somebody is asked.
const PermissionDock = lazy(() => import("./permission.tsx").then((file) => ({ default: file.PermissionDock })));
const TrustDock = lazy(() => import("./trust.tsx").then((file) => ({ default: file.TrustDock })));
const QuestionDock = lazy(() => import("./question.tsx").then((file) => ({ default: file.QuestionDock })));

export function Docks(props: { sessionID: string; onEdit: (text: string) => void }) {
  const open = createMemo(() => asks().filter((ask) => isWithin(ask.request.sessionID, props.sessionID)));
  return (
    <div class="docks">
      <For each={open().slice(0, 3)}>{(ask) => <AskDock ask={ask} />}</For>
      <RetryDock sessionID={props.sessionID} />
      <QueueDock sessionID={props.sessionID} onEdit={props.onEdit} />
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
          <button type="button" onClick={() => void stop(props.sessionID)}>{words.stop}</button>
        </section>
      )}
    </Show>
  );
}

function QueueDock(props: { sessionID: string; onEdit: (text: string) => void }) {
  const waiting = createMemo(() => waitingPrompts(props.sessionID));
  const textOf = (id: string) =>
    partsOf(props.sessionID, id)
      .map((part) => (part.type === "text" && part.synthetic !== true ? part.text : ""))
      .join("\n");
  const edit = async (id: string) => {
    const text = textOf(id);
    if (await withdraw(props.sessionID, id)) props.onEdit(text);
  };
  return (
    <Show when={waiting().length > 0}>
      <section class="dock queue" aria-label={words.waitingPrompts(waiting().length)}>
        <header>
          <Icon name="clock" />
          <span class="grow">{words.waitingPrompts(waiting().length)}</span>
          <Show when={status(props.sessionID).type === "idle"}>
            <button type="button" class="primary" onClick={() => void resume(props.sessionID)}>{words.resume}</button>
          </Show>
        </header>
        <ul>
          <For each={waiting()}>
            {(id) => (
              <li>
                <span class="grow cut">{textOf(id)}</span>
                <button type="button" class="quiet" onClick={() => void edit(id)}>{words.edit}</button>
                <button type="button" class="quiet" onClick={() => void withdraw(props.sessionID, id)}>{words.withdraw}</button>
              </li>
            )}
          </For>
        </ul>
      </section>
    </Show>
  );
}
