// Redo: which files come back, before they do, and which are left alone because somebody has changed them since the
// undo. The plan is the server's. Not here: how a plan is shown (`plan.tsx`).

import { Show, createSignal, onMount } from "solid-js";
import { Dialog } from "../kit/dialog.tsx";
import { Icon } from "../kit/icon.tsx";
import { showToast } from "../kit/toast.tsx";
import { api } from "../view/live.ts";
import { session, status } from "../view/store.ts";
import { asCallError, segment } from "../wire/api.ts";
import { panelWords } from "../words/en-panels.ts";
import type { RevertPlan } from "../wire/types.ts";
import { PlanList, patchBetween } from "./plan.tsx";

const NONE: ReadonlySet<string> = new Set();

export function RedoSheet(props: {
  sessionID: string;
  /** The message at which the cut will stand; none brings everything back. */
  to: string | undefined;
  messages: number;
  onClose: () => void;
}) {
  const [isSent, setSent] = createSignal(false);
  const from = () => session(props.sessionID)?.revert?.messageID ?? "";
  const path = `/session/${segment(props.sessionID)}`;
  const [plan, setPlan] = createSignal<RevertPlan>();
  const [trouble, setTrouble] = createSignal("");
  const read = () => api.post<RevertPlan>(`${path}/unrevert/plan`, props.to === undefined ? {} : { messageID: props.to }).then(setPlan, (cause) => setTrouble(asCallError(cause).message));
  onMount(() => void read());
  const files = () => (plan()?.files ?? []).filter((file) => file.action !== "nothing");
  const left = () => files().filter((file) => file.action === "conflict").length;
  const act = async () => {
    setSent(true);
    try {
      if (props.to === undefined) await api.post(`${path}/unrevert`);
      else await api.post(`${path}/revert`, { messageID: props.to });
      props.onClose();
    } catch (cause) {
      showToast(asCallError(cause).message, "bad");
      setSent(false);
      // What is planned may be old by now.
      void read();
    }
  };
  const busy = () => status(props.sessionID).type !== "idle";
  const label = () => (props.to === undefined ? panelWords.redoAll : panelWords.redoOne);
  return (
    <Dialog label={label()} class="sheet undo" onClose={() => props.onClose()}>
      <h2>{label()}</h2>
      <p class="small muted">{panelWords.redoMessages(props.messages)} {panelWords.redoLeaves}</p>
      <Show when={trouble() === ""} fallback={<p class="bad" role="alert">{trouble()}</p>}>
        <Show when={plan() !== undefined} fallback={<p class="muted pulse">…</p>}>
          <PlanList files={files()} empty={panelWords.redoNoFiles} forced={NONE} patchOf={(file) => patchBetween(props.sessionID, from(), props.to, file)} />
        </Show>
      </Show>
      <Show when={busy()}><p class="warn small">{panelWords.undoBusy}</p></Show>
      <footer class="dialog-buttons">
        <button type="button" class="primary" disabled={isSent() || busy() || plan() === undefined || trouble() !== ""} onClick={() => void act()}>
          <Icon name="redo-2" /> {plan() === undefined ? label() : panelWords.redoButton(files().length - left(), left())}
        </button>
        <button type="button" onClick={() => props.onClose()} autofocus>{panelWords.cancel}</button>
      </footer>
    </Dialog>
  );
}
