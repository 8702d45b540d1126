// A tool call as a card: what was called, what became of it, and, opened, all of it.

import { For, Match, Show, Switch, createMemo } from "solid-js";
import { Icon } from "../../kit/icon.tsx";
import { Ticking } from "../../kit/ticking.tsx";
import { filePath } from "../../view/router.ts";
import { words } from "../../words/en.ts";
import type { Fields, ToolPart, ToolState } from "../../wire/types.ts";
import { Chip } from "../part/part.tsx";
import { FileView } from "../part/file.tsx";
import { ToolBody } from "./body.tsx";
import { TaskCard } from "./task.tsx";

/** Four ends that look different, and the three states before them. */
export type Fate = "pending" | "running" | "done" | "failed" | "denied" | "stopped" | "interrupted";

export function fateOf(state: ToolState): Fate {
  switch (state.status) {
    case "pending":
      return "pending";
    case "running":
      return "running";
    case "completed":
      return "done";
    case "error": {
      if (state.metadata?.["interrupted"] === true) return /restart/i.test(state.error) ? "interrupted" : "stopped";
      if (/rejected|denied|not allowed|permission/i.test(state.error)) return "denied";
      return /abort/i.test(state.error) ? "stopped" : "failed";
    }
    default:
      return state satisfies never;
  }
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
  const fate = createMemo(() => fateOf(props.part.state));
  const isOpenAtFirst = () => fate() === "failed" || ["edit", "write", "apply_patch"].includes(props.part.tool);
  const command = () => (props.part.tool === "bash" ? text(props.part.state.input["command"]) : undefined);
  return (
    <details class={`card tool is-${fate()}`} open={isOpenAtFirst()}>
      <summary>
        <Icon name={ICONS[props.part.tool] ?? (props.part.tool.includes("_") ? "plug" : "wrench")} />
        <Show when={command()} fallback={<Title part={props.part} />}>
          {(line) => (
            <code class="command grow" dir="ltr">
              <span class="muted">$ </span>
              {line()}
            </code>
          )}
        </Show>
        <Meta part={props.part} fate={fate()} />
      </summary>
      <ToolBody part={props.part} />
      <Show when={!READ_ONLY && fileOf(props.part)}>{(file) => <a class="card-link" href={filePath(props.part.sessionID, file().path, file().line)}>{words.openFile(file().path)}</a>}</Show>
      <Attachments state={props.part.state} />
      <Show when={props.part.state.status === "completed" && props.part.state.time.compacted !== undefined}>
        <Chip icon="scissors" text={words.tool.compacted} />
      </Show>
    </details>
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
      return text(input["url"]);
    case "websearch":
      return text(input["query"]);
    case "skill":
      return text(input["name"]);
    case "todowrite":
      return title ?? "";
    default:
      return title ?? "";
  }
}

function Meta(props: { part: ToolPart; fate: Fate }) {
  const took = () => {
    const { state } = props.part;
    return state.status === "completed" || state.status === "error" ? state.time.end - state.time.start : undefined;
  };
  const running = () => (props.part.state.status === "running" ? props.part.state.time.start : undefined);
  return (
    <span class="meta num">
      <Counts part={props.part} />
      <Switch>
        <Match when={props.fate === "running"}>
          <Icon name="loader-circle" class="spin" />
          <span class="off-screen">{words.tool.running}</span>
        </Match>
        <Match when={props.fate === "pending"}>{words.tool.pending}</Match>
        <Match when={props.fate === "failed"}>
          <span class="bad"><Icon name="circle-x" /> {words.tool.failed}</span>
        </Match>
        <Match when={props.fate === "denied"}>
          <span class="warn"><Icon name="hand" /> {words.tool.denied}</span>
        </Match>
        <Match when={props.fate === "stopped"}>
          <span><Icon name="square" /> {words.tool.stopped}</span>
        </Match>
        <Match when={props.fate === "interrupted"}>
          <span class="warn" title={words.tool.interrupted}><Icon name="zap" /> interrupted</span>
        </Match>
      </Switch>
      <Show when={running()}>{(since) => <Ticking since={since()} />}</Show>
      <Show when={took() !== undefined && (took() ?? 0) >= 1000}>{words.took(took() ?? 0)}</Show>
    </span>
  );
}

function Counts(props: { part: ToolPart }) {
  const metadata = (): Fields => ("metadata" in props.part.state ? (props.part.state.metadata ?? {}) : {});
  const exit = () => metadata()["exit"];
  const changes = createMemo(() => changesOf(metadata()));
  return (
    <>
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
