// The words of a prompt with what they name: each stands out where it is named, and a file leads to itself.

import { For, Show, createMemo } from "solid-js";
import { type MentionPlace, runsIn } from "../../text/mentioned.ts";
import { filePath } from "../../view/router.ts";
import type { MentionPart } from "./prompt.tsx";

export function MentionText(props: { text: string; mentions: readonly MentionPart[] }) {
  const place = (part: MentionPart) => (part.type === "agent" ? part.source : part.source?.text) as MentionPlace | undefined;
  const runs = createMemo(() => runsIn(props.text, props.mentions.map(place)));
  return <For each={runs()}>{(run) => <Show when={run.at === undefined ? undefined : props.mentions[run.at]} fallback={run.text}>{(part) => <Named part={part()} text={run.text} />}</Show>}</For>;
}

function Named(props: { part: MentionPart; text: string }) {
  const file = () => (!READ_ONLY && props.part.type === "file" && props.part.source?.type === "file" ? props.part.source.path : undefined);
  return (
    <Show when={file()} fallback={<span class="mention">{props.text}</span>}>
      {(path) => <a class="mention" href={filePath(props.part.sessionID, path())}>{props.text}</a>}
    </Show>
  );
}
