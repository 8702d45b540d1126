// All shortcuts. Single keys can be changed: a press on one asks for another, and says what is in its way.

import { For, Show, createSignal, onCleanup } from "solid-js";
import { preferences } from "../view/preferences.ts";
import { KEY_ACTIONS, type KeyAction, type OwnKeys, isKey, isSecond, keyOf, takenBy, withKey } from "../view/shortcuts.ts";
import { panelWords } from "../words/en-panels.ts";

export function ShortcutList(props: { onChange: (keys: OwnKeys) => void }) {
  const [asked, setAsked] = createSignal<KeyAction>();
  const [trouble, setTrouble] = createSignal("");
  const own = () => preferences().keys;
  const ask = (action: KeyAction | undefined) => {
    setTrouble("");
    setAsked(action);
  };
  const press = (event: KeyboardEvent) => {
    const action = asked();
    // Tab leaves the button, which gives the question up; with Ctrl or Alt it is something else.
    if (action === undefined || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || ["Tab", "Shift"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Escape") return ask(undefined);
    if (!isKey(event.key)) return void setTrouble(panelWords.keyUnfit);
    const taken = takenBy(event.key, action, own());
    if (taken !== undefined) return void setTrouble(panelWords.keyTaken(event.key, taken === "answers" ? panelWords.keyAnswers : panelWords.keyActions[taken]));
    props.onChange(withKey(action, event.key, own()));
    ask(undefined);
  };
  // Before the page's own shortcuts: the key that is pressed here is not meant.
  document.addEventListener("keydown", press, true);
  onCleanup(() => document.removeEventListener("keydown", press, true));
  return (
    <section>
      <h2>{panelWords.shortcuts}</h2>
      <Show when={trouble() !== ""}><p class="bad small" role="alert">{trouble()}</p></Show>
      <dl class="numbers keys">
        <For each={panelWords.otherKeys}>{([keys, what]) => <><dt><kbd>{keys}</kbd></dt><dd>{what}</dd></>}</For>
        <For each={KEY_ACTIONS}>
          {(action) => (
            <>
              <dt>
                <Show when={isSecond(action)}><kbd>{keyOf("go", own())}</kbd> </Show>
                <button type="button" aria-label={panelWords.keyChange(panelWords.keyActions[action])} title={panelWords.keyChange(panelWords.keyActions[action])}
                  disabled={!preferences().letterKeys} aria-pressed={asked() === action} onClick={() => ask(asked() === action ? undefined : action)} onBlur={() => asked() === action && ask(undefined)}>
                  <Show when={asked() === action} fallback={<kbd>{keyOf(action, own())}</kbd>}>{panelWords.keyPress}</Show>
                </button>
              </dt>
              <dd>{panelWords.keyActions[action]}</dd>
            </>
          )}
        </For>
      </dl>
      <Show when={Object.keys(own()).length > 0}><button type="button" onClick={() => props.onChange({})}>{panelWords.keysUsual}</button></Show>
    </section>
  );
}
