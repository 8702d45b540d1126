// Prompts of this tab that are on their way. A draft is let go only when the server has stored its prompt.

import { createSignal } from "solid-js";
import { type Prompt, type PromptPart, send } from "../sync/send.ts";
import { newId } from "../wire/ids.ts";
import type { ModelRef } from "../wire/types.ts";
import { keepDraft } from "./drafts.ts";
import { api, pause, serverNow } from "./live.ts";
import { world } from "./store.ts";

export interface Pending {
  readonly prompt: Prompt;
  readonly error: string | undefined;
}

const [pending, setPending] = createSignal<ReadonlyMap<string, Pending>>(new Map());

export function pendingPrompts(sessionID: string): Prompt[] {
  return [...pending().values()].map(({ prompt }) => prompt).filter((prompt) => prompt.sessionID === sessionID);
}

export function pendingPrompt(messageID: string): Pending | undefined {
  return pending().get(messageID);
}

export interface Choice {
  readonly agent?: string | undefined;
  readonly model?: ModelRef | undefined;
  readonly variant?: string | undefined;
}

export type NewPart = PromptPart extends infer Each ? (Each extends { id: string } ? Omit<Each, "id"> : never) : never;

/** Sends a prompt; resolves when it is stored or was refused. */
export async function sendPrompt(sessionID: string, parts: readonly NewPart[], choice: Choice): Promise<boolean> {
  const now = serverNow();
  const prompt: Prompt = {
    sessionID,
    messageID: newId("msg", now),
    parts: parts.map((part) => ({ ...part, id: newId("prt", now) }) as PromptPart),
    ...(choice.agent ? { agent: choice.agent } : {}),
    ...(choice.model ? { model: choice.model } : {}),
    ...(choice.variant ? { variant: choice.variant } : {}),
  };
  return attempt(prompt);
}

async function attempt(prompt: Prompt): Promise<boolean> {
  put(prompt, undefined);
  const sent = await send(api, prompt, pause);
  if (sent.as === "stored") {
    keepDraft(prompt.sessionID, "");
    // It stays until the stream has brought it, so that it does not vanish for a moment.
    void untilSeen(prompt).then(() => forget(prompt.messageID));
    return true;
  }
  put(prompt, sent.error.message);
  return false;
}

async function untilSeen(prompt: Prompt): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    if (world.threads.get(prompt.sessionID)?.messages.has(prompt.messageID)) return;
    await pause(100);
  }
}

export async function resend(messageID: string): Promise<void> {
  const found = pending().get(messageID);
  if (found) await attempt(found.prompt);
}

let onDropped: (sessionID: string, text: string) => void = () => {};
export function whenDropped(run: (sessionID: string, text: string) => void): void {
  onDropped = run;
}

/** Words go into the composer of a session, if it is open. */
export function backToComposer(sessionID: string, text: string): void {
  onDropped(sessionID, text);
}

/** Back into the composer. */
export function dropPrompt(messageID: string): void {
  const found = pending().get(messageID);
  if (!found) return;
  forget(messageID);
  const text = found.prompt.parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  onDropped(found.prompt.sessionID, text);
}

function put(prompt: Prompt, error: string | undefined): void {
  setPending((known) => new Map(known).set(prompt.messageID, { prompt, error }));
}

function forget(messageID: string): void {
  setPending((known) => new Map([...known].filter(([id]) => id !== messageID)));
}
