// Large values: asked for when somebody looks at them, and the newest kept for a while.

import { filled, linksIn } from "../wire/large.ts";
import { segment } from "../wire/api.ts";
import type { LargeLink, Part } from "../wire/types.ts";
import { api } from "./live.ts";

/** What is kept of values that were looked at. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;
/** A value may have links inside, these too, and so on. */
const ROUNDS_MAX = 8;

/** By hash, the last used at the end. */
const kept = new Map<string, { readonly value: unknown; readonly bytes: number }>();

async function valueOf(part: Part, link: LargeLink, signal: AbortSignal): Promise<unknown> {
  const known = kept.get(link.$blob);
  kept.delete(link.$blob);
  const query = new URLSearchParams({ session: part.sessionID, part: part.id });
  const value = known === undefined ? await api.large(`/sturdy/blob/${segment(link.$blob)}?${query}`, signal) : known.value;
  kept.set(link.$blob, { value, bytes: link.bytes });
  let bytes = [...kept.values()].reduce((sum, one) => sum + one.bytes, 0);
  for (const [hash, one] of kept) {
    if (bytes <= KEPT_BYTES_MAX) break;
    kept.delete(hash);
    bytes -= one.bytes;
  }
  return value;
}

/** A part with everything that is in it. */
export async function wholePart<T extends Part>(part: T, signal: AbortSignal): Promise<T> {
  let whole = part;
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const links = linksIn(whole);
    if (links.length === 0) break;
    const values = new Map<string, unknown>();
    for (const link of links) values.set(link.$blob, await valueOf(part, link, signal));
    whole = filled(whole, values);
  }
  return whole;
}
