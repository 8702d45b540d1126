// Browsers allow six connections to one host, and each stream holds one. Before a tab opens its stream it
// asks the others who holds one; when four do, it is told that there is no room. HTTP/2 and 3 carry many streams over one
// connection: there is always room.

export interface Channel {
  post(message: TabMessage): void;
  listen(hear: (message: TabMessage) => void): void;
}

export type TabMessage =
  | { readonly say: "who holds a stream"; readonly from: string }
  | { readonly say: "I hold one"; readonly to: string; readonly from: string; readonly since: number }
  | { readonly say: "let go"; readonly to: string }
  | { readonly say: "logged out" }
  | { readonly say: "preferences changed" };

const STREAMS_MAX = 4;
const PATIENCE_MS = 50;

export class Tabs {
  readonly #channel: Channel;
  readonly #self: string;
  #isHolding: () => boolean = () => false;
  #holders = new Map<string, number>();
  onLetGo: () => void = () => {};
  onLogout: () => void = () => {};
  onPreferences: () => void = () => {};

  constructor(channel: Channel, self: string, now: () => number) {
    this.#channel = channel;
    this.#self = self;
    const since = now();
    channel.listen((message) => {
      switch (message.say) {
        case "who holds a stream":
          if (this.#isHolding()) channel.post({ say: "I hold one", to: message.from, from: self, since });
          return;
        case "I hold one":
          if (message.to === self) this.#holders.set(message.from, message.since);
          return;
        case "let go":
          if (message.to === self) this.onLetGo();
          return;
        case "logged out":
          return this.onLogout();
        case "preferences changed":
          return this.onPreferences();
        default:
          return message satisfies never;
      }
    });
  }

  holding(isHolding: () => boolean): void {
    this.#isHolding = isHolding;
  }

  /** `protocol` as browsers name it: `http/1.1`, `h2`, `h3`. */
  async hasRoom(pause: (ms: number) => Promise<void>, protocol: string): Promise<boolean> {
    if (/^h[23]/.test(protocol)) return true;
    this.#holders.clear();
    this.#channel.post({ say: "who holds a stream", from: this.#self });
    await pause(PATIENCE_MS);
    return this.#holders.size < STREAMS_MAX;
  }

  /** Asks the tab that has held its stream for longest to let it go. */
  takeOver(): void {
    const oldest = [...this.#holders].sort(([, a], [, b]) => a - b)[0];
    if (oldest) this.#channel.post({ say: "let go", to: oldest[0] });
  }

  logout(): void {
    this.#channel.post({ say: "logged out" });
  }

  preferences(): void {
    this.#channel.post({ say: "preferences changed" });
  }
}
