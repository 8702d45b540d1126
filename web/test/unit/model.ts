// A server in forty lines of state: it changes, keeps a log of wire events, and answers reads at its head.

import { parsePlace, type Place } from "../../src/wire/place.ts";
import type { Entry, Fields, MessageWithParts, Opening, Overview, OverviewRow, Part, Session } from "../../src/wire/types.ts";

export interface Change {
  readonly kind: "message" | "part" | "close" | "grow" | "drop message" | "drop part" | "status" | "ask" | "reply" | "todo" | "queue" | "rename" | "drop session";
  readonly session: "s" | "t";
  readonly at: number;
  readonly text: string;
}

export type Wanted =
  | { readonly kind: "overview" }
  | { readonly kind: "opening"; readonly session: string }
  | { readonly kind: "older"; readonly session: string; readonly cursor?: string }
  | { readonly kind: "around"; readonly session: string; readonly message?: string }
  | { readonly kind: "outline"; readonly session: string };

export type Answer =
  | { readonly kind: "overview"; readonly value: Overview }
  | { readonly kind: "opening"; readonly value: Opening | undefined }
  | { readonly kind: "older"; readonly value?: undefined; readonly session: string; readonly before: string | undefined; readonly position: string; readonly messages: MessageWithParts[]; readonly cursor: string | undefined }
  | { readonly kind: "around"; readonly value?: undefined; readonly session: string; readonly position: string; readonly messages: MessageWithParts[] }
  | { readonly kind: "outline"; readonly value?: undefined; readonly session: string; readonly position: string; readonly heads: MessageWithParts["info"][] };

interface Kept {
  info: Session;
  status: "idle" | "busy";
  messages: { info: MessageWithParts["info"]; parts: Part[] }[];
  todos: string[];
  queue: string[];
}

const PAGE = 3;

export class ModelServer {
  log: Entry[] = [];
  sessions = new Map<string, Kept>();
  asks = new Map<string, string>();
  #position = 0;
  #made = 0;
  #epoch = 0;

  constructor() {
    for (const id of ["s", "t"]) this.#create(id);
  }

  indexAfter(head: Place, from: number): number {
    const index = this.log.slice(0, from).findIndex((entry) => entry.place !== undefined && entry.place.position > head.position);
    return index < 0 ? from : index;
  }

  change(change: Change): void {
    const kept = this.sessions.get(change.session);
    if (!kept) return;
    const message = kept.messages[change.at % Math.max(1, kept.messages.length)];
    const part = message?.parts[change.at % Math.max(1, message.parts.length)];
    const sessionID = change.session;
    switch (change.kind) {
      case "message": {
        const id = this.#id("msg");
        const info = { id, sessionID, role: "user", time: { created: this.#made } } as never;
        kept.messages.push({ info, parts: [] });
        return this.#tell([["message.updated", { sessionID, info }]]);
      }
      case "part": {
        if (!message) return;
        const made = { id: this.#id("prt"), sessionID, messageID: message.info.id, type: "text", text: change.text } as Part;
        message.parts.push(made);
        message.info = { ...message.info, agent: change.text } as never;
        // Two events of one entry.
        return this.#tell([["message.updated", { sessionID, info: message.info }], ["message.part.updated", { sessionID, part: made }]]);
      }
      case "close":
      case "grow": {
        if (!message || !part || part.type !== "text") return;
        const grown = { ...part, text: change.kind === "grow" ? part.text + change.text : change.text };
        message.parts[message.parts.indexOf(part)] = grown;
        const ids = { sessionID, messageID: message.info.id, partID: part.id };
        if (change.kind === "grow") return this.#tell([["message.part.delta", { ...ids, field: "text", delta: change.text }]]);
        return this.#tell([["message.part.updated", { sessionID, part: grown }]]);
      }
      case "drop message":
        if (!message) return;
        kept.messages = kept.messages.filter((known) => known !== message);
        return this.#tell([["message.removed", { sessionID, messageID: message.info.id }]]);
      case "drop part":
        if (!message || !part) return;
        message.parts = message.parts.filter((known) => known !== part);
        return this.#tell([["message.part.removed", { sessionID, messageID: message.info.id, partID: part.id }]]);
      case "status":
        kept.status = change.at % 2 === 0 ? "idle" : "busy";
        return this.#tell([["session.status", { sessionID, status: { type: kept.status } }]]);
      case "ask": {
        const id = this.#id("per");
        this.asks.set(id, sessionID);
        return this.#tell([["permission.asked", { id, sessionID }]]);
      }
      case "reply": {
        const [id] = this.asks.keys();
        if (id === undefined) return;
        const of = this.asks.get(id);
        this.asks.delete(id);
        return this.#tell([["permission.replied", { sessionID: of, requestID: id }]]);
      }
      case "todo":
        kept.todos = [...kept.todos, change.text];
        return this.#tell([["todo.updated", { sessionID, todos: kept.todos }]]);
      case "queue":
        kept.queue = change.at % 2 === 0 ? kept.queue.slice(1) : [...kept.queue, this.#id("msg")];
        return this.#tell([["sturdy.queue", { sessionID, messages: kept.queue }]]);
      case "rename":
        kept.info = { ...kept.info, title: change.text };
        return this.#tell([["session.updated", { sessionID, info: kept.info }]]);
      case "drop session": {
        if (change.at % 7 !== 0) return;
        this.sessions.delete(sessionID);
        for (const [id, of] of this.asks) if (of === sessionID) this.asks.delete(id);
        return this.#tell([["session.deleted", { sessionID, info: kept.info }]]);
      }
      default:
        return change.kind satisfies never;
    }
  }

  /** Another run on the same log: what was busy is idle, and says so. */
  restart(): void {
    for (const [sessionID, kept] of this.sessions) {
      if (kept.status === "idle") continue;
      kept.status = "idle";
      this.#tell([["session.status", { sessionID, status: { type: "idle" } }]]);
    }
  }

  /** The store is another one: other sessions under the same ids, another log. */
  replace(): void {
    this.#epoch += 1;
    this.#position = 0;
    this.log = [];
    this.sessions.clear();
    this.asks.clear();
    for (const id of ["s", "t"]) this.#create(id);
  }

  get epoch(): string {
    return `e${this.#epoch}`;
  }

  answer(wanted: Wanted): Answer {
    const position = `${this.epoch}.${this.#position}`;
    switch (wanted.kind) {
      case "overview":
        return { kind: "overview", value: { position, sessions: [...this.sessions.values()].map(row), projects: [], asks: this.#asks(() => true), features: {}, server: {} as never } };
      case "opening": {
        const kept = this.sessions.get(wanted.session);
        if (!kept) return { kind: "opening", value: undefined };
        const cut = Math.max(0, kept.messages.length - PAGE);
        const value: Opening = {
          position,
          session: kept.info,
          status: { type: kept.status },
          messages: kept.messages.slice(cut).map(copy),
          ...(cut > 0 ? { cursor: this.#cursor(kept, cut) } : {}),
          todos: kept.todos as never,
          asks: this.#asks((of) => of === wanted.session),
          queue: kept.queue,
          family: [],
        };
        return { kind: "opening", value };
      }
      case "older": {
        const kept = this.sessions.get(wanted.session);
        const created = Number(wanted.cursor ?? "0");
        const before = (kept?.messages ?? []).filter((message) => message.info.time.created < created);
        const cut = Math.max(0, before.length - PAGE);
        const cursor = kept && cut > 0 ? this.#cursor({ ...kept, messages: before }, cut) : undefined;
        return { kind: "older", session: wanted.session, before: wanted.cursor, position, messages: before.slice(cut).map(copy), cursor };
      }
      case "around": {
        const messages = this.sessions.get(wanted.session)?.messages ?? [];
        const at = messages.findIndex((message) => message.info.id === wanted.message);
        const near = at < 0 ? [] : messages.slice(Math.max(0, at - 1), at + 2);
        return { kind: "around", session: wanted.session, position, messages: near.map(copy) };
      }
      case "outline":
        return { kind: "outline", session: wanted.session, position, heads: (this.sessions.get(wanted.session)?.messages ?? []).map((message) => message.info) };
      default:
        return wanted satisfies never;
    }
  }

  #cursor(kept: Kept, index: number): string {
    return String(kept.messages[index]?.info.time.created ?? 0);
  }

  #asks(isWanted: (session: string) => boolean): Overview["asks"] {
    const open = [...this.asks].filter(([, session]) => isWanted(session));
    return open.map(([id, sessionID]) => ({ kind: "permission", request: { id, sessionID } as never }));
  }

  #create(id: string): void {
    const info = { id, title: id, time: { created: 0, updated: 0 } } as never as Session;
    this.sessions.set(id, { info, status: "idle", messages: [], todos: [], queue: [] });
    this.#tell([["session.created", { sessionID: id, info }]]);
  }

  #id(prefix: string): string {
    this.#made += 1;
    return `${prefix}_${this.#made}`;
  }

  #tell(events: [string, Fields][]): void {
    this.#position += 1;
    events.forEach(([type, properties], index) => {
      // The last event of an entry is named after the entry alone.
      const entry = `${this.epoch}.${this.#position}`;
      const name = index === events.length - 1 ? entry : `${entry}.${index + 1}`;
      this.log.push({ place: parsePlace(name), type, properties });
    });
  }
}

function row(kept: Kept): OverviewRow {
  return { info: kept.info, status: { type: kept.status }, waiting: 0 };
}

function copy(message: { info: MessageWithParts["info"]; parts: Part[] }): MessageWithParts {
  return { info: message.info, parts: [...message.parts] };
}
