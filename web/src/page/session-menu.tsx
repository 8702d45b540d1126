// What can be done with a whole session.

import { Show, createSignal } from "solid-js";
import { Dialog } from "../kit/dialog.tsx";
import { Menu, MenuItem } from "../kit/menu.tsx";
import { archive, compactNow, descendants, forkAt, remove, rename, saveHtml, saveJson } from "../view/actions.ts";
import { serverNow } from "../view/live.ts";
import { setFinding } from "../view/find.ts";
import { navigate, route, sessionPath } from "../view/router.ts";
import { words } from "../words/en.ts";
import type { Session } from "../wire/types.ts";

export function SessionMenu(props: { session: Session }) {
  const [dialog, setDialog] = createSignal<"none" | "rename" | "remove">("none");
  const [title, setTitle] = createSignal("");
  const isArchived = () => Boolean(props.session.time.archived);
  const isOpen = () => {
    const now = route();
    return now.page === "session" && now.id === props.session.id;
  };
  const close = () => setDialog("none");
  return (
    <>
      <Menu label={`${words.menu}: ${props.session.title}`} icon="ellipsis">
        <MenuItem icon="pencil" onPick={() => { setTitle(props.session.title); setDialog("rename"); }}>{words.rename}</MenuItem>
        <Show when={isOpen()}><MenuItem icon="search" onPick={() => setFinding(true)}>{words.find}</MenuItem></Show>
        <MenuItem icon="git-fork" onPick={() => void forkAt(props.session.id, undefined)}>{words.fork}</MenuItem>
        <MenuItem icon="scissors" onPick={() => void compactNow(props.session.id)}>{words.compactNow}</MenuItem>
        <MenuItem icon="globe" onPick={() => navigate(sessionPath(props.session.id, "share"))}>{words.share}</MenuItem>
        <MenuItem icon="arrow-down" onPick={() => void saveHtml(props.session.id)}>{words.exportHtml}</MenuItem>
        <MenuItem icon="arrow-down" onPick={() => void saveJson(props.session.id)}>{words.exportJson}</MenuItem>
        <MenuItem icon={isArchived() ? "archive-restore" : "archive"} onPick={() => void archive(props.session.id, isArchived() ? undefined : serverNow())}>{isArchived() ? words.restore : words.archive}</MenuItem>
        <MenuItem icon="trash-2" tone="danger" onPick={() => setDialog("remove")}>{words.remove}</MenuItem>
      </Menu>
      <Show when={dialog() === "rename"}>
        <Dialog label={words.rename} onClose={close}>
          <form onSubmit={(event) => { event.preventDefault(); void rename(props.session.id, title()); close(); }}>
            <input type="text" aria-label={words.rename} value={title()} onInput={(event) => setTitle(event.currentTarget.value)} autofocus />
            <footer class="dialog-buttons">
              <button type="submit" class="primary" disabled={title().trim() === ""}>{words.save}</button>
              <button type="button" onClick={close}>{words.cancel}</button>
            </footer>
          </form>
        </Dialog>
      </Show>
      <Show when={dialog() === "remove"}>
        <Dialog label={words.remove} onClose={close}>
          <p>{words.removeSure(props.session.title, descendants(props.session.id))}</p>
          <footer class="dialog-buttons">
            <button type="button" class="danger" onClick={() => { void remove(props.session.id); close(); }}>{words.remove}</button>
            <button type="button" onClick={close} autofocus>{words.cancel}</button>
          </footer>
        </Dialog>
      </Show>
    </>
  );
}
