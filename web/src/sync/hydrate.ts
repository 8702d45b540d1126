// Reads are put into the world. While a read is on its way, entries keep coming; they are applied and also
// remembered, and when the answer is here, those after its place are applied once more. The one rule drops
// what was applied already, so the order in which answers and entries come does not matter.

import { isAfter, parsePlace, type Place } from "../wire/place.ts";
import type { Ask, Entry, Message, MessageWithParts, Opening, Overview, OverviewRow } from "../wire/types.ts";
import { apply, isPassing, noteSummary } from "./apply.ts";
import { type Thread, type Touched, type World, emptyThread, emptyWorld, key } from "./world.ts";

/** More than this while one read is on its way: reading again is cheaper than remembering. */
const REMEMBERED_MAX = 5000;

/** A read that is on its way. */
export interface Reading {
  /** Where in the memory it began. */
  readonly from: number;
  isOutrun: boolean;
}

/** Why an answer could not be put in. */
export type Outcome = "done" | "read again" | "another store";

export class Reads {
  readonly world: World;
  #memory: Entry[] = [];
  /** Index of the first remembered entry since the beginning. */
  #first = 0;
  #open = new Set<Reading>();

  constructor(world: World) {
    this.world = world;
  }

  begin(): Reading {
    const reading = { from: this.#first + this.#memory.length, isOutrun: false };
    this.#open.add(reading);
    return reading;
  }

  /** The read was given up. */
  forget(reading: Reading): void {
    this.#open.delete(reading);
    this.#trim();
  }

  /** Applies an entry of the stream, and remembers it for the reads that are on their way. */
  entry(entry: Entry): Touched {
    if (this.#open.size > 0 && (entry.place !== undefined || isPassing(entry))) {
      this.#memory.push(entry);
      if (this.#memory.length > REMEMBERED_MAX) this.#outrun();
    }
    return apply(this.world, entry);
  }

  overview(reading: Reading, answer: Overview, isFirstPage: boolean): { outcome: Outcome; touched: Touched } {
    return this.#put(reading, answer.position, (place, touched) => {
      const { world } = this;
      if (isFirstPage) {
        world.base = place;
        if (world.head.text === "") world.head = place;
        replaceAsks(world, answer.asks, place, () => true, touched);
        dropUnlisted(world, answer, place, touched);
      }
      for (const project of answer.projects) world.projects.set(project.id, project);
      for (const row of answer.sessions) putRow(world, row, place, touched);
      touched.add(key.sessions);
    });
  }

  opening(reading: Reading, answer: Opening): { outcome: Outcome; touched: Touched } {
    return this.#put(reading, answer.position, (place, touched) => {
      const { world } = this;
      const id = answer.session.id;
      const known = world.threads.get(id);
      // Two answers that overtook each other: what is here is newer.
      if (known && isAfter(known.base, place)) return;
      const thread = emptyThread(id, place);
      thread.older = answer.cursor;
      thread.notices = known?.notices ?? [];
      for (const message of answer.messages) putMessage(thread, message, place, touched);
      thread.order = answer.messages.map((message) => message.info.id);
      thread.firstCreated = answer.messages[0]?.info.time.created ?? 0;
      world.threads.set(id, thread);
      const status = { info: answer.session, status: answer.status, waiting: answer.queue.length };
      for (const row of [status, ...answer.family]) putRow(world, row, place, touched);
      world.todos.set(id, { value: answer.todos, place });
      world.queues.set(id, { value: answer.queue, place });
      const family = new Set([id, ...answer.family.map((row) => row.info.id)]);
      replaceAsks(world, answer.asks, place, (ask) => family.has(ask.request.sessionID), touched);
      touched.add(key.thread(id)).add(key.todos(id)).add(key.queue(id));
    });
  }

  /** A page before the oldest loaded message. */
  older(
    reading: Reading,
    sessionID: string,
    position: string | null,
    messages: readonly MessageWithParts[],
    cursor: string | undefined,
  ): { outcome: Outcome; touched: Touched } {
    return this.#put(reading, position, (place, touched) => {
      const thread = this.world.threads.get(sessionID);
      if (!thread) return;
      const fresh = messages.filter((message) => !thread.messages.has(message.info.id));
      for (const message of fresh) putMessage(thread, message, place, touched);
      thread.order = [...fresh.map((message) => message.info.id), ...thread.order];
      thread.firstCreated = fresh[0]?.info.time.created ?? thread.firstCreated;
      thread.older = cursor;
      touched.add(key.thread(sessionID));
    });
  }

  /** Messages around one that is a hole: those that are holes are filled, the others are here already. */
  around(
    reading: Reading,
    sessionID: string,
    position: string | null,
    messages: readonly MessageWithParts[],
  ): { outcome: Outcome; touched: Touched } {
    return this.#put(reading, position, (place, touched) => {
      const thread = this.world.threads.get(sessionID);
      for (const message of messages) {
        if (thread?.holes.delete(message.info.id)) putMessage(thread, message, place, touched);
      }
    });
  }

  /** Which messages there are before the oldest loaded one: as holes, so that one far away can be gone to. */
  outline(
    reading: Reading,
    sessionID: string,
    position: string | null,
    heads: readonly Message[],
  ): { outcome: Outcome; touched: Touched } {
    return this.#put(reading, position, (_, touched) => {
      const thread = this.world.threads.get(sessionID);
      const first = thread?.order[0];
      const at = heads.findIndex((head) => head.id === first);
      // It was removed meanwhile, or the session is longer than outlines are: what is before is read page by page.
      if (!thread || at <= 0) return;
      const older = heads.slice(0, at);
      for (const head of older) thread.holes.add(head.id);
      thread.order = [...older.map((head) => head.id), ...thread.order];
      thread.firstCreated = older[0]?.time.created ?? thread.firstCreated;
      thread.older = undefined;
      touched.add(key.thread(sessionID));
    });
  }

  /** Asks that are not in the log, as they are now: their events are not sent again to a stream that was opened later. */
  passing(asks: readonly Ask[]): Touched {
    const isPassing = (ask: Ask) => ask.kind === "permission" && ask.request.permission === "trust";
    const open = new Map(asks.filter(isPassing).map((ask) => [ask.request.id, ask]));
    const touched: Touched = new Set();
    for (const [id, held] of this.world.asks) {
      if (isPassing(held.value) && !open.has(id) && this.world.asks.delete(id)) touched.add(key.asks);
    }
    for (const [id, value] of open) {
      if (this.world.asks.has(id)) continue;
      this.world.asks.set(id, { value, place: this.world.head });
      touched.add(key.asks);
    }
    return touched;
  }

  /**
   * The stream carries other sessions from now on. Those it did not carry, or will not, have gaps and are dropped; a
   * read that is on its way may be older than the stream's new beginning, so it is made again.
   */
  refollow(isCarried: (sessionID: string) => boolean): void {
    for (const id of [...this.world.threads.keys()]) {
      if (!isCarried(id)) this.world.threads.delete(id);
    }
    this.#outrun();
  }

  /** Everything is dropped: the log goes on elsewhere, or what was missed is gone. */
  reset(): void {
    Object.assign(this.world, emptyWorld());
    this.#memory = [];
    this.#first = 0;
    for (const reading of this.#open) reading.isOutrun = true;
    this.#open.clear();
  }

  #put(
    reading: Reading,
    position: string | null,
    put: (place: Place, touched: Touched) => void,
  ): { outcome: Outcome; touched: Touched } {
    const touched: Touched = new Set();
    const place = parsePlace(position);
    if (reading.isOutrun || !this.#open.has(reading) || place === undefined) {
      this.forget(reading);
      return { outcome: "read again", touched };
    }
    if (this.world.epoch !== "" && place.epoch !== this.world.epoch) {
      this.forget(reading);
      return { outcome: "another store", touched };
    }
    this.world.epoch = place.epoch;
    put(place, touched);
    for (const entry of this.#memory.slice(reading.from - this.#first)) {
      if (isPassing(entry) || (entry.place !== undefined && isAfter(entry.place, place))) {
        for (const name of apply(this.world, entry)) touched.add(name);
      }
    }
    this.forget(reading);
    return { outcome: "done", touched };
  }

  #outrun(): void {
    for (const reading of this.#open) reading.isOutrun = true;
    this.#open.clear();
    this.#trim();
  }

  #trim(): void {
    if (this.#open.size > 0) return;
    this.#first += this.#memory.length;
    this.#memory = [];
  }
}

function putRow(world: World, row: OverviewRow, place: Place, touched: Touched): void {
  const id = row.info.id;
  const held = world.sessions.get(id);
  if (!held || isAfter(place, held.place)) world.sessions.set(id, { value: row.info, place });
  const status = world.statuses.get(id);
  if (!status || isAfter(place, status.place)) world.statuses.set(id, { value: row.status, place });
  touched.add(key.session(id)).add(key.status(id)).add(key.sessions);
}

/** Sessions that were loaded and that a newer first page, which is complete, no longer has. */
function dropUnlisted(world: World, answer: Overview, place: Place, touched: Touched): void {
  if (answer.cursor !== undefined) return;
  const listed = new Set(answer.sessions.map((row) => row.info.id));
  for (const [id, held] of world.sessions) {
    if (listed.has(id) || !isAfter(place, held.place)) continue;
    world.sessions.delete(id);
    touched.add(key.session(id));
  }
}

function replaceAsks(
  world: World,
  asks: readonly Ask[],
  place: Place,
  isCovered: (ask: Ask) => boolean,
  touched: Touched,
): void {
  const known = new Map(world.asks);
  for (const [id, held] of world.asks) {
    if (isCovered(held.value) && isAfter(place, held.place)) world.asks.delete(id);
  }
  // One that is known stays the same value: somebody may be typing an answer to it.
  for (const ask of asks) world.asks.set(ask.request.id, { value: known.get(ask.request.id)?.value ?? ask, place });
  touched.add(key.asks);
}

function putMessage(thread: Thread, message: MessageWithParts, place: Place, touched: Touched): void {
  const id = message.info.id;
  thread.messages.set(id, { value: message.info, place, readAt: place });
  thread.parts.set(id, message.parts.map((part) => part.id));
  for (const part of message.parts) {
    thread.part.set(part.id, { value: part, place });
    noteSummary(thread, part);
    touched.add(key.part(part.id));
  }
  touched.add(key.message(id)).add(key.parts(id));
}
