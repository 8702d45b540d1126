// Every word of the page. A second language is one more file with the same keys.

/** The browser's rules for numbers and times are read when the first is needed: that takes longer than drawing the list. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

const grouped = once(() => new Intl.NumberFormat("en"));
const compact = once(() => new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }));
const dollars = once(() => new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumFractionDigits: 4 }));
const date = once(() => new Intl.DateTimeFormat("en", { month: "short", day: "numeric" }));

/** Below a thousand there is nothing to group. */
function number(n: number): string {
  return Number.isInteger(n) && Math.abs(n) < 1000 ? String(n) : grouped().format(n);
}

/** Two digits or three, and what they count. */
function short(n: number): string {
  return Number.isInteger(n) && Math.abs(n) < 1000 ? String(n) : compact().format(n);
}

/** Cents, and two more digits where they say something. */
function money(n: number): string {
  if (n === 0) return "$0";
  return n > 0 && n < 1000 ? `$${n.toFixed(4).replace(/0{1,2}$/, "")}` : dollars().format(n);
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function count(n: number, one: string, many: string): string {
  return `${number(n)} ${n === 1 ? one : many}`;
}

const twoDigits = (n: number) => String(n).padStart(2, "0");
/** As a clock at the wall shows it, by the device's zone. */
function clock(at: number): string {
  const when = new Date(at);
  return `${twoDigits(when.getHours())}:${twoDigits(when.getMinutes())}`;
}

export const words = {
  name: "Sturdy",
  number,
  compact: short,
  bytes(n: number): string {
    if (n < 1000) return `${n} B`;
    return n < 999_500 ? `${Math.round(n / 1000)} kB` : `${(n / 1e6).toFixed(n < 9.95e6 ? 1 : 0)} MB`;
  },
  money,
  time: clock,
  ago(at: number, now: number): string {
    const ms = now - at;
    if (ms < MINUTE) return "now";
    if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
    if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
    if (ms < 7 * DAY) return `${Math.floor(ms / DAY)} d`;
    return date().format(at);
  },
  took(ms: number): string {
    if (ms < 950) return `${Math.max(0, Math.round(ms))} ms`;
    if (ms < 59_500) return `${(ms / 1000).toFixed(ms < 9_950 ? 1 : 0)} s`;
    return `${Math.floor(ms / MINUTE)} min ${Math.round((ms % MINUTE) / 1000)} s`;
  },
  justBegun: "0 s",
  // The line
  live: "Live",
  reading: "Reading",
  opening: "Connecting",
  catchingUp: (done: number, total: number) => `Catching up ${number(done)} of ${number(total)}`,
  tryingAgain: (seconds: number) => (seconds > 0 ? `Trying again in ${seconds} s` : "Trying again"),
  asleep: "Asleep",
  locked: "Login required",
  crowded: "Too many tabs",
  outdated: "A new version of this page is available",
  fileMissing: "This part of the page could not be loaded: the page is outdated, or the server cannot be reached.",
  notDrawn: "This cannot be shown",
  reload: "Reload",
  useThisTab: "Use this tab",
  tryNow: "Try now",
  noNetwork: "No network",
  restarted: (at: string) => `Server restarted at ${at}. Nothing was lost.`,
  interrupted: (n: number) => `${count(n, "turn was", "turns were")} interrupted.`,
  interruptedIn: (n: number) => `${count(n, "turn was", "turns were")} interrupted:`,
  andMore: (n: number) => `and ${number(n)} more`,
  // Places
  sessions: "Sessions",
  board: "Board",
  asks: "Asks",
  search: "Search",
  usage: "Usage",
  settings: "Settings",
  more: "More",
  newSession: "New session",
  back: "Back",
  close: "Close",
  menu: "Menu",
  panel: "Panel",
  skip: "Skip to the conversation",
  // List
  filter: "Filter by title or directory",
  filterShort: "Filter",
  filters: (n: number) => (n === 0 ? "More filters" : `More filters, ${n} in use`),
  isFork: "Fork",
  isShared: "Shared",
  foldList: "Hide the list",
  unfoldList: "Show the list",
  noSessions: "No sessions yet",
  chooseSession: "Choose a session, or start a new one.",
  noSessionsHint: "Send a prompt to start the first one.",
  nothingFound: "Nothing found",
  loadMore: "Load more",
  archived: "Archived",
  status: { idle: "Idle", busy: "Working", retry: "Trying again", asks: "Needs you", unseen: "Done, not looked at", failed: "Failed or interrupted" },
  rename: "Rename",
  renameHint: "Double-click to rename",
  forkHere: "Fork from here",
  shares: "Shares",
  compactNothing: "There is nothing to compact yet.",
  // Timeline
  callFinished: (tool: string) => `${tool} finished`,
  answerBegan: "Answer started",
  answerComplete: (n: number) => (n === 0 ? "Answer complete" : `Answer complete, ${count(n, "word", "words")}`),
  gone: "This session no longer exists",
  goneHint: "It was deleted, or the URL is wrong. Go back to the list.",
  goneReadable: "What was loaded stays readable until you leave.",
  you: "You",
  older: "Older messages",
  messages: "Messages",
  printedPart: "Older messages are not loaded and therefore not printed.",
  newBelow: (n: number) => `${number(n)} new below`,
  toEnd: "Go to the end",
  showAll: (lines: number) => `Show all ${number(lines)} lines`,
  showLess: "Show less",
  bySystem: "added by the server",
  notSent: "not sent to the model",
  thinking: "Thinking",
  thought: (took: string) => `Thought for ${took}`,
  thoughtBriefly: "Thought briefly",
  failedAttempt: "From an attempt that failed; not part of the answer",
  stepEnd: {
    tokens: (input: number, output: number, cached: number) =>
      `${short(input)} in · ${short(output)} out${cached > 0 ? ` · ${short(cached)} cached` : ""}`,
    length: "cut at the output limit",
    filter: "stopped by the provider's filter",
    other: (reason: string) => `ended: ${reason}`,
  },
  tree: (hash: string) => `tree ${hash}`,
  compaction: { auto: "Summarised automatically", overflow: "Summarised because the context window was full", manual: "Summarised by you" },
  compactionTail: "The model sees everything from here",
  summaryOpen: "Show the summary",
  undoHere: "Undo from here",
  openFile: (path: string) => `Open ${path.split("/").at(-1)}`,
  unknownPart: (type: string) => `A part of the type “${type}”`,
  table: "Table",
  image: "image",
  task: (isDone: boolean) => (isDone ? "Done" : "Not done"),
  copy: "Copy",
  copyCode: "Copy the code",
  copyMarkdown: "Copy as Markdown",
  downloadFile: "Download",
  // Tools
  tool: {
    looked: (files: number, searches: number) =>
      [files > 0 ? `Looked at ${count(files, "file", "files")}` : "", searches > 0 ? count(searches, "search", "searches") : ""].filter(Boolean).join(", "),
    exit: (code: number) => `exit ${code}`,
    lines: (n: number) => count(n, "line", "lines"),
    matches: (n: number) => count(n, "match", "matches"),
    pending: "waiting",
    running: "running",
    asked: "waiting for you",
    failed: "failed",
    denied: "denied by you",
    forbidden: "denied by a rule",
    stopped: "stopped",
    cut: "cut off",
    cutHint: "the answer of the model was cut off: the call may have taken effect and was not repeated",
    interrupted: "interrupted",
    interruptedHint: "interrupted by a restart: the call may have taken effect and was not repeated",
    compacted: "output removed from the model's view",
    input: "Input",
    output: "Output",
    noOutput: "No output",
    wholeOutput: "The whole output is in",
    diagnostics: "Problems found by the language server",
    todos: (done: number, total: number) => `${done} of ${total} done`,
    answers: "Answers",
    todoChange: { done: "done", begun: "started", added: "added", dropped: "removed" },
    newest: (n: number) => `the last ${number(n)} lines`,
  },
  // Errors
  error: {
    auth: (provider: string) => `No key for ${provider}`,
    authHint: "Set one in opencode.json or with PUT /auth, then try again.",
    api: "The provider returned an error",
    apiFinal: "Retrying will not help.",
    aborted: "Stopped",
    restarted: "Interrupted: the server was restarted",
    overflow: "The context window is full",
    filtered: "Filtered by the provider",
    length: "Cut at the output limit",
    structured: (n: number) => `The answer did not fit the schema after ${count(n, "try", "tries")}`,
    unknown: "Something went wrong",
    ref: (ref: string) => `Search the server's log for ${ref}`,
    tryAgain: "Try again",
    goOn: "Continue",
    goOnPrompt: "Continue",
    compact: "Compact and continue",
    details: "Details",
  },
  // Composer
  prompt: "Ask, or say what to do",
  promptBusy: "Will be answered after this step",
  send: "Send",
  stop: "Stop",
  stopping: "Stopping",
  camera: "Take a photo",
  attach: "Attach a file",
  model: "Model",
  agent: "Agent",
  variant: "Effort",
  usual: "Default",
  fileTooLarge: (name: string, megabytes: number, most: number) => `${name}: ${Math.round(megabytes)} MB, at most ${most} MB`,
  removeFile: (name: string) => `Remove ${name}`,
  sending: "sending",
  notSentYet: "Not sent",
  leftUnsent: "the page was closed before the server had stored it",
  filesNotKept: "Its files were too large for this browser's storage; attach them again.",
  draftNotKept: "This browser's storage is full: what you type is lost when you leave the page.",
  edit: "Edit",
  waiting: "waiting",
  shellHint: "A shell command: it runs in the session's directory",
  // Docks
  retryIn: (attempt: number, seconds: number, message: string) => `Attempt ${attempt + 1} in ${seconds < 60 ? `${seconds} s` : words.took(seconds * 1000)} · ${message}`,
  // Panels
  panels: { changes: "Changes", todo: "Todo", context: "Context", family: "Family", files: "Files", log: "Log", share: "Share", access: "Access" },
  tokensUsed: (used: number, limit: number) => `${number(used)} of ${number(limit)} tokens`,
  tokens: { input: "Input", output: "Output", reasoning: "Reasoning", read: "Read from cache", write: "Written to cache" },
  parents: "Parents",
  subagentOf: "Sub-agent of",
  // Login and settings
  login: "Log in",
  // Usage
  unreachable: "The server cannot be reached",
  notFound: "There is nothing at this URL",
} as const;
