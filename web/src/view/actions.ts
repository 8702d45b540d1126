// What a person can do to a session. The control waits for the answer; the state changes by the event.

import { asCallError } from "../sync/send.ts";
import { say } from "../kit/toast.tsx";
import { segment } from "../wire/api.ts";
import type { MessageWithParts, Session } from "../wire/types.ts";
import { words } from "../words/en.ts";
import { api } from "./live.ts";
import { type NewPart, sendPrompt } from "./prompts.ts";
import { navigate, sessionPath } from "./router.ts";
import { session, world } from "./store.ts";

const path = (id: string, rest = "") => `/session/${segment(id)}${rest}`;

/** Runs something; its failure is said in the server's words. */
async function told<T>(run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (cause) {
    say(asCallError(cause).message, "bad");
    return undefined;
  }
}

export const stop = (id: string) => told(() => api.post(path(id, "/abort")));

export const rename = (id: string, title: string) =>
  told(() => api.call(path(id), { method: "PATCH", body: { title } }));

export const archive = (id: string, at: number | undefined) =>
  told(() => api.call(path(id), { method: "PATCH", body: { time: { archived: at ?? null } } }));

export async function remove(id: string): Promise<void> {
  const done = await told(() => api.call(path(id), { method: "DELETE" }));
  if (done && location.pathname === sessionPath(id)) navigate("/");
}

export async function forkAt(id: string, messageID: string | undefined): Promise<void> {
  const made = await told(() => api.post<Session>(path(id, "/fork"), messageID === undefined ? {} : { messageID }));
  if (made) navigate(sessionPath(made.id));
}

export const goOn = (id: string) => sendPrompt(id, [{ type: "text", text: words.error.goOnPrompt }], {});

export async function askAgain(id: string, promptID: string): Promise<void> {
  await told(async () => {
    const found = await api.get<MessageWithParts>(path(id, `/message/${segment(promptID)}`));
    const parts = found.parts.flatMap((part): NewPart[] => {
      if (part.type === "text" && part.synthetic !== true) return [{ type: "text", text: part.text }];
      if (part.type === "file") return [{ type: "file", mime: part.mime, url: part.url, ...(part.filename ? { filename: part.filename } : {}) }];
      return [];
    });
    if (parts.length > 0) await sendPrompt(id, parts, {});
  });
}

export async function compactNow(id: string): Promise<void> {
  const model = session(id)?.model;
  if (!model) return say(words.model, "bad");
  await told(() => api.post(path(id, "/summarize"), { providerID: model.providerID, modelID: model.id }));
}

export const setUp = (id: string) =>
  told(() => api.post(path(id, "/command"), { command: "init", arguments: "" }));

export const withdraw = (id: string, messageID: string) =>
  told(() => api.call(`/sturdy/session/${segment(id)}/queue/${segment(messageID)}`, { method: "DELETE" }));

export const resume = (id: string) => told(() => api.post(`/sturdy/session/${segment(id)}/resume`));

export const create = (directory: string | undefined) => told(() => api.post<Session>("/session", {}, { directory }));

/** Everything of a session as one JSON file, put together here. */
export async function saveJson(id: string): Promise<void> {
  const found = await told(() => api.get<MessageWithParts[]>(path(id, "/message")));
  const info = world.sessions.get(id)?.value;
  if (!found || !info) return;
  save(`${info.slug}.json`, new Blob([JSON.stringify({ info, messages: found }, null, 2)], { type: "application/json" }));
}

/** One file that shows the session without a server; the server puts it together. */
export async function saveHtml(id: string): Promise<void> {
  const text = await told(() => api.text(`/sturdy${path(id, "/export.html")}`));
  if (text !== undefined) save(`${world.sessions.get(id)?.value.slug ?? id}.html`, new Blob([text], { type: "text/html" }));
}

function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** How many sessions go when this one is deleted, itself not counted. */
export function descendants(id: string): number {
  const children = [...world.sessions.values()].filter((held) => held.value.parentID === id);
  return children.reduce((sum, child) => sum + 1 + descendants(child.value.id), 0);
}
