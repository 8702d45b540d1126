// Ctrl or Cmd and K: go to a session, a panel or a place by typing a few letters of it; what is typed can be searched for.

import { For, createMemo, createSignal } from "solid-js";
import { Dialog } from "../kit/dialog.tsx";
import { Icon } from "../kit/icon.tsx";
import { navigate, PANELS, route, sessionPath } from "../view/router.ts";
import { sessions } from "../view/store.ts";
import { words } from "../words/en.ts";
import { more } from "../words/en-panels.ts";

const SHOWN_MAX = 12;
const PLACES: readonly (readonly [string, string, string])[] = [
  ["plus", words.newSession, "/new"],
  ["layout-dashboard", words.board, "/board"],
  ["inbox", words.asks, "/asks"],
  ["search", words.search, "/search"],
  ["coins", words.usage, "/usage"],
  ["globe", words.shares, "/shares"],
  ["settings", words.settings, "/settings"],
];

export function Palette(props: { onClose: () => void }) {
  const [query, setQuery] = createSignal("");
  const [at, setAt] = createSignal(0);
  const found = createMemo(() => {
    const wanted = query().toLowerCase();
    const fits = (text: string) => text.toLowerCase().includes(wanted);
    const places = PLACES.filter(([, name]) => fits(name)).map(([icon, name, path]) => ({ icon, name, path, hint: "" }));
    const listed = sessions().filter((one) => fits(one.title) || fits(one.slug)).sort((a, b) => b.time.updated - a.time.updated);
    const rows = listed.map((one) => ({ icon: "message-square", name: one.title, path: sessionPath(one.id), hint: one.slug }));
    const now = route();
    const panels = now.page !== "session" ? [] : PANELS.filter((panel) => fits(words.panels[panel]))
      .map((panel) => ({ icon: "list", name: more.goPanel(words.panels[panel]), path: sessionPath(now.id, panel), hint: "" }));
    if (wanted === "") return [...places, ...panels, ...rows].slice(0, SHOWN_MAX);
    const everywhere = { icon: "search", name: more.goSearch(query()), path: `/search?${new URLSearchParams({ q: query() })}`, hint: "" };
    return [...[...rows, ...panels, ...places].slice(0, SHOWN_MAX - 1), everywhere];
  });
  const go = (path: string | undefined) => {
    props.onClose();
    navigate(path ?? `/search?${new URLSearchParams({ q: query() })}`);
  };
  const key = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((at() + step + found().length) % Math.max(1, found().length));
    else if (event.key === "Enter") go(found()[at()]?.path);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label={words.palette} class="palette" onClose={() => props.onClose()}>
      <input type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={`palette-${at()}`} aria-label={words.palette} placeholder={words.palette} autofocus
        onInput={(event) => { setQuery(event.currentTarget.value); setAt(0); }} onKeyDown={key} />
      <ul role="listbox" id="palette-list" aria-label={words.palette}>
        <For each={found()}>
          {(one, index) => (
            <li role="option" id={`palette-${index()}`} aria-selected={index() === at()} onClick={() => go(one.path)}>
              <Icon name={one.icon} /> <span class="grow cut">{one.name}</span> <span class="muted small">{one.hint}</span>
            </li>
          )}
        </For>
      </ul>
    </Dialog>
  );
}
