// Notices of the browser, for whoever asked for them in the settings: something needs you, or a turn has ended.
// They name the session and the tool, never what was said. Loaded only when they are wanted.
//
// A hidden tab lets its line go, and then hears nothing. With notices, one of them keeps it: the one that holds the lock.

import { createEffect, createRoot, on } from "solid-js";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import type { Ask } from "../wire/types.ts";
import { keepAwake, line } from "./live.ts";
import { navigate, sessionPath } from "./router.ts";
import { asks, session, sessions, statusNow, world } from "./store.ts";

const LOCK = "sturdy.notices";
let stop: () => void = () => {};

/** Whether this browser can show any: not over plain HTTP from another machine. */
export function canNotify(): boolean {
  return isSecureContext && "Notification" in globalThis;
}

/** Asks the browser, which asks the person. Only after a click. */
export async function askForNotices(): Promise<boolean> {
  return canNotify() && (await Notification.requestPermission()) === "granted";
}

export function startNotices(): void {
  stopNotices();
  if (!canNotify() || Notification.permission !== "granted") return;
  const leave = new AbortController();
  const held = new Promise<void>((done) => leave.signal.addEventListener("abort", () => done()));
  const hold = () => {
    keepAwake(true);
    line.hurry();
    return held;
  };
  navigator.locks?.request(LOCK, { signal: leave.signal }, hold).catch(() => {});
  const dispose = createRoot((end) => {
    watchAsks();
    watchEnds();
    return end;
  });
  stop = () => {
    leave.abort();
    keepAwake(false);
    dispose();
  };
}

export function stopNotices(): void {
  stop();
  stop = () => {};
}

/** Somebody who looks at the page sees it there. */
const isAway = () => document.visibilityState === "hidden" || !document.hasFocus();

function show(tag: string, title: string, body: string, path: string): void {
  if (!isAway()) return;
  // The same tag: what another tab showed is replaced and not shown twice.
  const notice = new Notification(title, { body, tag, icon: "/favicon.svg" });
  notice.onclick = () => {
    window.focus();
    navigate(path);
    notice.close();
  };
}

function watchAsks(): void {
  let known: ReadonlySet<string> = new Set(world.asks.keys());
  createEffect(on(asks, (open) => {
    for (const ask of open) {
      if (!known.has(ask.request.id)) show(ask.request.id, panelWords.noticeAsk(titleOf(ask.request.sessionID)), toolOf(ask), "/asks");
    }
    known = new Set(open.map((ask) => ask.request.id));
  }));
}

function watchEnds(): void {
  const working = new Set<string>();
  createEffect(() => {
    for (const { id, parentID } of sessions()) {
      const isIdle = statusNow(id).type === "idle";
      if (!isIdle) working.add(id);
      // What a sub-agent ends is not the end of anything a person asked for.
      else if (working.delete(id) && parentID === undefined) show(`end ${id}`, titleOf(id), panelWords.noticeEnd, sessionPath(id));
    }
  });
}

const titleOf = (id: string) => session(id)?.title ?? words.name;

function toolOf(ask: Ask): string {
  return ask.kind === "question" ? panelWords.noticeQuestion : ask.request.permission;
}
