// Undo: the plan of what would happen to which file before anything happens, which is the server's; and what is
// undone now. Not here: the way back (`redo.tsx`), how a plan is shown (`plan.tsx`).

import { For, Show, createMemo, createSignal, onMount } from "solid-js";
import { Dialog } from "../kit/dialog.tsx";
import { Icon } from "../kit/icon.tsx";
import { showToast } from "../kit/toast.tsx";
import { draft } from "../view/drafts.ts";
import { api } from "../view/live.ts";
import { backToComposer } from "../view/prompts.ts";
import { message, part, partIds, session, status, thread } from "../view/store.ts";
import { type UndoPlace, setUndoing } from "../view/undo.ts";
import { Turn } from "../timeline/turn.tsx";
import { asCallError, segment } from "../wire/api.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import type { RevertPlan } from "../wire/types.ts";
import { PlanList, UncapturedList, patchBetween } from "./plan.tsx";
import { RedoSheet } from "./redo.tsx";

export function UndoSheet(props: { at: UndoPlace }) {
  const [forced, setForced] = createSignal<ReadonlySet<string>>(new Set());
  const [isSent, setSent] = createSignal(false);
  const path = (rest: string) => `/session/${segment(props.at.sessionID)}${rest}`;
  const [plan, setPlan] = createSignal<RevertPlan>();
  const [trouble, setTrouble] = createSignal("");
  const read = () => api.post<RevertPlan>(path("/revert/plan"), { messageID: props.at.messageID }).then(setPlan, (cause) => setTrouble(asCallError(cause).message));
  onMount(() => void read());
  const files = () => (plan()?.files ?? []).filter((file) => file.action !== "nothing");
  const left = () => files().filter((file) => file.action === "conflict" && !forced().has(file.file)).length;
  const taken = () => files().length - left();
  const messages = () => {
    const order = thread(props.at.sessionID)?.order ?? [];
    return Math.max(1, order.length - order.indexOf(props.at.messageID));
  };
  const close = () => setUndoing(undefined);
  const toggle = (file: string) => {
    const next = new Set(forced());
    if (!next.delete(file)) next.add(file);
    setForced(next);
  };
  const act = async () => {
    setSent(true);
    try {
      const force = files().filter((file) => forced().has(file.file)).map((file) => file.file);
      await api.post(path("/revert"), { messageID: props.at.messageID, ...(force.length > 0 ? { force } : {}) });
      keepPrompt(props.at);
      close();
    } catch (cause) {
      showToast(asCallError(cause).message, "bad");
      setSent(false);
      // What is planned may be old by now.
      void read();
    }
  };
  const busy = () => status(props.at.sessionID).type !== "idle";
  return (
    <Dialog label={panelWords.undoTitle} class="sheet undo" onClose={close}>
      <h2>{panelWords.undoTitle}</h2>
      <Show when={trouble() === ""} fallback={<p class="bad" role="alert">{trouble()}</p>}>
        <p class="small muted">{panelWords.undoMessages(messages())}</p>
        <Show when={plan() !== undefined} fallback={<p class="muted pulse">…</p>}>
          <PlanList files={files()} empty={panelWords.undoNoFiles} forced={forced()} onToggle={toggle}
            patchOf={(file) => patchBetween(props.at.sessionID, props.at.messageID, undefined, file)} />
        </Show>
      </Show>
      <UncapturedList calls={plan()?.uncaptured ?? []} />
      <Show when={busy()}><p class="warn small">{panelWords.undoBusy}</p></Show>
      <footer class="dialog-buttons">
        <button type="button" class="primary" disabled={isSent() || busy() || plan() === undefined || trouble() !== ""} onClick={() => void act()}>
          <Icon name="undo-2" /> {plan() === undefined ? panelWords.undoTitle : panelWords.undoButton(taken(), left())}
        </button>
        <button type="button" onClick={close} autofocus>{panelWords.cancel}</button>
      </footer>
    </Dialog>
  );
}

/** The words of the prompt go back into the composer, if nothing is being written there. */
function keepPrompt(at: UndoPlace): void {
  if (message(at.sessionID, at.messageID)?.role !== "user" || draft(at.sessionID) !== "") return;
  const texts = partIds(at.sessionID, at.messageID).map((id) => part(at.sessionID, id));
  const said = texts.map((found) => (found?.type === "text" && found.synthetic !== true ? found.text : "")).filter(Boolean).join("\n");
  if (said !== "") backToComposer(at.sessionID, said);
}

/** What is undone now: how much, what was left alone, and the ways back. */
export function UndoneBlock(props: { sessionID: string }) {
  const [isShown, setShown] = createSignal(false);
  const [redoing, setRedoing] = createSignal<{ readonly to: string | undefined }>();
  const revert = () => session(props.sessionID)?.revert;
  const ids = createMemo(() => {
    const order = thread(props.sessionID)?.order ?? [];
    const cut = order.indexOf(revert()?.messageID ?? "");
    return cut < 0 ? [] : order.slice(cut);
  });
  const files = () => (revert()?.diff ?? "").split("\n").filter((line) => line.startsWith("diff --git ")).length;
  const conflicts = () => revert()?.conflicts ?? [];
  /** Where the cut would stand if one turn came back. */
  const next = () => ids().slice(1).find((id) => message(props.sessionID, id)?.role === "user");
  const coming = (to: string | undefined) => (to === undefined ? ids().length : ids().indexOf(to));
  return (
    <section class="undone" aria-label={panelWords.undone(ids().length, files(), conflicts().length)}>
      <header>
        <Icon name="undo-2" />
        <span class="grow">{panelWords.undone(ids().length, files(), conflicts().length)} <span class="muted">{panelWords.undoneFinal}</span></span>
        <Show when={next()}>{(id) => <button type="button" onClick={() => setRedoing({ to: id() })}>{panelWords.redoOne}</button>}</Show>
        <button type="button" onClick={() => setRedoing({ to: undefined })}><Icon name="redo-2" /> {panelWords.redoAll}</button>
      </header>
      <Show when={redoing()} keyed>{({ to }) => <RedoSheet sessionID={props.sessionID} to={to} messages={coming(to)} onClose={() => setRedoing(undefined)} />}</Show>
      <Show when={conflicts().length > 0}>
        <ul class="paths"><For each={conflicts()}>{(one) => <li><code>{one.file}</code> <span class="muted small">{one.why}</span></li>}</For></ul>
      </Show>
      <UncapturedList calls={revert()?.uncaptured ?? []} />
      <button type="button" class="link" aria-expanded={isShown()} onClick={() => setShown(!isShown())}>{isShown() ? words.showLess : panelWords.undoneShow}</button>
      <Show when={isShown()}>
        <div class="is-dimmed"><For each={ids()}>{(id, index) => <Turn sessionID={props.sessionID} messageID={id} position={index() + 1} total={ids().length} />}</For></div>
      </Show>
    </section>
  );
}
