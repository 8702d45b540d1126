// What kind of end an error is.

import type { Failure } from "./types.ts";

/** The server was restarted under it: nobody wanted this end. */
export function isInterrupted(error: Failure): boolean {
  return error.name === "MessageAbortedError" && /restart|interrupt|server/i.test(error.data?.message ?? "");
}

/** A person pressed stop. */
export function isStopped(error: Failure): boolean {
  return error.name === "MessageAbortedError" && !isInterrupted(error);
}
