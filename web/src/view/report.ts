// Failures inside the page, sent to the server's log. Loaded with the first of them.

import { api } from "./live.ts";
import { reportOf } from "./failure-report.ts";

/** Of one visit; the server has a bound of its own. */
const REPORTS_MAX = 20;

const sent = new Set<string>();

export function report(cause: unknown): void {
  const text = reportOf(cause);
  if (text === undefined || sent.has(text) || sent.size >= REPORTS_MAX) return;
  sent.add(text);
  const build = document.querySelector<HTMLMetaElement>('meta[name="sturdy-build"]')?.content ?? "";
  // Nobody waits for it, and a server that cannot be reached has other worries.
  api.post("/log", { service: `page ${build}`.trim(), level: "error", message: text }).catch(() => {});
}
