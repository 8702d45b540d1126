// Which message somebody is about to undo from. Tiny and apart, so that the sheet itself is loaded when needed.

import { createSignal } from "solid-js";

export interface UndoPlace {
  readonly sessionID: string;
  readonly messageID: string;
}

const [undoing, setUndoing] = createSignal<UndoPlace>();
export { setUndoing, undoing };
