// What a word that begins with "@" or "/" could become: files, agents and resources of MCP servers, or commands.

import { For, Show, createEffect, createSignal, onCleanup } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import type { Catalog } from "../view/catalog.ts";
import { api } from "../view/live.ts";
import { type McpResource, type Mention, rememberPick } from "../sync/mentions.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";

interface Suggestion {
  readonly icon: string;
  readonly text: string;
  readonly hint: string;
  /** What goes along with the prompt when it is picked. */
  readonly mention?: Mention;
}

const SHOWN_MAX = 8;
const RESOURCES_SHOWN_MAX = 3;
const PAUSE_MS = 120;

export function Suggestions(props: {
  text: string;
  caret: number;
  catalog: Catalog | undefined;
  directory: string | undefined;
  onPick: (text: string, caret: number) => void;
}) {
  const [found, setFound] = createSignal<readonly Suggestion[]>([]);
  const [at, setAt] = createSignal(0);
  const [dismissed, setDismissed] = createSignal("");
  const word = () => /(?:^|\s)([@/]\S*)$/.exec(props.text.slice(0, props.caret))?.[1];

  createEffect(() => {
    const now = word();
    setAt(0);
    if (now === undefined || now === dismissed() || (now.startsWith("/") && props.caret !== now.length)) return setFound([]);
    if (now.startsWith("/")) return setFound(commandsFor(now.slice(1), props.catalog));
    const directory = props.directory;
    const timer = setTimeout(() => void suggest(now.slice(1), props.catalog, directory).then((list) => word() === now && setFound(list)), PAUSE_MS);
    onCleanup(() => clearTimeout(timer));
  });

  const pick = (one: Suggestion) => {
    const now = word() ?? "";
    const before = props.text.slice(0, props.caret - now.length) + one.text + " ";
    setFound([]);
    if (one.mention) rememberPick(one.text, one.mention);
    props.onPick(before + props.text.slice(props.caret), before.length);
  };
  const key = (event: KeyboardEvent) => {
    if (found().length === 0) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((at() + step + found().length) % found().length);
    else if (event.key === "Tab" || event.key === "Enter") pick(found()[at()] as Suggestion);
    else if (event.key === "Escape") setDismissed(word() ?? "");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  // Before the field's own listener: Enter picks here and does not send.
  document.addEventListener("keydown", key, true);
  onCleanup(() => document.removeEventListener("keydown", key, true));
  return (
    <Show when={found().length > 0}>
      <ul class="suggestions" role="listbox" aria-label={panelWords.suggestions}>
        <For each={found()}>
          {(one, index) => (
            <li role="option" aria-selected={index() === at()} onPointerDown={(event) => { event.preventDefault(); pick(one); }}>
              <Icon name={one.icon} /> <span class="cut">{one.text}</span> <span class="muted small cut grow">{one.hint}</span>
            </li>
          )}
        </For>
      </ul>
    </Show>
  );
}

function commandsFor(query: string, catalog: Catalog | undefined): Suggestion[] {
  const fitting = (catalog?.commands ?? []).filter((command) => command.name.startsWith(query));
  return fitting.slice(0, SHOWN_MAX).map((command) => ({ icon: "zap", text: `/${command.name}`, hint: command.description }));
}

async function suggest(query: string, catalog: Catalog | undefined, directory: string | undefined): Promise<Suggestion[]> {
  const names = (catalog?.mentionable ?? []).filter((name) => name.startsWith(query));
  const agents = names.map((name): Suggestion => ({ icon: "bot", text: `@${name}`, hint: words.agent, mention: { kind: "agent", name } }));
  const search = new URLSearchParams({ query, limit: String(SHOWN_MAX) });
  const [paths, resources] = await Promise.all([
    api.get<string[]>(`/find/file?${search}`, { directory }).catch(() => []),
    resourcesFor(query, directory),
  ]);
  const files = paths.map((path): Suggestion => ({ icon: "file", text: `@${path}`, hint: "", mention: { kind: "file", path } }));
  return [...agents, ...resources, ...files].slice(0, SHOWN_MAX);
}

/** What MCP servers offer, asked for at the first "@" in a directory. */
const offered = new Map<string, Promise<readonly McpResource[]>>();

async function resourcesFor(query: string, directory: string | undefined): Promise<Suggestion[]> {
  const name = directory ?? "";
  const asked = offered.get(name) ?? api.get<Record<string, McpResource>>("/experimental/resource", { directory }).then(Object.values, () => []);
  offered.set(name, asked);
  const fitting = (await asked).filter((one) => one.name.toLowerCase().includes(query.toLowerCase()));
  return fitting.slice(0, RESOURCES_SHOWN_MAX).map((resource) => ({ icon: "plug", text: `@${resource.name}`, hint: resource.client, mention: { kind: "resource", resource } }));
}
