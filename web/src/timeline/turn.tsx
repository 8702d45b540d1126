// One message of the conversation: a prompt, or a step of the answer below it.

import { For, Match, Show, Switch, createMemo } from "solid-js";
import { CopyButton } from "../text/render.tsx";
import { Icon } from "../kit/icon.tsx";
import { message, part, partIds, session, status, thread } from "../view/store.ts";
import { preferences } from "../view/preferences.ts";
import { words } from "../words/en.ts";
import type { AssistantMessage, Part, UserMessage } from "../wire/types.ts";
import { isWaiting } from "../view/queue.ts";
import { MessageMenu } from "./menu.tsx";
import { StepError } from "./error.tsx";
import { CompactionDivider } from "./divider.tsx";
import { PartView } from "./part/part.tsx";
import { PromptText } from "./part/prompt.tsx";
import { LookGroup } from "./tool/look.tsx";

export function Turn(props: { sessionID: string; messageID: string; position: number; total: number }) {
  const info = createMemo(() => message(props.sessionID, props.messageID));
  return (
    <Show when={info()}>
      {(found) => (
        <Switch>
          <Match when={found().role === "user" && (found() as UserMessage)}>
            {(user) => <Prompt info={user()} position={props.position} total={props.total} />}
          </Match>
          <Match when={found().role === "assistant" && (found() as AssistantMessage)}>
            {(answer) => <Step info={answer()} position={props.position} total={props.total} />}
          </Match>
        </Switch>
      )}
    </Show>
  );
}

function Prompt(props: { info: UserMessage; position: number; total: number }) {
  const parts = () => partsOf(props.info.sessionID, props.info.id);
  const compaction = () => parts().find((found) => found.type === "compaction");
  return (
    <Show when={compaction()} fallback={<PlainPrompt {...props} />}>
      {(found) => <CompactionDivider part={found() as never} />}
    </Show>
  );
}

function PlainPrompt(props: { info: UserMessage; position: number; total: number }) {
  const { sessionID } = props.info;
  const ids = () => partIds(sessionID, props.info.id);
  const plain = () =>
    partsOf(sessionID, props.info.id)
      .filter((found) => found.type === "text" && found.synthetic !== true)
      .map((found) => (found.type === "text" ? found.text : ""))
      .join("\n\n");
  return (
    <article class="prompt" id={props.info.id} tabindex="-1" aria-posinset={props.position} aria-setsize={props.total} aria-labelledby={`h-${props.info.id}`}>
      <header>
        <h2 class="off-screen" id={`h-${props.info.id}`}>
          {words.you}, {words.time(props.info.time.created)}
        </h2>
        <Show when={isWaiting(sessionID, props.info.id)}>
          <span class="chip warn"><Icon name="clock" /> {words.waiting}</span>
        </Show>
      </header>
      <div class="prompt-parts">
        <For each={ids()}>
          {(id) => {
            const found = createMemo(() => part(sessionID, id));
            return (
              <Show when={found()}>
                {(value) => (
                  <Show when={value().type === "text"} fallback={<PartView part={value()} />}>
                    <PromptText part={value() as never} />
                  </Show>
                )}
              </Show>
            );
          }}
        </For>
      </div>
      <footer class="actions">
        <time class="muted tiny num">{words.time(props.info.time.created)}</time>
        <CopyButton text={plain} label={words.copy} />
        <MessageMenu sessionID={sessionID} messageID={props.info.id} />
      </footer>
    </article>
  );
}

type Piece =
  | { readonly kind: "part"; readonly id: string }
  | { readonly kind: "look"; readonly ids: readonly string[] };

function Step(props: { info: AssistantMessage; position: number; total: number }) {
  const { sessionID } = props.info;
  const pieces = createMemo(() => piecesOf(sessionID, props.info.id), [], { equals: isSame });
  const markdown = () =>
    partsOf(sessionID, props.info.id)
      .map((found) => (found.type === "text" ? found.text : ""))
      .filter(Boolean)
      .join("\n\n");
  const isBeforeTail = () => isOutOfView(sessionID, props.info.id);
  return (
    <article class="step" id={props.info.id} tabindex="-1" classList={{ "is-dimmed": isBeforeTail() }} aria-posinset={props.position} aria-setsize={props.total} aria-labelledby={`h-${props.info.id}`}>
      <h2 class="off-screen" id={`h-${props.info.id}`}>{props.info.agent}, {props.info.modelID}, {words.time(props.info.time.created)}</h2>
      <For each={pieces()}>
        {(piece) => (
          <Switch>
            <Match when={piece.kind === "part" && piece}>
              {(one) => {
                const found = createMemo(() => part(sessionID, one().id));
                return <Show when={found()}>{(value) => <PartView part={value()} answer={props.info} />}</Show>;
              }}
            </Match>
            <Match when={piece.kind === "look" && piece}>{(group) => <LookGroup sessionID={sessionID} ids={group().ids} />}</Match>
          </Switch>
        )}
      </For>
      <Show when={props.info.error}>{(error) => <StepError error={error()} info={props.info} />}</Show>
      <Show when={isOpenStep(props.info) && pieces().length === 0}>
        <p class="muted small pulse">{words.thinking}…</p>
      </Show>
      <Show when={props.info.time.completed !== undefined && markdown() !== ""}>
        <footer class="actions">
          <StepLine info={props.info} />
          <CopyButton text={markdown} label={words.copyMarkdown} />
          <MessageMenu sessionID={sessionID} messageID={props.info.id} />
        </footer>
      </Show>
    </article>
  );
}

function StepLine(props: { info: AssistantMessage }) {
  const took = () => (props.info.time.completed ?? props.info.time.created) - props.info.time.created;
  return (
    <span class="muted tiny num">
      {props.info.modelID} · {words.took(took())} ·{" "}
      {words.stepEnd.tokens(props.info.tokens.input, props.info.tokens.output, props.info.tokens.cache.read)}
      <Show when={props.info.cost > 0}> · {words.money(props.info.cost)}</Show>
    </span>
  );
}

function isOpenStep(info: AssistantMessage): boolean {
  return info.time.completed === undefined && status(info.sessionID).type !== "idle";
}

export function partsOf(sessionID: string, messageID: string): Part[] {
  return partIds(sessionID, messageID)
    .map((id) => part(sessionID, id))
    .filter((found) => found !== undefined);
}

const LOOKS = new Set(["read", "glob", "grep", "list"]);

/** Parts as they are shown: what only looks around is folded with its neighbours. */
function piecesOf(sessionID: string, messageID: string): Piece[] {
  const pieces: Piece[] = [];
  let looks: string[] = [];
  const flush = () => {
    if (looks.length > 1) pieces.push({ kind: "look", ids: looks });
    else for (const id of looks) pieces.push({ kind: "part", id });
    looks = [];
  };
  for (const found of partsOf(sessionID, messageID)) {
    if (found.type === "tool" && LOOKS.has(found.tool) && found.state.status === "completed") {
      looks.push(found.id);
      continue;
    }
    if (isHidden(found)) continue;
    flush();
    pieces.push({ kind: "part", id: found.id });
  }
  flush();
  return pieces;
}

function isHidden(found: Part): boolean {
  if (preferences().showEverything) return false;
  if (found.type === "step-finish") return ["stop", "tool-calls"].includes(found.reason);
  return found.type === "step-start" || found.type === "snapshot" || (found.type === "text" && found.text.trim() === "");
}

function isSame(a: Piece[], b: Piece[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Older than where the model's view begins. */
function isOutOfView(sessionID: string, messageID: string): boolean {
  const found = thread(sessionID);
  if (!found || session(sessionID) === undefined) return false;
  const last = found.order.findLastIndex((id) => partIds(sessionID, id).some((one) => found.part.get(one)?.value.type === "compaction"));
  return last >= 0 && found.order.indexOf(messageID) < last;
}
