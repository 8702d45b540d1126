// Downloads that the browser makes by itself: they go to its disk, and not through the memory of the page.
//
// Such a request cannot say who asks, so a ticket is fetched before, which is good for this one download.

import { api } from "./live.ts";
import { toastOnFailure } from "./actions.ts";
import type { LargeLink, LeftOut, Part } from "../wire/types.ts";

/** One file that shows the session without a server, or its JSON; the server leaves out what is chosen. */
export const saveSession = (sessionID: string, format: "html" | "json", leftOut: readonly LeftOut[]) =>
  download({ sessionID, export: { format, redact: leftOut } });

/** A large value as a file. */
export const saveValue = (part: Part, link: LargeLink) =>
  download({ sessionID: part.sessionID, value: { partID: part.id, hash: link.$blob } });

async function download(wanted: object): Promise<void> {
  const made = await toastOnFailure(() => api.post<{ readonly url: string }>("/sturdy/ticket", wanted));
  if (!made) return;
  const link = document.createElement("a");
  link.href = made.url;
  // The server says what it is called.
  link.download = "";
  link.click();
}
