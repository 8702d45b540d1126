// One session: header, conversation, docks, composer, and a panel beside it.

import { For, Match, Show, Switch, createEffect, createMemo, createSignal, lazy, on, onCleanup, onMount } from "solid-js";
import { Guard } from "../kit/guard.tsx";
import { Icon } from "../kit/icon.tsx";
import { Menu, MenuItem } from "../kit/menu.tsx";
import { Empty } from "../kit/empty.tsx";
import { Docks } from "../dock/docks.tsx";
import { asCallError } from "../wire/api.ts";
import { rename, stop } from "../view/actions.ts";
import { isFinding, setFinding } from "../view/find.ts";
import { features, follow, line, lineState, openThread } from "../view/live.ts";
import { PANELS, type Panel, type Route, sessionPath, showPanel } from "../view/router.ts";
import { readProcesses } from "../view/processes.ts";
import { preferences } from "../view/preferences.ts";
import { pendingPrompts } from "../view/prompts.ts";
import { renaming, setRenaming } from "../view/rename.ts";
import { markSeen } from "../view/seen.ts";
import { canShare } from "../view/sharing.ts";
import { ancestry, asks, isWithin, past, session, status, thread, world } from "../view/store.ts";
import { rememberSession } from "../view/last-session.ts";
import { undoing } from "../view/undo.ts";
import { words } from "../words/en.ts";
import { Timeline } from "../timeline/timeline.tsx";
import { Composer, type ComposerHandle } from "./composer.tsx";
import { ContextRing } from "../panel/ring.tsx";
import { SessionMenu } from "./session-menu.tsx";

// Panels are loaded when they are opened.
const EmptySession = lazy(() => import("./empty-session.tsx").then((file) => ({ default: file.EmptySession })));
const FindBar = lazy(() => import("./find.tsx").then((file) => ({ default: file.FindBar })));
const UndoSheet = lazy(() => import("../panel/undo.tsx").then((file) => ({ default: file.UndoSheet })));
const ChangesPanel = lazy(() => import("../panel/changes.tsx").then((file) => ({ default: file.ChangesPanel })));
const ContextPanel = lazy(() => import("../panel/context.tsx").then((file) => ({ default: file.ContextPanel })));
const TodoPanel = lazy(() => import("../panel/todo.tsx").then((file) => ({ default: file.TodoPanel })));
const FamilyPanel = lazy(() => import("../panel/family.tsx").then((file) => ({ default: file.FamilyPanel })));
const LogPanel = lazy(() => import("../panel/log.tsx").then((file) => ({ default: file.LogPanel })));
const SharePanel = lazy(() => import("../panel/sharing.tsx").then((file) => ({ default: file.SharePanel })));
const AccessPanel = lazy(() => import("../panel/access.tsx").then((file) => ({ default: file.AccessPanel })));
const FilesPanel = lazy(() => import("../panel/files.tsx").then((file) => ({ default: file.FilesPanel })));
const PastBar = lazy(() => import("../panel/log.tsx").then((file) => ({ default: file.PastBar })));

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
  const openAgain = () => void openThread(props.id).then(() => setOpened({ as: "here" }), () => {});
  // It could not be read while the line was down: once more when that is back, without a click.
  const canBeRead = createMemo(() => opened().as === "failed" && lineState().name === "live");
  createEffect(() => canBeRead() && openAgain());
  onCleanup(() => follow(undefined));
  // Everything was read anew, and this is not there any more.
  createEffect(() => {
    const isHere = session(props.id) !== undefined || thread(props.id) !== undefined;
    if (opened().as === "here" && lineState().name === "live" && !isHere) setOpened({ as: "gone" });
  });
  // Told once and not again: read with the session, and after the line was lost.
  createEffect(on(() => [props.id, opened().as, lineState().name === "live"] as const, ([id, as, isLive]) => {
    if (as !== "here" || !isLive) return;
    const abort = new AbortController();
    onCleanup(() => abort.abort());
    void readProcesses(id, abort.signal);
  }));
  createEffect(on(() => props.id, () => setFinding(false), { defer: true }));
  onCleanup(() => setFinding(false));
  createEffect(on(() => props.id, (id) => onCleanup(() => {
    setRenaming(undefined);
    if (preferences().stopsOnLeaving && world.statuses.get(id)?.value.type !== "idle") void stop(id);
  })));
  createEffect(() => opened().as === "here" && rememberSession(props.id));
  createEffect(() => {
    const info = session(props.id);
    const isAsked = asks().some((ask) => isWithin(ask.request.sessionID, props.id));
    const now = isAsked ? "asks" : status(props.id).type;
    document.title = info ? `${now === "idle" ? "" : `${words.status[now]} · `}${info.title} — ${words.name}` : words.name;
    if (info && document.visibilityState === "visible") markSeen(props.id, info.time.updated);
  });
  /** Somebody deleted it while it was open: what is loaded stays readable. */
  const isDeleted = () => opened().as === "here" && thread(props.id) !== undefined && past()?.sessionID !== props.id && session(props.id) === undefined;
  /** Nothing was said, and nothing is on its way or was refused. */
  const isEmpty = () => {
    const found = thread(props.id);
    return (found?.order.length ?? 0) + (found?.notices.length ?? 0) + pendingPrompts(props.id).length === 0;
  };

  return (
    <>
      <main class="session" classList={{ "is-past": past()?.sessionID === props.id }} id="main" aria-label={session(props.id)?.title ?? words.sessions}>
        <Header id={props.id} panel={props.panel} />
        <Show when={isFinding()}><Guard><FindBar sessionID={props.id} panel={props.panel} /></Guard></Show>
        <Switch>
          <Match when={opened().as === "gone"}>
            <Empty icon="circle-x" title={words.gone} hint={words.goneHint}><a class="button" href="/">{words.sessions}</a></Empty>
          </Match>
          <Match when={opened().as === "failed"}>
            <Empty icon="wifi-off" title={words.unreachable} hint={(opened() as { text: string }).text}>
              <button type="button" onClick={() => { line.hurry(); openAgain(); }}>{words.tryNow}</button>
            </Empty>
          </Match>
          <Match when={opened().as === "reading"}>
            <div class="timeline" aria-busy="true" />
          </Match>
          <Match when={opened().as === "here"}>
            <Show when={!isEmpty()} fallback={past()?.sessionID === props.id ? <div class="timeline" /> : <Guard><EmptySession id={props.id} onPick={(text) => composer?.put(text)} /></Guard>}>
              <Show when={props.id} keyed>{(id) => <Timeline sessionID={id} target={page.now.place} />}</Show>
            </Show>
          </Match>
        </Switch>
        <Show when={isDeleted()}><div class="foot"><p class="note is-bad" role="alert"><Icon name="circle-x" /> {words.gone}. {words.goneReadable} <a class="button" href="/">{words.sessions}</a></p></div></Show>
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
      <Show when={undoing()?.sessionID === props.id && undoing()} keyed>{(at) => <Guard><UndoSheet at={at} /></Guard>}</Show>
      <Show when={props.panel}>{(panel) => <Side id={props.id} panel={panel()} now={page.now} onQuote={(text) => composer?.put(text)} />}</Show>
    </>
  );
}

function Header(props: { id: string; panel: Panel | undefined }) {
  const path = () => ancestry(props.id);
  const info = () => session(props.id);
  const isAsked = createMemo(() => asks().some((ask) => isWithin(ask.request.sessionID, props.id)));
  /** One that was deleted keeps its name as long as it is looked at. */
  const known = createMemo<{ readonly id: string; readonly title: string }>((before) => {
    const title = info()?.title ?? world.sessions.get(props.id)?.value.title;
    return { id: props.id, title: title ?? (before.id === props.id ? before.title : words.sessions) };
  }, { id: "", title: "" });
  return (
    <header class="session-head">
      <a class="back" href="/" aria-label={words.sessions}><Icon name="chevron-left" /></a>
      <div class="grow">
        <Show when={path().length > 1}>
          <nav class="crumbs cut" aria-label={words.parents}>
            {words.subagentOf}{" "}
            <For each={path().slice(0, -1)}>{(above, at) => <>{at() > 0 ? " › " : ""}<a href={sessionPath(above.id)}>{above.title}</a></>}</For>
          </nav>
        </Show>
        <Show when={renaming() === props.id} fallback={<h1 class="cut" dir="auto" title={words.renameHint} onDblClick={() => setRenaming(props.id)}>{known().title}</h1>}>
          <RenameField id={props.id} title={info()?.title ?? ""} />
        </Show>
        <p class="list-meta num">
          <span class="cut">{info()?.slug}</span>
          <Show when={info()?.model}>{(model) => <span class="cut wide-only">{model().id}</span>}</Show>
          <Show when={info()?.agent}>{(agent) => <span class="wide-only">{agent()}</span>}</Show>
          <Show when={info()?.model?.variant !== "default" && info()?.model?.variant}>{(variant) => <span class="wide-only">{variant()}</span>}</Show>
          <Show when={info()?.share}><a class="wide-only" href={sessionPath(props.id, "share")}>{words.isShared}</a></Show>
          <Show when={info()?.summary && (info()?.summary?.files ?? 0) > 0 && info()?.summary}>{(summary) => <a class="wide-only" href={sessionPath(props.id, "changes")}><span class="plus">+{summary().additions}</span> <span class="minus">−{summary().deletions}</span></a>}</Show>
          <Show when={(info()?.cost ?? 0) > 0}><a href={sessionPath(props.id, "context")} title={words.panels.context}>{words.money(info()?.cost ?? 0)}</a></Show>
          <Show when={isAsked()} fallback={<Show when={status(props.id).type !== "idle"}><span class="is-busy">{words.status[status(props.id).type]}</span></Show>}><span class="warn">{words.status.asks}</span></Show>
        </p>
      </div>
      <ContextRing sessionID={props.id} />
      <Show when={info() ?? thread(props.id)}><PanelTabs id={props.id} panel={props.panel} /></Show>
      <Show when={info()}>{(found) => <SessionMenu session={found()} />}</Show>
    </header>
  );
}

function RenameField(props: { id: string; title: string }) {
  let field!: HTMLInputElement;
  let isDone = false;
  const end = (isKept: boolean) => {
    if (isDone) return;
    isDone = true;
    const title = field.value.trim();
    setRenaming(undefined);
    if (isKept && title !== "" && title !== props.title) void rename(props.id, title);
  };
  const key = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    end(event.key === "Enter");
  };
  onMount(() => field.select());
  return <input ref={field} class="rename" type="text" dir="auto" aria-label={words.rename} value={props.title} onKeyDown={key} onBlur={() => end(true)} />;
}

const PANEL_ICONS: Readonly<Record<Panel, string>> = { changes: "file-diff", todo: "list-todo", context: "coins", family: "git-branch", files: "folder", log: "history", share: "globe", access: "key-round" };

function PanelTabs(props: { id: string; panel: Panel | undefined }) {
  const isOffered = (panel: Panel) => (panel === "log" ? features()["travel"] === true : panel !== "share" || canShare(session(props.id)));
  const offered = () => PANELS.filter(isOffered);
  const toggle = (panel: Panel) => showPanel(props.id, props.panel === panel ? undefined : panel);
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
        <button type="button" class="quiet" aria-label={words.close} onClick={() => showPanel(props.id, undefined)}><Icon name="x" /></button>
      </header>
      <div class="side-body">
        <Guard of={() => props.panel}><Switch>
          <Match when={props.panel === "changes"}><ChangesPanel sessionID={props.id} turn={props.now.turn} onQuote={props.onQuote} /></Match>
          <Match when={props.panel === "todo"}><TodoPanel sessionID={props.id} /></Match>
          <Match when={props.panel === "context"}><ContextPanel sessionID={props.id} /></Match>
          <Match when={props.panel === "family"}><FamilyPanel sessionID={props.id} /></Match>
          <Match when={props.panel === "log"}><LogPanel sessionID={props.id} at={props.now.at} /></Match>
          <Match when={props.panel === "share"}><Show when={props.id} keyed>{(id) => <SharePanel sessionID={id} />}</Show></Match>
          <Match when={props.panel === "access"}><Show when={props.id} keyed>{(id) => <AccessPanel sessionID={id} />}</Show></Match>
          <Match when={props.panel === "files"}><FilesPanel sessionID={props.id} file={props.now.file} line={props.now.line} /></Match>
        </Switch></Guard>
      </div>
    </aside>
  );
}
