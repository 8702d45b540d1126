// The rows of a conversation: messages, notices, what is undone, prompts on their way, and where the model's view begins.

import { createMemo, untrack } from "solid-js";
import { past, session, thread } from "../view/store.ts";
import { pendingPrompts } from "../view/prompts.ts";

export type TimelineRow =
  | { readonly kind: "message"; readonly id: string; /** Older than what the model sees. */ readonly isPast: boolean }
  | { readonly kind: "tail" }
  | { readonly kind: "undone" }
  | { readonly kind: "notice"; readonly index: number }
  | { readonly kind: "sending"; readonly id: string };

/** Rows keep their identity while they say the same, so that nothing is drawn again; `onTaken` is told what stays when some go. */
export function stableRows(rows: () => TimelineRow[], onTaken: (kept: ReadonlySet<TimelineRow>) => void): () => readonly TimelineRow[] {
  let known = new Map<string, TimelineRow>();
  return createMemo(() => {
    const next = new Map<string, TimelineRow>();
    const list = rows().map((row) => {
      const name = nameOf(row);
      const kept = known.get(name) ?? row;
      next.set(name, kept);
      return kept;
    });
    if ([...known.keys()].some((name) => !next.has(name))) untrack(() => onTaken(new Set(list)));
    known = next;
    return list;
  });
}

function nameOf(row: TimelineRow): string {
  switch (row.kind) {
    case "message":
      return row.isPast ? `past ${row.id}` : row.id;
    case "sending":
      return `sending ${row.id}`;
    case "notice":
      return `notice ${row.index}`;
    case "undone":
    case "tail":
      return row.kind;
    default:
      return row satisfies never;
  }
}

export function rowsOf(sessionID: string): TimelineRow[] {
  const found = thread(sessionID);
  if (!found) return [];
  const rows: TimelineRow[] = [];
  const undoneFrom = session(sessionID)?.revert?.messageID;
  const cut = undoneFrom === undefined ? -1 : found.order.indexOf(undoneFrom);
  const shown = cut < 0 ? found.order : found.order.slice(0, cut);
  const notices = noticesByPlace(sessionID);
  const tail = tailOf(found.order, found.summaries);
  const push = (index: number) => rows.push({ kind: "notice", index });
  notices.get(undefined)?.forEach(push);
  shown.forEach((id, index) => {
    // Below the divider if nothing before it was kept.
    const isTail = index === tail.from;
    if (isTail && !found.summaries.has(id)) rows.push({ kind: "tail" });
    rows.push({ kind: "message", id, isPast: index < tail.from });
    if (isTail && found.summaries.has(id)) rows.push({ kind: "tail" });
    notices.get(id)?.forEach(push);
  });
  if (cut >= 0) rows.push({ kind: "undone" });
  for (const prompt of READ_ONLY || past()?.sessionID === sessionID ? [] : pendingPrompts(sessionID)) {
    if (!found.messages.has(prompt.messageID)) rows.push({ kind: "sending", id: prompt.messageID });
  }
  return rows;
}

/** From which message on the model sees everything; what is older is dimmed. */
function tailOf(order: readonly string[], summaries: ReadonlyMap<string, string | undefined>): { readonly from: number } {
  if (summaries.size === 0) return { from: -1 };
  const at = order.findLastIndex((id) => summaries.has(id));
  const kept = order.indexOf(summaries.get(order[at] ?? "") ?? "");
  return { from: kept >= 0 && kept < at ? kept : at };
}

/** Indexes of notices by the message they stand behind; those that an answer says too are left out. */
function noticesByPlace(sessionID: string): Map<string | undefined, number[]> {
  const places = new Map<string | undefined, number[]>();
  thread(sessionID)?.notices.forEach((notice, index) => {
    if (isSaidByMessage(sessionID, notice.error.data?.message)) return;
    places.set(notice.after, [...(places.get(notice.after) ?? []), index]);
  });
  return places;
}

/** The same error usually stands on the answer it ended, too. */
function isSaidByMessage(sessionID: string, text: string | undefined): boolean {
  const found = thread(sessionID);
  return [...(found?.messages.values() ?? [])].some(
    ({ value }) => value.role === "assistant" && value.error !== undefined && value.error.data?.message === text,
  );
}
