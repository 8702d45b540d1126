// Redo: which files come back, before they do. The server plans an undo only, so this is what the undo wrote down,
// turned around; of one turn, the files it had changed. What somebody has changed since is left alone by the server.

import { Show, createMemo, createSignal } from "solid-js";
import { Dialog } from "../kit/dialog.tsx";
import { Icon } from "../kit/icon.tsx";
import { say } from "../kit/toast.tsx";
import { asCallError } from "../sync/send.ts";
import { api } from "../view/live.ts";
import { message, session, status, thread } from "../view/store.ts";
import { turnedAround } from "../text/patch.ts";
import { segment } from "../wire/api.ts";
import { words } from "../words/en.ts";
import { more } from "../words/en-panels.ts";
import { type PlannedFile, PlanList, patchBetween } from "./plan.tsx";

const NONE: ReadonlySet<string> = new Set();
/** What a turn that comes back does to a file it had added, deleted or modified. */
const ACTIONS = { added: "create", deleted: "delete", modified: "change" } as const;

export function RedoSheet(props: {
  sessionID: string;
  /** The message at which the cut will stand; none brings everything back. */
  to: string | undefined;
  messages: number;
  onClose: () => void;
}) {
  const [isSent, setSent] = createSignal(false);
  const from = () => session(props.sessionID)?.revert?.messageID ?? "";
  const files = createMemo(() => comingBack(props.sessionID, from(), props.to));
  const act = async () => {
    setSent(true);
    const path = `/session/${segment(props.sessionID)}`;
    try {
      if (props.to === undefined) await api.post(`${path}/unrevert`);
      else await api.post(`${path}/revert`, { messageID: props.to });
      props.onClose();
    } catch (cause) {
      say(asCallError(cause).message, "bad");
      setSent(false);
    }
  };
  const busy = () => status(props.sessionID).type !== "idle";
  const label = () => (props.to === undefined ? more.redoAll : more.redoOne);
  return (
    <Dialog label={label()} class="sheet undo" onClose={() => props.onClose()}>
      <h2>{label()}</h2>
      <p class="small muted">{more.redoMessages(props.messages)} {more.redoLeaves}</p>
      <PlanList files={files()} empty={more.redoNoFiles} forced={NONE} onToggle={() => {}} patchOf={(file) => patchBetween(props.sessionID, from(), props.to, file)} />
      <Show when={busy()}><p class="warn small">{more.undoBusy}</p></Show>
      <footer class="dialog-buttons">
        <button type="button" class="primary" disabled={isSent() || busy()} onClick={() => void act()}>
          <Icon name="redo-2" /> {more.redoButton(files().length)}
        </button>
        <button type="button" onClick={() => props.onClose()} autofocus>{words.cancel}</button>
      </footer>
    </Dialog>
  );
}

function comingBack(sessionID: string, from: string, to: string | undefined): readonly PlannedFile[] {
  const undone = turnedAround(session(sessionID)?.revert?.diff ?? "");
  if (to === undefined) return undone;
  const order = thread(sessionID)?.order ?? [];
  const did = new Map<string, keyof typeof ACTIONS>();
  for (const id of order.slice(order.indexOf(from), order.indexOf(to))) {
    const info = message(sessionID, id);
    for (const diff of info?.role === "user" ? (info.summary?.diffs ?? []) : []) did.set(diff.file ?? "", diff.status ?? "modified");
  }
  return undone.flatMap(({ file }) => {
    const how = did.get(file);
    return how === undefined ? [] : [{ file, action: ACTIONS[how] }];
  });
}
