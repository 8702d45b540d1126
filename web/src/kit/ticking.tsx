// Seconds since a moment of the server's clock, counted on.

import { createMemo, createRoot, createSignal, onCleanup } from "solid-js";
import { serverNow } from "../view/live.ts";
import { past } from "../view/store.ts";
import { words } from "../words/en.ts";

const [second, setSecond] = createSignal(0);
let users = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** Changes every second while somebody looks. */
export function everySecond(): number {
  return second();
}

/** For what changes by the minute. */
export const everyTenSeconds = createRoot(() => createMemo(() => Math.floor(second() / 10)));

/** Keeps the seconds going for as long as the owner lives. */
export function useSeconds(): void {
  users += 1;
  timer ??= setInterval(() => setSecond((n) => n + 1), 1000);
  onCleanup(() => {
    users -= 1;
    if (users > 0) return;
    clearInterval(timer);
    timer = undefined;
  });
}

/** In the past it stands still. */
export function Ticking(props: { since: number }) {
  useSeconds();
  const seconds = () => (everySecond(), Math.floor(((past()?.at ?? serverNow()) - props.since) / 1000));
  const text = () => (seconds() > 0 ? words.took(seconds() * 1000) : words.justBegun);
  return <span class="num">{text()}</span>;
}
