// Waiting with a deadline. Nothing here sleeps for a guessed time: a condition is looked at again and
// again until it holds, and a condition that never holds is an error that says which.

/** Long enough for a busy machine and a debug build; a test that passes never waits for it. */
export const DEADLINE_MS = 60_000;

const LOOK_AGAIN_MS = 20;

/** @param {number} ms */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Looks until `look` gives something.
 * @template T
 * @param {string} what for the error
 * @param {() => T | Promise<T>} look
 * @param {number} [withinMs]
 * @returns {Promise<NonNullable<T>>}
 */
export async function until(what, look, withinMs = DEADLINE_MS) {
  const end = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited ${withinMs} ms in vain: ${what}`);
    await pause(LOOK_AGAIN_MS);
  }
}

/**
 * Fails if `promise` takes too long.
 * @template T
 * @param {string} what for the error
 * @param {Promise<T>} promise
 * @param {number} [withinMs]
 * @returns {Promise<T>}
 */
export async function soon(what, promise, withinMs = DEADLINE_MS) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${withinMs} ms in vain: ${what}`)), withinMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A door that a script waits at until the test opens it. */
export class Gate {
  constructor() {
    this.opened = new Promise((resolve) => (this.open = () => resolve(undefined)));
  }
}
