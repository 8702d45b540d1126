// What is done with a whole session from its menu: archived, deleted. Saved as a file: `download.ts`.

import { path, toastOnFailure } from "./actions.ts";
import { api } from "./live.ts";
import { navigate, sessionPath } from "./router.ts";
import { world } from "./store.ts";

export const archive = (id: string, at: number | undefined) =>
  toastOnFailure(() => api.call(path(id), { method: "PATCH", body: { time: { archived: at ?? null } } }));

export async function remove(id: string): Promise<void> {
  const done = await toastOnFailure(() => api.call(path(id), { method: "DELETE" }));
  if (done && location.pathname === sessionPath(id)) navigate("/");
}

/** How many sessions go when this one is deleted, itself not counted. */
export function descendants(id: string): number {
  const children = [...world.sessions.values()].filter((held) => held.value.parentID === id);
  return children.reduce((sum, child) => sum + 1 + descendants(child.value.id), 0);
}
