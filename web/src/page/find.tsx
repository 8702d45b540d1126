// Find in one session. The browser's own find sees only what is drawn, and a long conversation is drawn in part: so
// the server looks through all of it, and what is drawn is marked without touching the document.

import { createEffect, createSignal, on, onCleanup, onMount } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { asCallError } from "../wire/api.ts";
import { showToast } from "../kit/toast.tsx";
import { api } from "../view/live.ts";
import { setFinding } from "../view/find.ts";
import { type Panel, messagePath, navigate } from "../view/router.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";

interface Hit {
  readonly messageID: string;
  readonly partID: string;
}

const PAUSE_MS = 60;
const LETTERS_MIN = 2;
/** Enough to walk through; a search that finds more should be narrower. */
const HITS_MAX = 500;
const ROUNDS_MAX = 12;
/** How long a jump may take to settle. */
const JUMP_FRAMES = 24;

export function FindBar(props: { sessionID: string; panel: Panel | undefined }) {
  const [query, setQuery] = createSignal("");
  const [hits, setHits] = createSignal<readonly Hit[]>([]);
  const [at, setAt] = createSignal(0);
  const [isLooking, setLooking] = createSignal(false);
  let field!: HTMLInputElement;
  onMount(() => field.focus());

  createEffect(on(query, (now) => {
    const wanted = now.trim();
    const abort = new AbortController();
    onCleanup(() => abort.abort());
    setHits([]);
    if (wanted.length < LETTERS_MIN) return;
    setLooking(true);
    const timer = setTimeout(() => void look(props.sessionID, wanted, abort.signal).then((found) => {
      if (abort.signal.aborted) return;
      setHits(found);
      setLooking(false);
      go(found.length - 1);
    }, (cause) => abort.signal.aborted || showToast(asCallError(cause).message, "bad")), PAUSE_MS);
    onCleanup(() => clearTimeout(timer));
  }));
  useMarks(() => query().trim());

  const go = (index: number) => {
    const all = hits();
    if (all.length === 0) return;
    const next = (index + all.length) % all.length;
    setAt(next);
    const { messageID = "", partID } = all[next] ?? {};
    navigate(messagePath(props.sessionID, messageID, { part: partID, panel: props.panel }), "replace");
    void showIn(messageID, query().trim().toLowerCase());
  };
  const close = () => {
    setFinding(false);
    document.querySelector<HTMLElement>(".timeline")?.focus({ preventScroll: true });
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === "Enter") go(at() + (event.shiftKey ? 1 : -1));
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const result = () => {
    if (query().trim().length < LETTERS_MIN) return "";
    if (isLooking()) return "…";
    return hits().length === 0 ? words.nothingFound : panelWords.findAt(hits().length - at(), hits().length);
  };
  return (
    <div class="find" role="search" aria-label={panelWords.find} onKeyDown={key}>
      <Icon name="search" />
      <input ref={field} type="search" class="grow" maxlength="200" aria-label={panelWords.find} placeholder={panelWords.find} onInput={(event) => setQuery(event.currentTarget.value)} />
      <span class="small muted num" role="status">{result()}</span>
      <button type="button" class="quiet" aria-label={panelWords.findOlder} title={panelWords.findOlder} disabled={hits().length === 0} onClick={() => go(at() - 1)}><Icon name="arrow-up" /></button>
      <button type="button" class="quiet" aria-label={panelWords.findNewer} title={panelWords.findNewer} disabled={hits().length === 0} onClick={() => go(at() + 1)}><Icon name="arrow-down" /></button>
      <button type="button" class="quiet" aria-label={words.close} onClick={close}><Icon name="x" /></button>
    </div>
  );
}

/** A jump leads to the beginning of a message; in a long one the words are farther down. */
async function showIn(messageID: string, wanted: string): Promise<void> {
  for (let frame = 0; frame < JUMP_FRAMES; frame += 1) await new Promise((done) => requestAnimationFrame(done));
  const timeline = document.querySelector(".timeline");
  const article = document.getElementById(messageID);
  const range = article ? rangesOf(article, wanted)[0] : undefined;
  if (!timeline || !range) return;
  const window = timeline.getBoundingClientRect();
  const words = range.getBoundingClientRect();
  if (words.top < window.top || words.bottom > window.bottom) timeline.scrollBy(0, words.top - window.top - window.height / 3);
}

/** Everything that is found, oldest first. */
async function look(sessionID: string, wanted: string, signal: AbortSignal): Promise<readonly Hit[]> {
  let found: readonly Hit[] = [];
  let cursor: number | undefined;
  for (let round = 0; round < ROUNDS_MAX && found.length < HITS_MAX; round += 1) {
    const search = new URLSearchParams({ q: wanted, session: sessionID, limit: "100", ...(cursor === undefined ? {} : { cursor: String(cursor) }) });
    const answer = await api.get<{ hits: readonly Hit[]; cursor?: number }>(`/sturdy/search?${search}`, { signal });
    found = [...found, ...answer.hits];
    cursor = answer.cursor;
    if (cursor === undefined) break;
  }
  return found.toReversed();
}

/** Marks the words wherever they are drawn, also in what is drawn later. */
function useMarks(wanted: () => string): void {
  // Firefox before 140 has no such marks; jumping works there all the same.
  if (!("highlights" in CSS)) return;
  const draw = () => {
    const words = wanted().toLowerCase();
    const root = document.querySelector(".timeline");
    if (words.length < LETTERS_MIN || !root) return void CSS.highlights.delete("find");
    CSS.highlights.set("find", new Highlight(...rangesOf(root, words)));
  };
  let frame = 0;
  const later = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(draw);
  };
  const watch = new MutationObserver(later);
  onMount(() => {
    const root = document.querySelector(".session");
    if (root) watch.observe(root, { childList: true, characterData: true, subtree: true });
  });
  createEffect(on(wanted, later));
  onCleanup(() => {
    watch.disconnect();
    cancelAnimationFrame(frame);
    CSS.highlights.delete("find");
  });
}

function rangesOf(root: Element, wanted: string): Range[] {
  const ranges: Range[] = [];
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node && ranges.length < HITS_MAX; node = texts.nextNode()) {
    const text = (node.textContent ?? "").toLowerCase();
    // Some letters change their length with their case; where they do, places would be wrong.
    if (text.length !== node.textContent?.length) continue;
    for (let from = text.indexOf(wanted); from >= 0; from = text.indexOf(wanted, from + wanted.length)) {
      const range = new Range();
      range.setStart(node, from);
      range.setEnd(node, from + wanted.length);
      ranges.push(range);
    }
  }
  return ranges;
}
