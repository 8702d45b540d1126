// One session: header, conversation, docks, composer, and a panel beside it.

import { For, Match, Show, Switch, createEffect, createMemo, createSignal, lazy, on, onCleanup } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { Menu, MenuItem } from "../kit/menu.tsx";
import { Empty } from "../kit/empty.tsx";
import { Docks } from "../dock/docks.tsx";
import { asCallError } from "../sync/send.ts";
import { setUp } from "../view/actions.ts";
import { isFinding, setFinding } from "../view/find.ts";
import { features, follow, line, lineState, openThread } from "../view/live.ts";
import { navigate, PANELS, type Panel, type Route, sessionPath } from "../view/router.ts";
import { look } from "../view/seen.ts";
import { ancestry, past, session, status, thread, world } from "../view/store.ts";
import { undoing } from "../view/undo.ts";
import { words } from "../words/en.ts";
import { Timeline } from "../timeline/timeline.tsx";
import { Composer, type ComposerHandle } from "./composer.tsx";
import { ContextRing } from "../panel/ring.tsx";
import { TodoPanel } from "../panel/todo.tsx";
import { SessionMenu } from "./session-menu.tsx";

// Panels are loaded when they are opened.
const FindBar = lazy(() => import("./find.tsx").then((file) => ({ default: file.FindBar })));
const UndoSheet = lazy(() => import("../panel/undo.tsx").then((file) => ({ default: file.UndoSheet })));
const ChangesPanel = lazy(() => import("../panel/changes.tsx").then((file) => ({ default: file.ChangesPanel })));
const ContextPanel = lazy(() => import("../panel/context.tsx").then((file) => ({ default: file.ContextPanel })));
const FamilyPanel = lazy(() => import("../panel/family.tsx").then((file) => ({ default: file.FamilyPanel })));
const LogPanel = lazy(() => import("../panel/log.tsx").then((file) => ({ default: file.LogPanel })));
const PastBar = lazy(() => import("../panel/log.tsx").then((file) => ({ default: file.PastBar })));
const SharePanel = lazy(() => import("../panel/sharing.tsx").then((file) => ({ default: file.SharePanel })));
const FilesPanel = lazy(() => import("../panel/files.tsx").then((file) => ({ default: file.FilesPanel })));

type Opened = { readonly as: "reading" } | { readonly as: "here" } | { readonly as: "gone" } | { readonly as: "failed"; readonly text: string };

type Place = Extract<Route, { page: "session" }>;

export function SessionPage(page: { now: Place }) {
  // An address changes for many reasons (a panel, a message, a moment); the session is read anew only when it is another.
  const id = createMemo(() => page.now.id);
  const panel = createMemo(() => page.now.panel);
  const props = { get id() { return id(); }, get panel() { return panel(); } };
  const [opened, setOpened] = createSignal<Opened>({ as: "reading" });
  let composer: ComposerHandle | undefined;

  createEffect(on(() => props.id, (id) => {
    const abort = new AbortController();
    onCleanup(() => abort.abort());
    follow(id);
    setOpened(world.threads.has(id) ? { as: "here" } : { as: "reading" });
    openThread(id, abort.signal)
      .then(() => setOpened({ as: "here" }))
      .catch((cause) => {
        if (abort.signal.aborted) return;
        const error = asCallError(cause);
        const isGone = error.status === 404 || error.status === 400;
        setOpened(isGone ? { as: "gone" } : { as: "failed", text: error.message });
        // A stream that names what cannot be followed would be refused, and with it the list.
        if (isGone) follow(undefined);
      });
  }));
  onCleanup(() => follow(undefined));
  // Everything was read anew, and this is not there any more.
  createEffect(() => {
    const isHere = session(props.id) !== undefined || thread(props.id) !== undefined;
    if (opened().as === "here" && lineState().name === "live" && !isHere) setOpened({ as: "gone" });
  });
  createEffect(on(() => props.id, () => setFinding(false), { defer: true }));
  onCleanup(() => setFinding(false));
  createEffect(() => {
    const info = session(props.id);
    const isIdle = status(props.id).type === "idle";
    document.title = info ? `${isIdle ? "" : "● "}${info.title} — ${words.name}` : words.name;
    if (info && document.visibilityState === "visible") look(props.id, info.time.updated);
  });
  const isEmpty = () => (thread(props.id)?.order.length ?? 0) === 0;

  return (
    <>
      <main class="session" classList={{ "is-past": past()?.sessionID === props.id }} id="main" aria-label={session(props.id)?.title ?? words.sessions}>
        <Header id={props.id} panel={props.panel} />
        <Show when={isFinding()}><FindBar sessionID={props.id} panel={props.panel} /></Show>
        <Switch>
          <Match when={opened().as === "gone"}>
            <Empty icon="circle-x" title={words.gone} hint={words.goneHint}><a class="button" href="/">{words.sessions}</a></Empty>
          </Match>
          <Match when={opened().as === "failed"}>
            <Empty icon="wifi-off" title={words.unreachable} hint={(opened() as { text: string }).text}>
              <button type="button" onClick={() => { line.hurry(); void openThread(props.id).then(() => setOpened({ as: "here" })); }}>{words.tryNow}</button>
            </Empty>
          </Match>
          <Match when={opened().as === "reading"}>
            <div class="timeline" aria-busy="true" />
          </Match>
          <Match when={opened().as === "here"}>
            <Show when={!isEmpty()} fallback={past()?.sessionID === props.id ? <div class="timeline" /> : <Begin id={props.id} onPick={(text) => composer?.put(text)} />}>
              <Show when={props.id} keyed>{(id) => <Timeline sessionID={id} target={page.now.message} />}</Show>
            </Show>
          </Match>
        </Switch>
        <Show when={opened().as === "here" && world.sessions.get(props.id) && (session(props.id) ?? world.sessions.get(props.id)?.value)}>
          {(info) => (
            <Show when={past()?.sessionID !== props.id} fallback={<div class="foot"><PastBar sessionID={props.id} /></div>}>
              <div class="foot">
                <Docks sessionID={props.id} onEdit={(text) => composer?.put(text)} />
                <Composer sessionID={props.id} directory={info().directory} ref={(handle) => (composer = handle)} />
              </div>
            </Show>
          )}
        </Show>
      </main>
      <Show when={undoing()?.sessionID === props.id && undoing()} keyed>{(at) => <UndoSheet at={at} />}</Show>
      <Show when={props.panel}>{(panel) => <Side id={props.id} panel={panel()} now={page.now} onQuote={(text) => composer?.put(text)} />}</Show>
    </>
  );
}

function Header(props: { id: string; panel: Panel | undefined }) {
  const path = () => ancestry(props.id);
  const info = () => session(props.id);
  return (
    <header class="session-head">
      <a class="back" href="/" aria-label={words.sessions}><Icon name="chevron-left" /></a>
      <div class="grow">
        <Show when={path().length > 1}>
          <nav class="crumbs cut" aria-label={words.parents}>
            <For each={path().slice(0, -1)}>{(above) => <><a href={sessionPath(above.id)}>{above.title}</a> › </>}</For>
          </nav>
        </Show>
        <h1 class="cut" dir="auto">{info()?.title ?? world.sessions.get(props.id)?.value.title ?? words.sessions}</h1>
        <p class="list-meta num">
          <span class="cut">{info()?.slug}</span>
          <Show when={info()?.model}>{(model) => <span class="cut wide-only">{model().id}</span>}</Show>
          <Show when={info()?.agent}>{(agent) => <span class="wide-only">{agent()}</span>}</Show>
          <Show when={(info()?.cost ?? 0) > 0}><span>{words.money(info()?.cost ?? 0)}</span></Show>
          <Show when={status(props.id).type !== "idle"}><span class="is-busy">{words.status[status(props.id).type]}</span></Show>
        </p>
      </div>
      <ContextRing sessionID={props.id} />
      <PanelTabs id={props.id} panel={props.panel} />
      <Show when={info()}>{(found) => <SessionMenu session={found()} />}</Show>
    </header>
  );
}

const PANEL_ICONS: Readonly<Record<Panel, string>> = { changes: "file-diff", todo: "list-todo", context: "coins", family: "git-branch", files: "folder", log: "history", share: "globe" };

function PanelTabs(props: { id: string; panel: Panel | undefined }) {
  const offered = () => PANELS.filter((panel) => panel !== "log" || features()["travel"] === true);
  const toggle = (panel: Panel) => navigate(sessionPath(props.id, props.panel === panel ? undefined : panel), "replace");
  return (
    <>
      <div class="panel-tabs" role="group" aria-label={words.panel}>
        <For each={offered()}>
          {(panel) => (
            <button type="button" class="quiet" aria-pressed={props.panel === panel} title={words.panels[panel]} aria-label={words.panels[panel]} onClick={() => toggle(panel)}>
              <Icon name={PANEL_ICONS[panel]} />
            </button>
          )}
        </For>
      </div>
      <span class="panel-menu">
        <Menu label={words.panel} icon="list">
          <For each={offered()}>{(panel) => <MenuItem icon={PANEL_ICONS[panel]} onPick={() => toggle(panel)}>{words.panels[panel]}</MenuItem>}</For>
        </Menu>
      </span>
    </>
  );
}

function Side(props: { id: string; panel: Panel; now: Place; onQuote: (text: string) => void }) {
  return (
    <aside class="side" aria-label={words.panels[props.panel]}>
      <header>
        <h2 class="grow">{words.panels[props.panel]}</h2>
        <button type="button" class="quiet" aria-label={words.close} onClick={() => navigate(sessionPath(props.id), "replace")}><Icon name="x" /></button>
      </header>
      <div class="side-body">
        <Switch>
          <Match when={props.panel === "changes"}><ChangesPanel sessionID={props.id} turn={props.now.turn} onQuote={props.onQuote} /></Match>
          <Match when={props.panel === "todo"}><TodoPanel sessionID={props.id} /></Match>
          <Match when={props.panel === "context"}><ContextPanel sessionID={props.id} /></Match>
          <Match when={props.panel === "family"}><FamilyPanel sessionID={props.id} /></Match>
          <Match when={props.panel === "log"}><LogPanel sessionID={props.id} at={props.now.at} /></Match>
          <Match when={props.panel === "share"}><Show when={props.id} keyed>{(id) => <SharePanel sessionID={id} />}</Show></Match>
          <Match when={props.panel === "files"}><FilesPanel sessionID={props.id} file={props.now.file} line={props.now.line} /></Match>
        </Switch>
      </div>
    </aside>
  );
}

function Begin(props: { id: string; onPick: (text: string) => void }) {
  const info = () => session(props.id);
  return (
    <div class="timeline">
      <Empty icon="message-square" title={info()?.title ?? ""} hint={info()?.directory ?? ""}>
        <div class="begin">
          <For each={words.demoPrompts}>{(text) => <button type="button" onClick={() => props.onPick(text)}>{text}</button>}</For>
          <button type="button" title={words.setUpHint} onClick={() => void setUp(props.id)}><Icon name="sparkles" /> {words.setUp}</button>
        </div>
      </Empty>
    </div>
  );
}
