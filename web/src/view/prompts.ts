// Prompts of this tab that are on their way, and those that were not stored. Each is kept on the device before it is
// sent, and until the server has stored it.

import { createSignal } from "solid-js";
import { type NewPart, type Prompt, type PromptPart, isStored, send } from "../sync/send.ts";
import { newId } from "../wire/ids.ts";
import type { ModelRef } from "../wire/types.ts";
import { words } from "../words/en.ts";
import { type Unsent, draft, dropUnsent, keepDraft, keepUnsent, unsentPrompts } from "./drafts.ts";
import { api, pause, serverNow } from "./live.ts";
import { world } from "./store.ts";

const [pending, setPending] = createSignal<ReadonlyMap<string, Unsent>>(new Map());

export function pendingPrompts(sessionID: string): Prompt[] {
  return [...pending().values()].map(({ prompt }) => prompt).filter((prompt) => prompt.sessionID === sessionID);
}

export function pendingPrompt(messageID: string): Unsent | undefined {
  return pending().get(messageID);
}

export interface Choice {
  readonly agent?: string | undefined;
  readonly model?: ModelRef | undefined;
  readonly variant?: string | undefined;
}

/** Sends a prompt, which is kept on this device from now on; resolves when it is stored or was refused. */
export function sendPrompt(sessionID: string, parts: readonly NewPart[], choice: Choice): Promise<boolean> {
  const now = serverNow();
  const prompt: Prompt = {
    sessionID,
    messageID: newId("msg", now),
    parts: parts.map((part) => ({ ...part, id: newId("prt", now) }) as PromptPart),
    ...(choice.agent ? { agent: choice.agent } : {}),
    ...(choice.model ? { model: choice.model } : {}),
    ...(choice.variant ? { variant: choice.variant } : {}),
  };
  return attempt({ prompt });
}

async function attempt(unsent: Unsent): Promise<boolean> {
  const { prompt } = unsent;
  put({ ...unsent, error: undefined });
  const sent = await send(api, prompt, pause);
  if (sent.as === "stored") {
    dropUnsent(prompt.messageID);
    // It stays until the stream has brought it, so that it does not vanish for a moment.
    void isSeen(prompt).then(() => forget(prompt.messageID));
    return true;
  }
  put({ ...unsent, error: sent.error.message });
  return false;
}

/** Waits for the conversation to show it; false if it does not within ten seconds. */
async function isSeen(prompt: Prompt): Promise<boolean> {
  for (let tries = 0; tries < 100; tries += 1) {
    if (world.threads.get(prompt.sessionID)?.messages.has(prompt.messageID)) return true;
    await pause(100);
  }
  return false;
}

export async function resend(messageID: string): Promise<void> {
  const found = pending().get(messageID);
  if (found) await attempt(found);
}

let onDropped: (sessionID: string, text: string) => boolean = () => false;
/** `run` says whether it took the words. */
export function whenDropped(run: (sessionID: string, text: string) => boolean): void {
  onDropped = run;
}

/** Words go into the composer of a session, or into its draft if it is not open. */
export function backToComposer(sessionID: string, text: string): void {
  if (onDropped(sessionID, text)) return;
  const typed = draft(sessionID);
  keepDraft(sessionID, typed === "" ? text : `${text}\n${typed}`);
}

/** Back into the composer. */
export function dropPrompt(messageID: string): void {
  const found = pending().get(messageID);
  if (!found) return;
  const text = found.prompt.parts.map((part) => (part.type === "text" ? part.text : "")).filter(Boolean).join("\n");
  // First where it goes, then where it was.
  backToComposer(found.prompt.sessionID, text);
  forget(messageID);
}

function put(unsent: Unsent): void {
  keepUnsent(unsent);
  setPending((known) => new Map(known).set(unsent.prompt.messageID, unsent));
}

function forget(messageID: string): void {
  dropUnsent(messageID);
  setPending((known) => new Map([...known].filter(([id]) => id !== messageID)));
}

/** What another visit left: shown again, unless the server has it. Nothing is sent without being asked. */
async function recover(unsent: Unsent): Promise<void> {
  const { prompt } = unsent;
  const files = unsent.isWithoutFiles ? ` ${words.filesNotKept}` : "";
  const show = (error: string) => setPending((known) => new Map(known).set(prompt.messageID, { ...unsent, error: `${error}${files}` }));
  if (await isStored(api, prompt)) return dropUnsent(prompt.messageID);
  show(unsent.error ?? words.leftUnsent);
  // That nobody answered just now says nothing: the conversation shows whether it is there.
  if (await isSeen(prompt)) forget(prompt.messageID);
}

if (!READ_ONLY) for (const unsent of unsentPrompts()) void recover(unsent);
