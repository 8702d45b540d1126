// What a person chose for this device. Kept in the browser; other tabs are told.

import { createSignal } from "solid-js";
import { type OwnKeys, readKeys } from "./shortcuts.ts";

export interface Preferences {
  readonly theme: "system" | "light" | "dark";
  readonly showEverything: boolean;
  readonly letterKeys: boolean;
  /** Single keys that are not the usual ones. */
  readonly keys: OwnKeys;
  readonly showArchived: boolean;
  readonly notices: boolean;
  /** Leaving a session stops its turn. */
  readonly stopsOnLeaving: boolean;
  readonly textSize: "usual" | "large" | "larger";
  /** What the list shows; an empty text is everything. */
  readonly listProject: string;
  readonly listNeed: string;
  readonly listChanged: boolean;
  /** Of the columns, in pixels; none is the usual one. */
  readonly listWidth: number | undefined;
  readonly panelWidth: number | undefined;
  readonly isListFolded: boolean;
}

const USUAL: Preferences = {
  theme: "system",
  showEverything: false,
  letterKeys: true,
  keys: {},
  showArchived: false,
  notices: false,
  stopsOnLeaving: false,
  textSize: "usual",
  listProject: "",
  listNeed: "",
  listChanged: false,
  listWidth: undefined,
  panelWidth: undefined,
  isListFolded: false,
};
const NAME = "sturdy.preferences";

function stored(): Preferences {
  try {
    const kept = JSON.parse(localStorage.getItem(NAME) ?? "{}") as Partial<Preferences>;
    return { ...USUAL, ...kept, keys: readKeys(kept.keys) };
  } catch {
    return USUAL;
  }
}

const [preferences, setPreferences] = createSignal(stored());
export { preferences };

export function prefer(change: Partial<Preferences>): void {
  setPreferences({ ...preferences(), ...change });
  localStorage.setItem(NAME, JSON.stringify(preferences()));
  showTheme();
}

export function readPreferences(): void {
  setPreferences(stored());
  showTheme();
}

export function showTheme(): void {
  const { theme, textSize, listWidth, panelWidth } = preferences();
  const { dataset, style } = document.documentElement;
  if (theme === "system") delete dataset["theme"];
  else dataset["theme"] = theme;
  dataset["size"] = textSize;
  const set = (name: string, width: number | undefined) => style.setProperty(name, width === undefined ? "" : `${width}px`);
  set("--list-width", listWidth);
  set("--panel-width", panelWidth);
}
