// Cost, tokens, steps and errors: a chart by day, and tables by model, agent, project and session. A row leads to what it
// counts: a session to itself, everything else to the usage of it alone.

import { For, Show, createEffect, createMemo, createSignal, onCleanup } from "solid-js";
import { Empty } from "../kit/empty.tsx";
import { Icon } from "../kit/icon.tsx";
import { asCallError } from "../wire/api.ts";
import { api, serverNow } from "../view/live.ts";
import { navigate, sessionPath } from "../view/router.ts";
import { session, world } from "../view/store.ts";
import { NO_USAGE_FILTERS, USAGE_NAMES, type UsageName, type UsageFilters, usageParameters, usageOf, usagePath } from "../view/usage.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import type { Tokens } from "../wire/types.ts";

interface UsageRow {
  readonly key: string;
  readonly steps: number;
  readonly errors: number;
  readonly cost: number;
  readonly tokens: Tokens;
}
interface Usage {
  readonly rows: readonly UsageRow[];
  readonly isComplete: boolean;
}

const PERIODS = [7, 30, 90] as const;
const MEASURES = ["cost", "tokens", "steps", "errors"] as const;
type Measure = (typeof MEASURES)[number];
const DAY_MS = 24 * 60 * 60 * 1000;

const TABLES = ["day", "model", "agent", "project", "session"] as const;
type Table = (typeof TABLES)[number];

export function UsagePage(props: { search: string }) {
  const [found, setFound] = createSignal<Partial<Record<Table, Usage>>>({});
  const [trouble, setTrouble] = createSignal("");
  const [period, setPeriod] = createSignal<number>(30);
  const [measure, setMeasure] = createSignal<Measure>("tokens");
  // By value: every change of the address makes another object.
  const filters = createMemo(() => usageOf(props.search), NO_USAGE_FILTERS, { equals: (a, b) => usagePath(a) === usagePath(b) });
  createEffect(() => {
    const zone = String(new Date().getTimezoneOffset());
    const since = serverNow() - period() * DAY_MS;
    const wanted = filters();
    const abort = new AbortController();
    onCleanup(() => abort.abort());
    const read = (by: Table) => api.get<Usage>(`/sturdy/usage?${new URLSearchParams({ zone, ...usageParameters(wanted, by, since) })}`, { signal: abort.signal });
    // Together: sums and tables of two different choices do not stand beside each other.
    Promise.all(TABLES.map(async (by) => [by, await read(by)] as const)).then(
      (all) => { setFound(Object.fromEntries(all)); setTrouble(""); },
      (cause) => { if (!abort.signal.aborted) setTrouble(asCallError(cause).message); },
    );
  });
  const rows = (of: Table) => found()[of]?.rows ?? [];
  const sum = (field: "cost" | "steps" | "errors") => rows("session").reduce((total, row) => total + row[field], 0);
  const only = (change: Partial<UsageFilters>) => usagePath({ ...filters(), ...change });
  const dearest = (of: Table) => rows(of).toSorted((a, b) => b.cost - a.cost || b.steps - a.steps);
  return (
    <main class="page usage" id="main" aria-label={words.usage}>
      <h1>{words.usage}</h1>
      <p class="checks">
        <label>{panelWords.period} <select aria-label={panelWords.period} onChange={(event) => setPeriod(Number(event.currentTarget.value))}><For each={PERIODS}>{(days) => <option value={days} selected={days === period()}>{panelWords.days(days)}</option>}</For></select></label>
        <label>{panelWords.measure} <select aria-label={panelWords.measure} onChange={(event) => setMeasure(event.currentTarget.value as Measure)}><For each={MEASURES}>{(one) => <option value={one} selected={one === measure()}>{panelWords.measures[one]}</option>}</For></select></label>
      </p>
      <Chosen filters={filters()} />
      <Show when={trouble() === ""} fallback={<p class="bad" role="alert">{trouble()}</p>}>
        <Show when={rows("day").length > 0} fallback={<Empty icon="coins" title={found().day === undefined ? "…" : panelWords.noUsage} />}>
          <dl class="totals num">
            <div><dt>{panelWords.cost}</dt><dd>{words.money(sum("cost"))}</dd></div>
            <div><dt>{panelWords.steps}</dt><dd>{words.number(sum("steps"))}</dd></div>
            <div><dt>{panelWords.errors}</dt><dd>{words.number(sum("errors"))}</dd></div>
          </dl>
          <Chart rows={rows("day")} days={period()} measure={measure()} chosen={filters().day} link={(day) => only({ day })} />
          <Show when={filters().day === ""}><UsageTable title={panelWords.byDay} rows={rows("day").toReversed()} link={(day) => only({ day })} /></Show>
          <Show when={filters().model === ""}><UsageTable title={panelWords.byModel} rows={dearest("model")} link={(model) => only({ model })} /></Show>
          <Show when={filters().agent === ""}><UsageTable title={panelWords.byAgent} rows={dearest("agent")} link={(agent) => only({ agent })} /></Show>
          <Show when={filters().project === ""}><UsageTable title={panelWords.byProject} rows={dearest("project")} link={(project) => only({ project })} name={nameOfProject} /></Show>
          <UsageTable title={panelWords.bySession} rows={dearest("session").slice(0, SESSIONS_MAX)} link={(id) => sessionPath(id)} name={(id) => session(id)?.title ?? id} />
          <Show when={found().day?.isComplete === false}><p class="muted small">{panelWords.notComplete}</p></Show>
        </Show>
      </Show>
    </main>
  );
}

/** What the numbers are of, if not of everything; each can be taken away. */
function Chosen(props: { filters: UsageFilters }) {
  const names = () => USAGE_NAMES.filter((name) => props.filters[name] !== "");
  const text = (name: UsageName) => (name === "project" ? nameOfProject(props.filters.project) : props.filters[name]);
  return (
    <Show when={names().length > 0}>
      <p class="checks only-of num">
        <For each={names()}>{(name) => <a class="button" href={usagePath({ ...props.filters, [name]: "" })} title={panelWords.withoutOnly(text(name))}><span class="cut">{panelWords.onlyOf(text(name))}</span> <Icon name="x" /></a>}</For>
      </p>
    </Show>
  );
}

/** Of a session that is gone nobody knows in which it was. */
function nameOfProject(id: string): string {
  if (id === "") return panelWords.otherProjects;
  const project = world.projects.get(id);
  return project?.name ?? project?.worktree.split("/").filter(Boolean).at(-1) ?? id;
}

const all = (tokens: Tokens) => tokens.input + tokens.output + tokens.reasoning + tokens.cache.read + tokens.cache.write;

/** One bar a day, which leads to the day. The table below says the same in numbers, and leads there by keys. */
function Chart(props: { rows: readonly UsageRow[]; days: number; measure: Measure; chosen: string; link: (day: string) => string }) {
  const days = () => Array.from({ length: props.days }, (_, index) => new Date(serverNow() - (props.days - 1 - index) * DAY_MS).toLocaleDateString("en-CA"));
  const value = (day: string) => {
    const row = props.rows.find((one) => one.key === day);
    if (row === undefined) return 0;
    return props.measure === "tokens" ? all(row.tokens) : row[props.measure];
  };
  const most = () => Math.max(props.measure === "cost" ? 1e-9 : 1, ...days().map(value));
  const shown = (day: string) => (props.measure === "cost" ? words.money(value(day)) : words.number(value(day)));
  const scale = () => (props.measure === "cost" ? words.money(most()) : words.number(most()));
  return (
    <figure class="chart-box num">
    <figcaption class="muted small">{panelWords.mostInADay(scale())}</figcaption>
    <svg class="chart" viewBox={`0 0 ${props.days * 10} 60`} preserveAspectRatio="none" role="img" aria-label={`${panelWords.byDay}: ${panelWords.measures[props.measure]}`}>
      <For each={days()}>
        {(day, index) => {
          const height = () => (value(day) / most()) * 58;
          return <rect x={index() * 10 + 1} y={60 - height()} width="8" height={height()} rx="1" classList={{ "is-dim": props.chosen !== "" && props.chosen !== day }} onClick={() => navigate(props.link(day))}><title>{`${day}: ${shown(day)}`}</title></rect>;
        }}
      </For>
    </svg>
    <p class="chart-days muted small" aria-hidden="true"><span>{days()[0]}</span><span>{days().at(-1)}</span></p>
    </figure>
  );
}

/** Sessions that are listed; the others are cheaper. */
const SESSIONS_MAX = 30;

function UsageTable(props: { title: string; rows: readonly UsageRow[]; link: (key: string) => string; name?: (key: string) => string }) {
  const name = (row: UsageRow) => props.name?.(row.key) ?? row.key;
  return (
    <section>
      <h2>{props.title}</h2>
      <div class="table-scroll" tabindex="0" role="region" aria-label={props.title}>
        <table class="numbers-table num">
          <thead>
            <tr><td /><th>{panelWords.steps}</th><th>{words.tokens.input}</th><th>{words.tokens.output}</th><th>{words.tokens.read}</th><th>{panelWords.errors}</th><th>{panelWords.cost}</th></tr>
          </thead>
          <tbody>
            <For each={props.rows}>
              {(row) => (
                <tr>
                  <th scope="row" class="cut" title={name(row)}><Show when={row.key !== ""} fallback={name(row)}><a href={props.link(row.key)}>{name(row)}</a></Show></th>
                  <td>{words.number(row.steps)}</td><td>{words.compact(row.tokens.input)}</td><td>{words.compact(row.tokens.output)}</td><td>{words.compact(row.tokens.cache.read)}</td><td>{words.number(row.errors)}</td><td>{words.money(row.cost)}</td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </section>
  );
}
