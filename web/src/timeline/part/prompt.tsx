// The words of a prompt: no Markdown, line breaks kept, long ones folded. What they name stands out where it is named.

import { For, Show, createMemo, createSignal } from "solid-js";
import { type MentionPlace, isAt, runsIn } from "../../text/mentioned.ts";
import { filePath } from "../../view/router.ts";
import { words } from "../../words/en.ts";
import type { FilePart, Part, PartOf, TextPart } from "../../wire/types.ts";
import { Chip } from "./part.tsx";

const LINES_MAX = 12;

type NamingPart = PartOf<"agent"> | FilePart;

/** Parts of the prompt that its words name. */
export function namingParts(parts: readonly Part[]): NamingPart[] {
  return parts.filter((part) => part.type === "agent" || part.type === "file");
}

function placeOf(part: NamingPart): MentionPlace | undefined {
  const place = part.type === "agent" ? part.source : part.source?.text;
  return place as MentionPlace | undefined;
}

/** An agent that stands in the words of the prompt needs no chip beside them. */
export function isNamedIn(part: Part, text: string): boolean {
  return part.type === "agent" && isAt(text, placeOf(part));
}

export function PromptText(props: { part: TextPart; naming: readonly NamingPart[] }) {
  const [isWhole, setWhole] = createSignal(false);
  const lines = () => props.part.text.split("\n");
  const isLong = () => lines().length > LINES_MAX;
  const text = () => (isLong() && !isWhole() ? lines().slice(0, LINES_MAX).join("\n") : props.part.text);
  const runs = createMemo(() => runsIn(text(), props.naming.map(placeOf)));
  return (
    <Show when={props.part.synthetic !== true} fallback={<Chip icon="server" text={`${words.bySystem}: ${props.part.text}`} />}>
      <p class="prompt-text" dir="auto">
        <For each={runs()}>{(run) => <Show when={run.at === undefined ? undefined : props.naming[run.at]} fallback={run.text}>{(part) => <Named part={part()} text={run.text} />}</Show>}</For>
      </p>
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

function Named(props: { part: NamingPart; text: string }) {
  const file = () => (!READ_ONLY && props.part.type === "file" && props.part.source?.type === "file" ? props.part.source.path : undefined);
  return (
    <Show when={file()} fallback={<span class="mention">{props.text}</span>}>
      {(path) => <a class="mention" href={filePath(props.part.sessionID, path())}>{props.text}</a>}
    </Show>
  );
}
