// Every open ask of every session, oldest first: where a phone goes to answer.

import { For, createEffect } from "solid-js";
import { Empty } from "../kit/empty.tsx";
import { AskDock } from "../dock/docks.tsx";
import { openThread } from "../view/live.ts";
import { sessionPath } from "../view/router.ts";
import { asks, world } from "../view/store.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";

export function AsksPage() {
  // The whole command is in the call, and the call is in the session.
  createEffect(() => {
    for (const ask of asks()) {
      const id = ask.request.sessionID;
      if (!world.threads.has(id)) void openThread(id).catch(() => {});
    }
  });
  return (
    <main class="page asks" id="main" aria-label={words.asks}>
      <h1>{words.asks}</h1>
      <For each={asks()} fallback={<Empty icon="inbox" title={panelWords.noAsks} hint={panelWords.noAsksHint} />}>
        {(ask) => (
          <div class="ask">
            <AskDock ask={ask} />
            <a class="small" href={sessionPath(ask.request.sessionID)}>{panelWords.openSession}</a>
          </div>
        )}
      </For>
    </main>
  );
}
