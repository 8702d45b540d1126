// The link to a session: make it, copy it, take it back. What the server refuses is said in its words.

import { Show, createSignal } from "solid-js";
import { copyText } from "../kit/copy.ts";
import { Dialog } from "../kit/dialog.tsx";
import { asCallError } from "../sync/send.ts";
import { api } from "../view/live.ts";
import { session } from "../view/store.ts";
import { segment } from "../wire/api.ts";
import { words } from "../words/en.ts";
import { more } from "../words/en-panels.ts";
import type { Session } from "../wire/types.ts";

export function ShareSheet(props: { id: string; onClose: () => void }) {
  const [isSent, setSent] = createSignal(false);
  const [isCopied, setCopied] = createSignal(false);
  const [trouble, setTrouble] = createSignal("");
  const url = () => session(props.id)?.share?.url;
  const act = async (method: "POST" | "DELETE") => {
    setSent(true);
    setTrouble("");
    try {
      await api.call<Session>(`/session/${segment(props.id)}/share`, { method });
    } catch (cause) {
      setTrouble(asCallError(cause).message);
    } finally {
      setSent(false);
    }
  };
  return (
    <Dialog label={more.shareTitle} class="sheet" onClose={props.onClose}>
      <h2>{more.shareTitle}</h2>
      <p class="small muted">{more.shareHint}</p>
      <Show when={url()}>{(link) => <pre class="terminal" tabindex="0">{link()}</pre>}</Show>
      <Show when={trouble() !== ""}><p class="bad small" role="alert">{trouble()}</p></Show>
      <footer class="dialog-buttons">
        <Show when={url()} fallback={<button type="button" class="primary" disabled={isSent()} onClick={() => void act("POST")}>{more.shareMake}</button>}>
          {(link) => (
            <>
              <button type="button" class="primary" onClick={() => void copyText(link()).then(setCopied)}>{isCopied() ? more.copied : words.copy}</button>
              <button type="button" class="danger" disabled={isSent()} onClick={() => void act("DELETE")}>{more.shareStop}</button>
            </>
          )}
        </Show>
        <button type="button" onClick={() => props.onClose()}>{words.close}</button>
      </footer>
    </Dialog>
  );
}
