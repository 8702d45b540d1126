// The words of a prompt: no Markdown, line breaks kept, long ones folded.

import { Show, createSignal } from "solid-js";
import { words } from "../../words/en.ts";
import type { TextPart } from "../../wire/types.ts";
import { Chip } from "./part.tsx";

const LINES_MAX = 12;

export function PromptText(props: { part: TextPart }) {
  const [isWhole, setWhole] = createSignal(false);
  const lines = () => props.part.text.split("\n");
  const isLong = () => lines().length > LINES_MAX;
  const text = () => (isLong() && !isWhole() ? lines().slice(0, LINES_MAX).join("\n") : props.part.text);
  return (
    <Show when={props.part.synthetic !== true} fallback={<Chip icon="server" text={`${words.bySystem}: ${props.part.text}`} />}>
      <p class="prompt-text" dir="auto">{text()}</p>
      <Show when={isLong()}>
        <button type="button" class="link" onClick={() => setWhole(!isWhole())}>
          {isWhole() ? words.showLess : words.showAll(lines().length)}
        </button>
      </Show>
      <Show when={props.part.ignored === true}>
        <Chip icon="ban" text={words.notSent} />
      </Show>
    </Show>
  );
}
