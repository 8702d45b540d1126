// What the page knows of the server's log, and the keys under which a change of it is told.
//
// A value is held with the place at which it was read or changed. Nothing here knows a clock, a network or
// a framework. Not here: how entries change it (`apply.ts`), how reads are put in (`hydrate.ts`).

import { NOWHERE, type Place } from "../wire/place.ts";
import type { Ask, BackgroundProcess, Failure, Message, Part, Project, Session, Status, Todo } from "../wire/types.ts";

export interface Held<T> {
  readonly value: T;
  readonly place: Place;
}

/** A message and where its parts were read: an unknown part that is older than this was removed. */
export interface HeldMessage extends Held<Message> {
  readonly readAt: Place;
}

/** Something that was said about a session and belongs to no message. */
export interface Notice {
  readonly place: Place;
  /** Stands behind this message; at the top when there is none. */
  readonly after: string | undefined;
  readonly error: Failure;
}

/** The loaded end of one session's conversation, with holes where what is far from the reader was let go. */
export interface Thread {
  readonly sessionID: string;
  /** Where its newest page was read. */
  base: Place;
  /** Asks the server for the page before; absent when everything is loaded. */
  older: string | undefined;
  order: string[];
  /** When the first of the order was made. */
  firstCreated: number;
  /** Of the order: those that are not held, and read when they are looked at. */
  holes: Set<string>;
  messages: Map<string, HeldMessage>;
  parts: Map<string, string[]>;
  part: Map<string, Held<Part>>;
  /** Messages at which it was summarised, each with the one from which on the model sees everything. */
  summaries: Map<string, string | undefined>;
  notices: Notice[];
}

export interface World {
  /** Which store; empty until something was read. */
  epoch: string;
  /** Where the list and the asks were read. */
  base: Place;
  /** The farthest place that was applied or read; where a new stream begins. */
  head: Place;
  sessions: Map<string, Held<Session>>;
  statuses: Map<string, Held<Status>>;
  asks: Map<string, Held<Ask>>;
  todos: Map<string, Held<readonly Todo[]>>;
  /** Ids of prompts that wait, by session. */
  queues: Map<string, Held<readonly string[]>>;
  /** The server tells of every change of them. */
  isQueueTold: boolean;
  projects: Map<string, Project>;
  /** What commands left running, by session. Not in the log. */
  processes: Map<string, readonly BackgroundProcess[]>;
  threads: Map<string, Thread>;
}

export type Touched = Set<string>;

export function emptyWorld(): World {
  return {
    epoch: "",
    base: NOWHERE,
    head: NOWHERE,
    sessions: new Map(),
    statuses: new Map(),
    asks: new Map(),
    todos: new Map(),
    queues: new Map(),
    isQueueTold: false,
    projects: new Map(),
    processes: new Map(),
    threads: new Map(),
  };
}

export function emptyThread(sessionID: string, base: Place): Thread {
  return {
    sessionID,
    base,
    older: undefined,
    order: [],
    firstCreated: 0,
    holes: new Set(),
    messages: new Map(),
    parts: new Map(),
    part: new Map(),
    summaries: new Map(),
    notices: [],
  };
}

export const key = {
  sessions: "sessions",
  asks: "asks",
  session: (id: string) => `session:${id}`,
  status: (id: string) => `status:${id}`,
  todos: (id: string) => `todos:${id}`,
  queue: (id: string) => `queue:${id}`,
  processes: (id: string) => `processes:${id}`,
  thread: (id: string) => `thread:${id}`,
  message: (id: string) => `message:${id}`,
  parts: (id: string) => `parts:${id}`,
  part: (id: string) => `part:${id}`,
  hint: (name: string) => `hint:${name}`,
} as const;
