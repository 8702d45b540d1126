// Sessions by their title. Contents are searched when the server can.

import { For, Show, createEffect, createSignal, onCleanup } from "solid-js";
import { Empty } from "../kit/empty.tsx";
import { api, serverNow } from "../view/live.ts";
import { navigate, sessionPath } from "../view/router.ts";
import { words } from "../words/en.ts";
import type { Session } from "../wire/types.ts";
import { NeedGlyph, needOf, projectName } from "./list.tsx";

const PAUSE_MS = 120;

export function SearchPage(props: { query: string }) {
  const [found, setFound] = createSignal<readonly Session[]>([]);
  createEffect(() => {
    const { query } = props;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      const search = new URLSearchParams({ search: query, limit: "50" });
      api.get<Session[]>(`/experimental/session?${search}`, { signal: abort.signal }).then(setFound, () => {});
    }, PAUSE_MS);
    onCleanup(() => { clearTimeout(timer); abort.abort(); });
  });
  return (
    <main class="page" id="main" aria-label={words.search}>
      <h1>{words.search}</h1>
      <input type="search" aria-label={words.search} placeholder={words.filter} value={props.query} autofocus
        onInput={(event) => navigate(`/search?${new URLSearchParams({ q: event.currentTarget.value })}`, "replace")} />
      <ul class="list-rows">
        <For each={found()} fallback={<li><Empty icon="search" title={words.nothingFound} /></li>}>
          {(one) => (
            <li class="list-row">
              <a href={sessionPath(one.id)}>
                <NeedGlyph need={needOf(one)} />
                <span class="grow">
                  <span class="list-title cut" dir="auto">{one.title}</span>
                  <span class="list-meta num"><span class="cut">{projectName(one)}</span><Show when={one.cost > 0}><span>{words.money(one.cost)}</span></Show><span>{words.ago(one.time.updated, serverNow())}</span></span>
                </span>
              </a>
            </li>
          )}
        </For>
      </ul>
    </main>
  );
}
