// The share of a session: its link, the narrower links made of it, and who used which for what.
//
// The owner's right is asked for when the panel opens and forgotten when it closes: it is in no address and no storage.

import { Show, createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";
import { Dialog } from "../kit/dialog.tsx";
import { api, serverNow } from "../view/live.ts";
import { session } from "../view/store.ts";
import { asCallError, segment } from "../wire/api.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import { Grants } from "./grants.tsx";
import { LinkBox } from "./link-box.tsx";
import { askOwner } from "./share-owner.ts";
import { PlainLink } from "./visibility.tsx";

/** What `POST /sturdy/session/{id}/share` answers. */
export interface ShareLink {
  readonly shareID: string;
  readonly url: string;
  readonly state: string;
  /** `sync`: the service knows nothing of narrower links. */
  readonly contract: string;
  /** It failed many times in a row. */
  readonly isDegraded: boolean;
  /** Absent: this server keeps the share itself. */
  readonly service: string | null;
  readonly error: string | null;
  readonly created: number;
  readonly reference: string;
  /** Changes that the service has not taken yet. */
  readonly waiting: number;
}

const LOOK_MS = 3000;

export function SharePanel(props: { sessionID: string }) {
  const [link, setLink] = createSignal<ShareLink | undefined>(undefined, { equals: (a, b) => JSON.stringify(a) === JSON.stringify(b) });
  const [isSent, setSent] = createSignal(false);
  const [isSure, setSure] = createSignal(true);
  const [trouble, setTrouble] = createSignal("");
  // By value: every change of the session would ask for the link again.
  const url = createMemo(() => session(props.sessionID)?.share?.url);
  let abort = new AbortController();
  onCleanup(() => abort.abort());
  const failed = (signal: AbortSignal) => (cause: unknown) => {
    if (!signal.aborted) setTrouble(asCallError(cause).message);
  };
  const read = ({ signal }: AbortController) =>
    api.call<ShareLink>(`/sturdy/session/${segment(props.sessionID)}/share`, { method: "POST", signal }).then(({ value }) => { if (!signal.aborted) setLink(value); });
  createEffect(on(url, (now) => {
    abort.abort();
    abort = new AbortController();
    setLink(undefined);
    if (now !== undefined) read(abort).catch(failed(abort.signal));
  }));
  // How far it was sent is no event of the session: it is asked for while somebody looks.
  const timer = setInterval(() => link() !== undefined && document.visibilityState === "visible" && read(abort).catch(() => {}), LOOK_MS);
  onCleanup(() => clearInterval(timer));
  const act = async (method: "POST" | "DELETE") => {
    setSent(true);
    setTrouble("");
    await api.call(`/session/${segment(props.sessionID)}/share`, { method }).catch(failed(abort.signal));
    setSent(false);
    setSure(true);
  };
  return (
    <div class="share-panel">
      <p class="small muted">{panelWords.shareHint}</p>
      <Show when={trouble() !== ""}><p class="bad small" role="alert">{trouble()}</p></Show>
      <Show when={url()} fallback={<button type="button" class="primary" disabled={isSent()} onClick={() => void act("POST")}>{panelWords.shareMake}</button>}>
        {(address) => (
          <>
            <h3>{panelWords.shareLink}</h3>
            <LinkBox url={address()} label={panelWords.shareReads} />
            <p class="small muted">
              {panelWords.shareStates[link()?.isDegraded ? "degraded" : (link()?.state ?? "active")]} <Show when={link()}>{(found) => words.ago(found().created, serverNow())}</Show>
              <Show when={(link()?.waiting ?? 0) > 0}> {panelWords.shareWaiting(link()?.waiting ?? 0)}</Show>
              <Show when={link()?.error}>{(said) => <span class="bad"> {said()}</span>}</Show>
            </p>
            <div class="dialog-buttons">
              <button type="button" class="danger" disabled={isSent()} onClick={() => setSure(false)}>{panelWords.shareStop}</button>
              <a class="button" href="/shares">{words.shares}</a>
            </div>
            <Show when={link()}>
              {(found) => (
                <>
                  <Show when={found().service}>{(service) => <p class="small muted">{panelWords.shareElsewhere(service(), found().contract === "sync")}</p>}</Show>
                  <Show when={found().contract !== "sync"}>
                    <PlainLink ask={askOwner(props.sessionID, found())} />
                    <Grants ask={askOwner(props.sessionID, found())} />
                  </Show>
                </>
              )}
            </Show>
          </>
        )}
      </Show>
      <Show when={!isSure()}>
        <Dialog label={panelWords.shareStop} onClose={() => setSure(true)}>
          <p>{panelWords.shareStopSure}</p>
          <footer class="dialog-buttons">
            <button type="button" class="danger" disabled={isSent()} onClick={() => void act("DELETE")}>{panelWords.shareStop}</button>
            <button type="button" autofocus onClick={() => setSure(true)}>{panelWords.cancel}</button>
          </footer>
        </Dialog>
      </Show>
    </div>
  );
}
