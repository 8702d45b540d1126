// The way to a message or to one of its parts: reads until it is there, and finds what is drawn of it.
//
// Loaded with the first place that somebody wants to see. Not here: how the window is moved (`timeline.tsx`).

import { untrack } from "solid-js";
import { readAround, readOlder, readOutline } from "../view/live.ts";
import type { TalkPlace } from "../view/router.ts";
import { thread } from "../view/store.ts";
import { frames } from "./frames.ts";

/** A jump reads larger pages, and this many of them at most. */
const PAGE_LARGE = 100;
const PAGES_MAX = 100;
/** How often a part is looked at whose script is not here yet: some ten seconds. */
const LATE_LOOKS_MAX = 300;

/** Which message a place is in, as far as that is known. */
function messageAt(sessionID: string, { message, part }: TalkPlace): string | undefined {
  return message ?? untrack(() => thread(sessionID)?.part.get(part ?? "")?.value.messageID);
}

/** Reads until the message of the place is held; says which it is, if there is one. */
export async function reach(sessionID: string, place: TalkPlace): Promise<string | undefined> {
  const found = () => untrack(() => {
    const message = messageAt(sessionID, place);
    return message !== undefined && thread(sessionID)?.order.includes(message) === true ? message : undefined;
  });
  if (found() === undefined && place.message !== undefined) await readOutline(sessionID);
  if (found() === undefined && place.message === undefined) await fillHoles(sessionID, () => found() !== undefined);
  for (let pages = 0; found() === undefined && pages < PAGES_MAX; pages += 1) {
    if (!(await readOlder(sessionID, undefined, PAGE_LARGE))) break;
  }
  const message = found();
  if (message !== undefined) await readAround(sessionID, message);
  await frames();
  return message;
}

/** Nothing says which message a part belongs to before that is read: the newest first. */
async function fillHoles(sessionID: string, isDone: () => boolean): Promise<void> {
  const held = untrack(() => thread(sessionID));
  const holes = held?.order.filter((id) => held.holes.has(id)).toReversed() ?? [];
  for (const id of holes) {
    if (isDone()) return;
    await readAround(sessionID, id);
  }
}

/** What is drawn of a part, unfolded; the message if the part has no look of its own. */
export async function drawnAt(message: string, part: string | undefined): Promise<HTMLElement | null> {
  const article = document.getElementById(message);
  const find = () => [...(article?.querySelectorAll<HTMLElement>(`[data-part~="${CSS.escape(part ?? "")}"]`) ?? [])].at(-1);
  if (part === undefined) return article;
  // What folds several parts into one draws them when it is opened.
  const outer = find();
  await unfold(outer);
  const inner = find();
  if (inner !== outer) await unfold(inner);
  return inner ?? article;
}

async function unfold(element: HTMLElement | undefined): Promise<void> {
  // Its script may be on its way: until then it is empty.
  for (let looks = 0; element?.childElementCount === 0 && looks < LATE_LOOKS_MAX; looks += 1) await frames();
  const fold = element?.querySelector("details");
  if (!fold || fold.open) return;
  fold.open = true;
  await frames();
}
