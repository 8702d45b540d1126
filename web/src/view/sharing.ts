// Whether a session can be shared: there is a place to share it to, and its directory does not forbid it.

import { createSignal } from "solid-js";
import type { Session } from "../wire/types.ts";
import { readConfig } from "./catalog.ts";
import { features } from "./live.ts";

type Place = "none" | "named" | "forbidden";

/** What the configuration of each directory says; absent until it was read. */
const [places, setPlaces] = createSignal<ReadonlyMap<string, Place>>(new Map());
const asked = new Set<string>();

function placeOf(directory: string): Place | undefined {
  if (!asked.has(directory)) {
    asked.add(directory);
    readConfig(directory).then((config) => {
      const place = config.share === "disabled" ? "forbidden" : config.enterprise?.url ? "named" : "none";
      setPlaces((known) => new Map(known).set(directory, place));
    }, () => asked.delete(directory));
  }
  return places().get(directory);
}

export function canShare(session: Session | undefined): boolean {
  if (session === undefined) return false;
  if (session.share !== undefined) return true;
  const place = placeOf(session.directory);
  return place === "named" || (place === "none" && features()["share"] === true);
}
