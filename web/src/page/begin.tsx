// A session in which nothing was said yet: where it is, and what could be asked first.

import { For, Show, createEffect, createMemo, createSignal, onCleanup } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { Empty } from "../kit/empty.tsx";
import { setUp } from "../view/actions.ts";
import { type Beginning, readBeginning } from "../view/beginning.ts";
import { catalogAge } from "../view/catalog.ts";
import { session, trackHints } from "../view/store.ts";
import { more } from "../words/en-panels.ts";

export function Begin(props: { id: string; onPick: (text: string) => void }) {
  const info = () => session(props.id);
  const [place, setPlace] = createSignal<Beginning>();
  const directory = createMemo(() => info()?.directory);
  createEffect(() => {
    catalogAge();
    trackHints("vcs.branch.updated", "file.watcher.updated");
    let isLeft = false;
    onCleanup(() => (isLeft = true));
    void readBeginning(directory()).then((found) => isLeft || setPlace(found));
  });
  return (
    <div class="timeline">
      <Empty icon="message-square" title={info()?.title ?? ""} hint={info()?.directory ?? ""}>
        <Show when={place()}>
          {(found) => (
            <>
              <p class="muted small">{[found().branch, found().model].filter(Boolean).join(" · ")}</p>
              <div class="begin">
                <Show when={found().isDemo}><For each={more.demoPrompts}>{(text) => <button type="button" onClick={() => props.onPick(text)}>{text}</button>}</For></Show>
                <Show when={!found().hasInstructions}><button type="button" title={more.setUpHint} onClick={() => void setUp(props.id)}><Icon name="sparkles" /> {more.setUp}</button></Show>
              </div>
            </>
          )}
        </Show>
      </Empty>
    </div>
  );
}
