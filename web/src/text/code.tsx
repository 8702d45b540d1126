// A block of code: plain at once, in colours when the worker has looked at it.

import { For, Show, createEffect, createSignal, onCleanup } from "solid-js";
import { words } from "../words/en.ts";
import { type Coloured, colour } from "./highlight.ts";
import { CopyButton } from "./render.tsx";

/** Larger blocks stay plain. */
const COLOUR_CHARS_MAX = 32 * 1024;

export function Code(props: { text: string; language?: string | undefined }) {
  return (
    <figure class="code">
      <figcaption>
        <span>{props.language?.split(/[\s,{]/)[0] ?? ""}</span>
        <CopyButton text={() => props.text} label={words.copyCode} />
      </figcaption>
      <CodeText text={props.text} language={props.language} />
    </figure>
  );
}

export function CodeText(props: { text: string; language?: string | undefined }) {
  const [runs, setRuns] = createSignal<Coloured>();
  createEffect(() => {
    const { text, language } = props;
    let isStale = false;
    onCleanup(() => {
      isStale = true;
    });
    if (!language || text.length > COLOUR_CHARS_MAX) return setRuns(undefined);
    void colour(text, language).then((found) => {
      if (!isStale) setRuns(found && { text, runs: found });
    });
  });
  return (
    <pre tabindex="0" dir="ltr">
      <code>
        <Show when={runs()?.text === props.text && runs()} fallback={props.text}>
          {(found) => (
            <For each={found().runs}>{([style, text]) => (style === "" ? text : <span class={`hl-${style}`}>{text}</span>)}</For>
          )}
        </Show>
      </code>
    </pre>
  );
}
