// A prompt on its way. Its ids are made here, so it can be sent again without being there twice.
//
// No answer: look whether it is there. 404: send the same again. 409: it was there already.
// Not here: drafts (`view/drafts.ts`), what the server makes of it (`apply.ts`).

import { type Api, CallError, segment } from "../wire/api.ts";
import type { ModelRef } from "../wire/types.ts";

export type PromptPart =
  | { readonly id: string; readonly type: "text"; readonly text: string }
  | { readonly id: string; readonly type: "file"; readonly mime: string; readonly url: string; readonly filename?: string }
  | { readonly id: string; readonly type: "agent"; readonly name: string };

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
      if (error.status === 409) return { as: "stored" };
      if (!error.isLost && error.status !== 503) return { as: "refused", error };
      last = error;
    }
    if (await isStored(api, prompt)) return { as: "stored" };
  }
  return { as: "refused", error: last };
}

async function isStored(api: Api, prompt: Prompt): Promise<boolean> {
  try {
    await api.call(`/session/${segment(prompt.sessionID)}/message/${segment(prompt.messageID)}`);
    return true;
  } catch {
    return false;
  }
}

export function asCallError(cause: unknown): CallError {
  if (cause instanceof CallError) return cause;
  return new CallError(0, cause instanceof Error ? cause.message : String(cause), undefined);
}
