// A tool call as a card: what was called, what became of it, and, opened, all of it.

import { For, type JSX, Match, Show, Switch, createMemo, lazy } from "solid-js";
import { Fold } from "../../kit/fold.tsx";
import { Icon } from "../../kit/icon.tsx";
import { Ticking } from "../../kit/ticking.tsx";
import { filePath } from "../../view/router.ts";
import { asks, message } from "../../view/store.ts";
import { isInterrupted, isStopped } from "../../wire/failure.ts";
import { linksIn } from "../../wire/large.ts";
import { words } from "../../words/en.ts";
import type { Fields, ToolPart, ToolState } from "../../wire/types.ts";
import { Chip } from "../part/part.tsx";
import { FileView } from "../part/file.tsx";

// Loaded when the first sub-agent is seen, and when the first card is opened.
const TaskCard = lazy(() => import("./task.tsx").then((file) => ({ default: file.TaskCard })));
const ToolBody = lazy(() => import("./body.tsx").then((file) => ({ default: file.ToolBody })));
// And when the first one with something large in it is.
const WholePart = lazy(() => import("../part/large.tsx").then((file) => ({ default: file.WholePart })));

/** Ends that look different, and the states before them. `denied` is by a person, `forbidden` by a rule. */
export type CallOutcome = "pending" | "running" | "done" | "failed" | "denied" | "forbidden" | "stopped" | "cut" | "interrupted";

export function outcomeOf(part: ToolPart): CallOutcome {
  const { state } = part;
  switch (state.status) {
    case "pending":
      return "pending";
    case "running":
      return "running";
    case "completed":
      return "done";
    case "error": {
      if (state.metadata?.["interrupted"] === true) return endOf(part);
      // The server's words, by which every client tells them apart; a file that may not be read says "permission", too.
      if (/rejected permission|user dismissed/.test(text(state.error))) return "denied";
      return text(state.error).includes("specified a rule") ? "forbidden" : "failed";
    }
    default:
      return state satisfies never;
  }
}

/** Why a call was cut short is said by the answer it belongs to. */
function endOf(part: ToolPart): CallOutcome {
  const info = message(part.sessionID, part.messageID);
  const error = info?.role === "assistant" ? info.error : undefined;
  if (error === undefined || isStopped(error)) return "stopped";
  return isInterrupted(error) ? "interrupted" : "cut";
}

const ICONS: Readonly<Record<string, string>> = {
  bash: "terminal",
  read: "file-text",
  glob: "search",
  grep: "search",
  list: "folder",
  edit: "file-pen",
  write: "file-pen",
  apply_patch: "file-diff",
  todowrite: "list-todo",
  todoread: "list-todo",
  question: "circle-help",
  webfetch: "globe",
  websearch: "globe",
  skill: "sparkles",
  lsp: "workflow",
  StructuredOutput: "clipboard-list",
  invalid: "circle-alert",
};

export function ToolCard(props: { part: ToolPart }) {
  return (
    <Show when={props.part.tool === "task"} fallback={<PlainCard part={props.part} />}>
      <TaskCard part={props.part} />
    </Show>
  );
}

function PlainCard(props: { part: ToolPart }) {
  const outcome = createMemo(() => outcomeOf(props.part));
  const isOpenAtFirst = () => outcome() === "failed" || ["edit", "write", "apply_patch"].includes(props.part.tool);
  const command = () => (props.part.tool === "bash" ? text(props.part.state.input["command"]) : undefined);
  return (
    <Fold class={`card tool is-${outcome()}`} open={isOpenAtFirst()} summary={
      <>
        <Icon name={ICONS[props.part.tool] ?? (props.part.tool.includes("_") ? "plug" : "wrench")} />
        <Show when={command()} fallback={<Title part={props.part} />}>
          {(line) => (
            <code class="command grow" dir="ltr">
              <span class="muted">$ </span>
              {line()}
            </code>
          )}
        </Show>
        <Meta part={props.part} outcome={outcome()} />
      </>
    }>
      <Whole part={props.part}>
        {(part) => (
          <>
            <ToolBody part={part()} />
            <Attachments state={part().state} />
          </>
        )}
      </Whole>
      <Show when={!READ_ONLY && fileOf(props.part)}>{(file) => <a class="card-link" href={filePath(props.part.sessionID, file().path, file().line)}>{words.openFile(file().path)}</a>}</Show>
      <Show when={props.part.state.status === "completed" && props.part.state.time.compacted !== undefined}>
        <Chip icon="scissors" text={words.tool.compacted} />
      </Show>
    </Fold>
  );
}

/** What is inside of a card is drawn with all that the call holds. */
export function Whole(props: { part: ToolPart; children: (part: () => ToolPart) => JSX.Element }) {
  const isWhole = createMemo(() => READ_ONLY || linksIn(props.part).length === 0);
  return (
    <Show when={!isWhole()} fallback={props.children(() => props.part)}>
      <WholePart part={props.part}>{(part) => props.children(() => part as ToolPart)}</WholePart>
    </Show>
  );
}

function Title(props: { part: ToolPart }) {
  const subject = () => subjectOf(props.part);
  return (
    <span class="grow cut">
      <span class="tool-name">{props.part.tool}</span>{" "}
      <Show when={subject() !== ""}>
        <code dir="ltr">{subject()}</code>
      </Show>
    </span>
  );
}

/** The file a call is about, and from which line on. */
function fileOf(part: ToolPart): { readonly path: string; readonly line: number | undefined } | undefined {
  if (!["read", "edit", "write"].includes(part.tool)) return undefined;
  const { input } = part.state;
  const path = text(input["filePath"]);
  const line = typeof input["offset"] === "number" && input["offset"] > 0 ? input["offset"] : undefined;
  return path === "" ? undefined : { path, line };
}

/** What a call is about, in one line. */
export function subjectOf(part: ToolPart): string {
  const { input } = part.state;
  const title = part.state.status === "completed" || part.state.status === "running" ? part.state.title : undefined;
  switch (part.tool) {
    case "read":
    case "edit":
    case "write":
    case "list":
      return title || text(input["filePath"] ?? input["path"]);
    case "glob":
    case "grep":
      return [text(input["pattern"]), text(input["path"] ?? input["include"])].filter(Boolean).join(" in ");
    case "webfetch":
      return [text(input["url"]), title === text(input["url"]) ? "" : (title ?? "")].filter(Boolean).join(" ");
    case "lsp":
      return [text(input["operation"]), text(input["filePath"])].filter(Boolean).join(" ") || (title ?? "");
    case "websearch":
      return text(input["query"]);
    case "skill":
      return text(input["name"]);
    case "todowrite":
      return todosDone(input["todos"]) ?? title ?? "";
    case "question":
      return text((Array.isArray(input["questions"]) ? (input["questions"][0] as Fields | null) : undefined)?.["question"]) || (title ?? "");
    default:
      return title ?? "";
  }
}

/** How far a list is; the server's own title counts what is left. */
function todosDone(todos: unknown): string | undefined {
  if (!Array.isArray(todos) || todos.length === 0) return undefined;
  const done = todos.filter((one: Fields | null) => one?.["status"] === "completed").length;
  return words.tool.todos(done, todos.length);
}

function Meta(props: { part: ToolPart; outcome: CallOutcome }) {
  /** It has not begun: somebody is asked first. */
  const isAsked = createMemo(() => props.outcome === "running" && asks().some((ask) => ask.request.tool?.callID === props.part.callID));
  const took = () => {
    const { state } = props.part;
    return state.status === "completed" || state.status === "error" ? state.time.end - state.time.start : undefined;
  };
  const running = () => (props.part.state.status === "running" ? props.part.state.time.start : undefined);
  return (
    <span class="meta num">
      <Counts part={props.part} />
      <Switch>
        <Match when={isAsked()}><span class="warn"><Icon name="hand" /> {words.tool.asked}</span></Match>
        <Match when={props.outcome === "running"}>
          <Icon name="loader-circle" class="spin" />
          <span class="off-screen">{words.tool.running}</span>
        </Match>
        <Match when={props.outcome === "pending"}>{words.tool.pending}</Match>
      </Switch>
      <OutcomeMark outcome={props.outcome} />
      <Show when={!isAsked() && running()}>{(since) => <Ticking since={since()} />}</Show>
      <Show when={took() !== undefined && (took() ?? 0) >= 1000}>{words.took(took() ?? 0)}</Show>
    </span>
  );
}

const MARKS: Readonly<Record<Exclude<CallOutcome, "pending" | "running" | "done">, { readonly icon: string; readonly tone: string; readonly hint?: string }>> = {
  failed: { icon: "circle-x", tone: "bad" },
  denied: { icon: "hand", tone: "warn" },
  forbidden: { icon: "ban", tone: "warn" },
  stopped: { icon: "square", tone: "" },
  cut: { icon: "zap", tone: "bad", hint: words.tool.cutHint },
  interrupted: { icon: "zap", tone: "warn", hint: words.tool.interruptedHint },
};

/** How a call ended, if it did not end well. */
export function OutcomeMark(props: { outcome: CallOutcome }) {
  const name = () => props.outcome as keyof typeof MARKS;
  return <Show when={MARKS[name()]}>{(mark) => <span class={mark().tone} title={mark().hint}><Icon name={mark().icon} /> {words.tool[name()]}</span>}</Show>;
}

function Counts(props: { part: ToolPart }) {
  const metadata = (): Fields => ("metadata" in props.part.state ? (props.part.state.metadata ?? {}) : {});
  const exit = () => metadata()["exit"];
  const changes = createMemo(() => changesOf(metadata()));
  const matches = () => {
    if (props.part.tool !== "grep" && props.part.tool !== "glob") return undefined;
    const found = metadata()["matches"] ?? metadata()["count"];
    return typeof found === "number" ? found : undefined;
  };
  return (
    <>
      <Show when={matches() !== undefined}><span>{words.tool.matches(matches() ?? 0)}</span></Show>
      <Show when={typeof exit() === "number" && exit() !== 0}>
        <span class="bad">{words.tool.exit(exit() as number)}</span>
      </Show>
      <Show when={changes()}>
        {(found) => (
          <>
            <span class="plus">+{found().added}</span> <span class="minus">−{found().removed}</span>
          </>
        )}
      </Show>
    </>
  );
}

function changesOf(metadata: Fields): { added: number; removed: number } | undefined {
  const diff = metadata["diff"];
  if (typeof diff !== "string" || diff === "") return undefined;
  const lines = diff.split("\n");
  const added = lines.filter((line) => line.startsWith("+") && !line.startsWith("+++")).length;
  const removed = lines.filter((line) => line.startsWith("-") && !line.startsWith("---")).length;
  return { added, removed };
}

function Attachments(props: { state: ToolState }) {
  const files = () => (props.state.status === "completed" ? (props.state.attachments ?? []) : []);
  return (
    <Show when={files().length > 0}>
      <div class="card-body">
        <For each={files()}>{(file) => <FileView file={file} />}</For>
      </div>
    </Show>
  );
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
