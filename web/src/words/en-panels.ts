// Words of what is loaded later: panels, sheets and pages that nobody needs to see the list or a session.

import { words } from "./en.ts";

const plural = new Intl.PluralRules("en");
const count = (n: number, one: string, many: string) => `${words.number(n)} ${plural.select(n) === "one" ? one : many}`;
const second = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

export const more = {
  count,
  second: (at: number) => second.format(at),
  // Undo
  undoTitle: "Undo from here",
  undoMessages: (n: number) => `${count(n, "message is", "messages are")} taken back. The next prompt makes it final; until then everything can be brought back.`,
  undoNoFiles: "No file was changed. Only the conversation is taken back.",
  undoActions: { create: "is made again", change: "goes back", delete: "is deleted", nothing: "stays as it is", conflict: "is left alone" },
  undoForced: "goes back anyway",
  undoForce: (file: string) => `Take ${file} back although it was changed since`,
  undoButton: (files: number, left: number) => {
    const taken = files === 0 ? "Undo the conversation" : `Undo ${count(files, "file", "files")}`;
    return left === 0 ? taken : `${taken}, leave ${words.number(left)}`;
  },
  undoBusy: "A turn is running. Stop it first, then undo.",
  undone: (messages: number, files: number, left: number) => {
    const parts = [`Undone: ${count(messages, "message", "messages")}`];
    if (files > 0) parts.push(count(files, "file", "files"));
    if (left > 0) parts.push(`${words.number(left)} left because ${left === 1 ? "it was" : "they were"} changed since`);
    return `${parts.join(", ")}.`;
  },
  undoneFinal: "Goes with your next prompt.",
  undoneShow: "Show what was undone",
  redoOne: "Redo one",
  redoAll: "Redo all",
  // Changes
  changesOf: "Changes of",
  wholeSession: "The whole session",
  turnOf: (time: string, text: string) => `${time} ${text}`,
  turnHint: "What the session, or one of its turns, changed appears here.",
  ignoreSpace: "Ignore white space",
  split: "Side by side",
  comment: (line: number) => `Comment on line ${line}`,
  commentHint: "What should be different here?",
  commentAdd: "Add to the prompt",
  viewedOf: (done: number, total: number) => `${done} of ${total} viewed`,
} as const;
