// The conversation of one session: as many messages as fit the window, and the reader's place kept.
//
// Following the end is on only while the reader is there. Any scroll up ends it; reaching the end, or a
// click, begins it again. What is read never moves.

import { Show, createEffect, createMemo, createSignal, lazy, on, onCleanup, onMount } from "solid-js";
import { Virtualizer, type VirtualizerHandle } from "virtua/solid";
import { Icon } from "../kit/icon.tsx";
import { asCallError } from "../sync/send.ts";
import { readOlder } from "../view/live.ts";
import { past, session, thread } from "../view/store.ts";
import { words } from "../words/en.ts";
import { pendingPrompts } from "../view/prompts.ts";
import { say } from "../kit/toast.tsx";
import { Turn } from "./turn.tsx";
import { ErrorNotice } from "./error.tsx";
import { SendingPrompt } from "./sending.tsx";

const UndoneBlock = lazy(() => import("../panel/undo.tsx").then((file) => ({ default: file.UndoneBlock })));

/** How near the end counts as being there. */
const END_PX = 60;
/** How near the start the page before is asked for. */
const START_PX = 600;

/** A jump reads larger pages, and this many of them at most. */
const PAGE_LARGE = 100;
const PAGES_MAX = 100;

/** What was changed is drawn. */
const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

export type TimelineRow =
  | { readonly kind: "message"; readonly id: string }
  | { readonly kind: "undone" }
  | { readonly kind: "notice"; readonly index: number }
  | { readonly kind: "sending"; readonly id: string };

export function Timeline(props: { sessionID: string; target: string | undefined }) {
  let scroller!: HTMLDivElement;
  let handle: VirtualizerHandle | undefined;
  const [isFollowing, setFollowing] = createSignal(true);
  const [isPrepending, setPrepending] = createSignal(false);
  const [isLoading, setLoading] = createSignal(false);
  const rows = stableRows(() => rowsOf(props.sessionID));
  let lastTop = 0;

  const toEnd = () => {
    setFollowing(true);
    scroller.scrollTop = scroller.scrollHeight;
  };
  const keepEnd = () => {
    if (isFollowing()) scroller.scrollTop = scroller.scrollHeight;
  };

  const scrolled = () => {
    const rest = scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
    if (rest < END_PX) setFollowing(true);
    // Only a movement upwards is a wish to read; a text that grew below is not.
    else if (scroller.scrollTop < lastTop - 2) setFollowing(false);
    lastTop = scroller.scrollTop;
    if (scroller.scrollTop < START_PX) void loadOlder();
  };

  const loadOlder = async () => {
    if (isLoading() || thread(props.sessionID)?.older === undefined) return;
    setLoading(true);
    setPrepending(true);
    try {
      await readOlder(props.sessionID);
      await frames();
    } catch (cause) {
      say(asCallError(cause).message, "bad");
    } finally {
      setPrepending(false);
      setLoading(false);
    }
  };

  onMount(() => {
    const watch = new ResizeObserver(keepEnd);
    watch.observe(scroller);
    const content = scroller.firstElementChild;
    if (content) watch.observe(content);
    const byKey = (event: KeyboardEvent) => {
      if (["ArrowUp", "PageUp", "Home"].includes(event.key) && scroller.contains(document.activeElement)) setFollowing(false);
    };
    scroller.addEventListener("wheel", (event) => event.deltaY < 0 && setFollowing(false), { passive: true });
    document.addEventListener("keydown", byKey);
    onCleanup(() => {
      watch.disconnect();
      document.removeEventListener("keydown", byKey);
    });
    if (props.target === undefined) requestAnimationFrame(toEnd);
  });
  createEffect(on(() => rows().length, () => requestAnimationFrame(keepEnd), { defer: true }));

  createEffect(on(() => props.target, (wanted) => {
    if (wanted !== undefined) void jumpTo(wanted).catch((cause) => say(asCallError(cause).message, "bad"));
  }));
  /** Reads back until the message is here, then goes to it. */
  const jumpTo = async (wanted: string) => {
    setFollowing(false);
    const indexOf = () => rows().findIndex((row) => row.kind === "message" && row.id === wanted);
    for (let pages = 0; indexOf() < 0 && pages < PAGES_MAX; pages += 1) {
      if (!(await readOlder(props.sessionID, PAGE_LARGE))) break;
      await frames();
    }
    if (props.target !== wanted) return;
    if (indexOf() < 0) return say(words.notFound);
    // Heights above are guessed until they are drawn: a second look corrects the first.
    for (let looks = 0; looks < 3; looks += 1) {
      handle?.scrollToIndex(indexOf(), { align: "start" });
      await frames();
    }
    // Whoever looks for words goes on typing or presses Enter again.
    if (!document.activeElement?.closest(".find")) document.getElementById(wanted)?.focus({ preventScroll: true });
  };

  return (
    <div class="timeline" ref={scroller} onScroll={scrolled} tabindex="0" role="group" aria-label={session(props.sessionID)?.title ?? ""}>
      <div class="timeline-rows">
        <Show when={isLoading()}>
          <p class="muted small centre" aria-live="polite">{words.older}…</p>
        </Show>
        {/* Messages and nothing else: the button below is not one of them. */}
        <div role="feed" aria-busy={isLoading()} aria-label={words.messages}>
          <Virtualizer ref={(made) => (handle = made)} data={rows()} shift={isPrepending()} scrollRef={scroller} bufferSize={700} onResize={keepEnd}>
            {(row, index) => <Row row={row} sessionID={props.sessionID} index={index()} total={rows().length} />}
          </Virtualizer>
        </div>
      </div>
      <Show when={!isFollowing()}>
        <button type="button" class="to-end" onClick={toEnd} aria-label={words.toEnd} title={words.toEnd}>
          <Icon name="arrow-down" /> {words.toEnd}
        </button>
      </Show>
    </div>
  );
}

function Row(props: { row: TimelineRow; sessionID: string; index: number; total: number }) {
  switch (props.row.kind) {
    case "message":
      return <Turn sessionID={props.sessionID} messageID={props.row.id} position={props.index + 1} total={props.total} />;
    case "undone":
      return READ_ONLY ? null : <UndoneBlock sessionID={props.sessionID} />;
    case "notice": {
      const { index } = props.row;
      const notice = createMemo(() => thread(props.sessionID)?.notices[index]);
      return <Show when={notice()}>{(found) => <ErrorNotice error={found().error} sessionID={props.sessionID} />}</Show>;
    }
    case "sending":
      return <SendingPrompt id={props.row.id} />;
    default:
      return props.row satisfies never;
  }
}

/** Rows keep their identity while they say the same, so that nothing is drawn again. */
function stableRows(rows: () => TimelineRow[]): () => readonly TimelineRow[] {
  let known = new Map<string, TimelineRow>();
  return createMemo(() => {
    const next = new Map<string, TimelineRow>();
    const list = rows().map((row) => {
      const name = JSON.stringify(row);
      const kept = known.get(name) ?? row;
      next.set(name, kept);
      return kept;
    });
    known = next;
    return list;
  });
}

function rowsOf(sessionID: string): TimelineRow[] {
  const found = thread(sessionID);
  if (!found) return [];
  const rows: TimelineRow[] = [];
  const undoneFrom = session(sessionID)?.revert?.messageID;
  const cut = undoneFrom === undefined ? -1 : found.order.indexOf(undoneFrom);
  const shown = cut < 0 ? found.order : found.order.slice(0, cut);
  const notices = (after: string | undefined) =>
    found.notices.forEach((notice, index) => {
      if (notice.after === after && !isSaidByMessage(sessionID, notice.error.data.message)) rows.push({ kind: "notice", index });
    });
  notices(undefined);
  for (const id of shown) {
    rows.push({ kind: "message", id });
    notices(id);
  }
  if (cut >= 0) rows.push({ kind: "undone" });
  for (const prompt of READ_ONLY || past()?.sessionID === sessionID ? [] : pendingPrompts(sessionID)) {
    if (!found.messages.has(prompt.messageID)) rows.push({ kind: "sending", id: prompt.messageID });
  }
  return rows;
}

/** The same error usually stands on the answer it ended, too. */
function isSaidByMessage(sessionID: string, text: string | undefined): boolean {
  const found = thread(sessionID);
  return [...(found?.messages.values() ?? [])].some(
    ({ value }) => value.role === "assistant" && value.error !== undefined && value.error.data.message === text,
  );
}

/** Used by keys that move from message to message. */
export function messageIds(sessionID: string): readonly string[] {
  return thread(sessionID)?.order ?? [];
}

