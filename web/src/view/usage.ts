// Which usage is wanted: in the address of the page, and as the server is asked for it. Pure.

export interface UsageFilters {
  /** `2026-11-16`, of this device's time zone. */
  readonly day: string;
  /** `provider/model`. */
  readonly model: string;
  readonly agent: string;
  /** The id of a project. */
  readonly project: string;
}

export type UsageName = keyof UsageFilters;

/** Nothing is left out. */
export const NO_USAGE_FILTERS: UsageFilters = { day: "", model: "", agent: "", project: "" };
export const USAGE_NAMES = Object.keys(NO_USAGE_FILTERS) as UsageName[];

export function usageOf(search: string): UsageFilters {
  const said = new URLSearchParams(search);
  const day = /^\d{4}-\d\d-\d\d$/.exec(said.get("day") ?? "")?.[0] ?? "";
  const isDay = !Number.isNaN(new Date(`${day}T00:00:00`).getTime());
  return { day: isDay ? day : "", model: said.get("model") ?? "", agent: said.get("agent") ?? "", project: said.get("project") ?? "" };
}

export function usagePath(filters: UsageFilters): string {
  const set = USAGE_NAMES.filter((name) => filters[name] !== "").map((name) => [name, filters[name]]);
  return set.length === 0 ? "/usage" : `/usage?${new URLSearchParams(set as [string, string][])}`;
}

/** The server's own parameters: of the whole period for days, of the chosen one for everything else. */
export function usageParameters(filters: UsageFilters, by: string, since: number): Record<string, string> {
  const { day, ...others } = filters;
  const set = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== ""));
  return by === "day" || day === "" ? { by, since: String(since), ...set } : { by, ...spanOf(day), ...set };
}

function spanOf(day: string): { readonly since: string; readonly until: string } {
  const begin = new Date(`${day}T00:00:00`);
  const end = new Date(begin);
  end.setDate(end.getDate() + 1);
  return { since: String(begin.getTime()), until: String(end.getTime()) };
}
