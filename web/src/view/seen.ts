// How far each session was looked at on this device: a turn that ended out of sight is marked.

import { createSignal } from "solid-js";
import { server, serverNow } from "./live.ts";

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
/** What had ended before the page was first opened here is not news. By the server's clock, like all it is compared with. */
let since = Number(localStorage.getItem(`${NAME}.since`) ?? Number.NaN);
function firstOpened(): number {
  if (Number.isFinite(since)) return since;
  // Its clock is known with its first answer.
  if (server() === undefined) return Number.POSITIVE_INFINITY;
  since = serverNow();
  localStorage.setItem(`${NAME}.since`, String(since));
  return since;
}

export function isUnseen(id: string, updated: number): boolean {
  return updated > (seen()[id] ?? 0) && updated > firstOpened();
}

export function markSeen(id: string, updated: number): void {
  if ((seen()[id] ?? 0) >= updated) return;
  const entries = Object.entries({ ...seen(), [id]: updated });
  const next = Object.fromEntries(entries.sort(([, a], [, b]) => b - a).slice(0, KEPT_MAX));
  setSeen(next);
  localStorage.setItem(NAME, JSON.stringify(next));
}
