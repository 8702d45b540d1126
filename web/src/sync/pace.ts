// Words that come faster than they can be listened to: the first is said at once, of those that follow within the pause
// only the newest, when it is over.
//
// Pure: clock and timer are handed in.

export interface PacePorts {
  readonly now: () => number;
  readonly after: (ms: number, run: () => void) => () => void;
  readonly say: (text: string) => void;
}

export class Pace {
  readonly #ports: PacePorts;
  readonly #pauseMs: number;
  #saidAt = Number.NEGATIVE_INFINITY;
  #cancel: () => void = () => {};

  constructor(pauseMs: number, ports: PacePorts) {
    this.#pauseMs = pauseMs;
    this.#ports = ports;
  }

  announce(text: string): void {
    this.stop();
    const wait = Math.max(0, this.#saidAt + this.#pauseMs - this.#ports.now());
    this.#cancel = this.#ports.after(wait, () => {
      this.#saidAt = this.#ports.now();
      this.#ports.say(text);
    });
  }

  stop(): void {
    this.#cancel();
  }
}
