// The words of a prompt: no Markdown, line breaks kept, long ones folded.

import { Show, createEffect, createSignal } from "solid-js";
import { Dynamic } from "solid-js/web";
import { words } from "../../words/en.ts";
import type { FilePart, Part, PartOf, TextPart } from "../../wire/types.ts";
import { Chip } from "./part.tsx";
import type { MentionText } from "./mentions.tsx";

const LINES_MAX = 12;

/** What the words of a prompt may name. */
export type MentionPart = PartOf<"agent"> | FilePart;

export function mentionsIn(parts: readonly Part[]): MentionPart[] {
  return parts.filter((part): part is MentionPart => part.type === "agent" || (part.type === "file" && part.source !== undefined));
}

/** An agent that stands in the words of the prompt needs no chip beside them. */
export function isMentionedIn(part: Part, text: string): boolean {
  if (part.type !== "agent" || part.source === undefined) return false;
  const { start, end, value } = part.source as { readonly start: number; readonly end: number; readonly value: string };
  return value !== "" && text.slice(start, end) === value;
}

export function PromptText(props: { part: TextPart; mentions: readonly MentionPart[] }) {
  const [isWhole, setWhole] = createSignal(false);
  // Loaded with the first prompt that names something; until then its words stand there as they are.
  const [named, setNamed] = createSignal<typeof MentionText>();
  createEffect(() => props.mentions.length > 0 && void import("./mentions.tsx").then((file) => setNamed(() => file.MentionText), () => {}));
  const lines = () => props.part.text.split("\n");
  const isLong = () => lines().length > LINES_MAX;
  const text = () => (isLong() && !isWhole() ? lines().slice(0, LINES_MAX).join("\n") : props.part.text);
  return (
    <Show when={props.part.synthetic !== true} fallback={<Chip icon="server" text={`${words.bySystem}: ${props.part.text}`} />}>
      <p class="prompt-text" dir="auto"><Show when={named()} fallback={text()}>{(drawn) => <Dynamic component={drawn()} text={text()} mentions={props.mentions} />}</Show></p>
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
