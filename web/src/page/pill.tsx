// How far the page can be trusted: live, or how far behind, and what can be done about it.

import { For, Show, createEffect, createMemo, createSignal, onCleanup } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { everySecond, useSeconds } from "../kit/ticking.tsx";
import type { LineState } from "../sync/line.ts";
import { line, lineState, restarted, tabs, trouble } from "../view/live.ts";
import { useInterrupted } from "../view/interrupted.ts";
import { session } from "../view/store.ts";
import { messagePath, route } from "../view/router.ts";
import { words } from "../words/en.ts";

/** A blink is no alarm: trouble is shown when it lasts. */
const PATIENCE_MS = 1500;
const RESTART_SHOWN_MS = 60_000;
/** Turns that are named one by one; all of them are counted. */
const NAMED_MAX = 10;

export function LinePill() {
  useSeconds();
  // From when on it is in trouble, whatever is tried meanwhile.
  const isTrouble = createMemo(() => ["waiting", "opening", "catching up"].includes(lineState().name));
  const [isLasting, setLasting] = createSignal(false);
  createEffect(() => {
    if (!isTrouble()) return;
    const timer = setTimeout(() => setLasting(true), PATIENCE_MS);
    onCleanup(() => {
      clearTimeout(timer);
      setLasting(false);
    });
  });
  const shown = createMemo<LineState>((before) => (isTrouble() && !isLasting() && before.name !== "reading" ? before : lineState()), lineState());
  const text = () => {
    const now = shown();
    switch (now.name) {
      case "live":
        return words.live;
      case "reading":
        return words.reading;
      case "opening":
        return words.opening;
      case "catching up":
        return words.catchingUp(now.done, now.total);
      case "waiting":
        return navigator.onLine ? words.tryingAgain((everySecond(), Math.max(0, Math.ceil((now.until - Date.now()) / 1000)))) : words.noNetwork;
      case "asleep":
        return words.asleep;
      case "locked":
        return words.locked;
      case "crowded":
        return words.crowded;
      case "outdated":
        return words.outdated;
      default:
        return now satisfies never;
    }
  };
  const act = () => {
    switch (shown().name) {
      case "waiting":
      case "asleep":
        return line.hurry();
      case "crowded":
        tabs.takeOver();
        return line.takeOver();
      case "outdated":
        return location.reload();
      default:
        return undefined;
    }
  };
  const action = () => ({ waiting: words.tryNow, asleep: words.tryNow, crowded: words.useThisTab, outdated: words.reload })[shown().name as "waiting"];
  return (
    <div class={`pill is-${shown().name.replace(" ", "-")}`} role="status" data-line={shown().name}>
      <span class="dot" />
      <span class="num">{text()}</span>
      <Show when={action()}>{(label) => <button type="button" class="link" onClick={act}>{label()}</button>}</Show>
    </div>
  );
}

/** The page could not be read: in the server's words. It is tried again by itself. */
export function TroubleNote() {
  useSeconds();
  return (
    <Show when={trouble()}>
      {(found) => <p class="note is-bad" role="alert"><Icon name="triangle-alert" /> {found().error.message} {words.tryingAgain((everySecond(), Math.max(0, Math.ceil((found().until - Date.now()) / 1000))))}.</p>}
    </Show>
  );
}

/** After a restart, for a minute: nothing was lost, and what it interrupted. */
export function RestartNote() {
  useSeconds();
  const isShown = () => (everySecond(), Date.now() - (restarted()?.at ?? 0) < RESTART_SHOWN_MS);
  const interrupted = useInterrupted(() => {
    const now = route();
    return now.page === "session" ? now.id : undefined;
  });
  return (
    <Show when={isShown()}>
      <p class="note" role="status">
        <Icon name="circle-check" /> {words.restarted(words.time(restarted()?.at ?? 0))}
        <Show when={interrupted()[0]}>
          {(first) => (
            <Show when={interrupted().length > 1} fallback={<> <a href={messagePath(first().sessionID, first().messageID)}>{words.interrupted(1)}</a></>}>
              {" "}{words.interruptedIn(interrupted().length)}
              <For each={interrupted().slice(0, NAMED_MAX)}>{(one, at) => <>{at() > 0 ? "," : ""} <a href={messagePath(one.sessionID, one.messageID)} dir="auto">{session(one.sessionID)?.title}</a></>}</For>
              <Show when={interrupted().length > NAMED_MAX}> <a href="/board">{words.andMore(interrupted().length - NAMED_MAX)}</a></Show>
            </Show>
          )}
        </Show>
      </p>
    </Show>
  );
}
