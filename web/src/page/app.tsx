// The frame around every page: the list at the side, the place a person is at, the bar of a phone.

import { For, Match, Show, Switch, createSignal, lazy } from "solid-js";
import { Dynamic } from "solid-js/web";
import { Icon } from "../kit/icon.tsx";
import { Toasts } from "../kit/toast.tsx";
import { Empty } from "../kit/empty.tsx";
import { Announcer } from "../view/announce.tsx";
import { lineState } from "../view/live.ts";
import { startKeys } from "../view/keys.ts";
import { type Route, route } from "../view/router.ts";
import { asks } from "../view/store.ts";
import { words } from "../words/en.ts";
import { SessionList } from "./list.tsx";
import { LinePill, RestartNote, TroubleNote } from "./pill.tsx";
import { Palette } from "./palette.tsx";

// Each is loaded when somebody goes there; the list needs none of them.
const SessionPage = lazy(() => import("./session.tsx").then((file) => ({ default: file.SessionPage })));
const NewPage = lazy(() => import("./new.tsx").then((file) => ({ default: file.NewPage })));
const AsksPage = lazy(() => import("./asks.tsx").then((file) => ({ default: file.AsksPage })));
const BoardPage = lazy(() => import("./board.tsx").then((file) => ({ default: file.BoardPage })));
const SearchPage = lazy(() => import("./search.tsx").then((file) => ({ default: file.SearchPage })));
const UsagePage = lazy(() => import("./usage.tsx").then((file) => ({ default: file.UsagePage })));
const SharesPage = lazy(() => import("./shares.tsx").then((file) => ({ default: file.SharesPage })));
const SettingsPage = lazy(() => import("./settings.tsx").then((file) => ({ default: file.SettingsPage })));
const LoginPage = lazy(() => import("./login.tsx").then((file) => ({ default: file.LoginPage })));

const PLACES = [
  { icon: "house", name: words.sessions, path: "/", page: "home" },
  { icon: "inbox", name: words.asks, path: "/asks", page: "asks" },
  { icon: "layout-dashboard", name: words.board, path: "/board", page: "board" },
  { icon: "search", name: words.search, path: "/search", page: "search" },
  { icon: "coins", name: words.usage, path: "/usage", page: "usage" },
  { icon: "settings", name: words.settings, path: "/settings", page: "settings" },
] as const;

export function App() {
  const [isPaletteOpen, setPaletteOpen] = createSignal(false);
  startKeys(() => setPaletteOpen(true));
  const isLogin = () => route().page === "login" || lineState().name === "locked";
  return (
    <>
      <a class="skip" href="#main">{words.skip}</a>
      <Show when={!isLogin()} fallback={<LoginPage />}>
        <div class={`frame at-${route().page}`} classList={{ "has-panel": hasPanel(route()) }}>
          <aside class="rail" aria-label={words.name}>
            <header class="rail-head">
              <Dynamic component={route().page === "home" ? "h1" : "div"} class="brand"><a href="/">{words.name}</a></Dynamic>
              <LinePill />
              <a class="button quiet" href="/new" aria-label={words.newSession} title={words.newSession}><Icon name="plus" /></a>
            </header>
            <TroubleNote />
            <RestartNote />
            <SessionList />
            <Places />
          </aside>
          <Content />
        </div>
      </Show>
      <Show when={isPaletteOpen()}><Palette onClose={() => setPaletteOpen(false)} /></Show>
      <Toasts />
      <Announcer />
    </>
  );
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

function Content() {
  const at = <Page extends Route["page"]>(page: Page) => {
    const now = route();
    return (now.page === page ? now : undefined) as Extract<Route, { page: Page }> | undefined;
  };
  return (
    <Switch fallback={<main class="page" id="main"><Empty icon="circle-help" title={words.notFound}><a class="button" href="/">{words.sessions}</a></Empty></main>}>
      <Match when={at("home")}>
        <main class="page home" id="main" aria-label={words.name}>
          <Empty icon="message-square" title={words.name} hint={words.noSessionsHint}>
            <a class="button primary" href="/new"><Icon name="plus" /> {words.newSession}</a>
          </Empty>
        </main>
      </Match>
      <Match when={at("session")}>{(now) => <SessionPage now={now()} />}</Match>
      <Match when={at("new")}>{(now) => <NewPage directory={now().directory} />}</Match>
      <Match when={at("board")}><BoardPage /></Match>
      <Match when={at("asks")}><AsksPage /></Match>
      <Match when={at("search")}>{(now) => <SearchPage query={now().query} />}</Match>
      <Match when={at("usage")}><UsagePage /></Match>
      <Match when={at("shares")}><SharesPage /></Match>
      <Match when={at("settings")}><SettingsPage /></Match>
    </Switch>
  );
}
