// Sessions by their title, and words in what was said in all of them. A hit leads to its part. What the search is
// narrowed to stands in the address.

import { For, Show, createEffect, createMemo, createSignal, onCleanup, onMount } from "solid-js";
import { Empty } from "../kit/empty.tsx";
import { Icon } from "../kit/icon.tsx";
import { asCallError } from "../wire/api.ts";
import { api, features, serverNow } from "../view/live.ts";
import { AGES_DAYS, NO_FILTERS, type SearchFilters, ROLES, searchParameters, hasFilters, searchFiltersOf, searchPath, sinceOf, wantsTitles } from "../view/search-filters.ts";
import { messagePath, navigate, sessionPath } from "../view/router.ts";
import { sessions } from "../view/store.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import type { Session } from "../wire/types.ts";
import { NeedGlyph, needOf, projectName } from "./list.tsx";

interface Hit {
  readonly sessionID: string;
  readonly messageID: string;
  readonly partID: string;
  readonly kind: keyof typeof panelWords.hitKinds;
  readonly tool?: string;
  readonly snippet: readonly { readonly text: string; readonly hit: boolean }[];
}
interface Hits {
  readonly hits: readonly Hit[];
  readonly sessions: Readonly<Record<string, { readonly title: string; readonly time: { readonly updated: number } }>>;
  readonly cursor?: number;
}

/** Between two keys of somebody who types; what was asked before is given up. */
const PAUSE_MS = 40;
/** One letter is everywhere. */
const WORDS_MIN = 2;
/** Stretches of the store that are looked at before a person is asked whether to go on. */
const ROUNDS_MAX = 4;

export function SearchPage(props: { query: string; search: string }) {
  const [found, setFound] = createSignal<readonly Session[]>([]);
  const [hits, setHits] = createSignal<Hits>({ hits: [], sessions: {} });
  const [isLooking, setLooking] = createSignal(false);
  const [trouble, setTrouble] = createSignal("");
  // By value: every change of the address makes another object.
  const filters = createMemo(() => searchFiltersOf(props.search), NO_FILTERS, { equals: (a, b) => searchPath("", a) === searchPath("", b) });
  const go = (query: string, narrowed: SearchFilters) => navigate(searchPath(query, narrowed), "replace");
  let abort = new AbortController();
  onCleanup(() => abort.abort());

  /** Looks on until there is something to show, or everything was looked at. */
  const look = async (query: string, from: Hits, signal: AbortSignal) => {
    setLooking(true);
    const narrowed = searchParameters(filters(), serverNow());
    let all = from;
    try {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const search = new URLSearchParams({ q: query, ...narrowed, ...(all.cursor === undefined ? {} : { cursor: String(all.cursor) }) });
        const next = await api.get<Hits>(`/sturdy/search?${search}`, { signal });
        all = { ...next, hits: [...all.hits, ...next.hits], sessions: { ...all.sessions, ...next.sessions } };
        if (signal.aborted) return;
        setHits(all);
        if (next.cursor === undefined || next.hits.length > 0) break;
      }
    } catch (cause) {
      if (!signal.aborted) setTrouble(asCallError(cause).message);
    } finally {
      if (!signal.aborted) setLooking(false);
    }
  };
  createEffect(() => {
    const query = props.query.trim();
    const isTitled = wantsTitles(filters());
    // Asked here, so that an address that is opened is searched again when the server has said what it can do.
    const isSearchable = features()["search"] === true && query.length >= WORDS_MIN;
    abort.abort();
    const current = new AbortController();
    abort = current;
    const timer = setTimeout(() => {
      setTrouble("");
      setHits({ hits: [], sessions: {} });
      const search = new URLSearchParams({ search: query, limit: "50" });
      if (isTitled) api.get<Session[]>(`/experimental/session?${search}`, { signal: current.signal }).then(setFound, () => {});
      if (isSearchable) void look(query, { hits: [], sessions: {} }, current.signal);
    }, PAUSE_MS);
    onCleanup(() => clearTimeout(timer));
  });
  const titled = () => found().filter((one) => (filters().project === "" || one.projectID === filters().project) && one.time.updated >= sinceOf(filters(), serverNow()));
  return (
    <main class="page" id="main" aria-label={words.search}>
      <h1>{words.search}</h1>
      <input type="search" aria-label={words.search} placeholder={panelWords.searchHint} value={props.query} autofocus
        onInput={(event) => go(event.currentTarget.value, filters())} />
      <Show when={features()["search"] === true}><FilterBar filters={filters()} onChange={(next) => go(props.query, { ...filters(), ...next })} /></Show>
      <Show when={trouble() !== ""}><p class="bad small" role="alert">{trouble()}</p></Show>
      <Show when={features()["search"] === true && props.query.trim().length >= WORDS_MIN}>
        <section aria-label={panelWords.inContents}>
          <h2>{panelWords.inContents}</h2>
          <ul class="hits">
            <For each={hits().hits} fallback={<li class="muted small">{isLooking() ? "…" : words.nothingFound}</li>}>
              {(hit) => (
                <li>
                  <a href={messagePath(hit.sessionID, hit.messageID, { part: hit.partID })}>
                    <span class="list-meta num">
                      <Icon name={HIT_ICONS[hit.kind]} /> <span>{panelWords.hitKinds[hit.kind]}</span><Show when={hit.tool}><code>{hit.tool}</code></Show>
                      <span class="cut">{hits().sessions[hit.sessionID]?.title}</span>
                      <span>{words.ago(hits().sessions[hit.sessionID]?.time.updated ?? 0, serverNow())}</span>
                    </span>
                    <span class="snippet" dir="auto"><For each={hit.snippet}>{(piece) => (piece.hit ? <mark>{piece.text}</mark> : piece.text)}</For></span>
                  </a>
                </li>
              )}
            </For>
          </ul>
          <Show when={hits().cursor !== undefined}>
            <button type="button" disabled={isLooking()} onClick={() => void look(props.query.trim(), hits(), abort.signal)}>{panelWords.searchOlder}</button>
          </Show>
        </section>
      </Show>
      <Show when={props.query.trim() === ""}><Empty icon="search" title={panelWords.searchEmpty} /></Show>
      <Show when={props.query.trim() !== "" && wantsTitles(filters())}><section aria-label={panelWords.inTitles}>
        <h2>{panelWords.inTitles}</h2>
        <ul class="list-rows">
          <For each={titled()} fallback={<li class="muted small">{words.nothingFound}</li>}>
            {(one) => (
              <li class="list-row">
                <a href={sessionPath(one.id)}>
                  <NeedGlyph need={needOf(one)} />
                  <span class="grow">
                    <span class="list-title cut" dir="auto">{one.title}</span>
                    <span class="list-meta num"><span class="cut">{projectName(one)}</span><Show when={one.cost > 0}><span>{words.money(one.cost)}</span></Show><span>{words.ago(one.time.updated, serverNow())}</span></span>
                  </span>
                </a>
              </li>
            )}
          </For>
        </ul>
      </section></Show>
    </main>
  );
}

/** What the search is narrowed to. What an address names and nobody knows any more can be chosen away. */
function FilterBar(props: { filters: SearchFilters; onChange: (next: Partial<SearchFilters>) => void }) {
  const [tools, setTools] = createSignal<readonly string[]>([]);
  onMount(() => void api.get<string[]>("/experimental/tool/ids").then(setTools, () => {}));
  const projects = createMemo(() => [...new Map(sessions().map((one) => [one.projectID, projectName(one)]))].sort(([, a], [, b]) => a.localeCompare(b)));
  const named = <Name extends string>(names: readonly Name[], texts: Readonly<Record<Name, string>>) => names.map((name) => [name, texts[name]] as const);
  return (
    <div class="search-filters" role="group" aria-label={panelWords.searchIn}>
      <Choice label={panelWords.project} all={panelWords.everyProject} options={projects()} value={props.filters.project} onPick={(project) => props.onChange({ project })} />
      <Choice label={panelWords.who} all={panelWords.anybody} options={named(ROLES, panelWords.roles)} value={props.filters.role} onPick={(role) => props.onChange({ role })} />
      <Choice label={panelWords.what} all={panelWords.anyKind} options={Object.entries(panelWords.inKinds)} value={props.filters.kind} onPick={(kind) => props.onChange({ kind })} />
      <Choice label={panelWords.tool} all={panelWords.anyTool} options={tools().map((tool) => [tool, tool] as const)} value={props.filters.tool} onPick={(tool) => props.onChange({ tool })} />
      <Choice label={panelWords.age} all={panelWords.anyAge} options={named(AGES_DAYS, panelWords.ages)} value={props.filters.days} onPick={(days) => props.onChange({ days })} />
      <Show when={hasFilters(props.filters)}><button type="button" class="quiet" onClick={() => props.onChange(NO_FILTERS)}><Icon name="x" /> {panelWords.searchWide}</button></Show>
    </div>
  );
}

function Choice(props: { label: string; all: string; options: readonly (readonly [string, string])[]; value: string; onPick: (value: string) => void }) {
  const options = () => (props.value === "" || props.options.some(([value]) => value === props.value) ? props.options : [...props.options, [props.value, props.value] as const]);
  return (
    <select class="chip" classList={{ "is-on": props.value !== "" }} aria-label={props.label} onChange={(event) => props.onPick(event.currentTarget.value)}>
      <option value="" selected={props.value === ""}>{props.all}</option>
      <For each={options()}>{([value, text]) => <option value={value} selected={value === props.value}>{text}</option>}</For>
    </select>
  );
}

const HIT_ICONS: Readonly<Record<Hit["kind"], string>> = { text: "message-square", reasoning: "brain", tool: "wrench", output: "terminal", file: "file", subtask: "bot" };
