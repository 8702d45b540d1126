// The line of this tab and everything that is read beside it: started once, by the page's entry.

import { createSignal } from "solid-js";
import { Line, isFarBehind, type Hello, type LineState } from "../sync/line.ts";
import { Tabs, type TabMessage } from "../sync/tabs.ts";
import { Api, asCallError, type CallError, segment } from "../wire/api.ts";
import { letGo } from "../sync/bound.ts";
import { isAfter } from "../wire/place.ts";
import type { Message, MessageWithParts, Opening, Overview } from "../wire/types.ts";
import { OVERVIEW, openingPath, takePrefetched } from "./prefetch.ts";
import { isWithin, reads, setFarBehind, touch, touchAll, world } from "./store.ts";

const [lineState, setLineState] = createSignal<LineState>({ name: "reading" });
const [server, setServer] = createSignal<Overview["server"]>();
const [features, setFeatures] = createSignal<Overview["features"]>({});
const [moreSessions, setMoreSessions] = createSignal<string>();
const [hello, setHello] = createSignal<Hello>();
/** When it was noticed that the server is another run; when the run before was last heard, by its own clock, and what was at work then. */
const [restarted, setRestarted] = createSignal<{ readonly at: number; readonly lostAt: number; readonly busy: readonly string[] }>();
/** Why the page could not be read, and when it is tried again. */
const [trouble, setTrouble] = createSignal<{ readonly error: CallError; readonly until: number }>();
export { features, hello, lineState, moreSessions, restarted, server, trouble };

/** How far the server's clock is ahead of the device's. */
let clockAheadMs = 0;
export function serverNow(): number {
  return Date.now() + clockAheadMs;
}

export const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));
/** After the next frame is drawn. A page that is hidden meanwhile gets none. */
const nextFrame = () => new Promise<void>((done) => {
  const timer = setTimeout(done, 100);
  requestAnimationFrame(() => {
    clearTimeout(timer);
    setTimeout(done);
  });
});
/** At once, but behind what the browser has to do. A timer would wait for 4 ms. */
const nextTask = () => new Promise<void>((done) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => done();
  port2.postMessage(0);
});
const browserFetch = (path: string, init: RequestInit) => takePrefetched(path) ?? fetch(path, { ...init, credentials: "same-origin" });
export const api = new Api(browserFetch, () => line.lock());

/** Not among the first requests: the list is drawn before. */
const LOOK_AROUND_MS = 500;
/** Since the line was opened for the first time, or lost. */
let isSettled = false;
/** Whether the stream carries only what was asked for: its first frame says so. */
let isFiltered = false;
let boot: string | undefined;
/** When the line last brought something, by the server's clock. */
let heardAt = 0;
let openSession: string | undefined;

let isKeptAwake = false;
/** This tab goes on listening while it is hidden, or goes to sleep as others do. */
export function keepAwake(isKept: boolean): void {
  isKeptAwake = isKept;
  if (!isKept) line.visible(document.visibilityState === "visible");
}

const broadcast = new BroadcastChannel("sturdy");
export const tabs = new Tabs(
  {
    post: (message) => broadcast.postMessage(message),
    listen: (hear) => broadcast.addEventListener("message", (event) => hear(event.data as TabMessage)),
  },
  crypto.randomUUID?.() ?? String(Math.random()),
  () => Date.now(),
);

/** By which this page came, and its stream will. */
function protocol(): string {
  const [came] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return came?.nextHopProtocol ?? "";
}

export const line = new Line(
  {
    fetch: browserFetch,
    now: () => Date.now(),
    elapsed: () => performance.now(),
    random: () => Math.random(),
    after: (ms, run) => {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    hasRoom: () => tabs.hasRoom(pause, protocol()),
    staysAwake: () => isKeptAwake,
    pause: (until) => (until === "next frame" && document.visibilityState === "visible" ? nextFrame() : nextTask()),
  },
  {
    path: () => streamPath(openSession),
    cursor: () => world.head.text,
    entry: (entry) => {
      heardAt = serverNow();
      touch(reads.entry(entry));
    },
    state: (now) => {
      if (now.name === "live" && !isSettled) setTimeout(() => void lookAround(), LOOK_AROUND_MS);
      if (now.name === "live") isSettled = true;
      else if (now.name !== "opening" && now.name !== "catching up") isSettled = false;
      setFarBehind(isFarBehind(now));
      setLineState(now);
    },
    hello: heard,
    resync: () => void start("resync"),
  },
);
tabs.holding(() => ["opening", "catching up", "live"].includes(line.state.name));
tabs.onLetGo = () => line.giveUp();
tabs.onLogout = () => line.lock();

function streamPath(sessionID: string | undefined): string {
  const query = new URLSearchParams({ sturdy: "1", outline: "1", large: "link" });
  if (sessionID !== undefined) {
    query.set("session", sessionID);
    query.set("tree", "1");
  }
  return `/global/event?${query}`;
}

function heard(said: Hello): void {
  isFiltered = true;
  setHello(said);
  clockAheadMs = said.now - Date.now();
  noteBoot(said.boot);
  noteBuild(said.page);
}

/** A page that was left open while the server was replaced would ask for files that are gone. */
function noteBuild(build: string | undefined): void {
  const ours = document.querySelector<HTMLMetaElement>('meta[name="sturdy-build"]')?.content;
  if (ours !== undefined && ours !== "" && build !== undefined && build !== ours) line.outdated();
}

/** After a line was opened: is it still the same run of the server, what is its time, and what is asked beside the log? */
async function lookAround(): Promise<void> {
  const answer = await api.get<Overview>("/sturdy/overview?limit=1").catch(() => undefined);
  if (!answer) return;
  clockAheadMs = answer.server.now - Date.now();
  noteBoot(answer.server.boot);
  touch(reads.passing(answer.asks));
  noteBuild(answer.server.page);
}

function noteBoot(now: string): void {
  if (boot !== undefined && boot !== now) setRestarted({ at: Date.now(), lostAt: heardAt, busy: busySessions() });
  boot = now;
}

/** Those that a person began: a sub-agent's turn is part of its parent's. */
function busySessions(): string[] {
  const isBegun = (id: string) => world.sessions.get(id)?.value.parentID === undefined;
  return [...world.statuses].filter(([id, held]) => held.value.type !== "idle" && isBegun(id)).map(([id]) => id);
}

/**
 * The session that the address names is read beside the list, not after it, and not once more by whoever shows it. Good as
 * long as the stream follows it.
 */
let first: { readonly sessionID: string; readonly read: Promise<void>; isTaken: boolean } | undefined;

/** The page begins. */
export function begin(sessionID: string | undefined): void {
  openSession = sessionID;
  if (sessionID !== undefined) {
    first = { sessionID, read: readThread(sessionID, undefined), isTaken: false };
    first.read.catch(() => {});
  }
  void start("first");
}

/** Reads the list and opens the line; again when the cursor is of no use any more. */
export async function start(why: "first" | "resync" | "login"): Promise<void> {
  line.reading();
  if (why === "resync") {
    reads.reset();
    first = undefined;
  }
  try {
    await readOverview(undefined);
    if (openSession !== undefined) await catchUpWithList(openSession).catch(leaveIfGone);
    setTrouble(undefined);
    if (why === "resync") touchAll();
    void line.open();
  } catch (cause) {
    const error = asCallError(cause);
    if (error.status === 401) return line.lock();
    const delay = error.retryAfterMs ?? 2000;
    setTrouble({ error, until: Date.now() + delay });
    await pause(delay);
    void start(why);
  }
}

/** The open session is not in this store: the list is shown all the same, and the stream must not name it. */
function leaveIfGone(cause: unknown): void {
  const { status } = asCallError(cause);
  if (status !== 404 && status !== 400) throw cause;
  openSession = undefined;
}

async function readOverview(cursor: string | undefined): Promise<void> {
  for (let tries = 0; tries < 3; tries += 1) {
    const reading = reads.begin();
    const path = cursor === undefined ? OVERVIEW : `${OVERVIEW}&cursor=${encodeURIComponent(cursor)}`;
    const answer = await api.get<Overview>(path).catch((cause) => {
      reads.forget(reading);
      throw cause;
    });
    const { outcome, touched } = reads.overview(reading, answer, cursor === undefined);
    touch(touched);
    if (outcome === "read again") continue;
    if (outcome === "another store") return start("resync");
    clockAheadMs = answer.server.now - Date.now();
    noteBoot(answer.server.boot);
    setServer(answer.server);
    setFeatures(answer.features);
    setMoreSessions(answer.cursor);
    return;
  }
}

export function readMoreSessions(): Promise<void> {
  const cursor = moreSessions();
  return cursor === undefined ? Promise.resolve() : readOverview(cursor);
}

/** Sessions whose messages are kept in memory; the others are read again when somebody returns. */
const THREADS_MAX = 12;

/** The stream follows this session, and those it started, from now on. */
export function follow(sessionID: string | undefined): void {
  if (sessionID === openSession) return;
  const before = openSession;
  openSession = sessionID;
  first = undefined;
  if (!isFiltered) {
    const others = [...world.threads.keys()].filter((id) => id !== sessionID);
    for (const id of others.slice(0, Math.max(0, others.length - THREADS_MAX))) world.threads.delete(id);
    // It was asked for before this session was known, and its first frame is not here yet.
    if (line.state.name === "opening") line.refilter();
    return;
  }
  // What the stream did not follow has gaps, and what it follows no longer will have: both are read anew.
  const isFollowed = (id: string, root: string | undefined) => root !== undefined && isWithin(id, root);
  reads.refollow((id) => isFollowed(id, before) && isFollowed(id, sessionID));
  // Before the session is read: what happens from here on comes with the stream.
  line.refilter();
}

/** Reads the newest messages of a session. */
export function openThread(sessionID: string, signal?: AbortSignal): Promise<void> {
  if (first?.sessionID !== sessionID || first.isTaken) return readThread(sessionID, signal);
  first.isTaken = true;
  return first.read;
}

/** The stream will begin where the list was read: a session that was read before that would have a gap. */
async function catchUpWithList(sessionID: string): Promise<void> {
  // If it could not be read it is read again.
  if (first?.sessionID === sessionID) await first.read.catch(() => {});
  const found = world.threads.get(sessionID);
  if (found === undefined || isAfter(world.head, found.base)) await readThread(sessionID, undefined);
}

async function readThread(sessionID: string, signal: AbortSignal | undefined): Promise<void> {
  for (let tries = 0; tries < 3; tries += 1) {
    const reading = reads.begin();
    const answer = await api.get<Opening>(openingPath(sessionID), { signal }).catch((cause) => {
      reads.forget(reading);
      throw cause;
    });
    const { outcome, touched } = reads.opening(reading, answer);
    touch(touched);
    if (outcome === "another store") return start("resync");
    if (outcome === "done") return;
  }
}

/** Reads the page before the oldest loaded message. False when there is none. */
export async function readOlder(sessionID: string, signal?: AbortSignal, limit = 40): Promise<boolean> {
  const older = world.threads.get(sessionID)?.older;
  if (older === undefined) return false;
  const reading = reads.begin();
  const query = new URLSearchParams({ limit: String(limit), before: older, large: "link" });
  try {
    const path = `/session/${segment(sessionID)}/message?${query}`;
    const { value, position, headers } = await api.call<MessageWithParts[]>(path, { signal });
    if (world.threads.get(sessionID)?.older !== older) {
      reads.forget(reading);
      return true;
    }
    const next = headers.get("x-next-cursor") ?? undefined;
    touch(reads.older(reading, sessionID, position, value, next).touched);
    boundThread(sessionID, value[0]?.info.id);
    return true;
  } catch (cause) {
    reads.forget(reading);
    throw cause;
  }
}

/** Keeps what is held of a session within its bound; `near` is the message that is looked at. */
export function boundThread(sessionID: string, near: string | undefined): void {
  const found = world.threads.get(sessionID);
  if (found !== undefined) letGo(found, near);
}

/** Reads which messages there are before the loaded ones, so that one far away can be gone to at once. */
export async function readOutline(sessionID: string): Promise<void> {
  if (world.threads.get(sessionID)?.older === undefined) return;
  const reading = reads.begin();
  try {
    const answer = await api.get<{ position: string; messages: Message[] }>(`/sturdy/session/${segment(sessionID)}/outline`);
    touch(reads.outline(reading, sessionID, answer.position, answer.messages).touched);
  } catch (cause) {
    reads.forget(reading);
    throw cause;
  }
}

/** Reads a message that was let go, or never read, with those beside it. */
export async function readAround(sessionID: string, messageID: string): Promise<void> {
  if (world.threads.get(sessionID)?.holes.has(messageID) !== true) return;
  const reading = reads.begin();
  try {
    const query = new URLSearchParams({ limit: "40", around: messageID, large: "link" });
    const { value, position } = await api.call<MessageWithParts[]>(`/session/${segment(sessionID)}/message?${query}`);
    touch(reads.around(reading, sessionID, position, value).touched);
    boundThread(sessionID, messageID);
  } catch (cause) {
    reads.forget(reading);
    throw cause;
  }
}
