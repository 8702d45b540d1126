// What the agent means to do.

import { For, Show } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { Empty } from "../kit/empty.tsx";
import { messagePath } from "../view/router.ts";
import { thread, todos } from "../view/store.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import type { Todo } from "../wire/types.ts";

const ICONS: Readonly<Record<string, string>> = { completed: "circle-check", in_progress: "circle-dot", cancelled: "circle-x" };

export function TodoPanel(props: { sessionID: string }) {
  const list = () => todosIn(todos(props.sessionID));
  const done = () => list().filter((todo) => todo.status === "completed").length;
  return (
    <Show when={list().length > 0} fallback={<Empty icon="list-todo" title={panelWords.noTodos} hint={panelWords.noTodosHint} />}>
      <p class="muted small num">{words.tool.todos(done(), list().length)}</p>
      <TodoList todos={list()} />
      <Show when={lastChange(props.sessionID)}>{(call) => <p class="small"><a href={messagePath(props.sessionID, call().messageID, { part: call().partID })}>{panelWords.todoBy} {words.time(call().at)}</a></p>}</Show>
    </Show>
  );
}

/** The newest call that changed the list, as far as the session is loaded. */
function lastChange(sessionID: string): { readonly messageID: string; readonly partID: string; readonly at: number } | undefined {
  todos(sessionID);
  const found = thread(sessionID);
  for (const id of found?.order.toReversed() ?? []) {
    for (const partID of found?.parts.get(id) ?? []) {
      const part = found?.part.get(partID)?.value;
      if (part?.type === "tool" && part.tool === "todowrite" && part.state.status === "completed") return { messageID: id, partID, at: part.state.time.end };
    }
  }
  return undefined;
}

/** A list as a model wrote it: what has no text is not one of its points, and everything else is text. */
export function todosIn(value: unknown): Todo[] {
  if (!Array.isArray(value)) return [];
  const text = (said: unknown) => (typeof said === "string" ? said : "");
  return value.flatMap((one: unknown) => {
    const { content, status, priority } = (typeof one === "object" && one !== null ? one : { content: one }) as Partial<Record<keyof Todo, unknown>>;
    return text(content) === "" ? [] : [{ content: text(content), status: text(status) || "pending", priority: text(priority) }];
  });
}

export function TodoList(props: { todos: readonly Todo[] }) {
  return (
    <ul class="todos">
      <For each={props.todos}>
        {(todo) => (
          <li class={`is-${todo.status}`}>
            <Icon name={ICONS[todo.status] ?? "circle"} />
            <span class="off-screen">{todo.status.replace("_", " ")}: </span>
            <span dir="auto">{todo.content}</span>
            <Show when={todo.priority === "high" && todo.status !== "completed"}>
              <span class="chip warn">{todo.priority}</span>
            </Show>
          </li>
        )}
      </For>
    </ul>
  );
}
