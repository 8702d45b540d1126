// The frame around every page: the list at the side, the place a person is at, the bar of a phone.

import { For, Match, Show, Switch, createEffect, createSignal, lazy, on, onCleanup } from "solid-js";
import { Dynamic } from "solid-js/web";
import { Guard } from "../kit/guard.tsx";
import { Icon } from "../kit/icon.tsx";
import { Toasts } from "../kit/toast.tsx";
import { Empty } from "../kit/empty.tsx";
import { Announcer } from "../view/announce.tsx";
import { lineState, tabs } from "../view/live.ts";
import { startKeys } from "../view/keys.ts";
import { prefer, preferences } from "../view/preferences.ts";
import { type Route, route } from "../view/router.ts";
import { lastSession } from "../view/last-session.ts";
import { asks, sessions } from "../view/store.ts";
import { words } from "../words/en.ts";
import { SessionList } from "./list.tsx";
import { LinePill, RestartNote, TroubleNote } from "./pill.tsx";

// Each is loaded when somebody goes there; the list needs none of them.
const Columns = lazy(() => import("./columns.tsx").then((file) => ({ default: file.Columns })));
const Palette = lazy(() => import("./palette.tsx").then((file) => ({ default: file.Palette })));
const SessionPage = lazy(() => import("./session.tsx").then((file) => ({ default: file.SessionPage })));
const NewPage = lazy(() => import("./new.tsx").then((file) => ({ default: file.NewPage })));
const AsksPage = lazy(() => import("./asks.tsx").then((file) => ({ default: file.AsksPage })));
const BoardPage = lazy(() => import("./board.tsx").then((file) => ({ default: file.BoardPage })));
const SearchPage = lazy(() => import("./search.tsx").then((file) => ({ default: file.SearchPage })));
const UsagePage = lazy(() => import("./usage.tsx").then((file) => ({ default: file.UsagePage })));
const SharesPage = lazy(() => import("./shares.tsx").then((file) => ({ default: file.SharesPage })));
const SettingsPage = lazy(() => import("./settings.tsx").then((file) => ({ default: file.SettingsPage })));
const LoginPage = lazy(() => import("./login.tsx").then((file) => ({ default: file.LoginPage })));

/** After the list is live. */
const PREFETCH_MS = 1500;
const DRAWN_MS = 700;

const PLACES = [
  { icon: "house", name: words.sessions, path: "/", page: "home" },
  { icon: "inbox", name: words.asks, path: "/asks", page: "asks" },
  { icon: "layout-dashboard", name: words.board, path: "/board", page: "board" },
  { icon: "search", name: words.search, path: "/search", page: "search" },
  { icon: "coins", name: words.usage, path: "/usage", page: "usage" },
  { icon: "settings", name: words.settings, path: "/settings", page: "settings" },
] as const;

/** Of the document, where it is not a session's: that says its own, with its status. */
function titleOf(now: Route): string | undefined {
  const place = PLACES.find((one) => one.page === now.page)?.name;
  const names: Partial<Record<Route["page"], string>> = { new: words.newSession, shares: words.shares, login: words.login, unknown: words.notFound };
  const name = now.page === "home" ? undefined : (place ?? names[now.page]);
  if (now.page === "session") return undefined;
  return name === undefined ? words.name : `${name} — ${words.name}`;
}

export function App() {
  const [isPaletteOpen, setPaletteOpen] = createSignal(false);
  startKeys({ isOpen: isPaletteOpen, open: () => setPaletteOpen(true) });
  const isLogin = () => route().page === "login" || lineState().name === "locked";
  const isWide = useMedia("(min-width: 1200px)");
  createEffect(() => {
    const title = titleOf(route());
    if (title !== undefined) document.title = title;
  });
  const [isDrawerOpen, setDrawerOpen] = createSignal(false);
  createEffect(on(route, () => setDrawerOpen(false), { defer: true }));
  const isFolded = () => (isWide() ? preferences().isListFolded : !isDrawerOpen());
  const fold = () => {
    if (!isWide()) return void setDrawerOpen(!isDrawerOpen());
    prefer({ isListFolded: !preferences().isListFolded });
    tabs.preferences();
  };
  // What only a person at a desk needs is not among the first requests.
  const [isSettled, setSettled] = createSignal(false);
  createEffect(() => lineState().name === "live" && setSettled(true));
  // Most go on to a session: it opens without waiting for its script.
  // The edges of the columns are dragged later than the list is looked at, and loaded then.
  const [isDrawn, setDrawn] = createSignal(false);
  createEffect(on(isSettled, (isNow) => isNow && setTimeout(() => setDrawn(true), DRAWN_MS)));
  createEffect(on(isSettled, (isNow) => isNow && setTimeout(() => void import("./session.tsx").catch(() => {}), PREFETCH_MS)));
  return (
    <>
      <a class="skip" href="#main">{words.skip}</a>
      <Show when={!isLogin()} fallback={<Guard><LoginPage /></Guard>}>
        <div class={frameClass(route(), isFolded())}>
          <aside class="rail" aria-label={words.name}>
            <header class="rail-head">
              <button type="button" class="quiet fold" aria-label={isFolded() ? words.unfoldList : words.foldList} title={isFolded() ? words.unfoldList : words.foldList} aria-expanded={!isFolded()} onClick={fold}><Icon name="panel-left" /></button>
              <Dynamic component={route().page === "home" ? "h1" : "div"} class="brand"><a href="/">{words.name}</a></Dynamic>
              <LinePill />
              <a class="button quiet" href="/new" aria-label={words.newSession} title={words.newSession}><Icon name="plus" /></a>
            </header>
            <TroubleNote />
            <RestartNote />
            <Guard><SessionList /></Guard>
            <Places />
          </aside>
          <Guard of={route}><Content isWide={isWide()} /></Guard>
          <Show when={isWide() && isDrawn()}><Guard><Columns hasPanel={hasPanel(route())} /></Guard></Show>
        </div>
      </Show>
      <Show when={isPaletteOpen()}><Guard><Palette onClose={() => setPaletteOpen(false)} /></Guard></Show>
      <Toasts />
      <Announcer />
    </>
  );
}

/** One text: a class that changes takes away what a list of classes had added. */
function frameClass(now: Route, isFolded: boolean): string {
  return `frame at-${now.page}${hasPanel(now) ? " has-panel" : ""}${isFolded ? " is-folded" : ""}`;
}

function useMedia(query: string): () => boolean {
  const media = matchMedia(query);
  const [matches, setMatches] = createSignal(media.matches);
  const change = () => setMatches(media.matches);
  media.addEventListener("change", change);
  onCleanup(() => media.removeEventListener("change", change));
  return matches;
}

function hasPanel(now: Route): boolean {
  return now.page === "session" && now.panel !== undefined;
}

function Places() {
  return (
    <nav class="places" aria-label={words.menu}>
      <For each={PLACES}>
        {(place) => (
          <a href={place.path} class={`to-${place.page}`} aria-current={route().page === place.page ? "page" : undefined} title={place.name}>
            <Icon name={place.icon} />
            <span class="place-name">{place.name}</span>
            <Show when={place.page === "asks" && asks().length > 0}><span class="badge num">{asks().length}</span></Show>
          </a>
        )}
      </For>
    </nav>
  );
}

const NOWHERE_IN_SESSION = { page: "session", panel: undefined, turn: undefined, at: undefined, file: undefined, line: undefined, place: undefined } as const;

function Content(props: { isWide: boolean }) {
  /** At a desk the session that was open last stands beside the list, if it is still there. */
  const beside = () => {
    const id = lastSession();
    return props.isWide && lineState().name !== "reading" && id !== undefined && sessions().some((one) => one.id === id) ? id : undefined;
  };
  const at = <Page extends Route["page"]>(page: Page) => {
    const now = route();
    return (now.page === page ? now : undefined) as Extract<Route, { page: Page }> | undefined;
  };
  return (
    <Switch fallback={<main class="page" id="main"><Empty icon="circle-help" title={words.notFound}><a class="button" href="/">{words.sessions}</a></Empty></main>}>
      <Match when={at("home")}>
        <Show when={beside()} keyed fallback={
        <main class="page home" id="main" aria-label={words.name}>
          <Empty icon="message-square" title={words.name} hint={sessions().length === 0 ? words.noSessionsHint : words.chooseSession}>
            <a class="button primary" href="/new"><Icon name="plus" /> {words.newSession}</a>
          </Empty>
        </main>
        }>{(id) => <SessionPage now={{ ...NOWHERE_IN_SESSION, id }} />}</Show>
      </Match>
      <Match when={at("session")}>{(now) => <SessionPage now={now()} />}</Match>
      <Match when={at("new")}>{(now) => <NewPage directory={now().directory} />}</Match>
      <Match when={at("board")}><BoardPage /></Match>
      <Match when={at("asks")}><AsksPage /></Match>
      <Match when={at("search")}>{(now) => <SearchPage query={now().query} search={now().search} />}</Match>
      <Match when={at("usage")}>{(now) => <UsagePage search={now().search} />}</Match>
      <Match when={at("shares")}><SharesPage /></Match>
      <Match when={at("settings")}><SettingsPage /></Match>
    </Switch>
  );
}
