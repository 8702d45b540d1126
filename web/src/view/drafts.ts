// What was typed and not sent, by session, and prompts that the server has not stored. Both are there after a reload,
// a crash of the browser and a login.

import type { Prompt } from "../sync/send.ts";

const DRAFT = "sturdy.draft.";
/** When each draft was typed last, so that the oldest goes first. */
const TIMES = "sturdy.drafts";
const UNSENT = "sturdy.unsent.";
/** Older ones of other sessions go first, also when the browser's room is used up. */
const DRAFTS_MAX = 200;
const UNSENT_MAX = 100;

export function draft(sessionID: string): string {
  return localStorage.getItem(DRAFT + sessionID) ?? "";
}

/** False: this device keeps nothing more, and the text is only in its field. */
export function keepDraft(sessionID: string, text: string): boolean {
  const { [sessionID]: _, ...others } = times();
  if (text === "") {
    localStorage.removeItem(DRAFT + sessionID);
    write(TIMES, JSON.stringify(others));
    return true;
  }
  const known = { ...others, [sessionID]: Date.now() };
  for (const id of oldestFirst(known).slice(0, -DRAFTS_MAX)) dropDraft(known, id);
  for (;;) {
    const isKept = write(DRAFT + sessionID, text) && write(TIMES, JSON.stringify(known));
    const oldest = oldestFirst(known)[0];
    if (isKept || oldest === undefined || oldest === sessionID) return isKept;
    dropDraft(known, oldest);
  }
}

function dropDraft(known: Record<string, number>, id: string): void {
  delete known[id];
  localStorage.removeItem(DRAFT + id);
}

/** Drafts of an older version have no time, and count as the oldest. */
function times(): Record<string, number> {
  const ids = namesOf(DRAFT);
  const known = read<Record<string, number>>(TIMES) ?? {};
  return Object.fromEntries(ids.map((id) => [id, Number(known[id]) || 0]));
}

function oldestFirst(known: Record<string, number>): string[] {
  return Object.entries(known).sort(([, a], [, b]) => a - b).map(([id]) => id);
}

/** A prompt that was not stored, and why; without a reason it was on its way when the page was left. */
export interface Unsent {
  readonly prompt: Prompt;
  readonly error?: string | undefined;
  /** Its files were too large to be kept here. */
  readonly isWithoutFiles?: boolean;
}

export function keepUnsent(unsent: Unsent): boolean {
  const name = UNSENT + unsent.prompt.messageID;
  const others = unsentPrompts().filter((one) => one.prompt.messageID !== unsent.prompt.messageID);
  // Ids begin with their time.
  for (const { prompt } of others.slice(0, Math.max(0, others.length + 1 - UNSENT_MAX))) dropUnsent(prompt.messageID);
  if (write(name, JSON.stringify(unsent))) return true;
  const parts = unsent.prompt.parts.filter((part) => part.type !== "file" || !part.url.startsWith("data:"));
  return write(name, JSON.stringify({ ...unsent, prompt: { ...unsent.prompt, parts }, isWithoutFiles: true }));
}

export function dropUnsent(messageID: string): void {
  localStorage.removeItem(UNSENT + messageID);
}

export function unsentPrompts(): Unsent[] {
  const found = namesOf(UNSENT).sort().map((id) => read<Unsent>(UNSENT + id));
  return found.filter((one): one is Unsent => Array.isArray(one?.prompt?.parts));
}

function namesOf(prefix: string): string[] {
  return Object.keys(localStorage).filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
}

function read<T>(name: string): T | undefined {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

/** False when there is no room. */
function write(name: string, value: string): boolean {
  try {
    localStorage.setItem(name, value);
    return true;
  } catch {
    return false;
  }
}
