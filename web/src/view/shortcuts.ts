// Which single key does what. Pure: the usual keys, those a person chose instead, and what is in the way of a choice.
//
// Not here: what happens when one is pressed (`keys.ts`), keys with Ctrl or Alt, which stay as they are.

export const USUAL_KEYS = {
  next: "j",
  previous: "k",
  unfold: "o",
  copy: "c",
  fork: "f",
  rename: "e",
  before: "[",
  after: "]",
  go: "g",
  new: "n",
  undo: "z",
  search: "/",
  help: "?",
  goList: "l",
  goBoard: "b",
  goAsks: "a",
  goUsage: "u",
  goSearch: "s",
} as const;

export type KeyAction = keyof typeof USUAL_KEYS;
export type OwnKeys = Readonly<Partial<Record<KeyAction, string>>>;

export const KEY_ACTIONS = Object.keys(USUAL_KEYS) as KeyAction[];

/** They are pressed after the key of `go`, so they are in the way of each other only. */
const SECOND: readonly KeyAction[] = ["goList", "goBoard", "goAsks", "goUsage", "goSearch"];

export const isSecond = (action: KeyAction) => SECOND.includes(action);

/** They answer an ask that has the focus. */
const ANSWERS = ["1", "2", "3"];

export function keyOf(action: KeyAction, own: OwnKeys): string {
  return own[action] ?? USUAL_KEYS[action];
}

/** `isGoing` after the key of `go`. */
export function actionOf(key: string, own: OwnKeys, isGoing: boolean): KeyAction | undefined {
  return KEY_ACTIONS.find((action) => isSecond(action) === isGoing && keyOf(action, own) === key);
}

/** A key that writes one sign, and not a space, which scrolls and presses buttons. */
export function isKey(key: unknown): key is string {
  return typeof key === "string" && [...key].length === 1 && key.trim() !== "";
}

/** What has this key already; none when it is free. */
export function takenBy(key: string, action: KeyAction, own: OwnKeys): KeyAction | "answers" | undefined {
  if (ANSWERS.includes(key) && !isSecond(action)) return "answers";
  return KEY_ACTIONS.find((other) => other !== action && isSecond(other) === isSecond(action) && keyOf(other, own) === key);
}

/** With one key changed; the usual one is not kept as a choice. */
export function withKey(action: KeyAction, key: string, own: OwnKeys): OwnKeys {
  const { [action]: _, ...others } = own;
  return key === USUAL_KEYS[action] ? others : { ...others, [action]: key };
}

/** Whatever was stored, by whichever version: only what is a choice and in nobody's way. */
export function readKeys(stored: unknown): OwnKeys {
  if (typeof stored !== "object" || stored === null) return {};
  const asked = Object.entries(stored).filter(([action, key]) => KEY_ACTIONS.includes(action as KeyAction) && isKey(key));
  const own = Object.fromEntries(asked) as OwnKeys;
  const isClear = KEY_ACTIONS.every((action) => takenBy(keyOf(action, own), action, own) === undefined);
  return isClear ? own : {};
}
