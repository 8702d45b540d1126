// Shortcuts. Single letters work only outside of fields, and can be switched off.

import { PANELS, navigate, route, sessionPath } from "./router.ts";
import { isFinding, setFinding } from "./find.ts";
import { preferences } from "./preferences.ts";
import { setRenaming } from "./rename.ts";
import { session, sessions, thread } from "./store.ts";
import { undoLast } from "./undo.ts";

export const SHORTCUTS: readonly (readonly [string, string])[] = [
  ["Ctrl K", "Go to a session or a place"],
  ["Ctrl F", "Find in the session"],
  ["Enter", "Send (Shift Enter: a new line)"],
  ["Esc Esc", "Stop the turn"],
  ["j k", "Next and previous message"],
  ["o c f", "Unfold, copy or fork the message"],
  ["e", "Rename the session"],
  ["[ ]", "Previous and next session"],
  ["g l b a u s", "Sessions, board, asks, usage, search"],
  ["n", "New session"],
  ["z", "Undo the last turn"],
  ["Alt A", "Next ask; there 1, 2, 3 answer it"],
  ["Alt P", "Next panel"],
  ["Alt ↑", "Parent session"],
  ["/", "Search"],
  ["?", "All shortcuts"],
];

const PLACES: Readonly<Record<string, string>> = { l: "/", b: "/board", a: "/asks", u: "/usage", s: "/search" };
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
    if (isCommand || isInField(event.target) || !preferences().letterKeys) return;
    if (isGoing) {
      isGoing = false;
      const place = PLACES[event.key];
      if (place !== undefined) navigate(place);
      return;
    }
    isGoing = event.key === "g";
    letter(event);
  });
}

function isInField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

function alternate(event: KeyboardEvent): void {
  const now = route();
  if (event.code === "KeyA") {
    event.preventDefault();
    const dock = document.querySelector<HTMLElement>("[data-ask]");
    if (dock) dock.querySelector<HTMLElement>("button.primary")?.focus();
    else navigate("/asks");
  } else if (event.code === "KeyP" && now.page === "session") {
    event.preventDefault();
    const next = PANELS[(now.panel === undefined ? -1 : PANELS.indexOf(now.panel)) + 1];
    navigate(sessionPath(now.id, next), "replace");
  } else if (event.key === "ArrowUp" && now.page === "session") {
    const parent = session(now.id)?.parentID;
    if (parent !== undefined) navigate(sessionPath(parent));
  }
}

function letter(event: KeyboardEvent): void {
  const now = route();
  switch (event.key) {
    case "/":
      event.preventDefault();
      return navigate("/search");
    case "n":
      event.preventDefault();
      return navigate("/new");
    case "j":
      return moveMessage(1);
    case "k":
      return moveMessage(-1);
    case "e":
      event.preventDefault();
      return now.page === "session" ? void setRenaming(now.id) : undefined;
    case "z":
      return now.page === "session" ? undoLast(now.id) : undefined;
    case "c":
      return here()?.querySelector<HTMLElement>(".copy")?.click();
    case "o":
      return toggleFolds();
    case "f":
      return forkHere();
    case "?":
      return navigate("/settings");
    case "[":
      return moveSession(-1);
    case "]":
      return moveSession(1);
    case "1":
    case "2":
    case "3": {
      const dock = document.activeElement?.closest("[data-ask]");
      dock?.querySelector<HTMLElement>(`[data-key="${event.key}"]`)?.click();
      return;
    }
    default:
      return;
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
  if (next !== undefined) document.getElementById(next)?.focus();
}

function moveSession(step: number): void {
  const now = route();
  const list = sessions().filter((one) => one.parentID === undefined).sort((a, b) => b.time.updated - a.time.updated);
  const at = now.page === "session" ? list.findIndex((one) => one.id === now.id) : -1;
  const next = list[(at + step + list.length) % Math.max(1, list.length)];
  if (next) navigate(sessionPath(next.id));
}
