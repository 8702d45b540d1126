// Stands in for `view/live.ts` where a session is only shown: nothing is asked for, nothing is written.

import { Api } from "../wire/api.ts";

/** How far the clock of whoever wrote the session is ahead; a saved session does not go on. */
export function serverNow(): number {
  return Date.now();
}

export const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

export const api = new Api(() => Promise.reject(new Error("a session that is only shown asks for nothing")), () => {});

export function readOlder(): Promise<boolean> {
  return Promise.resolve(false);
}

export function openThread(): Promise<void> {
  return Promise.resolve();
}

export function readAround(): Promise<void> {
  return Promise.resolve();
}

export function readOutline(): Promise<void> {
  return Promise.resolve();
}

export function boundThread(): void {}
