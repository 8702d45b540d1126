// A block of code: plain at once, in colours when the worker has looked at it.

import { For, Show, createEffect, createSignal, on, onCleanup } from "solid-js";
import { words } from "../words/en.ts";
import { type Coloured, colour } from "./highlight.ts";
import { CopyButton } from "./render.tsx";

/** Larger blocks stay plain. */
const COLOUR_CHARS_MAX = 32 * 1024;

/** Between two looks at code that grows. */
const COLOUR_PAUSE_MS = 500;

export function Code(props: { text: string; language?: string | undefined; isOpen?: boolean }) {
  return (
    <figure class="code">
      <figcaption>
        <span>{props.language?.split(/[\s,{]/)[0] ?? ""}</span>
        <CopyButton text={() => props.text} label={words.copyCode} />
      </figcaption>
      <CodeText text={props.text} language={props.language} isOpen={props.isOpen} />
    </figure>
  );
}

export function CodeText(props: { text: string; language?: string | undefined; isOpen?: boolean | undefined }) {
  const [runs, setRuns] = createSignal<Coloured>();
  let isGone = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  onCleanup(() => {
    isGone = true;
    clearTimeout(timer);
  });
  const look = async () => {
    timer = undefined;
    const { text, language } = props;
    if (!language || text.length > COLOUR_CHARS_MAX) return setRuns(undefined);
    const found = await colour(text, language);
    if (!isGone && props.text.startsWith(text)) setRuns(found && { text, runs: found });
  };
  createEffect(on(() => [props.text, props.language], () => {
    if (props.isOpen) timer ??= setTimeout(() => void look(), COLOUR_PAUSE_MS);
    else void look();
  }));
  /** What came since is plain. */
  const isPrefix = () => props.text.startsWith(runs()?.text ?? "\0");
  return (
    <pre tabindex="0" dir="ltr">
      <code>
        <Show when={isPrefix() && runs()} fallback={props.text}>
          {(found) => (
            <>
              <For each={found().runs}>{([style, text]) => (style === "" ? text : <span class={`hl-${style}`}>{text}</span>)}</For>
              {props.text.slice(found().text.length)}
            </>
          )}
        </Show>
      </code>
    </pre>
  );
}
