// The settings of a checkout want to start or change something: what, in which directory, and three answers.

import { For, Show, createSignal } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { showToast } from "../kit/toast.tsx";
import { api } from "../view/live.ts";
import { session } from "../view/store.ts";
import { asCallError, segment } from "../wire/api.ts";
import { panelWords } from "../words/en-panels.ts";
import type { PermissionRequest } from "../wire/types.ts";

export function TrustDock(props: { request: PermissionRequest }) {
  const [isSent, setSent] = createSignal(false);
  const directory = () => session(props.request.sessionID)?.directory;
  const place = () => (typeof props.request.metadata["directory"] === "string" ? props.request.metadata["directory"] : directory());
  const reply = async (answer: "always" | "once" | "reject") => {
    setSent(true);
    try {
      await api.post(`/permission/${segment(props.request.id)}/reply`, { reply: answer }, { directory: directory() });
    } catch (cause) {
      const error = asCallError(cause);
      if (error.status === 404) return showToast(panelWords.answeredElsewhere);
      showToast(error.message, "bad");
      setSent(false);
    }
  };
  return (
    <section class="dock permission trust" aria-label={panelWords.trustTitle} data-ask={props.request.id}>
      <header>
        <Icon name="shield-question" />
        <strong class="grow">{panelWords.trustTitle}</strong>
      </header>
      <div class="wanted" tabindex="0">
        <p class="card-note"><code>{place()}</code></p>
        <p class="card-note">{panelWords.trustWants}</p>
        <ul class="paths"><For each={props.request.patterns}>{(wish) => <li dir="auto">{wish}</li>}</For></ul>
        <p class="card-note">{panelWords.trustHint}</p>
      </div>
      <footer class="dock-buttons">
        <button type="button" class="primary" data-key="1" disabled={isSent()} onClick={() => void reply("once")}><Icon name="check" /> {panelWords.trustOnce}</button>
        <Show when={props.request.always.length > 0}>
          <button type="button" data-key="2" disabled={isSent()} onClick={() => void reply("always")}>{panelWords.trustAlways}</button>
        </Show>
        <button type="button" class="danger" data-key="3" disabled={isSent()} onClick={() => void reply("reject")}>{panelWords.trustNo}</button>
      </footer>
    </section>
  );
}
