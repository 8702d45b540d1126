// What is done with a whole session from its menu: archived, deleted, saved as a file.

import type { MessageWithParts } from "../wire/types.ts";
import { path, told } from "./actions.ts";
import { api } from "./live.ts";
import { navigate, sessionPath } from "./router.ts";
import { world } from "./store.ts";

export const archive = (id: string, at: number | undefined) =>
  told(() => api.call(path(id), { method: "PATCH", body: { time: { archived: at ?? null } } }));

export async function remove(id: string): Promise<void> {
  const done = await told(() => api.call(path(id), { method: "DELETE" }));
  if (done && location.pathname === sessionPath(id)) navigate("/");
}

/** Everything of a session as one JSON file, put together here. A list without a limit ends with the newest 2,000 messages. */
export async function saveJson(id: string): Promise<void> {
  const found = await told(() => api.get<MessageWithParts[]>(path(id, "/message?limit=4294967295")));
  const info = world.sessions.get(id)?.value;
  if (!found || !info) return;
  save(`${info.slug}.json`, new Blob([JSON.stringify({ info, messages: found }, null, 2)], { type: "application/json" }));
}

/** One file that shows the session without a server; the server puts it together, and leaves out what tools and files hold if that is wanted. */
export async function saveHtml(id: string, extent: "whole" | "redacted"): Promise<void> {
  const text = await told(() => api.text(`/sturdy${path(id, "/export.html")}${extent === "redacted" ? "?redact=1" : ""}`));
  const slug = world.sessions.get(id)?.value.slug ?? id;
  if (text !== undefined) save(`${slug}${extent === "redacted" ? "-redacted" : ""}.html`, new Blob([text], { type: "text/html" }));
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
