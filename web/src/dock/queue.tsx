// Prompts that wait: each is taken back or edited, and after a restart all are answered when somebody says so.

import { For, Show } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { resume, withdraw } from "../view/actions.ts";
import { status } from "../view/store.ts";
import { partsOf } from "../timeline/turn.tsx";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";

export function QueueDock(props: { sessionID: string; waiting: readonly string[]; onEdit: (text: string) => void }) {
  const textOf = (id: string) =>
    partsOf(props.sessionID, id)
      .map((part) => (part.type === "text" && part.synthetic !== true ? part.text : ""))
      .join("\n");
  const edit = async (id: string) => {
    const text = textOf(id);
    if (await withdraw(props.sessionID, id)) props.onEdit(text);
  };
  return (
      <section class="dock queue" aria-label={panelWords.waitingPrompts(props.waiting.length)}>
        <header>
          <Icon name="clock" />
          <span class="grow">{panelWords.waitingPrompts(props.waiting.length)}</span>
          <Show when={status(props.sessionID).type === "idle"}>
            <button type="button" class="primary" onClick={() => void resume(props.sessionID)}>{panelWords.resume}</button>
          </Show>
        </header>
        <ul>
          <For each={props.waiting}>
            {(id) => (
              <li>
                <span class="grow cut">{textOf(id)}</span>
                <button type="button" class="quiet" onClick={() => void edit(id)}>{words.edit}</button>
                <button type="button" class="quiet" onClick={() => void withdraw(props.sessionID, id)}>{panelWords.withdraw}</button>
              </li>
            )}
          </For>
        </ul>
      </section>
  );
}
