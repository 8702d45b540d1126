// How full the model's window is, what it holds, and what it cost.

import { For, Show, createMemo, createSignal, onMount } from "solid-js";
import { message, session, thread } from "../view/store.ts";
import { filePath, messagePath } from "../view/router.ts";
import { readInstructions } from "../view/directory-info.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import type { AssistantMessage } from "../wire/types.ts";
import { lastTokens, useLimit, used } from "./ring.tsx";

export function ContextPanel(props: { sessionID: string }) {
  const limit = useLimit(() => props.sessionID);
  const info = () => session(props.sessionID);
  const steps = createMemo(() =>
    (thread(props.sessionID)?.order ?? [])
      .map((id) => message(props.sessionID, id))
      .filter((found): found is AssistantMessage => found?.role === "assistant" && found.cost + used(found.tokens) > 0),
  );
  /** As far as the session is loaded. */
  const removed = createMemo(() => {
    const found = thread(props.sessionID);
    const parts = [...(found?.part.values() ?? [])].map((held) => held.value);
    const outputs = parts.filter((part) => part.type === "tool" && part.state.status === "completed" && part.state.time.compacted !== undefined).length;
    return { summaries: found?.summaries.size ?? 0, outputs };
  });
  const [instructions, setInstructions] = createSignal<readonly string[]>([]);
  onMount(() => void readInstructions(info()?.directory).then(setInstructions));
  const most = () => Math.max(1, ...steps().map((step) => used(step.tokens)));
  const rows = (): readonly (readonly [string, number])[] => {
    const tokens = info()?.tokens;
    if (!tokens) return [];
    return [[words.tokens.input, tokens.input], [words.tokens.output, tokens.output], [words.tokens.reasoning, tokens.reasoning], [words.tokens.read, tokens.cache.read], [words.tokens.write, tokens.cache.write]];
  };
  return (
    <>
      <p class="num">{words.tokensUsed(used(lastTokens(props.sessionID)), limit())}</p>
      <meter min="0" max={Math.max(1, limit())} high={limit() * 0.85} value={used(lastTokens(props.sessionID))} aria-label={words.panels.context} />
      <dl class="numbers num">
        <For each={rows()}>{([name, value]) => <><dt>{name}</dt><dd>{words.number(value)}</dd></>}</For>
        <dt>{panelWords.cost}</dt>
        <dd>{words.money(info()?.cost ?? 0)}</dd>
      </dl>
      <Show when={instructions().length > 0}>
        <h3>{panelWords.instructions}</h3>
        <ul class="paths"><For each={instructions()}>{(file) => <li><a href={filePath(props.sessionID, file)}><code>{file}</code></a></li>}</For></ul>
      </Show>
      <Show when={removed().summaries + removed().outputs > 0}>
        <h3>{panelWords.compactedTitle}</h3>
        <p class="small num">{[removed().summaries > 0 ? panelWords.summarised(removed().summaries) : "", removed().outputs > 0 ? panelWords.outputsRemoved(removed().outputs) : ""].filter(Boolean).join(" · ")}</p>
      </Show>
      <h3>{panelWords.steps}</h3>
      <ol class="bars">
        <For each={steps().slice(-40)}>
          {(step) => (
            <li>
              <a class="muted num" href={messagePath(props.sessionID, step.id, { panel: "context" })}>{words.time(step.time.created)}</a>
              <meter min="0" max={most()} value={used(step.tokens)} aria-label={words.tokensUsed(used(step.tokens), limit())} />
              <span class="num">{words.compact(used(step.tokens))}<Show when={step.cost > 0}>{panelWords.costOfStep(words.money(step.cost))}</Show></span>
            </li>
          )}
        </For>
      </ol>
    </>
  );
}
