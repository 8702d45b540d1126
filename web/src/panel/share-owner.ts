// What the owner asks of a share: of this server where it keeps the share itself, else through it of the service that does.

import { api } from "../view/live.ts";
import { segment } from "../wire/api.ts";

type Method = "GET" | "POST" | "PUT" | "DELETE";

/** Asks for what follows the address of the share. */
export type AskOwner = <T>(rest: string, method: Method, body: unknown, signal: AbortSignal) => Promise<T>;

interface Owned {
  readonly shareID: string;
  readonly reference: string;
  /** Absent: this server keeps the share itself. */
  readonly service: string | null;
}

export function askOwner(sessionID: string, link: Owned): AskOwner {
  if (link.service === null) {
    const at = `/api/share/${segment(link.shareID)}`;
    return async <T>(rest: string, method: Method, body: unknown, signal: AbortSignal) =>
      (await api.call<T>(`${at}${rest}`, { method, body, right: link.reference, signal })).value;
  }
  // A page asks no other origin, and the server has the right already.
  const through = `/sturdy/session/${segment(sessionID)}/share/owner`;
  return async <T>(path: string, method: Method, body: unknown, signal: AbortSignal) =>
    (await api.call<T>(through, { method: "POST", body: { method, path, ...(body === undefined ? {} : { body }) }, signal })).value;
}
