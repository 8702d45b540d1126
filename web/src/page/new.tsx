// A composer for a session that does not exist yet: the first prompt creates it.

import { For, Show, createEffect, createSignal, onCleanup } from "solid-js";
import { Empty } from "../kit/empty.tsx";
import { Icon } from "../kit/icon.tsx";
import { create } from "../view/actions.ts";
import { type DirectoryInfo, readDirectoryInfo } from "../view/directory-info.ts";
import { server } from "../view/live.ts";
import { navigate, sessionPath } from "../view/router.ts";
import { sessions } from "../view/store.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import { Composer, type ComposerHandle } from "./composer.tsx";

export function NewPage(props: { directory: string | undefined }) {
  const [directory, setDirectory] = createSignal(props.directory);
  const chosen = () => directory() ?? server()?.directory;
  const known = () => [...new Set([server()?.directory ?? "", ...sessions().map((one) => one.directory)])].filter(Boolean).slice(0, 20);
  const [place, setPlace] = createSignal<DirectoryInfo>();
  createEffect(() => {
    const where = chosen();
    let isLeft = false;
    onCleanup(() => (isLeft = true));
    if (where !== undefined) void readDirectoryInfo(where).then((found) => isLeft || setPlace(found));
  });
  let composer: ComposerHandle | undefined;
  const make = async () => {
    const made = await create(chosen());
    if (!made) return undefined;
    navigate(sessionPath(made.id));
    return made.id;
  };
  return (
    <main class="session" id="main" aria-label={words.newSession}>
      <header class="session-head narrow-only">
        <a class="back" href="/" aria-label={words.sessions}><Icon name="chevron-left" /></a>
        <h1 class="cut">{words.newSession}</h1>
      </header>
      <div class="timeline">
        <Empty icon="message-square" title={words.newSession}>
          <label class="setting">
            <span>{panelWords.directory}</span>
            <input type="text" list="directories" value={chosen() ?? ""} onChange={(event) => setDirectory(event.currentTarget.value.trim() || undefined)} />
            <datalist id="directories"><For each={known()}>{(one) => <option value={one} />}</For></datalist>
          </label>
          <Show when={place()}>
            {(found) => (
              <>
                <p class="muted small">{[found().branch, found().model].filter(Boolean).join(" · ")}</p>
                <Show when={found().isDemo}><div class="begin"><For each={panelWords.demoPrompts}>{(text) => <button type="button" onClick={() => composer?.put(text)}>{text}</button>}</For></div></Show>
              </>
            )}
          </Show>
        </Empty>
      </div>
      <div class="foot">
        <Composer sessionID={undefined} directory={chosen()} create={make} ref={(handle) => (composer = handle)} />
      </div>
    </main>
  );
}
