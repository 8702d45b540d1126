// Short notices at the edge of the screen. They say what happened; nothing depends on seeing them.

import { For, createSignal } from "solid-js";
import { Icon } from "./icon.tsx";
import { words } from "../words/en.ts";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: "plain" | "bad";
}

const SHOWN_MS = 8000;
const [toasts, setToasts] = createSignal<readonly Toast[]>([]);
let next = 0;

export function showToast(text: string, tone: Toast["tone"] = "plain"): void {
  const toast = { id: (next += 1), text, tone };
  setToasts((known) => [...known.slice(-3), toast]);
  setTimeout(() => drop(toast.id), SHOWN_MS);
}

function drop(id: number): void {
  setToasts((known) => known.filter((toast) => toast.id !== id));
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      <For each={toasts()}>
        {(toast) => (
          <div class={`toast ${toast.tone}`}>
            <span class="grow">{toast.text}</span>
            <button type="button" class="quiet" aria-label={words.close} onClick={() => drop(toast.id)}>
              <Icon name="x" />
            </button>
          </div>
        )}
      </For>
    </div>
  );
}
