// Which message somebody is about to undo from. Tiny and apart, so that the sheet itself is loaded when needed.

import { createSignal } from "solid-js";
import { message, thread } from "./store.ts";

export interface UndoPlace {
  readonly sessionID: string;
  readonly messageID: string;
}

const [undoing, setUndoing] = createSignal<UndoPlace>();
export { setUndoing, undoing };

/** The newest turn of a session. */
export function undoLast(sessionID: string): void {
  const order = thread(sessionID)?.order ?? [];
  const last = order.findLast((id) => message(sessionID, id)?.role === "user");
  if (last !== undefined) setUndoing({ sessionID, messageID: last });
}
