// How full the model's window is, what it holds, and what it cost.

import { For, createMemo } from "solid-js";
import { message, session, thread } from "../view/store.ts";
import { words } from "../words/en.ts";
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
        <dt>{words.cost}</dt>
        <dd>{words.money(info()?.cost ?? 0)}</dd>
      </dl>
      <h3>{words.steps}</h3>
      <ol class="bars">
        <For each={steps().slice(-40)}>
          {(step) => (
            <li>
              <span class="muted num">{words.time(step.time.created)}</span>
              <meter min="0" max={most()} value={used(step.tokens)} aria-label={words.tokensUsed(used(step.tokens), limit())} />
              <span class="num">{words.compact(used(step.tokens))}</span>
            </li>
          )}
        </For>
      </ol>
    </>
  );
}
