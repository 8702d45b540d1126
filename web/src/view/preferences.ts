// What a person chose for this device. Kept in the browser; other tabs are told.

import { createSignal } from "solid-js";

export interface Preferences {
  readonly theme: "system" | "light" | "dark";
  readonly showEverything: boolean;
  readonly letterKeys: boolean;
  readonly showArchived: boolean;
  readonly notices: boolean;
}

const USUAL: Preferences = { theme: "system", showEverything: false, letterKeys: true, showArchived: false, notices: false };
const NAME = "sturdy.preferences";

function stored(): Preferences {
  try {
    return { ...USUAL, ...(JSON.parse(localStorage.getItem(NAME) ?? "{}") as Partial<Preferences>) };
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
  const { theme } = preferences();
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}
