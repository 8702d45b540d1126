// A session as it was: its entries, applied in order up to one of them. The same `apply` as live, so what is
// shown of the past is what was shown then.
//
// Going to any entry costs at most `KEPT_EVERY` entries: worlds are kept on the way. Pure: no clock, no network,
// no framework. Not here: how entries are read (`panel/log.tsx`), how the past is drawn (the timeline itself).

import { NOWHERE, parsePlace, type Place } from "../wire/place.ts";
import type { Fields, Message, Part } from "../wire/types.ts";
import { apply } from "./apply.ts";
import { type Thread, type World, emptyThread, emptyWorld } from "./world.ts";

/** An entry of the log with what it told clients. */
export interface PastEntry {
  readonly position: string;
  readonly at: number;
  /** On whose behalf; empty for what the session did by itself. */
  readonly actor?: string;
  readonly events: readonly { readonly type: string; readonly properties: Fields }[];
}

/** What an entry is marked as on the way through a session. */
export type Mark = "prompt" | "error" | "ask" | "answer" | "summary" | "tool" | "text" | "other";

const KEPT_EVERY = 400;

export class Travel {
  readonly sessionID: string;
  readonly entries: readonly PastEntry[];
  readonly marks: readonly Mark[];
  /** Of the entries; they grow. */
  readonly #positions: readonly number[];
  /** The world behind every `KEPT_EVERY`th entry. */
  #kept: World[];
  #now: World;
  /** How many entries `#now` has behind it. */
  #behind = 0;

  constructor(sessionID: string, entries: readonly PastEntry[]) {
    this.sessionID = sessionID;
    this.entries = entries;
    this.marks = marksOf(entries);
    this.#positions = entries.map((entry) => parsePlace(entry.position)?.position ?? 0);
    const begin = emptyWorld();
    begin.threads.set(sessionID, emptyThread(sessionID, NOWHERE));
    this.#kept = [begin];
    this.#now = copyOf(begin);
  }

  /** The world behind the entry of this index; before everything for -1. It is the caller's to keep. */
  at(index: number): World {
    const wanted = Math.max(0, Math.min(index + 1, this.entries.length));
    const nearest = Math.min(Math.floor(wanted / KEPT_EVERY), this.#kept.length - 1);
    const isAhead = this.#behind > wanted || this.#behind < nearest * KEPT_EVERY;
    if (isAhead) {
      this.#now = copyOf(this.#kept[nearest] as World);
      this.#behind = nearest * KEPT_EVERY;
    }
    while (this.#behind < wanted) {
      this.#step(this.entries[this.#behind] as PastEntry);
      this.#behind += 1;
      if (this.#behind === this.#kept.length * KEPT_EVERY) this.#kept.push(copyOf(this.#now));
    }
    return copyOf(this.#now);
  }

  /** The last entry at or before a position; -1 when all are after it. */
  indexOf(position: number): number {
    let low = 0;
    let high = this.#positions.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#positions[middle] ?? 0) <= position) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #step(entry: PastEntry): void {
    const whole = parsePlace(entry.position);
    entry.events.forEach(({ type, properties }, index) => apply(this.#now, { place: placeOf(whole, index), type, properties }));
  }
}

/** Events of one entry are in order among themselves. */
function placeOf(entry: Place | undefined, index: number): Place | undefined {
  return entry === undefined ? undefined : { ...entry, index };
}

/** Values are never changed, only replaced: sharing them is safe. */
function copyOf(world: World): World {
  return {
    ...world,
    sessions: new Map(world.sessions),
    statuses: new Map(world.statuses),
    asks: new Map(world.asks),
    todos: new Map(world.todos),
    queues: new Map(world.queues),
    projects: new Map(world.projects),
    processes: new Map(world.processes),
    threads: new Map([...world.threads].map(([id, thread]) => [id, copyOfThread(thread)])),
  };
}

function copyOfThread(thread: Thread): Thread {
  return { ...thread, order: [...thread.order], messages: new Map(thread.messages), parts: new Map(thread.parts), part: new Map(thread.part), summaries: new Map(thread.summaries), notices: [...thread.notices] };
}

function marksOf(entries: readonly PastEntry[]): Mark[] {
  const known = new Set<string>();
  return entries.map((entry) => {
    const marks = entry.events.map(({ type, properties }) => markOf(type, properties, known));
    return RANKS.find((mark) => marks.includes(mark)) ?? "other";
  });
}

/** The most telling first. */
const RANKS: readonly Mark[] = ["error", "ask", "prompt", "summary", "answer", "tool", "text", "other"];

function markOf(type: string, said: Fields, known: Set<string>): Mark {
  switch (type) {
    case "session.error":
      return "error";
    case "permission.asked":
    case "question.asked":
      return "ask";
    case "session.compacted":
      return "summary";
    case "message.part.delta":
      return "text";
    case "message.part.updated": {
      const part = said["part"] as Part;
      if (part.type === "compaction") return "summary";
      return part.type === "tool" ? "tool" : "text";
    }
    case "message.updated": {
      const info = said["info"] as Message;
      if (info.role === "assistant" && info.error !== undefined) return "error";
      if (known.has(info.id)) return "other";
      known.add(info.id);
      return info.role === "user" ? "prompt" : "answer";
    }
    default:
      return "other";
  }
}
