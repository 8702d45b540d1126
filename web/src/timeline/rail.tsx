// A rail beside the conversation: one mark for each prompt, error, ask and summary that is loaded. Hovering says what it
// is, a click goes there. It is for the pointer; keys go from message to message with j and k.

import { For, Show, createMemo, untrack } from "solid-js";
import { asks, status, thread } from "../view/store.ts";
import { messagePath, route } from "../view/router.ts";
import { words } from "../words/en.ts";
import { compactionWords } from "./divider.tsx";
import type { TimelineRow } from "./rows.ts";

type MarkKind = "prompt" | "error" | "ask" | "summary";

interface RailMark {
  readonly kind: MarkKind;
  readonly id: string;
  /** From the top, of all. */
  readonly percent: number;
  readonly title: string;
}

/** More would be a line; prompts are thinned out first. */
const MARKS_MAX = 240;
const TITLE_CHARS = 80;

export function Rail(props: { sessionID: string; rows: readonly TimelineRow[] }) {
  const marks = createMemo(() => {
    // An error is written when its turn ends; what is asked comes and goes.
    status(props.sessionID);
    const asked = new Set(asks().map((ask) => ask.request.tool?.messageID));
    const { rows, sessionID } = props;
    return untrack(() => thinned(marksOf(sessionID, rows, asked)));
  });
  const panel = () => {
    const now = route();
    return now.page === "session" ? now.panel : undefined;
  };
  return (
    <Show when={marks().length > 2}>
      <div class="marks-rail" aria-hidden="true">
        <For each={marks()}>
          {(mark) => <a class={`is-${mark.kind}`} tabindex="-1" href={messagePath(props.sessionID, mark.id, { panel: panel() })} title={mark.title} style={{ "inset-block-start": `${mark.percent}%` }} />}
        </For>
      </div>
    </Show>
  );
}

function marksOf(sessionID: string, rows: readonly TimelineRow[], asked: ReadonlySet<string | undefined>): RailMark[] {
  const found = thread(sessionID);
  const marks: RailMark[] = [];
  rows.forEach((row, index) => {
    const info = row.kind === "message" ? found?.messages.get(row.id)?.value : undefined;
    if (!found || !info) return;
    const add = (kind: MarkKind, title: string) => marks.push({ kind, id: info.id, percent: ((index + 0.5) / rows.length) * 100, title });
    if (found.summaries.has(info.id)) add("summary", compactionTitle(sessionID, info.id));
    else if (asked.has(info.id)) add("ask", words.status.asks);
    else if (info.role === "user") add("prompt", firstWords(sessionID, info.id));
    else if (info.error !== undefined) add("error", info.error.data?.message ?? words.error.unknown);
  });
  return marks;
}

/** By whom or why the conversation was summarised there. */
function compactionTitle(sessionID: string, messageID: string): string {
  const found = thread(sessionID);
  const part = [...(found?.parts.get(messageID) ?? [])].map((id) => found?.part.get(id)?.value).find((one) => one?.type === "compaction");
  return part?.type === "compaction" ? compactionWords(part) : words.compaction.auto;
}

function firstWords(sessionID: string, messageID: string): string {
  const found = thread(sessionID);
  for (const id of found?.parts.get(messageID) ?? []) {
    const part = found?.part.get(id)?.value;
    if (part?.type === "text" && part.synthetic !== true) return part.text.slice(0, TITLE_CHARS);
  }
  return words.you;
}

function thinned(marks: RailMark[]): RailMark[] {
  const every = Math.ceil(marks.length / MARKS_MAX);
  return every <= 1 ? marks : marks.filter((mark, index) => mark.kind !== "prompt" || index % every === 0);
}
