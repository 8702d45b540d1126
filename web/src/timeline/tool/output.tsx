// The output of a tool: text nodes with terminal colours. A long one shows its end, or all of it when asked.

import { For, Show, createMemo, createSignal } from "solid-js";
import { ansiRuns } from "../../text/ansi.ts";
import { words } from "../../words/en.ts";

/** What is drawn at once; more would hold up everything else. */
const CHARS_MAX = 20_000;
const WHOLE_CHARS_MAX = 2_000_000;

export function Output(props: { text: string; isGrowing: boolean }) {
  const [isWhole, setWhole] = createSignal(false);
  const isLong = () => props.text.length > CHARS_MAX;
  const shown = () => {
    if (!isLong()) return props.text;
    return isWhole() ? props.text.slice(-WHOLE_CHARS_MAX) : props.text.slice(-CHARS_MAX);
  };
  const runs = createMemo(() => ansiRuns(shown()));
  return (
    <Show when={props.text !== ""}>
      <Show when={isLong()}>
        <p class="card-note">
          <button type="button" class="link" onClick={() => setWhole(!isWhole())}>
            {isWhole() ? words.showLess : words.showAll(props.text.split("\n").length)}
          </button>
        </p>
      </Show>
      <pre class="terminal" dir="auto" tabindex="0" classList={{ "is-growing": props.isGrowing }}>
        <For each={runs()}>{(run) => (run.style === "" ? run.text : <span class={run.style}>{run.text}</span>)}</For>
      </pre>
    </Show>
  );
}
