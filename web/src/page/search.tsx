// Sessions by their title, and words in what was said in all of them. A hit leads to its message.

import { For, Show, createEffect, createSignal, onCleanup } from "solid-js";
import { Empty } from "../kit/empty.tsx";
import { Icon } from "../kit/icon.tsx";
import { asCallError } from "../wire/api.ts";
import { api, features, serverNow } from "../view/live.ts";
import { messagePath, navigate, sessionPath } from "../view/router.ts";
import { words } from "../words/en.ts";
import { more } from "../words/en-panels.ts";
import type { Session } from "../wire/types.ts";
import { NeedGlyph, needOf, projectName } from "./list.tsx";

interface Hit {
  readonly sessionID: string;
  readonly messageID: string;
  readonly partID: string;
  readonly kind: keyof typeof more.hitKinds;
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

export function SearchPage(props: { query: string }) {
  const [found, setFound] = createSignal<readonly Session[]>([]);
  const [hits, setHits] = createSignal<Hits>({ hits: [], sessions: {} });
  const [isLooking, setLooking] = createSignal(false);
  const [trouble, setTrouble] = createSignal("");
  let abort = new AbortController();
  onCleanup(() => abort.abort());

  /** Looks on until there is something to show, or everything was looked at. */
  const look = async (query: string, from: Hits, signal: AbortSignal) => {
    setLooking(true);
    let all = from;
    try {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const search = new URLSearchParams({ q: query, ...(all.cursor === undefined ? {} : { cursor: String(all.cursor) }) });
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
    // Asked here, so that an address that is opened is searched again when the server has said what it can do.
    const isSearchable = features()["search"] === true && query.length >= WORDS_MIN;
    abort.abort();
    const current = new AbortController();
    abort = current;
    const timer = setTimeout(() => {
      setTrouble("");
      setHits({ hits: [], sessions: {} });
      const search = new URLSearchParams({ search: query, limit: "50" });
      api.get<Session[]>(`/experimental/session?${search}`, { signal: current.signal }).then(setFound, () => {});
      if (isSearchable) void look(query, { hits: [], sessions: {} }, current.signal);
    }, PAUSE_MS);
    onCleanup(() => clearTimeout(timer));
  });
  return (
    <main class="page" id="main" aria-label={words.search}>
      <h1>{words.search}</h1>
      <input type="search" aria-label={words.search} placeholder={more.searchHint} value={props.query} autofocus
        onInput={(event) => navigate(`/search?${new URLSearchParams({ q: event.currentTarget.value })}`, "replace")} />
      <Show when={trouble() !== ""}><p class="bad small" role="alert">{trouble()}</p></Show>
      <Show when={features()["search"] === true && props.query.trim().length >= WORDS_MIN}>
        <section aria-label={more.inContents}>
          <h2>{more.inContents}</h2>
          <ul class="hits">
            <For each={hits().hits} fallback={<li class="muted small">{isLooking() ? "…" : words.nothingFound}</li>}>
              {(hit) => (
                <li>
                  <a href={messagePath(hit.sessionID, hit.messageID)}>
                    <span class="list-meta num">
                      <Icon name={HIT_ICONS[hit.kind]} /> <span>{more.hitKinds[hit.kind]}</span>
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
      <section aria-label={more.inTitles}>
        <h2>{more.inTitles}</h2>
        <ul class="list-rows">
          <For each={found()} fallback={<li><Empty icon="search" title={words.nothingFound} /></li>}>
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
      </section>
    </main>
  );
}

const HIT_ICONS: Readonly<Record<Hit["kind"], string>> = { text: "message-square", reasoning: "brain", tool: "wrench", output: "terminal", file: "file", subtask: "bot" };
