// All sessions, newest change first, each with what it does now.
//
// Rows are kept by the id of their session: a step changes the cost of one, and draws that one number again.

import { For, Show, createEffect, createMemo, createSignal, lazy, onCleanup } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { Empty } from "../kit/empty.tsx";
import { everyTenSeconds, useSeconds } from "../kit/ticking.tsx";
import { moreSessions, readMoreSessions, serverNow } from "../view/live.ts";
import { preferences } from "../view/preferences.ts";
import { route, sessionPath } from "../view/router.ts";
import { isUnseen } from "../view/seen.ts";
import { asks, session, sessions, statusNow, world } from "../view/store.ts";
import { words } from "../words/en.ts";
import type { Session } from "../wire/types.ts";
import { SessionMenu } from "./session-menu.tsx";

const ListFilter = lazy(() => import("./list-filter.tsx").then((file) => ({ default: file.ListFilter })));

/** `failed` is known only where it was read: see `view/failed-sessions.ts`. */
export type Need = "asks" | "retry" | "busy" | "failed" | "unseen" | "idle";

/** What a session needs or does, the most urgent first. */
export function needOf(session: Session): Need {
  if (asks().some((ask) => ask.request.sessionID === session.id)) return "asks";
  const now = statusNow(session.id).type;
  if (now !== "idle") return now;
  return isUnseen(session.id, session.time.updated) && session.parentID === undefined ? "unseen" : "idle";
}

const ICONS: Readonly<Record<Need, string>> = { asks: "hand", retry: "refresh-cw", busy: "loader-circle", failed: "circle-x", unseen: "circle-dot", idle: "circle" };

export function NeedGlyph(props: { need: Need }) {
  return (
    <span class={`glyph is-${props.need}`} title={words.status[props.need]}>
      <Icon name={ICONS[props.need]} class={props.need === "busy" ? "spin" : ""} />
      <span class="off-screen">{words.status[props.need]}: </span>
    </span>
  );
}

/** How many of the filters beside the field are in use. */
const filtersInUse = () => {
  const { listProject, listNeed, listChanged, showArchived } = preferences();
  return [listProject !== "", listNeed !== "", listChanged, showArchived].filter(Boolean).length;
};

function fitsFilters(one: Session): boolean {
  const { listProject, listNeed, listChanged, showArchived } = preferences();
  if (one.time.archived && !showArchived) return false;
  if (listProject !== "" && one.projectID !== listProject) return false;
  if (listChanged && (one.summary?.files ?? 0) === 0) return false;
  return listNeed === "" || needOf(one) === listNeed;
}

/** Generations of sessions below one another. */
const NESTED_MAX = 16;
const ROWS_FIRST = 16;
const ROWS_MORE = 12;

export function SessionList() {
  useSeconds();
  const [filter, setFilter] = createSignal("");
  const [isFilterOpen, setFilterOpen] = createSignal(false);
  const rows = createMemo(() => {
    const wanted = filter().trim().toLowerCase();
    const fits = (one: Session) => wanted === "" || one.title.toLowerCase().includes(wanted) || one.directory.toLowerCase().includes(wanted) || one.slug.includes(wanted);
    const list = sessions().filter((one) => fits(one) && fitsFilters(one));
    return nested(list.sort((a, b) => b.time.updated - a.time.updated));
  });
  /** What fits a screen is drawn first, the rest a few at a time: nobody waits for rows that are out of sight. */
  const [room, setRoom] = createSignal(ROWS_FIRST);
  const ids = createMemo(() => [...rows().keys()].slice(0, room()));
  createEffect(() => {
    if (rows().size <= room()) return;
    const timer = setTimeout(() => setRoom(room() + ROWS_MORE), 0);
    onCleanup(() => clearTimeout(timer));
  });
  const isPlain = () => filter() === "" && filtersInUse() === 0;
  return (
    <nav class="list" aria-label={words.sessions}>
      <div class="list-tools">
        <input type="search" aria-label={words.filter} placeholder={words.filterShort} value={filter()} onInput={(event) => setFilter(event.currentTarget.value)} />
        <button type="button" class="quiet" aria-label={words.filters(filtersInUse())} title={words.filters(filtersInUse())} aria-expanded={isFilterOpen()} classList={{ "is-on": filtersInUse() > 0 }} onClick={() => setFilterOpen(!isFilterOpen())}>
          <Icon name="list-filter" />
        </button>
      </div>
      <Show when={isFilterOpen()}><ListFilter /></Show>
      <ul class="list-rows">
        <For each={ids()} fallback={<li><Empty icon="message-square" title={isPlain() ? words.noSessions : words.nothingFound} hint={isPlain() ? words.noSessionsHint : ""} /></li>}>
          {(id) => <Show when={session(id) ?? world.sessions.get(id)?.value}>{(found) => <ListRow session={found()} depth={rows().get(id) ?? 0} />}</Show>}
        </For>
        <Show when={moreSessions()}>
          <li><button type="button" class="wide" onClick={() => void readMoreSessions()}>{words.loadMore}</button></li>
        </Show>
      </ul>
    </nav>
  );
}

function ListRow(props: { session: Session; depth: number }) {
  const isOpen = () => {
    const now = route();
    return now.page === "session" && now.id === props.session.id;
  };
  const need = createMemo(() => needOf(props.session));
  const updated = () => (everyTenSeconds(), words.ago(props.session.time.updated, serverNow()));
  const count = () => asks().filter((ask) => ask.request.sessionID === props.session.id).length;
  const isFork = () => props.session.metadata?.["sturdy.fork"] !== undefined;
  return (
    <li class="list-row" classList={{ "is-open": isOpen(), "is-child": props.depth > 0, "is-archived": Boolean(props.session.time.archived) }}>
      <a href={sessionPath(props.session.id)} aria-current={isOpen() ? "page" : undefined} title={props.session.slug}>
        <NeedGlyph need={need()} />
        <span class="grow">
          <span class="list-title cut" dir="auto">{props.session.title}</span>
          <span class="list-meta num">
            <Show when={isFork()}><span title={words.isFork}><Icon name="git-fork" /><span class="off-screen">{words.isFork}</span></span></Show>
            <Show when={props.session.share}><span title={words.isShared}><Icon name="globe" /><span class="off-screen">{words.isShared}</span></span></Show>
            <Show when={props.session.time.archived}><span>{words.archived}</span></Show>
            <span class="cut">{projectName(props.session)}</span>
            <Show when={props.session.summary && props.session.summary.files > 0 && props.session.summary}>
              {(summary) => <span><span class="plus">+{summary().additions}</span> <span class="minus">−{summary().deletions}</span></span>}
            </Show>
            <Show when={props.session.cost > 0}><span>{words.money(props.session.cost)}</span></Show>
            <span>{updated()}</span>
          </span>
        </span>
        <Show when={count() > 0}><span class="badge num">{count()}</span></Show>
      </a>
      <SessionMenu session={props.session} />
    </li>
  );
}

export function projectName(session: Session): string {
  const project = world.projects.get(session.projectID);
  return project?.name ?? session.directory.split("/").filter(Boolean).at(-1) ?? session.directory;
}

/**
 * Ids in order, each with how far it is in: sub-agents and forks follow the session they came from, if that is listed. A
 * family stands where its newest session would.
 */
function nested(list: Session[]): Map<string, number> {
  const listed = new Map(list.map((one) => [one.id, one]));
  const aboveOf = (one: Session) => listed.get(one.parentID ?? one.metadata?.["sturdy.fork"]?.sessionID ?? "");
  const below = new Map<string, Session[]>();
  for (const one of list) {
    const above = aboveOf(one);
    if (above) below.set(above.id, [...(below.get(above.id) ?? []), one]);
  }
  const out = new Map<string, number>();
  const add = (one: Session, depth: number) => {
    if (out.has(one.id)) return;
    out.set(one.id, depth);
    for (const next of below.get(one.id) ?? []) add(next, depth + 1);
  };
  for (const one of list) {
    let root = one;
    // Bounded: nobody says that what a session says of its origin has an end.
    for (let steps = 0; steps < NESTED_MAX; steps += 1) root = aboveOf(root) ?? root;
    add(root, 0);
  }
  return out;
}
