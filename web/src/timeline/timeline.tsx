// The conversation of one session: as many messages as fit the window, and the reader's place kept.
//
// Following the end is on only while the reader is there. Any scroll up ends it; reaching the end, or a
// click, begins it again. What is read never moves.

import { For, Show, createEffect, createMemo, createSignal, lazy, on, onCleanup, onMount, untrack } from "solid-js";
import { Virtualizer, type VirtualizerHandle } from "virtua/solid";
import { Guard } from "../kit/guard.tsx";
import { Icon } from "../kit/icon.tsx";
import { asCallError } from "../wire/api.ts";
import { boundThread, readOlder } from "../view/live.ts";
import type { TalkPlace } from "../view/router.ts";
import { message, session, thread } from "../view/store.ts";
import { words } from "../words/en.ts";
import { showToast } from "../kit/toast.tsx";
import { frames } from "./frames.ts";
import { type TimelineRow, rowsOf, stableRows } from "./rows.ts";
import { Turn } from "./turn.tsx";
import { SendingPrompt } from "./sending.tsx";

// Marks beside the conversation, which is drawn first.
const Rail = lazy(() => import("./rail.tsx").then((file) => ({ default: file.Rail })));
const ErrorNotice = lazy(() => import("./error.tsx").then((file) => ({ default: file.ErrorNotice })));
const UndoneBlock = lazy(() => import("../panel/undo.tsx").then((file) => ({ default: file.UndoneBlock })));

/** How near the end counts as being there. */
const END_PX = 60;
/** How near the start the page before is asked for. */
const START_PX = 600;

/** What is beside the conversation waits until that is drawn. */
const SETTLED_MS = 1000;

/** So many rows fill a window, and are drawn first; the others follow when they are on the screen. */
const ROWS_FIRST = 10;

/** How often the place of a message is looked up on the way to it. */
const LOOKS_MAX = 10;
/** What stands above a part that was gone to stays in sight. */
const ABOVE_PART_PX = 48;

export function Timeline(props: { sessionID: string; target: TalkPlace | undefined }) {
  // Not there before the first drawing.
  let scroller!: HTMLDivElement;
  let feed!: HTMLDivElement;
  let handle: VirtualizerHandle | undefined;
  const [isFollowing, setFollowing] = createSignal(true);
  const [isPrepending, setPrepending] = createSignal(false);
  const [isLoading, setLoading] = createSignal(false);
  const [isSettled, setSettled] = createSignal(false);
  const [isPrinting, setPrinting] = createSignal(false);
  const rows = stableRows(() => rowsOf(props.sessionID), (kept) => keepPlace(kept));
  /** Where somebody is led to may be far up. */
  const [isWhole, setWhole] = createSignal(props.target !== undefined || untrack(rows).length <= ROWS_FIRST);
  const drawn = createMemo(() => (isWhole() ? rows() : rows().slice(-ROWS_FIRST)));
  /** Rows above those that are drawn. */
  const above = () => rows().length - drawn().length;
  /** How many there are, for whoever is told; not known before the first was read. */
  const total = () => (thread(props.sessionID)?.older === undefined ? rows().length : -1);
  /** Where the window stood, and how long the conversation was, when it was looked at last. */
  let lastTop = 0;
  let lastHeight = 0;
  /** A finger or the mouse holds the conversation or its scroll bar. */
  let isHeld = false;
  /** What was last when the reader left the end; older pages come above it. */
  const [leftAfter, setLeftAfter] = createSignal<TimelineRow>();
  const newBelow = () => {
    const at = leftAfter() === undefined ? -1 : rows().lastIndexOf(leftAfter() as TimelineRow);
    return at < 0 ? 0 : rows().length - 1 - at;
  };
  createEffect(on(isFollowing, (isNow) => !isNow && setLeftAfter(rows().at(-1))));

  const printing = (event: Event) => setPrinting(event.type === "beforeprint");
  const prints = ["beforeprint", "afterprint"] as const;
  for (const name of prints) window.addEventListener(name, printing);
  onCleanup(() => prints.forEach((name) => window.removeEventListener(name, printing)));

  /** Which jump is under way: another one, or a click to the end, takes over from it. */
  let jump = 0;
  const toEnd = () => {
    jump += 1;
    setFollowing(true);
    keepEnd();
  };
  /** The open menu of a message, and how far below the top of the window its button stands. */
  const openMenu = () => scroller.querySelector<HTMLElement>(".menu:popover-open");
  const menuTop = () => openMenu()?.previousElementSibling?.getBoundingClientRect().top;
  let heldTop: number | undefined;
  const keepEnd = () => {
    const top = menuTop();
    // A menu stands beside its message: whatever is drawn above the message meanwhile, both stay where they are.
    if (top !== undefined) scroller.scrollTop += top - (heldTop ??= top);
    else if (isFollowing()) scroller.scrollTop = scroller.scrollHeight;
    else return;
    look();
  };
  /** A menu was opened or closed, or the reader scrolled beside an open one. */
  const holdMenu = () => (heldTop = menuTop());
  const look = () => {
    lastTop = scroller.scrollTop;
    lastHeight = scroller.scrollHeight;
  };

  /** Those before the first stand above them, and nothing moves. */
  const drawWhole = async () => {
    if (isWhole()) return;
    setPrepending(true);
    setWhole(true);
    await frames();
    setPrepending(isLoading());
  };

  const scrolled = () => {
    const rest = scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
    // Only a movement upwards is a wish to read; a text that grew below is not. Nor is a row that turned out shorter than
    // guessed, which moves the window up as well.
    const isUp = scroller.scrollTop < lastTop;
    const isOfReader = isHeld || scroller.scrollHeight === lastHeight;
    if (isUp && isOfReader && rest >= 1) setFollowing(false);
    else if (!isUp && rest < END_PX) setFollowing(true);
    else if (isUp) keepEnd();
    look();
    if (heldTop !== undefined) holdMenu();
    if (scroller.scrollTop < START_PX) void (isWhole() ? loadOlder() : drawWhole());
  };

  /** Whoever goes elsewhere does not wait for what was here. */
  const leaving = new AbortController();
  onCleanup(() => leaving.abort());
  const loadOlder = async () => {
    if (isLoading() || thread(props.sessionID)?.older === undefined) return;
    setLoading(true);
    setPrepending(true);
    try {
      await readOlder(props.sessionID, leaving.signal);
      await frames();
    } catch (cause) {
      if (!leaving.signal.aborted) showToast(asCallError(cause).message, "bad");
    } finally {
      setPrepending(false);
      setLoading(false);
    }
  };

  onMount(() => {
    const settling = setTimeout(() => setSettled(true), SETTLED_MS);
    onCleanup(() => clearTimeout(settling));
    const watch = new ResizeObserver(keepEnd);
    watch.observe(scroller);
    const content = scroller.firstElementChild;
    if (content) watch.observe(content);
    const byKey = (event: KeyboardEvent) => {
      if (["ArrowUp", "PageUp", "Home"].includes(event.key) && scroller.contains(document.activeElement)) leaveEnd();
    };
    // Where everything fits there is nothing to scroll, and the next answer is followed.
    const leaveEnd = () => scroller.scrollTop > 0 && setFollowing(false);
    const hold = () => (isHeld = true);
    const letGo = () => (isHeld = false);
    scroller.addEventListener("wheel", (event) => event.deltaY < 0 && leaveEnd(), { passive: true });
    scroller.addEventListener("pointerdown", hold, { passive: true });
    scroller.addEventListener("touchstart", hold, { passive: true });
    // A finger that scrolls ends the pointer's part of it, and goes on.
    const ends = ["pointerup", "touchend", "touchcancel"] as const;
    for (const end of ends) document.addEventListener(end, letGo);
    document.addEventListener("keydown", byKey);
    // Of a menu. It does not bubble.
    scroller.addEventListener("toggle", () => {
      holdMenu();
      keepEnd();
    }, { capture: true, passive: true });
    onCleanup(() => {
      watch.disconnect();
      for (const end of ends) document.removeEventListener(end, letGo);
      document.removeEventListener("keydown", byKey);
    });
    if (props.target === undefined) requestAnimationFrame(toEnd);
    void frames().then(drawWhole);
  });
  createEffect(on(() => rows().length, () => requestAnimationFrame(() => {
    keepEnd();
    const top = drawn()[isFollowing() ? drawn().length - 1 : (handle?.findItemIndex(scroller.scrollTop) ?? 0)];
    boundThread(props.sessionID, top?.kind === "message" ? top.id : undefined);
  }), { defer: true }));

  createEffect(on(() => props.target, (wanted) => {
    if (wanted === undefined) jump += 1;
    else void jumpTo(wanted).catch((cause) => showToast(asCallError(cause).message, "bad"));
  }));
  /** Reads until the message is here, then goes to it, or to the part of it. */
  const jumpTo = async (place: TalkPlace) => {
    const mine = ++jump;
    setFollowing(false);
    setWhole(true);
    const { drawnAt, reach } = await import("./jump.ts");
    const message = await reach(props.sessionID, place);
    if (jump !== mine) return;
    const indexOf = () => rows().findIndex((row) => row.kind === "message" && row.id === message);
    if (message === undefined || indexOf() < 0) return showToast(words.notFound);
    let found: HTMLElement | null = null;
    // A list that is not laid out yet knows no places, and a slow device draws late: what is wanted is looked for again.
    for (let tries = 0; found === null && tries < LOOKS_MAX && jump === mine; tries += 1) {
      await settle(mine, () => feed.offsetTop + (handle?.getItemOffset(indexOf()) ?? 0));
      found = await drawnAt(message, place.part);
    }
    if (found && found.id !== message) await settle(mine, () => scroller.scrollTop + found.getBoundingClientRect().top - scroller.getBoundingClientRect().top - ABOVE_PART_PX);
    // Whoever looks for words goes on typing or presses Enter again.
    if (jump === mine && !document.activeElement?.closest(".find")) found?.focus({ preventScroll: true });
  };
  /**
   * Rows were taken out, and the list forgets which height was whose: the first row in sight that stays is held where it
   * is until all have been measured again. Asked before anything is drawn anew.
   */
  const keepPlace = (kept: ReadonlySet<TimelineRow>) => {
    if (isFollowing() || scroller === undefined) return;
    const { top, bottom } = scroller.getBoundingClientRect();
    const ids = new Set([...kept].map((row) => (row.kind === "message" ? row.id : "")));
    const isInSight = (one: Element) => one.getBoundingClientRect().bottom > top && one.getBoundingClientRect().top < bottom;
    const anchor = [...feed.querySelectorAll("article")].find((one) => ids.has(one.id) && isInSight(one));
    if (anchor === undefined) return;
    const wanted = anchor.getBoundingClientRect().top - top;
    const place = () => {
      const seen = document.getElementById(anchor.id)?.getBoundingClientRect().top;
      const index = drawn().findIndex((row) => row.kind === "message" && row.id === anchor.id);
      return (seen === undefined ? feed.offsetTop + (handle?.getItemOffset(index) ?? 0) : scroller.scrollTop + seen - scroller.getBoundingClientRect().top) - wanted;
    };
    const mine = ++jump;
    // At once, so that nothing is seen to move; and again as heights become known.
    queueMicrotask(() => {
      if (jump === mine) scroller.scrollTop = place();
      void settle(mine, place);
    });
  };
  /**
   * Heights are guessed until they are drawn: looks until it stands still. Not by the list's own `scrollToIndex`, which
   * goes on pulling as long as anything grows, whatever the reader does meanwhile.
   */
  const settle = async (mine: number, top: () => number) => {
    for (let looks = 0; looks < LOOKS_MAX && jump === mine; looks += 1) {
      const before = scroller.scrollTop;
      scroller.scrollTop = top();
      await frames();
      if (looks > 0 && Math.abs(scroller.scrollTop - before) < 1) return;
    }
  };

  return (
    <div class="timeline-box">
    <div class="timeline" ref={scroller} onScroll={scrolled} tabindex="0" role="group" aria-label={session(props.sessionID)?.title ?? ""}>
      <div class="timeline-rows">
        <Show when={isLoading()}>
          <p class="muted small centre" aria-live="polite">{words.older}…</p>
        </Show>
        {/* Messages and nothing else: the button below is not one of them. */}
        <div ref={feed} role="feed" aria-busy={isLoading()} aria-label={words.messages}>
          <Virtualizer ref={(made) => (handle = made)} data={drawn()} shift={isPrepending()} scrollRef={scroller} bufferSize={700} onResize={keepEnd}>
            {(row, index) => <Guard of={() => rowValue(props.sessionID, row)}><Row row={row} sessionID={props.sessionID} index={above() + index()} total={total()} /></Guard>}
          </Virtualizer>
        </div>
        <Show when={isPrinting()}><Printed sessionID={props.sessionID} rows={rows()} /></Show>
      </div>
      <Show when={!isFollowing()}>
        <button type="button" class="to-end" onClick={toEnd} title={words.toEnd}>
          <Icon name="arrow-down" /> {newBelow() > 0 ? words.newBelow(newBelow()) : words.toEnd}
        </button>
      </Show>
    </div>
    <Show when={!READ_ONLY && isSettled() && rows().length > 2}><Guard><Rail sessionID={props.sessionID} rows={rows()} /></Guard></Show>
    </div>
  );
}

/** On paper everything that is loaded stands below each other, also what is out of sight. */
function Printed(props: { sessionID: string; rows: readonly TimelineRow[] }) {
  const held = () => props.rows.filter((row) => row.kind !== "message" || thread(props.sessionID)?.messages.has(row.id));
  const isAll = () => held().length === props.rows.length && thread(props.sessionID)?.older === undefined;
  return (
    <div class="printed">
      <Show when={!isAll()}><p class="muted small">{words.printedPart}</p></Show>
      <For each={held()}>{(row, index) => <Guard of={() => rowValue(props.sessionID, row)}><Row row={row} sessionID={props.sessionID} index={index()} total={held().length} /></Guard>}</For>
    </div>
  );
}

function Row(props: { row: TimelineRow; sessionID: string; index: number; total: number }) {
  switch (props.row.kind) {
    case "message":
      return <Turn sessionID={props.sessionID} messageID={props.row.id} position={props.index + 1} total={props.total} isPast={props.row.isPast} />;
    case "tail":
      return <p class="tail muted small">{words.compactionTail}</p>;
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

/** What a row draws, for when it cannot be drawn. */
function rowValue(sessionID: string, row: TimelineRow): unknown {
  if (row.kind === "message") return message(sessionID, row.id);
  return row.kind === "notice" ? thread(sessionID)?.notices[row.index] : row;
}

/** Used by keys that move from message to message. */
export function messageIds(sessionID: string): readonly string[] {
  return thread(sessionID)?.order ?? [];
}

