// Words of what is loaded later: panels, sheets and pages that nobody needs to see the list or a session.

import { words } from "./en.ts";

const plural = new Intl.PluralRules("en");
const count = (n: number, one: string, many: string) => `${words.number(n)} ${plural.select(n) === "one" ? one : many}`;
const second = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

/** By the code the server gives. */
const SHARE_ENDS: Readonly<Record<string, string>> = {
  gone: "Whoever shared it has deleted it.",
  revoked: "The link was revoked.",
  expired: "The link has expired.",
  unauthorized: "It is private now, or this link does not open it.",
};

export const more = {
  count,
  second: (at: number) => second.format(at),
  textSize: "Text size",
  textSizes: { usual: "Usual", large: "Large", larger: "Larger" },
  stopsOnLeaving: "Leaving a session stops its turn",
  horizon: "Oldest position kept whole",
  store: "Store",
  languages: "Language servers",
  byProject: "By project",
  otherProjects: "others",
  // Context
  summarised: (n: number) => `${count(n, "time", "times")} summarised`,
  outputsRemoved: (n: number) => `${count(n, "output", "outputs")} removed from the model's view`,
  compactedTitle: "What summaries removed",
  instructions: "Instructions in use",
  costOfStep: (cost: string) => `, ${cost}`,
  // Palette
  goPanel: (name: string) => `Panel: ${name}`,
  goSearch: (words: string) => `Search everything for “${words}”`,
  // Background processes
  background: (n: number) => `${count(n, "process runs", "processes run")} in the background`,
  backgroundAll: "Background processes",
  backgroundNone: "No command left anything running.",
  backgroundYours: "your own command",
  backgroundOutput: "Show output",
  backgroundAgain: "Read output again",
  backgroundQuiet: "It printed nothing that was not redirected.",
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
  uncaptured: (n: number) => `What ${count(n, "call", "calls")} changed is not known and stays:`,
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
  redoMessages: (n: number) => `${count(n, "message comes", "messages come")} back.`,
  redoLeaves: "A file that somebody has changed since the undo is left alone.",
  redoNoFiles: "No file changes. Only the conversation comes back.",
  redoButton: (files: number, left: number) => {
    const rest = left === 0 ? "" : `, leave ${left}`;
    return files === 0 ? `Bring the conversation back${rest}` : `Bring ${count(files, "file", "files")} back${rest}`;
  },
  // Share
  shareHint: "Whoever has the link sees the whole session, also what is still to come, and can change nothing. It stays until you take it back.",
  shareMake: "Make a link",
  shareStop: "Take the link back",
  shareStopSure: "Take it back? Every link to this session ends at once, and whoever reads it now sees no more.",
  shareLink: "The link",
  shareReads: "Opens the page for reading",
  sharePlain: "Whoever has this link may read",
  shareStates: { creating: "The share is being made.", active: "Changes are sent as they happen.", deleting: "The share is being deleted.", failed: "The last changes could not be sent." } as Readonly<Record<string, string>>,
  shareElsewhere: (service: string) => `${service} keeps this share. Its other links are managed on the command line: sturdy share.`,
  showCode: "Show as QR code",
  hideCode: "Hide QR code",
  codeOf: (what: string) => `QR code: ${what}`,
  copied: "Copied",
  grants: "Links",
  readersNow: (n: number, plain: number) => (n === 0 ? "Nobody reads it now." : `${count(n, "reader", "readers")} now${plain === 0 || plain === n ? "" : `, ${words.number(plain)} with the link above`}.`),
  readersOfLink: (n: number) => `${count(n, "reader", "readers")} now`,
  grantsHint: "Another link can do less, end by itself, and be revoked alone.",
  grantLabel: "Who it is for",
  grantMay: "What it may do",
  grantPresets: { viewer: "Read", writer: "Read and write", drop_box: "Add only", owner: "Everything" },
  grantMake: "Make another link",
  grantOnce: "Copy it now: it is not shown again.",
  grantOwner: "This server",
  grantNamed: (label: string, id: string) => (label === "" ? id : label),
  rights: { read: "reads", append: "adds", admin: "manages" } as Readonly<Record<string, string>>,
  grantUsed: (n: number, most: number | null) => (most === null ? `${count(n, "change", "changes")}` : `${words.number(n)} of ${count(most, "change", "changes")}`),
  grantEnds: (at: string) => `until ${at}`,
  grantEnded: "expired",
  grantRevoked: "revoked",
  revoke: "Revoke",
  revokeNamed: (name: string) => `Revoke ${name}`,
  revokeAll: "Revoke all",
  rotate: "Ask every writer again",
  rotateHint: "Every writer shows its right again before it goes on. Links stay as they are.",
  rotated: "Every writer shows its right again.",
  accessHint: "For a person or a program that may use this one session over the API and nothing else. To show it to somebody, share it.",
  accessNone: "Nobody was given a right to this session alone.",
  accessOnce: "this is shown once. Send it as Authorization: Bearer.",
  accessRights: { read: "reads", prompt: "prompts", answer: "answers" } as const,
  accessPromptHint: "Whoever may prompt may run commands.",
  accessUsed: (n: number, most: number | null) => (most === null ? count(n, "use", "uses") : `${words.number(n)} of ${count(most, "use", "uses")}`),
  accessMake: "Give access",
  audit: "Who did what",
  auditEmpty: "Nothing yet.",
  auditMore: (n: number) => `The newest ${words.number(n)} are shown.`,
  noShares: "Nothing is shared",
  noSharesHint: "Share a session from its menu.",
  // Tokens
  tokens: "Tokens for programs",
  tokensHint: "A program shows its token in place of the password: Authorization: Bearer …",
  noTokens: "None.",
  tokenName: "What it is for",
  tokenScope: "What it may do",
  tokenLife: "How long it counts",
  tokenMake: "Make a token",
  tokenOnce: "Copy it now: it is not shown again.",
  scopes: { read: "Read", write: "Read and write", admin: "Everything" },
  lifetime: (days: number) => (days === 0 ? "Until it is taken back" : count(days, "day", "days")),
  until: (at: string) => `until ${at}`,
  // Search
  searchHint: "Words in titles and in what was said",
  inContents: "In what was said",
  inTitles: "In titles",
  searchOlder: "Look at older ones",
  hitKinds: { text: "text", reasoning: "thought", tool: "call", output: "output", file: "file", subtask: "task" },
  // Trust
  trustTitle: "Do you trust this project?",
  trustWants: "Its settings would, if they are obeyed:",
  trustHint: "Say yes only if you know who wrote them. Without trust the session goes on and leaves these out. A change of them asks again.",
  trustOnce: "Trust until the server ends",
  trustAlways: "Trust as it is now",
  trustNo: "Go on without",
  // Notices
  notices: "Tell me when something needs me or a turn has ended",
  noticesHint: "Notices of the browser, while this page is not in front. They name the session and the tool, never what was said.",
  noticesInsecure: "The browser shows notices only over HTTPS or on the server's own machine.",
  noticesRefused: "The browser refused. Allow notices for this address in its own settings, then try again.",
  noticeAsk: (title: string) => `Needs you: ${title}`,
  noticeEnd: "The turn has ended",
  noticeQuestion: "question",
  // Find
  findOlder: "The one before",
  findNewer: "The next one",
  findAt: (n: number, of: number) => `${words.number(n)} of ${words.number(of)}`,
  // Family
  forkedFrom: "Forked from",
  forkPoint: "to where it left",
  forkGone: "A session that is gone",
  forks: "Forks",
  // Usage
  period: "Period",
  measure: "Measure",
  measures: { cost: "Cost", tokens: "Tokens", steps: "Steps", errors: "Errors" },
  bySession: "By session",
  // Files
  atLine: (line: number) => `Line ${line}`,
  // Share page and exported file
  savedAt: (at: string) => `Saved ${at}`,
  shareEnded: "This share has ended",
  shareWhy: (code: string) => SHARE_ENDS[code] ?? "It does not exist, or this link does not open it.",
  // Log
  logReading: (n: number) => `Reading the log: ${count(n, "entry", "entries")}`,
  logEmpty: "The log of this session is not readable",
  logEntry: (at: number, of: number) => `Entry ${words.number(at)} of ${words.number(of)}`,
  logSlider: "Place in the log",
  logBegin: "Before the first entry",
  logMore: (n: number) => `Only the first ${words.number(n)} entries are shown.`,
  logFolded: "Texts of old answers appear whole: how they grew is no longer kept.",
  back: "Back by one entry",
  forward: "On by one entry",
  play: (speed: number) => `Play ${speed}×`,
  pause: "Pause",
  marks: { prompt: "prompt", error: "error", ask: "ask", answer: "step", summary: "summary", tool: "tool", text: "text", other: "other" },
  nextMark: (name: string) => `Next ${name}`,
  pastAt: (time: string, position: string) => `You are at ${time}, position ${position}. Nothing can be changed here.`,
  toNow: "Back to now",
  forkThen: "Fork from here",
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
