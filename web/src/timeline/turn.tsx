// One message of the conversation: a prompt, or a step of the answer below it.

import { For, Match, Show, Switch, createMemo, lazy, onCleanup } from "solid-js";
import { CopyButton } from "../text/render.tsx";
import { Fold } from "../kit/fold.tsx";
import { Guard } from "../kit/guard.tsx";
import { Icon } from "../kit/icon.tsx";
import { wantMessage } from "../view/holes.ts";
import { isHole, message, part, partIds, status } from "../view/store.ts";
import { preferences } from "../view/preferences.ts";
import { words } from "../words/en.ts";
import type { AssistantMessage, Part, UserMessage } from "../wire/types.ts";
import { isWaiting } from "../view/queue.ts";
import { MessageMenu } from "./menu.tsx";
import { CompactionDivider } from "./divider.tsx";
import { PartView, failedAttemptText } from "./part/part.tsx";
import { PartAnchor } from "./part/anchor.tsx";
import { PromptText, isMentionedIn, mentionsIn } from "./part/prompt.tsx";

// Loaded with the first calls that are folded into one line.
const LookGroup = lazy(() => import("./tool/look-group.tsx").then((file) => ({ default: file.LookGroup })));
// Loaded with the first try that failed.
const RetryGroup = lazy(() => import("./part/retry.tsx").then((file) => ({ default: file.RetryGroup })));
// Loaded with the first answer that failed.
const StepError = lazy(() => import("./error.tsx").then((file) => ({ default: file.StepError })));

export function Turn(props: { sessionID: string; messageID: string; position: number; total: number; isPast?: boolean | undefined }) {
  const info = createMemo(() => message(props.sessionID, props.messageID));
  return (
    <Show when={info()} fallback={<Show when={isHole(props.sessionID, props.messageID)}><Hole sessionID={props.sessionID} messageID={props.messageID} /></Show>}>
      {(found) => (
        <Switch>
          <Match when={found().role === "user" && (found() as UserMessage)}>
            {(user) => <Prompt info={user()} position={props.position} total={props.total} isPast={props.isPast} />}
          </Match>
          <Match when={found().role === "assistant" && (found() as AssistantMessage)}>
            {(answer) => <Step info={answer()} position={props.position} total={props.total} isPast={props.isPast} />}
          </Match>
        </Switch>
      )}
    </Show>
  );
}

/** Not held: far away until a moment ago. */
function Hole(props: { sessionID: string; messageID: string }) {
  onCleanup(wantMessage(props.sessionID, props.messageID));
  return <p class="hole muted" id={props.messageID} aria-busy="true">…</p>;
}

function Prompt(props: { info: UserMessage; position: number; total: number; isPast?: boolean | undefined }) {
  const parts = () => partsOf(props.info.sessionID, props.info.id);
  const compaction = () => parts().find((found) => found.type === "compaction");
  return (
    <Show when={compaction()} fallback={<PlainPrompt {...props} />}>
      {(found) => <CompactionDivider part={found() as never} />}
    </Show>
  );
}

function PlainPrompt(props: { info: UserMessage; position: number; total: number; isPast?: boolean | undefined }) {
  const { sessionID } = props.info;
  const ids = () => partIds(sessionID, props.info.id);
  const mentions = createMemo(() => mentionsIn(partsOf(sessionID, props.info.id)));
  const plain = () =>
    partsOf(sessionID, props.info.id)
      .filter((found) => found.type === "text" && found.synthetic !== true)
      .map((found) => (found.type === "text" ? found.text : ""))
      .join("\n\n");
  return (
    <article class="prompt" id={props.info.id} tabindex="-1" classList={{ "is-dimmed": props.isPast }} aria-posinset={props.position} aria-setsize={props.total} aria-labelledby={`h-${props.info.id}`}>
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
              <PartAnchor parts={[id]}><Guard of={found}>
                <Show when={found()}>
                  {(value) => (
                    <Show when={value().type === "text"} fallback={<Show when={!isMentionedIn(value(), plain())}><PartView part={value()} /></Show>}>
                      <PromptText part={value() as never} mentions={mentions()} />
                    </Show>
                  )}
                </Show>
              </Guard></PartAnchor>
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

/** One part, or several that are folded into one line. */
interface PartGroup {
  readonly kind: "part" | "look" | "retries";
  readonly ids: readonly string[];
}

function Step(props: { info: AssistantMessage; position: number; total: number; isPast?: boolean | undefined }) {
  const { sessionID } = props.info;
  const pieces = createMemo(() => groupParts(sessionID, props.info.id), [], { equals: isSame });
  const markdown = () =>
    partsOf(sessionID, props.info.id)
      .map((found) => (found.type === "text" ? found.text : ""))
      .filter(Boolean)
      .join("\n\n");
  return (
    <article class="step" id={props.info.id} tabindex="-1" classList={{ "is-dimmed": props.isPast }} aria-posinset={props.position} aria-setsize={props.total} aria-labelledby={`h-${props.info.id}`}>
      <h2 class="off-screen" id={`h-${props.info.id}`}>{props.info.agent}, {props.info.modelID}, {words.time(props.info.time.created)}</h2>
      <Show when={props.info.summary !== true} fallback={<Fold class="card summary-fold" summary={<><Icon name="scissors" /> <span class="grow">{words.summaryOpen}</span></>}><div class="card-body"><PartGroups sessionID={sessionID} pieces={pieces()} info={props.info} /></div></Fold>}>
        <PartGroups sessionID={sessionID} pieces={pieces()} info={props.info} />
      </Show>
      <Show when={props.info.error}>{(error) => <Guard of={error}><StepError error={error()} info={props.info} /></Guard>}</Show>
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

function PartGroups(props: { sessionID: string; pieces: readonly PartGroup[]; info: AssistantMessage }) {
  // By their first part: a piece that takes in another one stays.
  const firsts = createMemo(() => props.pieces.map((piece) => `${piece.kind} ${piece.ids[0]}`));
  const byFirst = createMemo(() => new Map(props.pieces.map((piece) => [`${piece.kind} ${piece.ids[0]}`, piece])));
  return (
    <For each={firsts()}>
      {(name) => {
        const piece = createMemo(() => byFirst().get(name));
        const found = createMemo(() => part(props.sessionID, piece()?.ids[0] ?? ""));
        return (
          <PartAnchor parts={piece()?.ids ?? []}><Guard of={found}>
            <Switch fallback={<Show when={found()}>{(value) => <PartView part={value()} answer={props.info} />}</Show>}>
              <Match when={piece()?.kind === "look" && piece()}>{(group) => <LookGroup sessionID={props.sessionID} ids={group().ids} />}</Match>
              <Match when={piece()?.kind === "retries" && piece()}>{(group) => <RetryGroup sessionID={props.sessionID} ids={group().ids} />}</Match>
            </Switch>
          </Guard></PartAnchor>
        );
      }}
    </For>
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

/** Parts as they are shown: what only looks around, and tries that failed, are folded with their neighbours. */
function groupParts(sessionID: string, messageID: string): PartGroup[] {
  const pieces: PartGroup[] = [];
  for (const found of partsOf(sessionID, messageID)) {
    if (isHidden(found)) continue;
    const kind = kindOf(found);
    const last = pieces.at(-1);
    if (kind !== "part" && last?.kind === kind) pieces.splice(-1, 1, { kind, ids: [...last.ids, found.id] });
    else pieces.push({ kind, ids: [found.id] });
  }
  return pieces.map((piece) => (piece.ids.length === 1 ? { ...piece, kind: "part" } : piece));
}

function kindOf(found: Part): PartGroup["kind"] {
  if (found.type === "retry") return "retries";
  return found.type === "tool" && LOOKS.has(found.tool) && found.state.status === "completed" ? "look" : "part";
}

function isHidden(found: Part): boolean {
  if (preferences().showEverything) return false;
  if (found.type === "step-finish") return ["stop", "tool-calls"].includes(found.reason);
  if (found.type === "text") return found.text.trim() === "" && failedAttemptText(found) === undefined;
  return found.type === "step-start" || found.type === "snapshot";
}

function isSame(a: PartGroup[], b: PartGroup[]): boolean {
  return a.length === b.length && a.every((one, index) => one.kind === b[index]?.kind && one.ids.join() === b[index]?.ids.join());
}
