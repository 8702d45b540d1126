// Links that stand for large values: found in a record, and the values put in their place.
//
// Not here: asking for a value (`view/large.ts`), when that is done (`timeline/part/large.tsx`).

import type { LargeLink } from "./types.ts";

const HASH = /^[0-9a-f]{64}$/;

/** What a record of the server may hold at most in levels; deeper is not looked into. */
const LEVELS_MAX = 64;

export function isLink(value: unknown): value is LargeLink {
  if (value === null || typeof value !== "object" || !("$blob" in value) || !("bytes" in value)) return false;
  return typeof value.$blob === "string" && HASH.test(value.$blob) && typeof value.bytes === "number" && Object.keys(value).length === 2;
}

/** Each once. */
export function linksIn(value: unknown): LargeLink[] {
  const found = new Map<string, LargeLink>();
  collect(value, found, 0);
  return [...found.values()];
}

function collect(value: unknown, found: Map<string, LargeLink>, level: number): void {
  if (value === null || typeof value !== "object" || level > LEVELS_MAX) return;
  if (isLink(value)) found.set(value.$blob, value);
  else for (const inner of Object.values(value)) collect(inner, found, level + 1);
}

/** The same with the values that are known, those inside of values too; what has no link in it stays the same object. */
export function filled<T>(value: T, values: ReadonlyMap<string, unknown>): T {
  return fill(value, values, 0) as T;
}

function fill(value: unknown, values: ReadonlyMap<string, unknown>, level: number): unknown {
  if (value === null || typeof value !== "object" || level > LEVELS_MAX) return value;
  if (isLink(value)) return values.has(value.$blob) ? fill(values.get(value.$blob), values, level + 1) : value;
  if (Array.isArray(value)) {
    const items = value.map((item) => fill(item, values, level + 1));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const fields = Object.entries(value).map(([name, item]) => [name, fill(item, values, level + 1)] as const);
  return fields.some(([name, item]) => item !== (value as Record<string, unknown>)[name]) ? Object.fromEntries(fields) : value;
}
