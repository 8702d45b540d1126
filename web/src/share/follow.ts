// The stream of a share: everything first, then what is new; opened again from where it was, until it is over.
//
// Network, timers and dice are handed in. Not here: what items mean (`items.ts`).

import { retryAfter } from "../wire/api.ts";
import { FrameReader } from "../wire/sse.ts";
import type { ShareItem } from "./items.ts";

export type FollowState =
  | { readonly name: "opening" }
  | { readonly name: "live" }
  | { readonly name: "waiting" }
  /** Deleted, revoked, expired, or never to be read with this right. */
  | { readonly name: "ended"; readonly code: string };

export interface FollowPorts {
  fetch(path: string, init: RequestInit): Promise<Response>;
  after(ms: number, run: () => void): void;
  random(): number;
  state(state: FollowState): void;
  /** Everything there is; what was known before is dropped. */
  snapshot(items: readonly ShareItem[]): void;
  item(item: ShareItem): void;
}

const DELAY_MS_FIRST = 500;
const DELAY_MS_MAX = 30_000;

export class Follower {
  readonly #share: string;
  readonly #right: string;
  readonly #ports: FollowPorts;
  #cursor: string | undefined;
  #tries = 0;
  #isOpen = false;
  #isOver = false;

  constructor(share: string, right: string, ports: FollowPorts) {
    this.#share = share;
    this.#right = right;
    this.#ports = ports;
  }

  async open(): Promise<void> {
    if (this.#isOpen || this.#isOver) return;
    this.#isOpen = true;
    let askedMs: number | undefined;
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (this.#right !== "") headers["authorization"] = `Bearer ${this.#right}`;
      if (this.#cursor !== undefined) headers["last-event-id"] = this.#cursor;
      const path = `/api/share/${encodeURIComponent(this.#share)}/events`;
      const response = await this.#ports.fetch(path, { headers, cache: "no-store" });
      if (response.ok && response.body) await this.#listen(response.body);
      else {
        askedMs = retryAfter(response.headers);
        const code = isFinal(response.status) ? await codeOf(response) : undefined;
        // Without a code it may be the word of a proxy, which knows nothing of the share.
        if (code !== undefined) this.#end(code);
      }
    } catch {
      // Lost: opened again below.
    }
    this.#isOpen = false;
    if (!this.#isOver) this.#wait(askedMs);
  }

  /** The screen is looked at again: do not wait. */
  hurry(): void {
    void this.open();
  }

  async #listen(body: ReadableStream<Uint8Array>): Promise<void> {
    const frames = new FrameReader();
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      for (const { id, event, data } of frames.push(value)) {
        if (event === "closed") return this.#closed((JSON.parse(data) as { code?: string }).code ?? "");
        if (event === "snapshot") this.#ports.snapshot((JSON.parse(data) as { items: ShareItem[] }).items);
        else if (event === "op") this.#ports.item(JSON.parse(data) as ShareItem);
        if (id !== undefined) this.#cursor = id;
      }
      this.#tries = 0;
      this.#ports.state({ name: "live" });
    }
  }

  #closed(code: string): void {
    // The server is busy; the share has not ended, and is opened again from where it was.
    if (code !== "overloaded") this.#end(code);
  }

  #end(code: string): void {
    this.#isOver = true;
    this.#ports.state({ name: "ended", code });
  }

  #wait(askedMs: number | undefined): void {
    const delay = askedMs ?? this.#ports.random() * Math.min(DELAY_MS_MAX, DELAY_MS_FIRST * 2 ** this.#tries);
    this.#tries = Math.min(this.#tries + 1, 10);
    this.#ports.state({ name: "waiting" });
    this.#ports.after(delay, () => void this.open());
  }
}

function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 429;
}

async function codeOf(response: Response): Promise<string | undefined> {
  const said = (await response.json().catch(() => ({}))) as { error?: { code?: string } };
  return said.error?.code;
}
