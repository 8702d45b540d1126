// How full the model's window is, as a small ring.

import { Show, createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";
import { type Catalog, catalogAge, loadCatalog } from "../view/catalog.ts";
import { sessionPath } from "../view/router.ts";
import { message, session, thread } from "../view/store.ts";
import { words } from "../words/en.ts";
import type { Tokens } from "../wire/types.ts";

/** What the last answered step held in the window. */
export function lastTokens(sessionID: string): Tokens | undefined {
  const order = thread(sessionID)?.order ?? [];
  for (const id of order.toReversed()) {
    const info = message(sessionID, id);
    if (info?.role === "assistant" && info.tokens.input + info.tokens.cache.read > 0) return info.tokens;
  }
  return undefined;
}

export function used(tokens: Tokens | undefined): number {
  return tokens === undefined ? 0 : tokens.input + tokens.output + tokens.cache.read + tokens.cache.write;
}

export function useLimit(sessionID: () => string): () => number {
  const [catalog, setCatalog] = createSignal<Catalog>();
  const directory = createMemo(() => session(sessionID())?.directory);
  createEffect(on(() => [directory(), catalogAge()] as const, ([where]) => {
    let isLeft = false;
    onCleanup(() => (isLeft = true));
    // Known when the session is: without it another directory's would be read.
    if (where !== undefined) void loadCatalog(where).then((found) => isLeft || setCatalog(found), () => {});
  }));
  return () => {
    const model = session(sessionID())?.model;
    return catalog()?.models.find((one) => one.key === `${model?.providerID}/${model?.id}`)?.context ?? 0;
  };
}

export function ContextRing(props: { sessionID: string }) {
  const limit = useLimit(() => props.sessionID);
  const share = createMemo(() => (limit() === 0 ? 0 : Math.min(1, used(lastTokens(props.sessionID)) / limit())));
  const label = () => words.tokensUsed(used(lastTokens(props.sessionID)), limit());
  return (
    <Show when={share() > 0}>
      <a class="ring-link" href={sessionPath(props.sessionID, "context")} title={label()} aria-label={label()}>
        <svg class="ring" classList={{ "is-full": share() > 0.85 }} viewBox="0 0 20 20" aria-hidden="true">
          <circle cx="10" cy="10" r="7.5" />
          <circle class="used" cx="10" cy="10" r="7.5" pathLength="100" stroke-dasharray={`${share() * 100} 100`} />
        </svg>
      </a>
    </Show>
  );
}
