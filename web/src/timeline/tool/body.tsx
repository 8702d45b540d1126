// What is inside a tool card, by tool.

import { For, Match, Show, Switch, createMemo, lazy } from "solid-js";
import { CodeText } from "../../text/code.tsx";
import { Markdown } from "../../text/render.tsx";
import { thread } from "../../view/store.ts";
import { words } from "../../words/en.ts";
import type { Fields, Todo, ToolPart } from "../../wire/types.ts";
import { TodoList, todosIn } from "../../panel/todo.tsx";
import { Matches } from "./matches.tsx";
import { Output } from "./output.tsx";
import { outcomeOf, text } from "./tool.tsx";

const DiffView = lazy(() => import("../../panel/diff.tsx").then((file) => ({ default: file.DiffView })));

export function ToolBody(props: { part: ToolPart }) {
  const state = () => props.part.state;
  const metadata = (): Fields => {
    const now = state();
    return "metadata" in now ? (now.metadata ?? {}) : {};
  };
  const output = () => {
    const now = state();
    if (now.status === "completed") return text(now.output);
    return now.status === "running" ? text(metadata()["output"]) : "";
  };
  const diff = () => text(metadata()["diff"]);
  return (
    <>
      <Switch fallback={<Plain input={state().input} output={output()} />}>
        <Match when={props.part.tool === "bash"}>
          <Output text={text(metadata()["output"]) || output()} isGrowing={state().status === "running"} />
        </Match>
        <Match when={["edit", "write", "apply_patch", "multiedit"].includes(props.part.tool)}>
          <Show when={diff() !== ""} fallback={<Written input={state().input} output={output()} />}>
            <DiffView patch={diff()} />
          </Show>
          <Diagnostics metadata={metadata()} />
        </Match>
        <Match when={["glob", "grep"].includes(props.part.tool)}>
          <Matches sessionID={props.part.sessionID} text={output()} />
        </Match>
        <Match when={["read", "list", "skill", "lsp"].includes(props.part.tool)}>
          <Output text={output()} isGrowing={false} />
        </Match>
        <Match when={props.part.tool === "webfetch"}>
          <div class="card-body">
            <Markdown text={output()} isOpen={false} />
          </div>
        </Match>
        <Match when={props.part.tool === "todowrite" || props.part.tool === "todoread"}>
          <Todos part={props.part} input={state().input} metadata={metadata()} />
        </Match>
        <Match when={props.part.tool === "question"}>
          <Questions input={state().input} metadata={metadata()} output={output()} />
        </Match>
        <Match when={props.part.tool === "StructuredOutput"}>
          <CodeText text={JSON.stringify(state().input, null, 2)} language="json" />
        </Match>
      </Switch>
      <ErrorText part={props.part} />
      <WholeOutput metadata={metadata()} />
    </>
  );
}

function ErrorText(props: { part: ToolPart }) {
  const said = () => (props.part.state.status === "error" ? text(props.part.state.error) : undefined);
  return (
    <Show when={said()}>
      {(error) => (
        <p class={`tool-error is-${outcomeOf(props.part)}`}>
          <Show when={outcomeOf(props.part) === "interrupted"}>{words.tool.interruptedHint}. </Show>
          <Show when={outcomeOf(props.part) === "cut"}>{words.tool.cutHint}. </Show>
          {error()}
        </p>
      )}
    </Show>
  );
}

function WholeOutput(props: { metadata: Fields }) {
  return (
    <Show when={props.metadata["truncated"] === true && text(props.metadata["outputPath"])}>
      {(path) => (
        <p class="card-note">
          {words.tool.wholeOutput} <code>{path()}</code>
        </p>
      )}
    </Show>
  );
}

function Written(props: { input: Fields; output: string }) {
  const content = () => text(props.input["content"]) || text(props.input["patchText"]) || text(props.input["newString"]);
  const language = () => text(props.input["filePath"]).split(".").at(-1);
  return (
    <Show when={content() !== ""} fallback={<Plain input={props.input} output={props.output} />}>
      <div class="code-scroll">
        <CodeText text={content()} language={language()} />
      </div>
    </Show>
  );
}

interface Diagnostic {
  readonly message?: string;
  readonly range?: { readonly start?: { readonly line?: number } };
}

function Diagnostics(props: { metadata: Fields }) {
  const found = createMemo(() => {
    const files = (props.metadata["diagnostics"] ?? {}) as Record<string, readonly Diagnostic[]>;
    return Object.entries(files).flatMap(([file, list]) => (Array.isArray(list) ? list.map((one: Diagnostic) => ({ file, one })) : []));
  });
  return (
    <Show when={found().length > 0}>
      <div class="card-body">
        <p class="bad small">{words.tool.diagnostics}</p>
        <ul class="paths">
          <For each={found().slice(0, 20)}>
            {({ file, one }) => (
              <li>
                <code>
                  {file}:{(one.range?.start?.line ?? 0) + 1}
                </code>{" "}
                {one.message}
              </li>
            )}
          </For>
        </ul>
      </div>
    </Show>
  );
}

function Todos(props: { part: ToolPart; input: Fields; metadata: Fields }) {
  const list = () => todosIn(props.metadata["todos"] ?? props.input["todos"]);
  const changes = () => (props.part.tool === "todowrite" ? changesOf(todosBefore(props.part), list()) : []);
  return (
    <div class="card-body">
      <Show when={changes().length > 0}><p class="small muted">{changes().join(" · ")}</p></Show>
      <TodoList todos={list()} />
    </div>
  );
}

/** The list that the call before this one wrote, as far as the session is loaded. */
function todosBefore(part: ToolPart): readonly Todo[] {
  const found = thread(part.sessionID);
  if (!found) return [];
  let before: readonly Todo[] = [];
  for (const id of found.order) {
    for (const partID of found.parts.get(id) ?? []) {
      if (partID === part.id) return before;
      const one = found.part.get(partID)?.value;
      if (one?.type === "tool" && one.tool === "todowrite" && Array.isArray(one.state.input["todos"])) before = todosIn(one.state.input["todos"]);
    }
  }
  return before;
}

/** In words: what was done, begun, added or dropped since. */
function changesOf(before: readonly Todo[], now: readonly Todo[]): string[] {
  const old = new Map(before.map((todo) => [todo.content, todo.status]));
  const said: string[] = [];
  for (const { content, status } of now) {
    if (!old.has(content)) said.push(`${words.tool.todoChange.added}: ${content}`);
    else if (old.get(content) === status) continue;
    else if (status === "completed") said.push(`${words.tool.todoChange.done}: ${content}`);
    else if (status === "in_progress") said.push(`${words.tool.todoChange.begun}: ${content}`);
  }
  const kept = new Set(now.map((todo) => todo.content));
  for (const content of old.keys()) if (!kept.has(content)) said.push(`${words.tool.todoChange.dropped}: ${content}`);
  return before.length === 0 ? [] : said;
}

function Questions(props: { input: Fields; metadata: Fields; output: string }) {
  const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
  const questions = () => list(props.input["questions"]) as readonly ({ question?: unknown } | null)[];
  const answer = (index: number) => {
    const given = list(props.metadata["answers"])[index];
    return given === undefined ? "…" : list(given).map(String).join(", ");
  };
  return (
    <dl class="card-body">
      <For each={questions()}>
        {(one, index) => (
          <>
            <dt class="small">{text(one?.question)}</dt>
            <dd class="answer">{answer(index())}</dd>
          </>
        )}
      </For>
    </dl>
  );
}

/** Tools of servers and unknown ones: the input as a small table, the output as text. */
function Plain(props: { input: Fields; output: string }) {
  const fields = () => Object.entries(props.input);
  const shown = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  return (
    <>
      <Show when={fields().length > 0}>
        <dl class="fields">
          <For each={fields()}>
            {([name, value]) => (
              <>
                <dt>{name}</dt>
                <dd dir="auto">{shown(value)}</dd>
              </>
            )}
          </For>
        </dl>
      </Show>
      <Output text={props.output} isGrowing={false} />
    </>
  );
}
