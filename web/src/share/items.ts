// What a share or an exported file says, put into a world: the session, its messages, their parts, one by one
// and in any order.
//
// Pure: no network, no framework, no document. A value replaces the one with the same key.

import { NOWHERE } from "../wire/place.ts";
import type { FileDiff, Message, MessageWithParts, Part, Session } from "../wire/types.ts";
import { type Touched, type World, emptyThread, key } from "../sync/world.ts";

/** One value of a share, or the removal of one. */
export interface ShareItem {
  readonly cursor: number;
  readonly kind: string;
  readonly key: string;
  readonly data?: unknown;
}

/** Puts an item in and says what it touched. `sessionID` names the one session of this world. */
export function putItem(world: World, sessionID: string, item: ShareItem): Touched {
  const touched: Touched = new Set();
  const thread = world.threads.get(sessionID) ?? emptyThread(sessionID, NOWHERE);
  world.threads.set(sessionID, thread);
  const [, first = "", second = ""] = item.key.split("/");
  switch (item.kind) {
    case "session":
      world.sessions.set(sessionID, { value: { ...(item.data as Session), id: sessionID }, place: NOWHERE });
      touched.add(key.session(sessionID)).add(key.sessions);
      break;
    case "message": {
      const info = { ...(item.data as Message), sessionID };
      const isNew = !thread.messages.has(info.id);
      thread.messages.set(info.id, { value: info, place: NOWHERE, readAt: NOWHERE });
      if (isNew) {
        thread.order = inOrder([...thread.order, info.id], (id) => thread.messages.get(id)?.value);
        touched.add(key.thread(sessionID));
      }
      touched.add(key.message(info.id)).add(key.parts(info.id));
      break;
    }
    case "message.remove":
      for (const id of thread.parts.get(first) ?? []) thread.part.delete(id);
      thread.parts.delete(first);
      thread.messages.delete(first);
      thread.order = thread.order.filter((id) => id !== first);
      touched.add(key.message(first)).add(key.thread(sessionID));
      break;
    case "part": {
      const part = { ...(item.data as Part), sessionID } as Part;
      const known = thread.parts.get(part.messageID) ?? [];
      thread.part.set(part.id, { value: part, place: NOWHERE });
      // Ids of the parts of one message are made in order.
      if (!known.includes(part.id)) thread.parts.set(part.messageID, [...known, part.id].sort());
      touched.add(key.part(part.id)).add(key.parts(part.messageID));
      break;
    }
    case "part.remove":
      thread.part.delete(second);
      thread.parts.set(first, (thread.parts.get(first) ?? []).filter((id) => id !== second));
      touched.add(key.part(second)).add(key.parts(first));
      break;
    default:
      // Models are not shown, what was changed stands beside the conversation (`changesOf`), and what is unknown is
      // not for this version.
      break;
  }
  return touched;
}

/** What the session changed, if the item says that. What is no list of files is an empty one. */
export function changesOf(item: ShareItem): readonly FileDiff[] | undefined {
  if (item.kind !== "session_diff") return undefined;
  const said: readonly unknown[] = Array.isArray(item.data) ? item.data : [];
  return said.flatMap((one) => (typeof one === "object" && one !== null ? [fileDiff(one as Record<string, unknown>)] : []));
}

function fileDiff(said: Record<string, unknown>): FileDiff {
  const text = (name: string) => (typeof said[name] === "string" ? said[name] : "");
  const count = (name: string) => (typeof said[name] === "number" ? said[name] : 0);
  return { file: text("file"), patch: text("patch"), additions: count("additions"), deletions: count("deletions") };
}

function inOrder(ids: string[], find: (id: string) => Message | undefined): string[] {
  const at = (id: string) => find(id)?.time.created ?? 0;
  return ids.sort((a, b) => at(a) - at(b) || (a < b ? -1 : 1));
}

/** A whole session as it is exported: in the order of the file. */
export function putSession(world: World, info: Session, messages: readonly MessageWithParts[]): void {
  const thread = emptyThread(info.id, NOWHERE);
  world.sessions.set(info.id, { value: info, place: NOWHERE });
  world.threads.set(info.id, thread);
  for (const message of messages) {
    thread.order.push(message.info.id);
    thread.messages.set(message.info.id, { value: message.info, place: NOWHERE, readAt: NOWHERE });
    thread.parts.set(message.info.id, message.parts.map((part) => part.id));
    for (const part of message.parts) thread.part.set(part.id, { value: part, place: NOWHERE });
  }
}
