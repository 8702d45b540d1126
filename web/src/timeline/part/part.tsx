// The look of each of the twelve kinds of parts; an unknown kind is shown as what it is, never dropped.

import { Match, Show, Switch, createSignal, lazy } from "solid-js";
import { Fold } from "../../kit/fold.tsx";
import { Icon } from "../../kit/icon.tsx";
import { Ticking } from "../../kit/ticking.tsx";
import { Markdown } from "../../text/render.tsx";
import { serverNow } from "../../view/live.ts";
import { sessionPath } from "../../view/router.ts";
import { words } from "../../words/en.ts";
import type { AssistantMessage, Part, PartOf } from "../../wire/types.ts";
import { ToolCard } from "../tool/tool.tsx";
import { FileView } from "./file.tsx";

// Loaded with the first try that failed.
const Retry = lazy(() => import("./retry.tsx").then((file) => ({ default: file.Retry })));
// Loaded with the first step that changed files.
const Patch = lazy(() => import("./patch.tsx").then((file) => ({ default: file.Patch })));

export function PartView(props: { part: Part; answer?: AssistantMessage }) {
  const as = <Type extends Part["type"]>(type: Type) =>
    (props.part.type === type ? props.part : undefined) as PartOf<Type> | undefined;
  return (
    <Switch fallback={<Unknown part={props.part} />}>
      <Match when={as("text")}>{(part) => <Answer part={part()} answer={props.answer} />}</Match>
      <Match when={props.part.type === "reasoning" && failedAttemptText(props.part) !== undefined}><FailedAttempt part={props.part} /></Match>
      <Match when={as("reasoning")}>{(part) => <Reasoning part={part()} answer={props.answer} />}</Match>
      <Match when={as("file")}>{(part) => <FileView file={part()} />}</Match>
      <Match when={as("tool")}>{(part) => <ToolCard part={part()} />}</Match>
      <Match when={as("step-start")}>
        {(part) => <TreeChip icon="play" text={props.answer?.modelID ?? ""} part={part()} answer={props.answer} />}
      </Match>
      <Match when={as("snapshot")}>{(part) => <TreeChip icon="folder-tree" text="" part={part()} answer={props.answer} />}</Match>
      <Match when={as("step-finish")}>{(part) => <StepFinish part={part()} />}</Match>
      <Match when={as("patch")}>{(part) => <Patch part={part()} answer={props.answer} />}</Match>
      <Match when={as("agent")}>{(part) => <Chip icon="at-sign" text={part().name} />}</Match>
      <Match when={as("retry")}>{(part) => <Retry part={part()} />}</Match>
      <Match when={as("subtask")}>{(part) => <Subtask part={part()} />}</Match>
    </Switch>
  );
}

/** Text is open while its step is and it has no end of its own. */
function isOpen(span: { end?: number } | undefined, answer: AssistantMessage | undefined): boolean {
  return answer !== undefined && answer.time.completed === undefined && span?.end === undefined;
}

function Answer(props: { part: PartOf<"text">; answer?: AssistantMessage | undefined }) {
  return (
    <Show when={failedAttemptText(props.part) === undefined} fallback={<FailedAttempt part={props.part} />}>
      <Show when={props.part.synthetic !== true} fallback={<Chip icon="server" text={`${words.bySystem}: ${props.part.text}`} />}>
        <Markdown text={props.part.text} isOpen={isOpen(props.part.time, props.answer)} />
      </Show>
    </Show>
  );
}

/** What was said in an attempt that failed: kept, and no part of the answer. */
export function failedAttemptText(part: Part): string | undefined {
  const said = part.type === "text" || part.type === "reasoning" ? part.metadata?.sturdy?.failedAttempt : undefined;
  return typeof said === "string" && said !== "" ? said : undefined;
}

function FailedAttempt(props: { part: Part }) {
  return (
    <Fold class="line failed-attempt" summary={<><Icon name="refresh-cw" /> <span class="cut">{words.failedAttempt}</span></>}>
      <div class="muted"><Markdown text={failedAttemptText(props.part) ?? ""} isOpen={false} /></div>
    </Fold>
  );
}

/** Of a growing thought, where its newest heading is looked for. */
const LAST_CHARS = 2000;

function Reasoning(props: { part: PartOf<"reasoning">; answer?: AssistantMessage | undefined }) {
  const open = () => isOpen(props.part.time, props.answer);
  const tookMs = () => (props.part.time.end ?? serverNow()) - props.part.time.start;
  // Its end is enough: the whole may be long, and this is asked for in every frame.
  const lastLine = () => {
    const end = props.part.text.slice(-LAST_CHARS).trim();
    const heading = /^(?:#+ .*|\*\*.*\*\*)$/m.exec(end.split("\n").toReversed().join("\n"))?.[0];
    return (heading ?? end.split("\n").at(-1) ?? "").replaceAll(/[*#`]/g, "").trim();
  };
  return (
    <Fold class="reasoning" summary={
      <>
        <Icon name="brain" />
        <Show when={open()} fallback={<span>{tookMs() < 950 ? words.thoughtBriefly : words.thought(words.took(tookMs()))}</span>}>
          <span class="pulse">{words.thinking}</span>
          <Ticking since={props.part.time.start} />
          <span class="cut muted grow">{lastLine()}</span>
        </Show>
      </>
    }>
      <Markdown text={props.part.text} isOpen={open()} />
    </Fold>
  );
}

function StepFinish(props: { part: PartOf<"step-finish"> }) {
  const note = () => {
    switch (props.part.reason) {
      case "stop":
      case "tool-calls":
        return words.stepEnd.tokens(props.part.tokens.input, props.part.tokens.output, props.part.tokens.cache.read);
      case "length":
        return words.stepEnd.length;
      case "content-filter":
        return words.stepEnd.filter;
      default:
        return words.stepEnd.other(props.part.reason);
    }
  };
  const isNote = () => !["stop", "tool-calls"].includes(props.part.reason);
  return <Chip icon={isNote() ? "scissors" : "check"} text={note()} tone={isNote() ? "warn" : undefined} />;
}

function Subtask(props: { part: PartOf<"subtask"> }) {
  return (
    <Fold class="card" summary={<><Icon name="bot" /><span class="grow cut"><strong>{props.part.agent}</strong> {props.part.description}</span></>}>
      <div class="card-body">
        <Markdown text={props.part.prompt} isOpen={false} />
      </div>
    </Fold>
  );
}

function Unknown(props: { part: Part }) {
  return (
    <Fold class="line" summary={<><Icon name="circle-help" /> {words.unknownPart(props.part.type)}</>}>
      <pre class="terminal">{JSON.stringify(props.part, null, 2)}</pre>
    </Fold>
  );
}

const CHIP_CHARS_MAX = 100;

export function Chip(props: { icon: string; text: string; tone?: string | undefined }) {
  const [isWhole, setWhole] = createSignal(false);
  const isLong = () => props.text.length > CHIP_CHARS_MAX;
  const text = () => (isLong() && !isWhole() ? `${props.text.slice(0, CHIP_CHARS_MAX)}…` : props.text);
  return (
    <span class={`chip ${props.tone ?? ""} ${isWhole() ? "is-whole" : ""}`}>
      <Icon name={props.icon} />
      <Show when={isLong()} fallback={<span>{text()}</span>}>
        <button type="button" class="plain" onClick={() => setWhole(!isWhole())} aria-expanded={isWhole()}>{text()}</button>
      </Show>
    </span>
  );
}

/** The files as they were at a place in a turn; leads to what the turn changed. */
function TreeChip(props: { icon: string; text: string; part: PartOf<"step-start" | "snapshot">; answer: AssistantMessage | undefined }) {
  const text = () => `${props.text} ${props.part.snapshot === undefined ? "" : words.tree(props.part.snapshot.slice(0, 8))}`.trim();
  return (
    <Show when={!READ_ONLY && props.part.snapshot} fallback={<Chip icon={props.icon} text={text()} />}>
      <a class="chip" href={sessionPath(props.part.sessionID, "changes", props.answer?.parentID)}><Icon name={props.icon} /> {text()}</a>
    </Show>
  );
}
