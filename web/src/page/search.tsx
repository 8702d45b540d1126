// Sessions by their title, and words in what was said in all of them. A hit leads to its part. What the search is
// narrowed to stands in the address.

import { For, Show, createEffect, createMemo, createSignal, onCleanup, onMount } from "solid-js";
import { Empty } from "../kit/empty.tsx";
import { Icon } from "../kit/icon.tsx";
import { asCallError } from "../wire/api.ts";
import { api, features, serverNow } from "../view/live.ts";
import { AGES_DAYS, EVERYTHING, type Narrowing, ROLES, askedFor, isNarrowed, narrowingOf, searchPath, sinceOf, wantsTitles } from "../view/narrow.ts";
import { messagePath, navigate, sessionPath } from "../view/router.ts";
import { sessions } from "../view/store.ts";
import { words } from "../words/en.ts";
import { more } from "../words/en-panels.ts";
import type { Session } from "../wire/types.ts";
import { NeedGlyph, needOf, projectName } from "./list.tsx";

interface Hit {
  readonly sessionID: string;
  readonly messageID: string;
  readonly partID: string;
  readonly kind: keyof typeof more.hitKinds;
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
  const narrowing = createMemo(() => narrowingOf(props.search), EVERYTHING, { equals: (a, b) => searchPath("", a) === searchPath("", b) });
  const go = (query: string, narrowed: Narrowing) => navigate(searchPath(query, narrowed), "replace");
  let abort = new AbortController();
  onCleanup(() => abort.abort());

  /** Looks on until there is something to show, or everything was looked at. */
  const look = async (query: string, from: Hits, signal: AbortSignal) => {
    setLooking(true);
    const narrowed = askedFor(narrowing(), serverNow());
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
    const isTitled = wantsTitles(narrowing());
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
  const titled = () => found().filter((one) => (narrowing().project === "" || one.projectID === narrowing().project) && one.time.updated >= sinceOf(narrowing(), serverNow()));
  return (
    <main class="page" id="main" aria-label={words.search}>
      <h1>{words.search}</h1>
      <input type="search" aria-label={words.search} placeholder={more.searchHint} value={props.query} autofocus
        onInput={(event) => go(event.currentTarget.value, narrowing())} />
      <Show when={features()["search"] === true}><Narrower narrowing={narrowing()} onChange={(next) => go(props.query, { ...narrowing(), ...next })} /></Show>
      <Show when={trouble() !== ""}><p class="bad small" role="alert">{trouble()}</p></Show>
      <Show when={features()["search"] === true && props.query.trim().length >= WORDS_MIN}>
        <section aria-label={more.inContents}>
          <h2>{more.inContents}</h2>
          <ul class="hits">
            <For each={hits().hits} fallback={<li class="muted small">{isLooking() ? "…" : words.nothingFound}</li>}>
              {(hit) => (
                <li>
                  <a href={messagePath(hit.sessionID, hit.messageID, { part: hit.partID })}>
                    <span class="list-meta num">
                      <Icon name={HIT_ICONS[hit.kind]} /> <span>{more.hitKinds[hit.kind]}</span><Show when={hit.tool}><code>{hit.tool}</code></Show>
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
            <button type="button" disabled={isLooking()} onClick={() => void look(props.query.trim(), hits(), abort.signal)}>{more.searchOlder}</button>
          </Show>
        </section>
      </Show>
      <Show when={wantsTitles(narrowing())}><section aria-label={more.inTitles}>
        <h2>{more.inTitles}</h2>
        <ul class="list-rows">
          <For each={titled()} fallback={<li><Empty icon="search" title={words.nothingFound} /></li>}>
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
function Narrower(props: { narrowing: Narrowing; onChange: (next: Partial<Narrowing>) => void }) {
  const [tools, setTools] = createSignal<readonly string[]>([]);
  onMount(() => void api.get<string[]>("/experimental/tool/ids").then(setTools, () => {}));
  const projects = createMemo(() => [...new Map(sessions().map((one) => [one.projectID, projectName(one)]))].sort(([, a], [, b]) => a.localeCompare(b)));
  const named = <Name extends string>(names: readonly Name[], texts: Readonly<Record<Name, string>>) => names.map((name) => [name, texts[name]] as const);
  return (
    <div class="narrower" role="group" aria-label={more.searchIn}>
      <Choice label={more.project} all={more.everyProject} options={projects()} value={props.narrowing.project} onPick={(project) => props.onChange({ project })} />
      <Choice label={more.who} all={more.anybody} options={named(ROLES, more.roles)} value={props.narrowing.role} onPick={(role) => props.onChange({ role })} />
      <Choice label={more.what} all={more.anyKind} options={Object.entries(more.inKinds)} value={props.narrowing.kind} onPick={(kind) => props.onChange({ kind })} />
      <Choice label={more.tool} all={more.anyTool} options={tools().map((tool) => [tool, tool] as const)} value={props.narrowing.tool} onPick={(tool) => props.onChange({ tool })} />
      <Choice label={more.age} all={more.anyAge} options={named(AGES_DAYS, more.ages)} value={props.narrowing.days} onPick={(days) => props.onChange({ days })} />
      <Show when={isNarrowed(props.narrowing)}><button type="button" class="quiet" onClick={() => props.onChange(EVERYTHING)}><Icon name="x" /> {more.searchWide}</button></Show>
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
