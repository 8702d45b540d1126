// Evaluated before the rest of the page: asks for what it begins with, and for the script of a session, while the rest is
// still being evaluated. On a slow processor the answers are here by then.

import { OVERVIEW, prefetch, openingPath, sessionIn } from "./view/prefetch.ts";

const session = sessionIn(location.pathname);
// The list first: a session that is read before it would have to be read again if something happened in between.
prefetch(OVERVIEW);
if (session !== undefined) {
  prefetch(openingPath(session));
  // What cannot be loaded is said where it is used.
  import("./page/session.tsx").catch(() => {});
}
