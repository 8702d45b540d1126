// What commands left running in the background. It is not in the log: the server tells of a change once, so it is
// read when a session is opened and when the line was lost.

import { createSignal } from "solid-js";
import { segment } from "../wire/api.ts";
import type { BackgroundProcess } from "../wire/types.ts";
import { api } from "./live.ts";
import { touch, track, world } from "./store.ts";
import { key } from "../sync/world.ts";

const NONE: readonly BackgroundProcess[] = [];

export function processes(sessionID: string): readonly BackgroundProcess[] {
  track(key.processes(sessionID));
  return world.processes.get(sessionID) ?? NONE;
}

const path = (sessionID: string, id = "") => `/sturdy/session/${segment(sessionID)}/process${id === "" ? "" : `/${segment(id)}`}`;

/** A server that keeps none has no such route; then there are none. */
export async function readProcesses(sessionID: string, signal: AbortSignal): Promise<void> {
  const before = world.processes.get(sessionID);
  const found = await api.get<readonly BackgroundProcess[]>(path(sessionID), { signal }).catch(() => NONE);
  // What was told meanwhile is newer.
  if (signal.aborted || world.processes.get(sessionID) !== before) return;
  world.processes.set(sessionID, found);
  touch([key.processes(sessionID)]);
}

export const readOutput = (one: BackgroundProcess) => api.get<{ output: string }>(path(one.sessionID, one.id)).then((found) => found.output);

const [stopping, setStopping] = createSignal<ReadonlySet<string>>(new Set());
export const isStopping = (one: BackgroundProcess) => stopping().has(one.sessionID + one.id);

/** It is asked to end, and made to; gone when this is answered. */
export async function stopProcess(one: BackgroundProcess): Promise<void> {
  const name = one.sessionID + one.id;
  setStopping(new Set([...stopping(), name]));
  try {
    await api.call(path(one.sessionID, one.id), { method: "DELETE" });
  } finally {
    setStopping(new Set([...stopping()].filter((known) => known !== name)));
  }
}
