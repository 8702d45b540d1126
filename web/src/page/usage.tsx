// Cost, tokens, steps and errors: a chart by day, and tables by model, agent, project and session. A day leads to what was
// used on it.

import { For, Show, createEffect, createSignal, onCleanup } from "solid-js";
import { Empty } from "../kit/empty.tsx";
import { asCallError } from "../wire/api.ts";
import { api, serverNow } from "../view/live.ts";
import { navigate, sessionPath } from "../view/router.ts";
import { session, world } from "../view/store.ts";
import { words } from "../words/en.ts";
import { more } from "../words/en-panels.ts";
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

export function UsagePage(props: { day: string | undefined }) {
  const [days, setDays] = createSignal<Usage>();
  const [models, setModels] = createSignal<Usage>();
  const [agents, setAgents] = createSignal<Usage>();
  const [bySession, setBySession] = createSignal<Usage>();
  const [trouble, setTrouble] = createSignal("");
  const [period, setPeriod] = createSignal<number>(30);
  const [measure, setMeasure] = createSignal<Measure>("tokens");
  createEffect(() => {
    const zone = String(new Date().getTimezoneOffset());
    const since = String(serverNow() - period() * DAY_MS);
    const abort = new AbortController();
    onCleanup(() => abort.abort());
    const within = props.day === undefined ? { since } : spanOf(props.day);
    const read = (by: string, put: (usage: Usage) => void) =>
      api.get<Usage>(`/sturdy/usage?${new URLSearchParams({ by, zone, ...(by === "day" ? { since } : within) })}`, { signal: abort.signal }).then(put, (cause) => { if (!abort.signal.aborted) setTrouble(asCallError(cause).message); });
    void read("day", setDays);
    void read("model", setModels);
    void read("agent", setAgents);
    void read("session", setBySession);
  });
  const sum = (field: "cost" | "steps" | "errors") => (days()?.rows ?? []).reduce((total, row) => total + row[field], 0);
  return (
    <main class="page usage" id="main" aria-label={words.usage}>
      <h1>{words.usage}</h1>
      <p class="checks">
        <label>{more.period} <select aria-label={more.period} onChange={(event) => setPeriod(Number(event.currentTarget.value))}><For each={PERIODS}>{(days) => <option value={days} selected={days === period()}>{words.days(days)}</option>}</For></select></label>
        <label>{more.measure} <select aria-label={more.measure} onChange={(event) => setMeasure(event.currentTarget.value as Measure)}><For each={MEASURES}>{(one) => <option value={one} selected={one === measure()}>{more.measures[one]}</option>}</For></select></label>
      </p>
      <Show when={trouble() === ""} fallback={<p class="bad">{trouble()}</p>}>
        <Show when={(days()?.rows.length ?? 0) > 0} fallback={<Empty icon="coins" title={words.noUsage} />}>
          <dl class="totals num">
            <div><dt>{words.cost}</dt><dd>{words.money(sum("cost"))}</dd></div>
            <div><dt>{words.steps}</dt><dd>{words.number(sum("steps"))}</dd></div>
            <div><dt>{words.errors}</dt><dd>{words.number(sum("errors"))}</dd></div>
          </dl>
          <Chart rows={days()?.rows ?? []} days={period()} measure={measure()} chosen={props.day} />
          <Show when={props.day} fallback={<Table title={words.byDay} rows={[...(days()?.rows ?? [])].reverse()} link={dayPath} />}>
            {(day) => <p class="checks"><strong class="num">{more.onlyDay(day())}</strong> <a class="button" href="/usage">{more.everyDay}</a></p>}
          </Show>
          <Table title={words.byModel} rows={models()?.rows ?? []} />
          <Table title={words.byAgent} rows={agents()?.rows ?? []} />
          <Table title={more.byProject} rows={byProject(bySession()?.rows ?? [])} name={nameOfProject} />
          <Table title={more.bySession} rows={(bySession()?.rows ?? []).toSorted((a, b) => b.cost - a.cost || b.steps - a.steps).slice(0, SESSIONS_MAX)} link={(id) => sessionPath(id)} name={(id) => session(id)?.title ?? id} />
          <Show when={days()?.isComplete === false}><p class="muted small">{words.notComplete}</p></Show>
        </Show>
      </Show>
    </main>
  );
}

/** Sessions that are not in the list any more, or not read yet, stand together. */
function byProject(rows: readonly UsageRow[]): readonly UsageRow[] {
  const sums = new Map<string, UsageRow>();
  for (const row of rows) {
    const key = session(row.key)?.projectID ?? more.otherProjects;
    const sum = sums.get(key);
    sums.set(key, sum === undefined ? { ...row, key } : { key, steps: sum.steps + row.steps, errors: sum.errors + row.errors, cost: sum.cost + row.cost, tokens: added(sum.tokens, row.tokens) });
  }
  return [...sums.values()].sort((a, b) => b.cost - a.cost || b.steps - a.steps);
}

function added(a: Tokens, b: Tokens): Tokens {
  return { input: a.input + b.input, output: a.output + b.output, reasoning: a.reasoning + b.reasoning, cache: { read: a.cache.read + b.cache.read, write: a.cache.write + b.cache.write } };
}

function nameOfProject(id: string): string {
  const project = world.projects.get(id);
  return project?.name ?? project?.worktree.split("/").filter(Boolean).at(-1) ?? id;
}

const all = (tokens: Tokens) => tokens.input + tokens.output + tokens.reasoning + tokens.cache.read + tokens.cache.write;

const dayPath = (day: string) => `/usage?${new URLSearchParams({ day })}`;

/** A day of this device's time zone. */
function spanOf(day: string): { readonly since: string; readonly until: string } {
  const begin = new Date(`${day}T00:00:00`);
  const end = new Date(begin);
  end.setDate(end.getDate() + 1);
  return { since: String(begin.getTime()), until: String(end.getTime()) };
}

/** One bar a day, which leads to the day. The table below says the same in numbers, and leads there by keys. */
function Chart(props: { rows: readonly UsageRow[]; days: number; measure: Measure; chosen: string | undefined }) {
  const days = () => Array.from({ length: props.days }, (_, index) => new Date(serverNow() - (props.days - 1 - index) * DAY_MS).toLocaleDateString("en-CA"));
  const value = (day: string) => {
    const row = props.rows.find((one) => one.key === day);
    if (row === undefined) return 0;
    return props.measure === "tokens" ? all(row.tokens) : row[props.measure];
  };
  const most = () => Math.max(props.measure === "cost" ? 1e-9 : 1, ...days().map(value));
  const shown = (day: string) => (props.measure === "cost" ? words.money(value(day)) : words.number(value(day)));
  return (
    <svg class="chart" viewBox={`0 0 ${props.days * 10} 60`} preserveAspectRatio="none" role="img" aria-label={`${words.byDay}: ${more.measures[props.measure]}`}>
      <For each={days()}>
        {(day, index) => {
          const height = () => (value(day) / most()) * 58;
          return <rect x={index() * 10 + 1} y={60 - height()} width="8" height={height()} rx="1" classList={{ "is-dim": props.chosen !== undefined && props.chosen !== day }} onClick={() => navigate(dayPath(day))}><title>{`${day}: ${shown(day)}`}</title></rect>;
        }}
      </For>
    </svg>
  );
}

/** Sessions that are listed; the others are cheaper. */
const SESSIONS_MAX = 30;

function Table(props: { title: string; rows: readonly UsageRow[]; link?: (key: string) => string; name?: (key: string) => string }) {
  return (
    <section>
      <h2>{props.title}</h2>
      <div class="table-scroll" tabindex="0" role="region" aria-label={props.title}>
        <table class="numbers-table num">
          <thead>
            <tr><td /><th>{words.steps}</th><th>{words.tokens.input}</th><th>{words.tokens.output}</th><th>{words.tokens.read}</th><th>{words.errors}</th><th>{words.cost}</th></tr>
          </thead>
          <tbody>
            <For each={props.rows}>
              {(row) => (
                <tr><th scope="row"><Show when={props.link} fallback={props.name?.(row.key) ?? row.key}>{(link) => <a href={link()(row.key)}>{props.name?.(row.key) ?? row.key}</a>}</Show></th><td>{words.number(row.steps)}</td><td>{words.compact(row.tokens.input)}</td><td>{words.compact(row.tokens.output)}</td><td>{words.compact(row.tokens.cache.read)}</td><td>{words.number(row.errors)}</td><td>{words.money(row.cost)}</td></tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </section>
  );
}
