// All sessions of this server that are shared, each with its link and whether it is up to date.

import { For, Show, createSignal, onMount } from "solid-js";
import { Empty } from "../kit/empty.tsx";
import { asCallError } from "../wire/api.ts";
import { api, serverNow } from "../view/live.ts";
import { sessionPath } from "../view/router.ts";
import { session } from "../view/store.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";

interface Shared {
  readonly sessionID: string;
  readonly url: string;
  readonly state: string;
  readonly error: string | null;
  readonly created: number;
}

export function SharesPage() {
  const [shares, setShares] = createSignal<readonly Shared[]>();
  const [trouble, setTrouble] = createSignal("");
  onMount(() => void api.get<readonly Shared[]>("/sturdy/share").then((found) => setShares(found.toReversed()), (cause) => setTrouble(asCallError(cause).message)));
  return (
    <main class="page" id="main" aria-label={words.shares}>
      <h1>{words.shares}</h1>
      <Show when={trouble() !== ""}><p class="bad small" role="alert">{trouble()}</p></Show>
      <ul class="list-rows">
        <For each={shares()} fallback={<Show when={shares()}><li><Empty icon="globe" title={panelWords.noShares} hint={panelWords.noSharesHint} /></li></Show>}>
          {(one) => (
            <li class="list-row">
              <a href={sessionPath(one.sessionID, "share")}>
                <span class="grow">
                  <span class="list-title cut" dir="auto">{session(one.sessionID)?.title ?? one.sessionID}</span>
                  <span class="list-meta num">
                    <span class="cut">{one.url}</span>
                    <span>{words.ago(one.created, serverNow())}</span>
                  </span>
                  <Show when={one.state !== "active" || one.error}><span class="small bad">{panelWords.shareStates[one.state]} {one.error}</span></Show>
                </span>
              </a>
            </li>
          )}
        </For>
      </ul>
    </main>
  );
}
