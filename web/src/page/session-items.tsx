// What can be done with a whole session, and the two questions that are asked before.

import { Show, createSignal } from "solid-js";
import { Dialog } from "../kit/dialog.tsx";
import { MenuItem } from "../kit/menu.tsx";
import { compactNow, forkAt, rename, setUp } from "../view/actions.ts";
import { serverNow } from "../view/live.ts";
import { setFinding } from "../view/find.ts";
import { navigate, route, sessionPath } from "../view/router.ts";
import { canShare } from "../view/sharing.ts";
import { undoLast } from "../view/undo.ts";
import { archive, descendants, remove, saveHtml, saveJson } from "../view/whole-session.ts";
import { words } from "../words/en.ts";
import { more } from "../words/en-panels.ts";
import type { Session } from "../wire/types.ts";
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
        <MenuItem icon="search" onPick={() => setFinding(true)}>{words.find}</MenuItem>
        <MenuItem icon="undo-2" onPick={() => undoLast(props.session.id)}>{words.undoLast}</MenuItem>
        <MenuItem icon="sparkles" onPick={() => void setUp(props.session.id)}>{words.setUp}</MenuItem>
      </Show>
      <MenuItem icon="git-fork" onPick={() => void forkAt(props.session.id, undefined)}>{words.fork}</MenuItem>
      <MenuItem icon="scissors" onPick={() => void compactNow(props.session.id)}>{words.compactNow}</MenuItem>
      <Show when={canShare(props.session)}><MenuItem icon="globe" onPick={() => navigate(sessionPath(props.session.id, "share"))}>{words.share}</MenuItem></Show>
      <MenuItem icon="arrow-down" onPick={() => void saveHtml(props.session.id, "whole")}>{words.exportHtml}</MenuItem>
      <MenuItem icon="scissors" onPick={() => void saveHtml(props.session.id, "redacted")}>{more.exportRedacted}</MenuItem>
      <MenuItem icon="arrow-down" onPick={() => void saveJson(props.session.id)}>{words.exportJson}</MenuItem>
      <MenuItem icon={isArchived() ? "archive-restore" : "archive"} onPick={() => void archive(props.session.id, isArchived() ? undefined : serverNow())}>{isArchived() ? words.restore : words.archive}</MenuItem>
      <MenuItem icon="trash-2" tone="danger" onPick={() => props.onDialog("remove")}>{words.remove}</MenuItem>
    </>
  );
}

export function SessionDialog(props: { name: SessionDialogName; session: Session; onClose: () => void }) {
  const [title, setTitle] = createSignal(props.session.title);
  return (
    <Show when={props.name === "rename"} fallback={
      <Dialog label={words.remove} onClose={() => props.onClose()}>
        <p>{words.removeSure(props.session.title, descendants(props.session.id))}</p>
        <footer class="dialog-buttons">
          <button type="button" class="danger" onClick={() => { void remove(props.session.id); props.onClose(); }}>{words.remove}</button>
          <button type="button" onClick={() => props.onClose()} autofocus>{words.cancel}</button>
        </footer>
      </Dialog>
    }>
      <Dialog label={words.rename} onClose={() => props.onClose()}>
        <form onSubmit={(event) => { event.preventDefault(); void rename(props.session.id, title()); props.onClose(); }}>
          <input type="text" aria-label={words.rename} value={title()} onInput={(event) => setTitle(event.currentTarget.value)} autofocus />
          <footer class="dialog-buttons">
            <button type="submit" class="primary" disabled={title().trim() === ""}>{words.save}</button>
            <button type="button" onClick={() => props.onClose()}>{words.cancel}</button>
          </footer>
        </form>
      </Dialog>
    </Show>
  );
}
