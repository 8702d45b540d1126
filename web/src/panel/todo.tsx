// What the agent means to do.

import { For, Show } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { Empty } from "../kit/empty.tsx";
import { todos } from "../view/store.ts";
import { words } from "../words/en.ts";
import type { Todo } from "../wire/types.ts";

const ICONS: Readonly<Record<string, string>> = { completed: "circle-check", in_progress: "circle-dot", cancelled: "circle-x" };

export function TodoPanel(props: { sessionID: string }) {
  const list = () => todos(props.sessionID);
  const done = () => list().filter((todo) => todo.status === "completed").length;
  return (
    <Show when={list().length > 0} fallback={<Empty icon="list-todo" title={words.noTodos} hint={words.noTodosHint} />}>
      <p class="muted small num">{words.tool.todos(done(), list().length)}</p>
      <TodoList todos={list()} />
    </Show>
  );
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
