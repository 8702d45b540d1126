// What a search is narrowed to: in the address of the page, and as the server is asked for it. Pure.

export interface SearchFilters {
  /** The id of a project. */
  readonly project: string;
  readonly role: string;
  readonly kind: string;
  readonly tool: string;
  /** At most so old. */
  readonly days: string;
}

/** Nothing is left out. */
export const NO_FILTERS: SearchFilters = { project: "", role: "", kind: "", tool: "", days: "" };
export const ROLES = ["user", "assistant"] as const;
export const AGES_DAYS = ["1", "7", "30", "365"] as const;

const NAMES = Object.keys(NO_FILTERS) as (keyof SearchFilters)[];
const DAY_MS = 24 * 60 * 60 * 1000;

export function searchFiltersOf(search: string): SearchFilters {
  const said = new URLSearchParams(search);
  return Object.fromEntries(NAMES.map((name) => [name, said.get(name) ?? ""])) as unknown as SearchFilters;
}

export function searchPath(query: string, filters: SearchFilters): string {
  const set = NAMES.filter((name) => filters[name] !== "").map((name) => [name, filters[name]]);
  return `/search?${new URLSearchParams([["q", query], ...set] as [string, string][])}`;
}

export function hasFilters(filters: SearchFilters): boolean {
  return NAMES.some((name) => filters[name] !== "");
}

/** When the oldest that is wanted was written. */
export function sinceOf(filters: SearchFilters, now: number): number {
  const days = Number(filters.days);
  return days > 0 ? now - days * DAY_MS : 0;
}

/** The server's own parameters. */
export function searchParameters(filters: SearchFilters, now: number): Record<string, string> {
  const { days: _, ...others } = filters;
  const set = Object.entries(others).filter(([, value]) => value !== "");
  const since = sinceOf(filters, now);
  return Object.fromEntries(since > 0 ? [...set, ["since", String(Math.floor(since))]] : set);
}

/** Who said it and in what is a question about contents: titles are looked at only without it. */
export function wantsTitles(filters: SearchFilters): boolean {
  return filters.role === "" && filters.kind === "" && filters.tool === "";
}
