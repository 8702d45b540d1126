// An exported file begins: the session is in it, beside this script.

import { render } from "solid-js/web";
import { world } from "../view/store.ts";
import { panelWords } from "../words/en-panels.ts";
import type { LeftOut, MessageWithParts, Session } from "../wire/types.ts";
import { putSession } from "./items.ts";
import { Reader } from "./reader.tsx";

const root = document.getElementById("root");
const text = document.getElementById("session")?.textContent;
if (root && text) {
  const { info, messages, savedAt, leftOut } = JSON.parse(text) as { info: Session; messages: MessageWithParts[]; savedAt: number; leftOut: readonly LeftOut[] };
  putSession(world, info, messages);
  render(() => <Reader sessionID={info.id} note={panelWords.savedAt(new Date(savedAt).toLocaleString("en"), leftOut)} />, root);
}
