// How much of a conversation is held: what is far from the reader is let go, and read again when it is looked at.
//
// Pure. Not here: how holes are filled (`hydrate.ts`), when they are looked at (`view/live.ts`).

import type { Thread } from "./world.ts";

export interface Bounds {
  /** Messages of one session that are held with their parts. */
  readonly max: number;
  /** When there are more, so many stay: it is not done again at once. */
  readonly after: number;
  /** The newest, which are changed by what comes, stay in any case. */
  readonly newest: number;
}

export const BOUNDS: Bounds = { max: 2000, after: 1500, newest: 40 };

/** Lets the messages go that are farthest from the one that is looked at. Says how many. */
export function letGo(thread: Thread, near: string | undefined, bounds: Bounds = BOUNDS): number {
  if (thread.messages.size <= bounds.max) return 0;
  const found = near === undefined ? -1 : thread.order.indexOf(near);
  const middle = found < 0 ? thread.order.length - 1 : found;
  const held = thread.order
    .map((id, at) => ({ id, far: Math.abs(at - middle), isNewest: at >= thread.order.length - bounds.newest }))
    .filter(({ id, isNewest }) => !isNewest && thread.messages.has(id))
    .sort((one, other) => other.far - one.far);
  const gone = held.slice(0, Math.max(0, thread.messages.size - bounds.after));
  for (const { id } of gone) {
    for (const part of thread.parts.get(id) ?? []) thread.part.delete(part);
    thread.parts.delete(id);
    thread.messages.delete(id);
    thread.holes.add(id);
  }
  return gone.length;
}
