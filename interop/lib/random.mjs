// Numbers that look random and are the same for the same seed (mulberry32).

export class Random {
  /** @param {number} seed */
  constructor(seed) {
    this.state = seed >>> 0;
  }

  /** In [0, 1). */
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer, both ends included. @param {number} low @param {number} high */
  between(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /** @template T @param {T[]} choices @returns {T} */
  of(choices) {
    return choices[this.between(0, choices.length - 1)];
  }
}
