// The session's log: a slider through everything that happened, and the conversation beside it as it was then.
//
// The entries are read once, when the panel is opened, and applied by the code that applies them live.

import { For, Show, createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";
import { Empty } from "../kit/empty.tsx";
import { Icon } from "../kit/icon.tsx";
import { type Mark, type PastEntry, Travel } from "../sync/travel.ts";
import { forkAt } from "../view/actions.ts";
import { api } from "../view/live.ts";
import { navigate, sessionPath } from "../view/router.ts";
import { past, setPast, world } from "../view/store.ts";
import { asCallError, segment } from "../wire/api.ts";
import { type Actors, actorName, browserName } from "../wire/actors.ts";
import { parsePlace } from "../wire/place.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import type { Fields, Message, Part, Status } from "../wire/types.ts";

interface Page {
  readonly entries: readonly PastEntry[];
  /** For `after=`; absent at the end of the log. */
  readonly cursor?: string;
  /** Growth of entries before this position may be folded away. */
  readonly horizon: number;
}

const PAGE = 1000;
/** More than a person travels through, and less than a phone's memory. */
const ENTRIES_MAX = 40_000;
/** Facts of the moment: as many before and after it. */
const AROUND = 12;
const SPEEDS = [1, 8, 64] as const;
/** Waiting for a person is not played. */
const GAP_MS_MAX = 2000;

/** Which moment is shown; the bar below the conversation says it. */
const [moment, setMoment] = createSignal<PastEntry>();

export function LogPanel(props: { sessionID: string; at: number | undefined }) {
  const [travel, setTravel] = createSignal<Travel>();
  const [count, setCount] = createSignal(0);
  const [isCut, setCut] = createSignal(false);
  const [isFolded, setFolded] = createSignal(false);
  const [trouble, setTrouble] = createSignal("");
  const [speed, setSpeed] = createSignal<number>();
  const last = () => (travel()?.entries.length ?? 0) - 1;
  const index = createMemo(() => (props.at === undefined ? last() : (travel()?.indexOf(props.at) ?? last())));

  createEffect(on(() => props.sessionID, (id) => {
    const abort = new AbortController();
    onCleanup(() => abort.abort());
    setTravel(undefined);
    setTrouble("");
    read(id, abort.signal, setCount).then(
      ({ entries, isWhole, horizon }) => {
        setTravel(new Travel(id, entries));
        setCut(!isWhole);
        setFolded((parsePlace(entries[0]?.position)?.position ?? Number.POSITIVE_INFINITY) < horizon);
      },
      (cause) => { if (!abort.signal.aborted) setTrouble(asCallError(cause).message); },
    );
  }));
  createEffect(() => {
    const found = travel();
    if (!found) return;
    const isNow = props.at === undefined;
    const entry = found.entries[index()];
    setMoment(isNow ? undefined : entry);
    setPast(isNow ? undefined : { sessionID: props.sessionID, world: found.at(index()), at: entry?.at ?? 0 });
  });
  onCleanup(() => { setPast(undefined); setMoment(undefined); });

  const go = (to: number) => {
    const bounded = Math.max(-1, Math.min(last(), to));
    const position = bounded < 0 ? 0 : parsePlace(travel()?.entries[bounded]?.position)?.position;
    if (position !== undefined) navigate(pastPath(props.sessionID, position), "replace");
  };
  const nextOf = (mark: Mark) => {
    const marks = travel()?.marks ?? [];
    const at = props.at === undefined ? -1 : index();
    const next = marks.indexOf(mark, at + 1);
    go(next < 0 ? marks.indexOf(mark) : next);
  };
  createEffect(() => {
    const factor = speed();
    const found = travel();
    if (factor === undefined || !found) return;
    const at = index();
    if (props.at !== undefined && at >= last()) return void setSpeed(undefined);
    const from = props.at === undefined ? -1 : at;
    const gap = (found.entries[from + 1]?.at ?? 0) - (found.entries[from]?.at ?? found.entries[0]?.at ?? 0);
    const timer = setTimeout(() => go(from + 1), Math.min(GAP_MS_MAX, Math.max(0, gap)) / factor);
    onCleanup(() => clearTimeout(timer));
  });
  return (
    <Show when={trouble() === ""} fallback={<Empty icon="history" title={panelWords.logEmpty} hint={trouble()} />}>
      <Show when={travel()} fallback={<p class="muted pulse num">{panelWords.logReading(count())}</p>}>
        {(found) => (
          <>
            <p class="num small" aria-live="off">{index() < 0 ? panelWords.logBegin : panelWords.logEntry(index() + 1, found().entries.length)}</p>
            <Marks marks={found().marks} />
            <input type="range" min="-1" max={last()} value={index()} aria-label={panelWords.logSlider} aria-valuetext={index() < 0 ? panelWords.logBegin : `${panelWords.second(found().entries[index()]?.at ?? 0)}, ${panelWords.logEntry(index() + 1, found().entries.length)}`}
              onInput={(event) => go(Number(event.currentTarget.value))} />
            <div class="log-buttons">
              <button type="button" aria-label={panelWords.back} title={panelWords.back} onClick={() => go(index() - 1)}><Icon name="chevron-left" /></button>
              <button type="button" aria-label={panelWords.forward} title={panelWords.forward} onClick={() => go(index() + 1)}><Icon name="chevron-right" /></button>
              <Show when={speed() === undefined} fallback={<button type="button" onClick={() => setSpeed(undefined)}><Icon name="circle-pause" /> {panelWords.pause}</button>}>
                <For each={SPEEDS}>{(factor) => <button type="button" aria-label={panelWords.play(factor)} onClick={() => setSpeed(factor)}><Icon name="play" /> {factor}×</button>}</For>
              </Show>
              <span class="grow" />
              <For each={["prompt", "ask", "error"] as const}>
                {(mark) => <Show when={found().marks.includes(mark)}><button type="button" onClick={() => nextOf(mark)}>{panelWords.nextMark(panelWords.marks[mark])}</button></Show>}
              </For>
            </div>
            <Show when={isFolded()}><p class="muted small">{panelWords.logFolded}</p></Show>
            <Show when={isCut()}><p class="muted small">{panelWords.logMore(found().entries.length)}</p></Show>
            <Facts travel={found()} index={index()} onPick={go} />
          </>
        )}
      </Show>
    </Show>
  );
}

function pastPath(sessionID: string, position: number): string {
  return `${sessionPath(sessionID, "log")}&at=${position}`;
}

async function read(sessionID: string, signal: AbortSignal, onCount: (n: number) => void): Promise<{ entries: PastEntry[]; isWhole: boolean; horizon: number }> {
  const entries: PastEntry[] = [];
  let after: string | undefined;
  let horizon = 0;
  do {
    const query = new URLSearchParams({ limit: String(PAGE), large: "link", ...(after === undefined ? {} : { after }) });
    const page = await api.get<Page>(`/sturdy/session/${segment(sessionID)}/entries?${query}`, { signal });
    entries.push(...page.entries);
    onCount(entries.length);
    horizon = page.horizon;
    after = page.cursor;
  } while (after !== undefined && entries.length < ENTRIES_MAX);
  return { entries, isWhole: after === undefined, horizon };
}

const SHOWN_MARKS = new Set<Mark>(["prompt", "error", "ask", "summary"]);
/** Marks that stand closer than this draw one line. */
const MARK_PLACES = 400;

/** Where prompts, errors, asks and summaries stand along the slider. The buttons lead to them. */
function Marks(props: { marks: readonly Mark[] }) {
  const shown = createMemo(() => {
    const places = new Map<string, { x: number; mark: Mark }>();
    props.marks.forEach((mark, index) => {
      if (!SHOWN_MARKS.has(mark)) return;
      const x = Math.round(((index + 1) / Math.max(1, props.marks.length)) * MARK_PLACES);
      places.set(`${x}${mark}`, { x, mark });
    });
    return [...places.values()];
  });
  return (
    <svg class="marks" viewBox={`0 0 ${MARK_PLACES} 8`} preserveAspectRatio="none" aria-hidden="true">
      <For each={shown()}>{({ x, mark }) => <rect class={`is-${mark}`} x={x - 1} y="0" width="2" height="8" />}</For>
    </svg>
  );
}

/** Browsers and programs by name. Who may not see them sees what the log has. */
async function readActors(): Promise<Actors> {
  const [devices, tokens] = await Promise.all([
    api.get<readonly { id: string; label: string }[]>("/sturdy/devices").catch(() => []),
    api.get<readonly { id: string; name: string }[]>("/sturdy/token").catch(() => []),
  ]);
  return new Map([...devices.map(({ id, label }) => [`device:${id}`, browserName(label)] as const), ...tokens.map(({ id, name }) => [`token:${id}`, name] as const)]);
}

function Facts(props: { travel: Travel; index: number; onPick: (index: number) => void }) {
  const [actors, setActors] = createSignal<Actors>(new Map());
  void readActors().then(setActors);
  const first = () => Math.max(0, Math.min(props.index - AROUND, props.travel.entries.length - 2 * AROUND - 1));
  const shown = () => props.travel.entries.slice(first(), first() + 2 * AROUND + 1);
  return (
    <ol class="facts">
      <For each={shown()}>
        {(entry, row) => {
          const at = () => first() + row();
          return (
            <li class={`is-${props.travel.marks[at()]}`} aria-current={at() === props.index ? "step" : undefined}>
              <button type="button" class="quiet row" onClick={() => props.onPick(at())}>
                <span class="muted num">{panelWords.second(entry.at)}</span>
                <span class="grow cut">{entry.events.map(({ type, properties }) => describe(type, properties)).filter(Boolean).join(" · ") || entry.events.map(({ type }) => type).join(" · ") || panelWords.logNothing}</span>
                <Show when={entry.actor}>{(actor) => <span class="muted tiny cut" title={actor()}>{actorName(actor(), actors())}</span>}</Show>
                <span class="muted num">{parsePlace(entry.position)?.position}</span>
              </button>
            </li>
          );
        }}
      </For>
    </ol>
  );
}

const SAID_CHARS_MAX = 80;

/** An event in a few words. */
function describe(type: string, said: Fields): string {
  const short = (text: string) => text.trim().replaceAll(/\s+/g, " ").slice(0, SAID_CHARS_MAX);
  switch (type) {
    case "message.part.delta":
      return `+ ${short(String(said["delta"] ?? ""))}`;
    case "message.part.updated": {
      const part = said["part"] as Part;
      if (part.type === "tool") return `${part.tool} ${part.state.status}`;
      const name = panelWords.logParts[part.type] ?? part.type;
      return part.type === "text" || part.type === "reasoning" ? `${name} ${short(part.text)}`.trim() : name;
    }
    case "message.updated": {
      const info = said["info"] as Message;
      return info.role === "user" ? panelWords.marks.prompt : `${panelWords.marks.answer} ${info.error?.name ?? info.finish ?? ""}`.trim();
    }
    case "command.executed":
      return short(`/${String(said["name"] ?? "")} ${String(said["arguments"] ?? "")}`);
    case "session.status":
      return words.status[(said["status"] as Status).type].toLowerCase();
    case "session.idle":
      return "";
    default:
      return panelWords.logEvents[type] ?? type;
  }
}

/** In place of the composer while the past is shown. */
export function PastBar(props: { sessionID: string }) {
  const shownMoment = () => moment();
  /** The first message that the moment does not have yet: a copy ends before it. */
  const next = () => {
    const then = past()?.world.threads.get(props.sessionID);
    return (world.threads.get(props.sessionID)?.order ?? []).find((id) => !then?.messages.has(id));
  };
  return (
    <section class="past-bar" aria-label={words.panels.log}>
      <Icon name="history" />
      <span class="grow num">{panelWords.pastAt(panelWords.second(shownMoment()?.at ?? 0), words.number(parsePlace(shownMoment()?.position)?.position ?? 0))}</span>
      <button type="button" onClick={() => void forkAt(props.sessionID, next())}><Icon name="git-fork" /> {panelWords.forkThen}</button>
      <button type="button" class="primary" onClick={() => navigate(sessionPath(props.sessionID, "log"), "replace")}>{panelWords.toNow}</button>
    </section>
  );
}
