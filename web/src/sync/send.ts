// A prompt on its way. Its ids are made here, so it can be sent again without being there twice.
//
// No answer: look whether it is there. 404: send the same again. A conflict with its own id: it was there already.
// Not here: drafts (`view/drafts.ts`), what the server makes of it (`apply.ts`).

import { type Api, asCallError, CallError, segment } from "../wire/api.ts";
import type { ModelRef } from "../wire/types.ts";

/** Where in the text of a prompt something is named. */
export interface SourceText {
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

export type FileSource =
  | { readonly type: "file"; readonly path: string; readonly text: SourceText }
  | { readonly type: "resource"; readonly clientName: string; readonly uri: string; readonly text: SourceText };

export type PromptPart =
  | { readonly id: string; readonly type: "text"; readonly text: string }
  | { readonly id: string; readonly type: "file"; readonly mime: string; readonly url: string; readonly filename?: string; readonly source?: unknown }
  | { readonly id: string; readonly type: "agent"; readonly name: string; readonly source?: unknown };

/** Without the id it is given when it is sent. */
export type NewPart = PromptPart extends infer Each ? (Each extends { id: string } ? Omit<Each, "id"> : never) : never;

export interface Prompt {
  readonly sessionID: string;
  readonly messageID: string;
  readonly parts: readonly PromptPart[];
  readonly agent?: string;
  readonly model?: ModelRef;
  readonly variant?: string;
}

export type Sent = { readonly as: "stored" } | { readonly as: "refused"; readonly error: CallError };

const TRIES_MAX = 4;
const PAUSE_MS = 700;

export async function send(api: Api, prompt: Prompt, pause: (ms: number) => Promise<void>): Promise<Sent> {
  const { sessionID, ...body } = prompt;
  const path = `/session/${segment(sessionID)}/prompt_async`;
  let last = new CallError(0, "The server cannot be reached", undefined);
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    if (tries > 0) await pause(PAUSE_MS * 2 ** (tries - 1));
    try {
      await api.call(path, { method: "POST", body });
      return { as: "stored" };
    } catch (cause) {
      const error = asCallError(cause);
      // Any other conflict, such as with a session that is busy, stores nothing.
      if (error.status === 409 && error.resource === prompt.messageID) return { as: "stored" };
      if (!error.isLost && error.status !== 503) return { as: "refused", error };
      last = error;
    }
    if (await isStored(api, prompt)) return { as: "stored" };
  }
  return { as: "refused", error: last };
}

export async function isStored(api: Api, prompt: Prompt): Promise<boolean> {
  try {
    await api.call(`/session/${segment(prompt.sessionID)}/message/${segment(prompt.messageID)}`);
    return true;
  } catch {
    return false;
  }
}
