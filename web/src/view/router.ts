// Which address is open. Links are plain links; a click on one of ours does not leave the page.

import { createSignal } from "solid-js";
import { decoded } from "./prefetch.ts";

export type Route =
  | { readonly page: "home" }
  | { readonly page: "board" }
  | { readonly page: "asks" }
  | { readonly page: "session"; readonly id: string; readonly panel: Panel | undefined; readonly turn: string | undefined; readonly at: number | undefined; readonly file: string | undefined; readonly line: number | undefined; readonly place: TalkPlace | undefined }
  | { readonly page: "new"; readonly directory: string | undefined }
  | { readonly page: "search"; readonly query: string; readonly search: string }
  | { readonly page: "usage"; readonly search: string }
  | { readonly page: "shares" }
  | { readonly page: "settings" }
  | { readonly page: "login" }
  | { readonly page: "unknown" };

export const PANELS = ["changes", "todo", "context", "family", "files", "log", "share", "access"] as const;
export type Panel = (typeof PANELS)[number];

// Whoever goes to the place they are at means it: they have scrolled away from it since.
const [address, setAddress] = createSignal(location.pathname + location.search + location.hash, { equals: false });

export function route(): Route {
  const url = new URL(address(), location.origin);
  const [, first = "", second] = url.pathname.split("/");
  switch (first) {
    case "":
      return { page: "home" };
    case "board":
    case "asks":
    case "shares":
    case "settings":
    case "login":
      return { page: first };
    case "s":
      return { page: "session", id: decoded(second ?? ""), panel: panelOf(url.searchParams.get("panel")), turn: url.searchParams.get("turn") ?? undefined, at: numberOf(url.searchParams.get("at")), file: url.searchParams.get("file") ?? undefined, line: numberOf(url.searchParams.get("line")), place: placeOf(url.hash) };
    case "usage":
      return { page: first, search: url.search };
    case "new":
      return { page: "new", directory: url.searchParams.get("dir") ?? undefined };
    case "search":
      return { page: "search", query: url.searchParams.get("q") ?? "", search: url.search };
    default:
      return { page: "unknown" };
  }
}

/** A place in a conversation, by its message, by its part, or by both: a part alone is looked for page by page. */
export interface TalkPlace {
  readonly message: string | undefined;
  readonly part: string | undefined;
}

function placeOf(hash: string): TalkPlace | undefined {
  const [, message, part] = /^#(msg_\w+)?\/?(prt_\w+)?$/.exec(hash) ?? [];
  return message === undefined && part === undefined ? undefined : { message, part };
}

function numberOf(text: string | null): number | undefined {
  return text !== null && /^[0-9]+$/.test(text) ? Number(text) : undefined;
}

function panelOf(text: string | null): Panel | undefined {
  return PANELS.find((panel) => panel === text);
}

export function navigate(path: string, how: "push" | "replace" = "push"): void {
  if (how === "push") history.pushState(null, "", path);
  else history.replaceState(history.state, "", path);
  setAddress(location.pathname + location.search + location.hash);
}

/** A panel over what is open: going back closes it, as closing it goes back. Another panel takes its place. */
export function showPanel(id: string, panel: Panel | undefined): void {
  const now = route();
  const isOver = (history.state as { isPanel?: boolean } | null)?.isPanel === true;
  if (panel === undefined && isOver) return history.back();
  if (panel === undefined || (now.page === "session" && now.panel !== undefined)) return navigate(sessionPath(id, panel), "replace");
  history.pushState({ isPanel: true }, "", sessionPath(id, panel));
  setAddress(location.pathname + location.search + location.hash);
}

/** `turn` is what the changes are of: a prompt, the whole session or the working tree. */
export function sessionPath(id: string, panel?: Panel, turn?: string): string {
  const query = new URLSearchParams({ ...(panel === undefined ? {} : { panel }), ...(turn === undefined ? {} : { turn }) });
  return `/s/${encodeURIComponent(id)}${query.size === 0 ? "" : `?${query}`}`;
}

/** A message of the conversation, or one of its parts; a panel that is open stays. */
export function messagePath(id: string, message: string, { part, panel }: { part?: string | undefined; panel?: Panel | undefined } = {}): string {
  return `${sessionPath(id, panel)}#${[message, part].filter((one) => one !== undefined).map(encodeURIComponent).join("/")}`;
}

/** A file of the session's directory, in the panel for files. */
export function filePath(id: string, file: string, line?: number): string {
  const query = new URLSearchParams({ panel: "files", file, ...(line === undefined ? {} : { line: String(line) }) });
  return `/s/${encodeURIComponent(id)}?${query}`;
}

export function startRouter(): void {
  window.addEventListener("popstate", () => setAddress(location.pathname + location.search + location.hash));
  document.addEventListener("click", (event) => {
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!isPlain || event.defaultPrevented || !link || link.target !== "" || link.hasAttribute("download")) return;
    if (link.origin !== location.origin || link.pathname.startsWith("/ui/")) return;
    event.preventDefault();
    navigate(link.pathname + link.search + link.hash);
  });
}
