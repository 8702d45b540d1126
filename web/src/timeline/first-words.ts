// The first words of a prompt, as one line: what it is called in lists of messages.

import { part, partIds } from "../view/store.ts";

const CHARS_MAX = 60;

export function firstWords(sessionID: string, messageID: string): string {
  for (const id of partIds(sessionID, messageID)) {
    const found = part(sessionID, id);
    if (found?.type === "text" && found.synthetic !== true) return found.text.trim().replaceAll(/\s+/g, " ").slice(0, CHARS_MAX);
  }
  return "";
}
