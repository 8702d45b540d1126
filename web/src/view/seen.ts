// How far each session was looked at on this device: a turn that ended out of sight is marked.

import { createSignal } from "solid-js";

const NAME = "sturdy.seen";
const KEPT_MAX = 500;

function stored(): Record<string, number> {
  try {
    return JSON.parse(localStorage.getItem(NAME) ?? "{}") as Record<string, number>;
  } catch {
    return {};
  }
}

const [seen, setSeen] = createSignal(stored());
/** What had ended before the page was first opened here is not news. */
const since = Number(localStorage.getItem(`${NAME}.since`) ?? Date.now());
localStorage.setItem(`${NAME}.since`, String(since));

export function isUnseen(id: string, updated: number): boolean {
  return updated > Math.max(seen()[id] ?? 0, since);
}

export function look(id: string, updated: number): void {
  if ((seen()[id] ?? 0) >= updated) return;
  const entries = Object.entries({ ...seen(), [id]: updated });
  const next = Object.fromEntries(entries.sort(([, a], [, b]) => b - a).slice(0, KEPT_MAX));
  setSeen(next);
  localStorage.setItem(NAME, JSON.stringify(next));
}
