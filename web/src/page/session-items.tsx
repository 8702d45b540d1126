// What can be done with a whole session, and the two questions that are asked before.

import { For, Match, Show, Switch, createSignal } from "solid-js";
import { Dialog } from "../kit/dialog.tsx";
import { MenuItem } from "../kit/menu.tsx";
import { compactNow, forkAt, rename, setUp } from "../view/actions.ts";
import { serverNow } from "../view/live.ts";
import { saveSession } from "../view/download.ts";
import { setFinding } from "../view/find.ts";
import { navigate, route, sessionPath } from "../view/router.ts";
import { canShare } from "../view/sharing.ts";
import { undoLast } from "../view/undo.ts";
import { archive, descendants, remove } from "../view/session-actions.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import type { LeftOut, Session } from "../wire/types.ts";
import type { SessionDialogName } from "./session-menu.tsx";

export function SessionItems(props: { session: Session; onDialog: (name: SessionDialogName) => void }) {
  const isArchived = () => Boolean(props.session.time.archived);
  const isOpen = () => {
    const now = route();
    return now.page === "session" && now.id === props.session.id;
  };
  return (
    <>
      <MenuItem icon="pencil" onPick={() => props.onDialog("rename")}>{words.rename}</MenuItem>
      <Show when={isOpen()}>
        <MenuItem icon="search" onPick={() => setFinding(true)}>{panelWords.find}</MenuItem>
        <MenuItem icon="undo-2" onPick={() => undoLast(props.session.id)}>{panelWords.undoLast}</MenuItem>
        <MenuItem icon="sparkles" onPick={() => void setUp(props.session.id)}>{panelWords.setUp}</MenuItem>
      </Show>
      <MenuItem icon="git-fork" onPick={() => void forkAt(props.session.id, undefined)}>{panelWords.fork}</MenuItem>
      <MenuItem icon="scissors" onPick={() => void compactNow(props.session.id)}>{panelWords.compactNow}</MenuItem>
      <Show when={canShare(props.session)}><MenuItem icon="globe" onPick={() => navigate(sessionPath(props.session.id, "share"))}>{panelWords.share}</MenuItem></Show>
      <MenuItem icon="arrow-down" onPick={() => void saveSession(props.session.id, "html", [])}>{panelWords.exportHtml}</MenuItem>
      <MenuItem icon="scissors" onPick={() => props.onDialog("redact")}>{panelWords.exportRedacted}</MenuItem>
      <MenuItem icon="arrow-down" onPick={() => void saveSession(props.session.id, "json", [])}>{panelWords.exportJson}</MenuItem>
      <MenuItem icon={isArchived() ? "archive-restore" : "archive"} onPick={() => void archive(props.session.id, isArchived() ? undefined : serverNow())}>{isArchived() ? panelWords.restore : panelWords.archive}</MenuItem>
      <MenuItem icon="trash-2" tone="danger" onPick={() => props.onDialog("remove")}>{panelWords.remove}</MenuItem>
    </>
  );
}

export function SessionDialog(props: { name: SessionDialogName; session: Session; onClose: () => void }) {
  return (
    <Switch>
      <Match when={props.name === "rename"}><RenameDialog session={props.session} onClose={props.onClose} /></Match>
      <Match when={props.name === "redact"}><RedactDialog session={props.session} onClose={props.onClose} /></Match>
      <Match when={props.name === "remove"}><RemoveDialog session={props.session} onClose={props.onClose} /></Match>
    </Switch>
  );
}

function RemoveDialog(props: { session: Session; onClose: () => void }) {
  return (
    <Dialog label={panelWords.remove} onClose={() => props.onClose()}>
      <p>{panelWords.removeSure(props.session.title, descendants(props.session.id))}</p>
      <footer class="dialog-buttons">
        <button type="button" class="danger" onClick={() => { void remove(props.session.id); props.onClose(); }}>{panelWords.remove}</button>
        <button type="button" onClick={() => props.onClose()} autofocus>{panelWords.cancel}</button>
      </footer>
    </Dialog>
  );
}

function RenameDialog(props: { session: Session; onClose: () => void }) {
  const [title, setTitle] = createSignal(props.session.title);
  return (
    <Dialog label={words.rename} onClose={() => props.onClose()}>
      <form onSubmit={(event) => { event.preventDefault(); void rename(props.session.id, title()); props.onClose(); }}>
        <input type="text" aria-label={words.rename} value={title()} onInput={(event) => setTitle(event.currentTarget.value)} autofocus />
        <footer class="dialog-buttons">
          <button type="submit" class="primary" disabled={title().trim() === ""}>{panelWords.save}</button>
          <button type="button" onClick={() => props.onClose()}>{panelWords.cancel}</button>
        </footer>
      </form>
    </Dialog>
  );
}

const CHOICES = Object.keys(panelWords.leftOut) as readonly LeftOut[];

/** What a page that is passed on is without. */
function RedactDialog(props: { session: Session; onClose: () => void }) {
  const [chosen, setChosen] = createSignal<readonly LeftOut[]>(CHOICES);
  const choose = (one: LeftOut, isOut: boolean) => setChosen(CHOICES.filter((other) => (other === one ? isOut : chosen().includes(other))));
  return (
    <Dialog label={panelWords.exportRedacted} onClose={() => props.onClose()}>
      <form onSubmit={(event) => { event.preventDefault(); void saveSession(props.session.id, "html", chosen()); props.onClose(); }}>
        <fieldset class="choices">
          <legend>{panelWords.redactWhat}</legend>
          <For each={CHOICES}>
            {(one) => <label><input type="checkbox" checked={chosen().includes(one)} onChange={(event) => choose(one, event.currentTarget.checked)} /> {panelWords.leftOut[one]}</label>}
          </For>
        </fieldset>
        <p class="muted small">{panelWords.redactHint}</p>
        <footer class="dialog-buttons">
          <button type="submit" class="primary" disabled={chosen().length === 0} autofocus>{panelWords.save}</button>
          <button type="button" onClick={() => props.onClose()}>{panelWords.cancel}</button>
        </footer>
      </form>
    </Dialog>
  );
}
