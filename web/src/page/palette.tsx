// Ctrl or Cmd and K: go to a session, a panel or a place by typing a few letters of it; choose a model, an agent or a
// command for the composer that is open; what is typed can be searched for.

import { For, createMemo, createSignal, onMount } from "solid-js";
import { Dialog } from "../kit/dialog.tsx";
import { Icon } from "../kit/icon.tsx";
import { navigate, PANELS, route, sessionPath } from "../view/router.ts";
import { session, sessions } from "../view/store.ts";
import { type ComposerRequest, requestComposer } from "../view/composer-request.ts";
import type { Catalog } from "../view/catalog.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";

const SHOWN_MAX = 12;
/** Of one kind, as long as there are others. */
const SHARE_MAX = 4;

interface Found {
  readonly icon: string;
  readonly name: string;
  readonly hint: string;
  /** Where it leads, or what the composer is to do. */
  readonly to: string | ComposerRequest;
}

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
  const [catalog, setCatalog] = createSignal<Catalog>();
  onMount(() => {
    const directory = composerDirectory();
    // Not a script of the list: it is here already where there is a composer.
    if (directory !== undefined) void import("../view/catalog.ts").then((file) => file.loadCatalog(directory.name)).then(setCatalog, () => {});
  });
  const found = createMemo((): readonly Found[] => {
    const wanted = query().toLowerCase();
    const fits = (text: string) => text.toLowerCase().includes(wanted);
    const places = PLACES.filter(([, name]) => fits(name)).map(([icon, name, path]) => ({ icon, name, to: path, hint: "" }));
    const listed = sessions().filter((one) => fits(one.title) || fits(one.slug)).sort((a, b) => b.time.updated - a.time.updated);
    const rows = listed.map((one) => ({ icon: "message-square", name: one.title, to: sessionPath(one.id), hint: one.slug }));
    const now = route();
    const panels = now.page !== "session" ? [] : PANELS.filter((panel) => fits(words.panels[panel]))
      .map((panel) => ({ icon: "list", name: panelWords.goPanel(words.panels[panel]), to: sessionPath(now.id, panel), hint: "" }));
    if (wanted === "") return [...places, ...panels, ...rows].slice(0, SHOWN_MAX);
    const everywhere = { icon: "search", name: panelWords.goSearch(query()), to: `/search?${new URLSearchParams({ q: query() })}`, hint: "" };
    const entries = composerEntries(catalog(), fits);
    const first = [...rows.slice(0, SHARE_MAX), ...panels, ...places, ...entries];
    return [...[...first, ...rows.slice(SHARE_MAX)].slice(0, SHOWN_MAX - 1), everywhere];
  });
  const go = (to: string | ComposerRequest | undefined) => {
    props.onClose();
    if (typeof to === "object") requestComposer(to);
    else navigate(to ?? `/search?${new URLSearchParams({ q: query() })}`);
  };
  const key = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((at() + step + found().length) % Math.max(1, found().length));
    else if (event.key === "Enter") go(found()[at()]?.to);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label={panelWords.palette} class="palette" onClose={() => props.onClose()}>
      <input type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={`palette-${at()}`} aria-label={panelWords.palette} placeholder={panelWords.palette} autofocus
        onInput={(event) => { setQuery(event.currentTarget.value); setAt(0); }} onKeyDown={key} />
      <ul role="listbox" id="palette-list" aria-label={panelWords.palette}>
        <For each={found()}>
          {(one, index) => (
            <li role="option" id={`palette-${index()}`} aria-selected={index() === at()} onClick={() => go(one.to)}>
              <Icon name={one.icon} /> <span class="grow cut">{one.name}</span> <span class="muted small">{one.hint}</span>
            </li>
          )}
        </For>
      </ul>
    </Dialog>
  );
}

/** Of the composer that is open. The past has none. */
function composerDirectory(): { readonly name: string | undefined } | undefined {
  const now = route();
  if (now.page === "new") return { name: now.directory };
  return now.page === "session" && now.at === undefined ? { name: session(now.id)?.directory } : undefined;
}

function composerEntries(catalog: Catalog | undefined, fits: (text: string) => boolean): Found[] {
  if (!catalog) return [];
  const commands = catalog.commands.map(({ name, description }): Found => ({ icon: "zap", name: panelWords.goCommand(name), hint: description, to: { command: name } }));
  const models = catalog.models.map(({ key, name }): Found => ({ icon: "sparkles", name: panelWords.goModel(name), hint: key, to: { model: key } }));
  const agents = catalog.agents.map((name): Found => ({ icon: "bot", name: panelWords.goAgent(name), hint: "", to: { agent: name } }));
  return [commands, models, agents].flatMap((all) => all.filter((one) => fits(one.name) || fits(one.hint)).slice(0, SHARE_MAX));
}
