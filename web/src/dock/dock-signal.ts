// What was typed into a dock and not sent. A dock is drawn anew when its session is left and opened again, or when
// everything is read again; the answer in it stays until it is given.

import { type Accessor, type Setter, createRoot, createSignal } from "solid-js";

/** Of the asks that were touched last. */
const KEPT_MAX = 50;

const kept = new Map<string, readonly [Accessor<unknown>, Setter<unknown>]>();

/** A signal that outlives its dock. */
export function dockSignal<T>(askID: string, name: string, first: T): [Accessor<T>, Setter<T>] {
  const key = `${askID} ${name}`;
  const found = kept.get(key) ?? createRoot(() => createSignal<unknown>(first));
  kept.delete(key);
  kept.set(key, found);
  const oldest = kept.size > KEPT_MAX ? kept.keys().next().value : undefined;
  if (oldest !== undefined) kept.delete(oldest);
  return found as unknown as [Accessor<T>, Setter<T>];
}
