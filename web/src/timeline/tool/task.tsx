// A sub-agent's work: who, what, how it goes, and the way in.

import { For, Show, createMemo, createSignal, onMount } from "solid-js";
import { Fold } from "../../kit/fold.tsx";
import { Icon } from "../../kit/icon.tsx";
import { Ticking } from "../../kit/ticking.tsx";
import { Markdown } from "../../text/render.tsx";
import { asks, part, partIds, session, status, thread } from "../../view/store.ts";
import { openThread } from "../../view/live.ts";
import { sessionPath } from "../../view/router.ts";
import { words } from "../../words/en.ts";
import { panelWords } from "../../words/en-panels.ts";
import type { ToolPart } from "../../wire/types.ts";
import { Turn } from "../turn.tsx";
import { asCallError } from "../../wire/api.ts";
import { showToast } from "../../kit/toast.tsx";
import { OutcomeMark, Whole, outcomeOf, subjectOf, text } from "./tool.tsx";

/** Messages of the child that are shown in place. */
const INSIDE_MAX = 12;

export function TaskCard(props: { part: ToolPart }) {
  const [isInside, setInside] = createSignal(false);
  const state = () => props.part.state;
  const child = () => {
    const now = state();
    const metadata = "metadata" in now ? now.metadata : undefined;
    return text(metadata?.["sessionId"] ?? metadata?.["sessionID"]) || undefined;
  };
  const waits = () => asks().filter((ask) => ask.request.sessionID === child()).length;
  const cost = () => (child() === undefined ? 0 : (session(child() ?? "")?.cost ?? 0));
  return (
    <div class={`card tool task is-${outcomeOf(props.part)}`}>
      <div class="summary">
        <Icon name="bot" />
        <span class="grow cut">
          <strong>{text(state().input["subagent_type"])}</strong> {text(state().input["description"])}
        </span>
        <span class="meta num">
          <Show when={waits() > 0}>
            <span class="warn"><Icon name="hand" /> {words.status.asks}</span>
          </Show>
          <Show when={cost() > 0}>{words.money(cost())}</Show>
          <Show when={state().status === "running"}>
            <Icon name="loader-circle" class="spin" />
            <Ticking since={(state() as { time: { start: number } }).time.start} />
          </Show>
          <OutcomeMark outcome={outcomeOf(props.part)} />
        </span>
      </div>
      <Show when={!READ_ONLY && child()}>
        {(id) => (
          <div class="task-links">
            <button type="button" class="link" aria-expanded={isInside()} onClick={() => setInside(!isInside())}>{panelWords.lookInside}</button>
            <a href={sessionPath(id())}>{panelWords.open}</a>
            <Show when={status(id()).type !== "idle"}><span class="muted small">{words.status[status(id()).type]}</span></Show>
          </div>
        )}
      </Show>
      <Show when={!READ_ONLY && state().status === "running" && !isInside() && child()}>{(id) => <NewestCall sessionID={id()} />}</Show>
      <Show when={isInside() && child()}>{(id) => <Inside sessionID={id()} />}</Show>
      <Show when={resultOf(props.part) !== "" && !isInside()}>
        <Fold class="task-result" summary={words.tool.output}>
          <div class="card-body">
            <Whole part={props.part}>{(part) => <Markdown text={text(resultOf(part()))} isOpen={false} />}</Whole>
          </div>
        </Fold>
      </Show>
    </div>
  );
}

function resultOf({ state }: ToolPart): unknown {
  return state.status === "completed" ? state.output : state.status === "error" ? state.error : "";
}

/** What the sub-agent does now. */
function NewestCall(props: { sessionID: string }) {
  onMount(() => void openThread(props.sessionID).catch(() => {}));
  const newest = createMemo(() => {
    for (const id of thread(props.sessionID)?.order.toReversed() ?? []) {
      const calls = partIds(props.sessionID, id).map((one) => part(props.sessionID, one)).filter((one): one is ToolPart => one?.type === "tool");
      if (calls.length > 0) return calls.at(-1);
    }
    return undefined;
  });
  const subject = (call: ToolPart) => text(call.state.input["command"]) || subjectOf(call);
  return <Show when={newest()}>{(call) => <p class="newest-call cut muted small"><Icon name="corner-down-right" /> {call().tool} <code dir="ltr">{subject(call())}</code></p>}</Show>;
}

function Inside(props: { sessionID: string }) {
  onMount(() => void openThread(props.sessionID).catch((cause) => showToast(asCallError(cause).message, "bad")));
  const ids = createMemo(() => (thread(props.sessionID)?.order ?? []).slice(-INSIDE_MAX));
  return (
    <div class="inside">
      <For each={ids()}>{(id, index) => <Turn sessionID={props.sessionID} messageID={id} position={index() + 1} total={ids().length} />}</For>
    </div>
  );
}
