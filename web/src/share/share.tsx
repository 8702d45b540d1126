// The share page: a session of somebody else, live and read only.
//
// The right to read stands behind the `#` of the address, so it is in no request's address and in no log. It is sent
// as a header, without cookies, and kept nowhere.

import { Show, createSignal } from "solid-js";
import { render } from "solid-js/web";
import { Empty } from "../kit/empty.tsx";
import { touch, touchAll, world } from "../view/store.ts";
import { panelWords } from "../words/en-panels.ts";
import { words } from "../words/en.ts";
import { SharedChanges } from "./changes.tsx";
import { Follower, type FollowState } from "./follow.ts";
import { type ShareItem, changesOf, putItem } from "./items.ts";
import { Reader } from "./reader.tsx";
import type { FileDiff } from "../wire/types.ts";

/** The one session of this page; what its real id is does not matter here. */
const SESSION = "share";

const [state, setState] = createSignal<FollowState>({ name: "opening" });
const [changes, setChanges] = createSignal<readonly FileDiff[]>([]);
const share = location.pathname.split("/")[2] ?? "";
const right = location.hash.slice(1);

const follower = new Follower(share, right, {
  fetch: (path, init) => fetch(path, { ...init, credentials: "omit", referrerPolicy: "no-referrer" }),
  after: (ms, run) => void setTimeout(run, ms),
  random: () => Math.random(),
  state: setState,
  snapshot: (items) => {
    world.sessions.clear();
    world.threads.clear();
    setChanges([]);
    for (const item of items) put(item);
    document.title = `${world.sessions.get(SESSION)?.value.title ?? ""} — ${words.name}`;
    touchAll();
  },
  item: (item) => touch(put(item)),
});

function put(item: ShareItem) {
  const changed = changesOf(item);
  if (changed) setChanges(changed);
  return putItem(world, SESSION, item);
}

function SharePage() {
  const ended = () => {
    const now = state();
    return now.name === "ended" ? now : undefined;
  };
  const note = () => ({ opening: words.opening, live: words.live, waiting: words.tryingAgain(0), ended: panelWords.shareEnded })[state().name];
  return (
    <Show when={!ended() || world.threads.has(SESSION)} fallback={<main class="page" id="main"><h1 class="off-screen">{words.name}</h1><Empty icon="circle-x" title={panelWords.shareEnded} hint={panelWords.shareWhy(ended()?.code ?? "")} /></main>}>
      <Reader sessionID={SESSION} note={<span class={`pill is-${state().name}`} role="status" data-line={state().name}><span class="dot" />{note()}</span>}>
        <SharedChanges diffs={changes()} />
        <Show when={ended()}>{(end) => <p class="note is-ended" role="alert">{panelWords.shareEnded}. {panelWords.shareWhy(end().code)}</p>}</Show>
      </Reader>
    </Show>
  );
}

const root = document.getElementById("root");
if (root) render(() => <SharePage />, root);
void follower.open();
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && follower.hurry());
window.addEventListener("hashchange", () => location.reload());
