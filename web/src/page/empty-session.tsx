// A session in which nothing was said yet: where it is, and what could be asked first.

import { For, Show, createEffect, createMemo, createSignal, onCleanup } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { Empty } from "../kit/empty.tsx";
import { setUp } from "../view/actions.ts";
import { type DirectoryInfo, readDirectoryInfo } from "../view/directory-info.ts";
import { catalogAge } from "../view/catalog.ts";
import { session, trackHints } from "../view/store.ts";
import { panelWords } from "../words/en-panels.ts";

export function EmptySession(props: { id: string; onPick: (text: string) => void }) {
  const info = () => session(props.id);
  const [place, setPlace] = createSignal<DirectoryInfo>();
  const directory = createMemo(() => info()?.directory);
  createEffect(() => {
    catalogAge();
    trackHints("vcs.branch.updated", "file.watcher.updated");
    let isLeft = false;
    onCleanup(() => (isLeft = true));
    void readDirectoryInfo(directory()).then((found) => isLeft || setPlace(found));
  });
  return (
    <div class="timeline">
      <Empty icon="message-square" title={info()?.title ?? ""} hint={info()?.directory ?? ""}>
        <Show when={place()}>
          {(found) => (
            <>
              <p class="muted small">{[found().branch, found().model].filter(Boolean).join(" · ")}</p>
              <div class="begin">
                <Show when={found().isDemo}><For each={panelWords.demoPrompts}>{(text) => <button type="button" onClick={() => props.onPick(text)}>{text}</button>}</For></Show>
                <Show when={!found().hasInstructions}><button type="button" title={panelWords.setUpHint} onClick={() => void setUp(props.id)}><Icon name="sparkles" /> {panelWords.setUp}</button></Show>
              </div>
            </>
          )}
        </Show>
      </Empty>
    </div>
  );
}
