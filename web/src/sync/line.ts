// The one stream of a tab: opened, watched, lost, opened again from where it was.
//
// Nothing is lost with a line: the cursor says where the next one begins. So a hidden tab lets its line go,
// and every kind of trouble ends in the same place, waiting with a delay that a person can cut short.
//
// However much arrives at once, it is parsed and applied in slices of a few milliseconds, and nothing is read from the
// network between them. So there is no queue that could grow, and what was not applied when a line is lost comes again.
//
// Clock, timers, network and dice are handed in. Not here: what entries mean (`apply.ts`).

import { parsePlace } from "../wire/place.ts";
import { FrameReader } from "../wire/sse.ts";
import { PAGE_HEADER, retryAfter } from "../wire/api.ts";
import type { Entry, Fields } from "../wire/types.ts";

export type LineState =
  | { readonly name: "reading" }
  | { readonly name: "opening" }
  | { readonly name: "catching up"; readonly done: number; readonly total: number }
  | { readonly name: "live" }
  | { readonly name: "waiting"; readonly until: number; readonly since: number }
  | { readonly name: "asleep" }
  | { readonly name: "locked" }
  | { readonly name: "crowded" }
  | { readonly name: "outdated" };

/** What a server of ours says first. */
export interface Hello {
  readonly head: number;
  readonly horizon: number;
  readonly store: string;
  readonly boot: string;
  readonly now: number;
  readonly page: string;
  readonly resumable: boolean;
}

export interface Ports {
  fetch(path: string, init: RequestInit): Promise<Response>;
  now(): number;
  /** Milliseconds that only go forward, whatever happens to the device's clock. */
  elapsed(): number;
  /** Between 0 and 1. */
  random(): number;
  after(ms: number, run: () => void): () => void;
  /** Whether another tab's share of connections leaves room for this one. */
  hasRoom(): Promise<boolean>;
  /** Whether this tab listens while it is hidden. */
  staysAwake(): boolean;
  /** Lets the browser do something else between two slices: draw a frame or, far behind, only what is urgent. */
  pause(until: "next frame" | "next task"): Promise<void>;
}

export interface Hearing {
  path(): string;
  cursor(): string;
  entry(entry: Entry): void;
  state(state: LineState): void;
  hello(hello: Hello): void;
  /** The cursor is of no use any more: read everything anew, then `open` again. */
  resync(): void;
}

const OPENING_MS_MAX = 10_000;
/** The server's heartbeat is every ten seconds. */
const SILENCE_MS_MAX = 25_000;
const DELAY_MS_FIRST = 500;
const DELAY_MS_MAX = 30_000;
/** After this long a line counts as good, and the next trouble as the first. */
const GOOD_AFTER_MS = 30_000;
const HIDDEN_MS_MAX = 20_000;
/** A tab that was away for less, and heard nothing for this long, does not wait for the watchdog. */
const STALE_MS = 12_000;

/** What was missed comes without a pause; entries that were filtered away do not come at all. Silence says it is over. */
const CAUGHT_UP_MS = 700;

/** So long entries are applied without a pause. */
const SLICE_MS = 4;
/** So many entries that are still to come are not drawn in between. */
const FAR_BEHIND = 500;

/** Events that say: your cursor does not help, read again. */
const RESYNC = new Set(["sturdy.resync", "server.resync"]);

export class Line {
  readonly #ports: Ports;
  readonly #hearing: Hearing;
  #state: LineState = { name: "reading" };
  #abort: AbortController | undefined;
  #cancelWatch: () => void = () => {};
  #cancelSettle: () => void = () => {};
  #cancelDelay: () => void = () => {};
  #cancelSleep: () => void = () => {};
  #tries = 0;
  #lastByte = 0;
  #liveSince = 0;
  #head: number | undefined;
  #first = 0;

  constructor(ports: Ports, hearing: Hearing) {
    this.#ports = ports;
    this.#hearing = hearing;
  }

  get state(): LineState {
    return this.#state;
  }

  /** Opens a stream from the cursor, whatever was before; `again` has a connection already, `in place of another` is given one. */
  async open(how: "anew" | "again" | "in place of another" = "anew"): Promise<void> {
    this.#drop();
    const abort = new AbortController();
    this.#abort = abort;
    this.#set({ name: "opening" });
    this.#watch(OPENING_MS_MAX);
    if (how === "anew" && !(await this.#ports.hasRoom())) {
      if (this.#abort === abort) this.#rest({ name: "crowded" });
      return;
    }
    if (this.#abort !== abort) return;
    try {
      const cursor = this.#hearing.cursor();
      const headers: Record<string, string> = { accept: "text/event-stream", [PAGE_HEADER]: "1" };
      if (cursor !== "") headers["last-event-id"] = cursor;
      const response = await this.#ports.fetch(this.#hearing.path(), { headers, signal: abort.signal, cache: "no-store" });
      if (this.#abort !== abort) return;
      if (!response.ok || !response.body) return this.#refused(response);
      await this.#listen(response.body, abort);
    } catch {
      // Lost, or dropped by us: then somebody else is in charge of the state already.
    }
    if (this.#abort === abort) this.#wait(undefined);
  }

  /** Another session is followed: the same line with another filter, from the same place. */
  refilter(): void {
    const { name } = this.#state;
    // One that is still being opened has not been given a connection yet.
    if (name === "opening") void this.open();
    else if (name === "catching up" || name === "live") void this.open("again");
  }

  /** A person, the network or the screen says: now. */
  hurry(): void {
    if (this.#state.name === "waiting" || this.#state.name === "asleep") void this.open();
    else if (this.#state.name === "live" && this.#ports.now() - this.#lastByte > STALE_MS) void this.open();
  }

  /** Once: the next time it looks for room as every tab does. */
  takeOver(): void {
    void this.open("in place of another");
  }

  /** Another tab takes this one's connection. */
  giveUp(): void {
    this.#rest({ name: "crowded" });
  }

  visible(isVisible: boolean): void {
    this.#cancelSleep();
    if (isVisible) return this.hurry();
    this.#cancelSleep = this.#ports.after(HIDDEN_MS_MAX, () => {
      if (this.#ports.staysAwake()) return;
      if (this.#state.name !== "locked" && this.#state.name !== "crowded") this.#rest({ name: "asleep" });
    });
  }

  lock(): void {
    this.#rest({ name: "locked" });
  }

  outdated(): void {
    this.#rest({ name: "outdated" });
  }

  reading(): void {
    this.#rest({ name: "reading" });
  }

  async #listen(body: ReadableStream<Uint8Array>, abort: AbortController): Promise<void> {
    const frames = new FrameReader();
    const reader = body.getReader();
    this.#head = undefined;
    let sliceBegan = this.#ports.elapsed();
    let position = 0;
    for (;;) {
      const asked = this.#ports.elapsed();
      const { done, value } = await reader.read();
      if (done || this.#abort !== abort) return;
      // It waited for the network, so the browser had its turn. Chunks that are here already belong to the same slice.
      if (this.#ports.elapsed() - asked >= 1) sliceBegan = this.#ports.elapsed();
      this.#lastByte = this.#ports.now();
      this.#watch(SILENCE_MS_MAX);
      for (const frame of frames.push(value)) {
        if (this.#ports.elapsed() - sliceBegan >= SLICE_MS) {
          this.#progress(position);
          await this.#ports.pause(isFarBehind(this.#state) ? "next task" : "next frame");
          // Lost or given up meanwhile: what is left comes again with the next line, from the place that was reached.
          if (this.#abort !== abort) return;
          sliceBegan = this.#ports.elapsed();
        }
        const entry = parseEntry(frame.id, frame.data);
        if (entry === undefined) continue;
        if (!this.#take(entry)) return;
        position = entry.place?.position ?? position;
      }
      this.#progress(position);
    }
  }

  /** False when this stream is of no use any more. */
  #take(entry: Entry): boolean {
    if (entry.type === "sturdy.hello") return this.#hello(entry.properties as unknown as Hello);
    if (RESYNC.has(entry.type)) {
      this.#hearing.resync();
      return false;
    }
    const abort = this.#abort;
    this.#hearing.entry(entry);
    return this.#abort === abort;
  }

  #hello(hello: Hello): boolean {
    this.#head = hello.head;
    this.#first = parsePlace(this.#hearing.cursor())?.position ?? hello.head;
    this.#hearing.hello(hello);
    if (hello.resumable) return true;
    this.#hearing.resync();
    return false;
  }

  /** Up to here it was applied; 0 while nothing that came has a place. */
  #progress(position: number): void {
    const head = this.#head;
    if (head !== undefined && position < head && this.#state.name !== "live") {
      const seen = Math.max(position, this.#first);
      if (seen < head) {
        this.#cancelSettle();
        this.#cancelSettle = this.#ports.after(CAUGHT_UP_MS, () => this.#goLive());
        return this.#set({ name: "catching up", done: seen - this.#first, total: head - this.#first });
      }
    }
    if (this.#state.name === "live") {
      if (this.#ports.now() - this.#liveSince > GOOD_AFTER_MS) this.#tries = 0;
      return;
    }
    this.#goLive();
  }

  #goLive(): void {
    this.#cancelSettle();
    this.#liveSince = this.#ports.now();
    this.#set({ name: "live" });
  }

  #refused(response: Response): void {
    void response.body?.cancel().catch(() => {});
    if (response.status === 401) return this.#rest({ name: "locked" });
    this.#wait(retryAfter(response.headers));
  }

  #wait(askedMs: number | undefined): void {
    this.#drop();
    const delay = askedMs ?? this.#ports.random() * Math.min(DELAY_MS_MAX, DELAY_MS_FIRST * 2 ** this.#tries);
    this.#tries = Math.min(this.#tries + 1, 10);
    const since = this.#state.name === "waiting" ? this.#state.since : this.#ports.now();
    this.#set({ name: "waiting", until: this.#ports.now() + delay, since });
    this.#cancelDelay = this.#ports.after(delay, () => void this.open());
  }

  #watch(ms: number): void {
    this.#cancelWatch();
    this.#cancelWatch = this.#ports.after(ms, () => this.#wait(undefined));
  }

  #rest(state: LineState): void {
    this.#drop();
    this.#set(state);
  }

  #drop(): void {
    this.#cancelWatch();
    this.#cancelSettle();
    this.#cancelDelay();
    const abort = this.#abort;
    this.#abort = undefined;
    abort?.abort();
  }

  #set(state: LineState): void {
    // Between two tries it stays "waiting" for those who look.
    this.#state = state;
    this.#hearing.state(state);
  }
}

/** So much is still to come that nobody could read it as it flies by. */
export function isFarBehind(state: LineState): boolean {
  return state.name === "catching up" && state.total - state.done > FAR_BEHIND;
}

/** A frame of either stream; one that is not JSON was not sent by our server. */
export function parseEntry(id: string | undefined, data: string): Entry | undefined {
  try {
    const said = JSON.parse(data) as { payload?: Fields; directory?: string };
    const event = (said.payload ?? said) as { type?: unknown; properties?: Fields };
    if (typeof event.type !== "string") return undefined;
    const entry = { place: parsePlace(id), type: event.type, properties: event.properties ?? {} };
    return said.directory === undefined ? entry : { ...entry, directory: said.directory };
  } catch {
    return undefined;
  }
}
