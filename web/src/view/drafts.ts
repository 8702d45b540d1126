// What was typed and not sent, by session. It is there after a reload, a crash of the browser and a login.

const PREFIX = "sturdy.draft.";
/** Older drafts of other sessions go first when the browser's room is used up. */
const DRAFTS_MAX = 200;

export function draft(sessionID: string): string {
  return localStorage.getItem(PREFIX + sessionID) ?? "";
}

export function keepDraft(sessionID: string, text: string): void {
  if (text === "") return localStorage.removeItem(PREFIX + sessionID);
  try {
    localStorage.setItem(PREFIX + sessionID, text);
  } catch {
    dropOldest();
  }
}

function dropOldest(): void {
  const names = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX));
  for (const name of names.slice(0, Math.max(1, names.length - DRAFTS_MAX))) localStorage.removeItem(name);
}
