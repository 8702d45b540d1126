// The one world of this tab, as signals: a component reads a key and is run again when an entry touches it.
//
// Growths are joined: entries are applied as they come, and the keys they touched are told once a frame.
// Not here: what entries do (`sync/apply.ts`), the state of the line (`live.ts`).

import { batch, createSignal, getListener, onCleanup } from "solid-js";
import { Reads } from "../sync/hydrate.ts";
import { type Thread, type Touched, type World, emptyWorld, key } from "../sync/world.ts";
import type { Ask, Message, Part, Session, Status, Todo } from "../wire/types.ts";

export const world = emptyWorld();
export const reads = new Reads(world);

interface Version {
  readonly get: () => number;
  readonly set: (next: (n: number) => number) => void;
  /** Computations that depend on it now. */
  users: number;
}

const versions = new Map<string, Version>();
let touched: Touched = new Set();
let isScheduled = false;

/** Makes the running computation depend on a key. What nobody depends on any more is forgotten: parts are many. */
export function track(name: string): void {
  if (getListener() === null) return;
  const version = versions.get(name) ?? newVersion(name);
  version.get();
  version.users += 1;
  onCleanup(() => {
    version.users -= 1;
    if (version.users === 0 && versions.get(name) === version) versions.delete(name);
  });
}

function newVersion(name: string): Version {
  const [get, set] = createSignal(0);
  const version = { get, set, users: 0 };
  versions.set(name, version);
  return version;
}

/** Makes the running computation depend on events that say only that something changed: it is read again. */
export function trackHints(...types: readonly string[]): void {
  for (const type of types) track(key.hint(type));
}

/** Between two drawings while much that was missed comes: nobody reads what flies by. */
const FAR_BEHIND_MS = 250;
let isFarBehind = false;
export function setFarBehind(isNow: boolean): void {
  isFarBehind = isNow;
}

export function touch(names: Iterable<string>): void {
  for (const name of names) touched.add(name);
  if (isScheduled) return;
  isScheduled = true;
  // A hidden page gets no frames.
  if (isFarBehind) setTimeout(tell, FAR_BEHIND_MS);
  else if (document.visibilityState === "hidden") setTimeout(tell, 100);
  else requestAnimationFrame(tell);
}

function tell(): void {
  isScheduled = false;
  const names = touched;
  touched = new Set();
  batch(() => {
    for (const name of names) versions.get(name)?.set((n) => n + 1);
  });
}

/** Everything changed. */
export function touchAll(): void {
  touch(versions.keys());
}

/** A session that is shown as it was, in place of what it is now. */
const [past, setPast] = createSignal<{ readonly sessionID: string; readonly world: World; /** The time then. */ readonly at: number }>();
export { past, setPast };

/** Where a session is looked up: in the past while somebody travels in it. */
function worldOf(id: string): World {
  const then = past();
  return then?.sessionID === id ? then.world : world;
}

const IDLE: Status = { type: "idle" };
const NONE: readonly string[] = [];

export function session(id: string): Session | undefined {
  track(key.session(id));
  return worldOf(id).sessions.get(id)?.value;
}

export function status(id: string): Status {
  track(key.status(id));
  return worldOf(id).statuses.get(id)?.value ?? IDLE;
}

/** What a session does now, also while its past is shown. */
export function statusNow(id: string): Status {
  track(key.status(id));
  return world.statuses.get(id)?.value ?? IDLE;
}

export function sessions(): Session[] {
  track(key.sessions);
  return [...world.sessions.values()].map((held) => held.value);
}

export function asks(): Ask[] {
  track(key.asks);
  return [...world.asks.values()].map((held) => held.value);
}

export function todos(id: string): readonly Todo[] {
  track(key.todos(id));
  return worldOf(id).todos.get(id)?.value ?? [];
}

/** Ids of prompts that wait, in order. */
export function queue(id: string): readonly string[] {
  track(key.queue(id));
  return worldOf(id).queues.get(id)?.value ?? NONE;
}

export function thread(id: string): Thread | undefined {
  track(key.thread(id));
  return worldOf(id).threads.get(id);
}

export function message(sessionID: string, id: string): Message | undefined {
  track(key.message(id));
  return worldOf(sessionID).threads.get(sessionID)?.messages.get(id)?.value;
}

/** It stands in the conversation and is not held: it is read when it is drawn. */
export function isHole(sessionID: string, id: string): boolean {
  track(key.message(id));
  return worldOf(sessionID).threads.get(sessionID)?.holes.has(id) === true;
}

export function partIds(sessionID: string, messageID: string): readonly string[] {
  track(key.parts(messageID));
  return worldOf(sessionID).threads.get(sessionID)?.parts.get(messageID) ?? [];
}

export function part(sessionID: string, id: string): Part | undefined {
  track(key.part(id));
  return worldOf(sessionID).threads.get(sessionID)?.part.get(id)?.value;
}

/** Sessions from the root down to this one. */
export function ancestry(id: string): Session[] {
  const path: Session[] = [];
  let next: string | undefined = id;
  while (next !== undefined && path.length < 32) {
    const found: Session | undefined = session(next);
    if (!found) break;
    path.unshift(found);
    next = found.parentID;
  }
  return path;
}

/** Whether `id` is `root` or was started, at any depth, by it. */
export function isWithin(id: string, root: string): boolean {
  return id === root || ancestry(id).some((above) => above.id === root);
}
