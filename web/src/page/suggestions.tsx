// What a word that begins with "@" or "/" could become: files and agents, or commands.

import { For, Show, createEffect, createSignal, onCleanup } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import type { Catalog } from "../view/catalog.ts";
import { api } from "../view/live.ts";
import { words } from "../words/en.ts";

interface Suggestion {
  readonly icon: string;
  readonly text: string;
  readonly hint: string;
}

const SHOWN_MAX = 8;
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
      <ul class="suggestions" role="listbox" aria-label={words.suggestions}>
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
  const agents = (catalog?.mentionable ?? []).filter((name) => name.startsWith(query)).map((name) => ({ icon: "bot", text: `@${name}`, hint: words.agent }));
  const search = new URLSearchParams({ query, limit: String(SHOWN_MAX) });
  const files = await api.get<string[]>(`/find/file?${search}`, { directory }).catch(() => []);
  return [...agents, ...files.map((path) => ({ icon: "file", text: `@${path}`, hint: "" }))].slice(0, SHOWN_MAX);
}
