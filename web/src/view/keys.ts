// Shortcuts. Single keys work only outside of fields, and can be changed (`shortcuts.ts`) and switched off.

import { PANELS, messagePath, navigate, route, sessionPath, showPanel } from "./router.ts";
import { isFinding, setFinding } from "./find.ts";
import { preferences } from "./preferences.ts";
import { setRenaming } from "./rename.ts";
import { type KeyAction, actionOf } from "./shortcuts.ts";
import { session, sessions, thread } from "./store.ts";
import { undoLast } from "./undo.ts";

const TWICE_MS = 600;

/** Loaded with the first session. */
const actions = () => import("./actions.ts");

export function startKeys(palette: { readonly isOpen: () => boolean; readonly open: () => void }): void {
  let lastEscape = 0;
  let isGoing = false;
  document.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const isCommand = event.ctrlKey || event.metaKey;
    if (isCommand && event.key.toLowerCase() === "k") {
      event.preventDefault();
      return palette.open();
    }
    // Once more, and the browser's own find opens.
    if (isCommand && !event.shiftKey && event.key.toLowerCase() === "f" && route().page === "session" && !isFinding()) {
      event.preventDefault();
      return void setFinding(true);
    }
    // Its field has the focus as soon as its script is here; what is typed before that is not a shortcut.
    if (palette.isOpen()) return;
    if (event.key === "Escape") {
      const now = route();
      if (Date.now() - lastEscape < TWICE_MS && now.page === "session") void actions().then((file) => file.stop(now.id));
      lastEscape = Date.now();
      return;
    }
    if (event.altKey && !isCommand) return alternate(event);
    // On its way to a sign that is written with it.
    if (isCommand || event.key === "Shift" || isInField(event.target) || !preferences().letterKeys) return;
    const wasGoing = isGoing;
    const action = actionOf(event.key, preferences().keys, wasGoing);
    isGoing = action === "go";
    if (action === undefined) return wasGoing ? undefined : answer(event.key);
    event.preventDefault();
    act(action);
  });
}

function isInField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

function alternate(event: KeyboardEvent): void {
  const now = route();
  if (event.code === "KeyA") {
    event.preventDefault();
    nextAsk();
  } else if (event.code === "KeyP" && now.page === "session") {
    event.preventDefault();
    const next = PANELS[(now.panel === undefined ? -1 : PANELS.indexOf(now.panel)) + 1];
    showPanel(now.id, next);
  } else if (event.key === "ArrowUp" && now.page === "session") {
    const parent = session(now.id)?.parentID;
    if (parent !== undefined) navigate(sessionPath(parent));
  }
}

/** The first ask on the screen, or the one after that which has the focus. */
function nextAsk(): void {
  const all = [...document.querySelectorAll<HTMLElement>("[data-ask]")];
  const at = all.findIndex((one) => one.contains(document.activeElement));
  const next = all[(at + 1) % Math.max(1, all.length)];
  if (next === undefined) return navigate("/asks");
  next.querySelector<HTMLElement>("button.primary")?.focus();
}

/** Of an ask that has the focus. */
function answer(key: string): void {
  if (!/^[123]$/.test(key)) return;
  const dock = document.activeElement?.closest("[data-ask]");
  dock?.querySelector<HTMLElement>(`[data-key="${key}"]`)?.click();
}

function act(action: KeyAction): void {
  const now = route();
  switch (action) {
    case "search":
      return navigate("/search");
    case "new":
      return navigate("/new");
    case "next":
      return moveMessage(1);
    case "previous":
      return moveMessage(-1);
    case "rename":
      return now.page === "session" ? void setRenaming(now.id) : undefined;
    case "undo":
      return now.page === "session" ? undoLast(now.id) : undefined;
    case "copy":
      return here()?.querySelector<HTMLElement>(".copy")?.click();
    case "unfold":
      return toggleFolds();
    case "fork":
      return forkHere();
    case "help":
      return navigate("/settings");
    case "before":
      return moveSession(-1);
    case "after":
      return moveSession(1);
    case "go":
      return;
    case "goList":
      return navigate("/");
    case "goBoard":
      return navigate("/board");
    case "goAsks":
      return navigate("/asks");
    case "goUsage":
      return navigate("/usage");
    case "goSearch":
      return navigate("/search");
    default:
      return action satisfies never;
  }
}

/** The message that has the focus. */
const here = () => document.activeElement?.closest("article");

/** Opens everything that is folded in the message, or folds it. */
function toggleFolds(): void {
  const folds = [...(here()?.querySelectorAll("details") ?? [])];
  const isOpen = folds.some((fold) => fold.open);
  for (const fold of folds) fold.open = !isOpen;
}

function forkHere(): void {
  const now = route();
  const id = here()?.id;
  if (now.page === "session" && id !== undefined) void actions().then((file) => file.forkAt(now.id, id));
}

function moveMessage(step: number): void {
  const now = route();
  if (now.page !== "session") return;
  const order = thread(now.id)?.order ?? [];
  const at = !here() ? (step > 0 ? -1 : order.length) : order.indexOf(here()?.id ?? "");
  const next = order[Math.max(0, Math.min(order.length - 1, at + step))];
  if (next === undefined) return;
  const drawn = document.getElementById(next);
  if (drawn) return drawn.focus();
  // Below a message that is longer than the window nothing is drawn yet.
  navigate(messagePath(now.id, next, { panel: now.panel }), "replace");
}

function moveSession(step: number): void {
  const now = route();
  const list = sessions().filter((one) => one.parentID === undefined).sort((a, b) => b.time.updated - a.time.updated);
  const at = now.page === "session" ? list.findIndex((one) => one.id === now.id) : -1;
  const next = list[(at + step + list.length) % Math.max(1, list.length)];
  if (next) navigate(sessionPath(next.id));
}
