// One entry changes the world. The one rule: a value is applied only if its place is after that of what it
// changes. Growth is not idempotent, so a text that was read while it streamed would be doubled otherwise.
//
// Pure: no clock, no network, no framework. Says which keys it touched.

import { isAfter, type Place } from "../wire/place.ts";
import type { Ask, BackgroundProcess, Entry, Failure, Fields, Message, Part, PermissionRequest, Project, QuestionRequest, Session, Status, Todo } from "../wire/types.ts";
import { type Held, type Thread, type Touched, type World, key } from "./world.ts";

/** Applies an entry. Those without a place are hints: what is open is read again. */
export function apply(world: World, entry: Entry): Touched {
  const touched: Touched = new Set();
  const { place, type, properties } = entry;
  if (place === undefined) {
    passing(world, type, properties, touched);
    touched.add(key.hint(type));
    return touched;
  }
  applyStored(world, place, type, properties, touched);
  if (isAfter(place, world.head)) world.head = place;
  return touched;
}

/** What is not in the log: asks such as for trust, projects, and what runs in the background. Nothing of a session depends on it. */
function passing(world: World, type: string, said: Fields, touched: Touched): void {
  if (type === "permission.asked") {
    const request = said as unknown as PermissionRequest;
    if (world.asks.has(request.id)) return;
    world.asks.set(request.id, { value: { kind: "permission", request }, place: world.head });
    touched.add(key.asks);
  } else if (type === "permission.replied") {
    if (world.asks.delete(text(said["requestID"]) ?? "")) touched.add(key.asks);
  } else if (type === "project.updated") {
    const project = said as unknown as Project;
    world.projects.set(project.id, project);
    touched.add(key.sessions);
  } else if (type === "sturdy.processes") {
    const sessionID = text(said["sessionID"]) ?? "";
    world.processes.set(sessionID, said["processes"] as BackgroundProcess[]);
    touched.add(key.processes(sessionID));
  }
}

/** Whether an event without a place still says something that a read on its way may contradict. */
export function isPassing(entry: Entry): boolean {
  return entry.place === undefined && entry.type.startsWith("permission.");
}

function applyStored(world: World, place: Place, type: string, said: Fields, touched: Touched): void {
  const sessionID = text(said["sessionID"]);
  const thread = sessionID === undefined ? undefined : world.threads.get(sessionID);
  switch (type) {
    case "session.created":
    case "session.updated":
      return putSession(world, place, said["info"] as Session, touched);
    case "session.deleted":
      return dropSession(world, place, sessionID ?? (said["info"] as Session).id, touched);
    case "session.status":
      return put(world.statuses, sessionID, said["status"] as Status, place, touched, key.status);
    case "todo.updated":
      return put(world.todos, sessionID, said["todos"] as Todo[], place, touched, key.todos);
    case "sturdy.queue":
      world.isQueueTold = true;
      return put(world.queues, sessionID, said["messages"] as string[], place, touched, key.queue);
    case "session.error":
      return notice(thread, place, said["error"] as Failure | undefined, touched);
    case "permission.asked":
      return asked(world, place, { kind: "permission", request: said as unknown as PermissionRequest }, touched);
    case "question.asked":
      return asked(world, place, { kind: "question", request: said as unknown as QuestionRequest }, touched);
    case "permission.replied":
    case "question.replied":
    case "question.rejected":
      return answered(world, place, text(said["requestID"]), touched);
    case "message.updated":
      return putMessage(thread, place, said["info"] as Message, touched);
    case "message.removed":
      return dropMessage(thread, place, text(said["messageID"]), touched);
    case "message.part.updated":
      return putPart(thread, place, said["part"] as Part, touched);
    case "message.part.removed":
      return dropPart(thread, place, text(said["messageID"]), text(said["partID"]), touched);
    case "message.part.delta":
      return grow(thread, place, said, touched);
    case "session.diff":
    case "session.compacted":
    case "command.executed":
      if (sessionID !== undefined) touched.add(key.hint(`${type}:${sessionID}`));
      return;
    default:
      // An unknown type moves the cursor and nothing else.
      return;
  }
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function put<T>(
  map: Map<string, Held<T>>,
  id: string | undefined,
  value: T,
  place: Place,
  touched: Touched,
  keyOf: (id: string) => string,
): void {
  if (id === undefined) return;
  const held = map.get(id);
  if (held && !isAfter(place, held.place)) return;
  map.set(id, { value, place });
  touched.add(keyOf(id));
}

function putSession(world: World, place: Place, info: Session, touched: Touched): void {
  const held = world.sessions.get(info.id);
  // Unknown, and older than the list: it was deleted before the list was read, or is on a later page of it.
  if (!held && !isAfter(place, world.base)) return;
  if (held && !isAfter(place, held.place)) return;
  world.sessions.set(info.id, { value: info, place });
  touched.add(key.session(info.id));
  touched.add(key.sessions);
}

function dropSession(world: World, place: Place, id: string, touched: Touched): void {
  const held = world.sessions.get(id);
  if (held && !isAfter(place, held.place)) return;
  world.sessions.delete(id);
  world.statuses.delete(id);
  world.todos.delete(id);
  world.queues.delete(id);
  for (const [askID, ask] of world.asks) {
    if (ask.value.request.sessionID === id) world.asks.delete(askID);
  }
  touched.add(key.session(id)).add(key.sessions).add(key.status(id)).add(key.asks);
}

function asked(world: World, place: Place, ask: Ask, touched: Touched): void {
  const known = world.asks.has(ask.request.id);
  if (known || !isAfter(place, world.base)) return;
  world.asks.set(ask.request.id, { value: ask, place });
  touched.add(key.asks);
}

function answered(world: World, place: Place, id: string | undefined, touched: Touched): void {
  const held = id === undefined ? undefined : world.asks.get(id);
  if (id === undefined || !held || !isAfter(place, held.place)) return;
  world.asks.delete(id);
  touched.add(key.asks);
}

function notice(thread: Thread | undefined, place: Place, error: Failure | undefined, touched: Touched): void {
  if (!thread || !error || !isAfter(place, thread.base)) return;
  if (thread.notices.some((known) => !isAfter(place, known.place))) return;
  thread.notices.push({ place, after: thread.order.at(-1), error });
  touched.add(key.thread(thread.sessionID));
}

function putMessage(thread: Thread | undefined, place: Place, info: Message, touched: Touched): void {
  if (!thread) return;
  const held = thread.messages.get(info.id);
  if (held) {
    if (!isAfter(place, held.place)) return;
    thread.messages.set(info.id, { value: info, place, readAt: held.readAt });
    touched.add(key.message(info.id));
    return;
  }
  // One that was let go is read whole when it is looked at.
  if (thread.holes.has(info.id) || !isAfter(place, thread.base) || isBeforeLoaded(thread, info)) return;
  thread.messages.set(info.id, { value: info, place, readAt: place });
  thread.parts.set(info.id, []);
  if (thread.order.length === 0) thread.firstCreated = info.time.created;
  thread.order.push(info.id);
  touched.add(key.message(info.id)).add(key.thread(thread.sessionID));
}

/** A change of a message on a page that was not read: it will be read with that page. */
function isBeforeLoaded(thread: Thread, info: Message): boolean {
  return thread.older !== undefined && thread.order.length > 0 && info.time.created < thread.firstCreated;
}

function dropMessage(thread: Thread | undefined, place: Place, id: string | undefined, touched: Touched): void {
  const held = id === undefined ? undefined : thread?.messages.get(id);
  const isHole = id !== undefined && thread?.holes.delete(id) === true;
  if (!thread || id === undefined || !(isHole || (held && isAfter(place, held.place)))) return;
  for (const partID of thread.parts.get(id) ?? []) thread.part.delete(partID);
  thread.parts.delete(id);
  thread.messages.delete(id);
  thread.summaries.delete(id);
  thread.order = thread.order.filter((known) => known !== id);
  touched.add(key.message(id)).add(key.thread(thread.sessionID));
}

function putPart(thread: Thread | undefined, place: Place, part: Part, touched: Touched): void {
  const message = thread?.messages.get(part.messageID);
  if (!thread || !message) return;
  const held = thread.part.get(part.id);
  if (held ? !isAfter(place, held.place) : !isAfter(place, message.readAt)) return;
  thread.part.set(part.id, { value: part, place });
  touched.add(key.part(part.id));
  if (noteSummary(thread, part)) touched.add(key.thread(thread.sessionID));
  if (held) return;
  thread.parts.set(part.messageID, [...(thread.parts.get(part.messageID) ?? []), part.id]);
  touched.add(key.parts(part.messageID));
}

/** Remembers where a conversation was summarised, so that nobody has to look for it among all parts. */
export function noteSummary(thread: Thread, part: Part): boolean {
  if (part.type !== "compaction") return false;
  thread.summaries.set(part.messageID, part.tail_start_id);
  return true;
}

function dropPart(
  thread: Thread | undefined,
  place: Place,
  messageID: string | undefined,
  partID: string | undefined,
  touched: Touched,
): void {
  const held = partID === undefined ? undefined : thread?.part.get(partID);
  if (!thread || messageID === undefined || partID === undefined || !held || !isAfter(place, held.place)) return;
  thread.part.delete(partID);
  thread.parts.set(messageID, (thread.parts.get(messageID) ?? []).filter((known) => known !== partID));
  touched.add(key.parts(messageID)).add(key.part(partID));
}

function grow(thread: Thread | undefined, place: Place, said: Fields, touched: Touched): void {
  const partID = text(said["partID"]);
  const field = text(said["field"]);
  const delta = text(said["delta"]);
  const held = partID === undefined ? undefined : thread?.part.get(partID);
  if (!thread || partID === undefined || field === undefined || delta === undefined || !held) return;
  if (!isAfter(place, held.place)) return;
  const before = (held.value as unknown as Fields)[field];
  const value = { ...held.value, [field]: (typeof before === "string" ? before : "") + delta } as Part;
  thread.part.set(partID, { value, place });
  touched.add(key.part(partID));
}
