// What a person can do to a session. The control waits for the answer; the state changes by the event.

import { showToast } from "../kit/toast.tsx";
import type { NewPart } from "../sync/send.ts";
import { asCallError, segment } from "../wire/api.ts";
import type { MessageWithParts, Session, UserMessage } from "../wire/types.ts";
import { words } from "../words/en.ts";
import { api } from "./live.ts";
import { type Choice, sendPrompt } from "./prompts.ts";
import { navigate, sessionPath } from "./router.ts";
import { session, world } from "./store.ts";

export const path = (id: string, rest = "") => `/session/${segment(id)}${rest}`;

/** Runs something; its failure is said in the server's words. */
export async function toastOnFailure<T>(run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (cause) {
    showToast(asCallError(cause).message, "bad");
    return undefined;
  }
}

export const stop = (id: string) => toastOnFailure(() => api.post(path(id, "/abort")));

export const rename = (id: string, title: string) =>
  toastOnFailure(() => api.call(path(id), { method: "PATCH", body: { title } }));

export async function forkAt(id: string, messageID: string | undefined): Promise<void> {
  const made = await toastOnFailure(() => api.post<Session>(path(id, "/fork"), messageID === undefined ? {} : { messageID }));
  if (made) navigate(sessionPath(made.id));
}

/** Agent and model of the newest prompt: what goes on goes on with them. */
function choiceOf(id: string): Choice {
  const found = world.threads.get(id);
  const last = found?.order.findLast((messageID) => found.messages.get(messageID)?.value.role === "user");
  const info = last === undefined ? undefined : found?.messages.get(last)?.value;
  return info?.role === "user" ? choiceIn(info) : {};
}

function choiceIn(info: UserMessage): Choice {
  const { providerID, modelID, variant } = info.model;
  return { agent: info.agent, model: { providerID, modelID }, variant };
}

export const continueTurn = (id: string) => sendPrompt(id, [{ type: "text", text: words.error.goOnPrompt }], choiceOf(id));

/** The same prompt once more: what was attached and named, by the same agent and model. */
export async function promptAgain(id: string, promptID: string): Promise<void> {
  await toastOnFailure(async () => {
    const found = await api.get<MessageWithParts>(path(id, `/message/${segment(promptID)}`));
    const parts = found.parts.flatMap((part): NewPart[] => {
      if (part.type === "text" && part.synthetic !== true && part.ignored !== true) return [{ type: "text", text: part.text }];
      if (part.type === "file" && typeof part.url === "string") return [{ type: "file", mime: part.mime, url: part.url, ...(part.filename ? { filename: part.filename } : {}), ...(part.source ? { source: part.source } : {}) }];
      if (part.type === "agent") return [{ type: "agent", name: part.name, ...(part.source ? { source: part.source } : {}) }];
      return [];
    });
    const choice = found.info.role === "user" ? choiceIn(found.info) : choiceOf(id);
    if (parts.length > 0) await sendPrompt(id, parts, choice);
  });
}

export async function compactNow(id: string): Promise<void> {
  const model = session(id)?.model;
  if (!model) return showToast(words.compactNothing);
  await toastOnFailure(() => api.post(path(id, "/summarize"), { providerID: model.providerID, modelID: model.id }));
}

export const setUp = (id: string) =>
  toastOnFailure(() => api.post(path(id, "/command"), { command: "init", arguments: "" }));

export const withdraw = (id: string, messageID: string) =>
  toastOnFailure(() => api.call(`/sturdy/session/${segment(id)}/queue/${segment(messageID)}`, { method: "DELETE" }));

export const resume = (id: string) => toastOnFailure(() => api.post(`/sturdy/session/${segment(id)}/resume`));

export const create = (directory: string | undefined) => toastOnFailure(() => api.post<Session>("/session", {}, { directory }));
