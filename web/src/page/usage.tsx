// Cost, tokens, steps and errors: a chart by day, and tables by model and agent.

import { For, Show, createSignal, onMount } from "solid-js";
import { Empty } from "../kit/empty.tsx";
import { asCallError } from "../sync/send.ts";
import { api } from "../view/live.ts";
import { words } from "../words/en.ts";
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

const DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1000;

export function UsagePage() {
  const [days, setDays] = createSignal<Usage>();
  const [models, setModels] = createSignal<Usage>();
  const [agents, setAgents] = createSignal<Usage>();
  const [trouble, setTrouble] = createSignal("");
  onMount(() => {
    const zone = String(new Date().getTimezoneOffset());
    const read = (by: string, put: (usage: Usage) => void) =>
      api.get<Usage>(`/sturdy/usage?${new URLSearchParams({ by, zone })}`).then(put, (cause) => setTrouble(asCallError(cause).message));
    void read("day", setDays);
    void read("model", setModels);
    void read("agent", setAgents);
  });
  const sum = (field: "cost" | "steps" | "errors") => (days()?.rows ?? []).reduce((total, row) => total + row[field], 0);
  return (
    <main class="page usage" id="main" aria-label={words.usage}>
      <h1>{words.usage}</h1>
      <p class="muted small">{words.days(DAYS)}</p>
      <Show when={trouble() === ""} fallback={<p class="bad">{trouble()}</p>}>
        <Show when={(days()?.rows.length ?? 0) > 0} fallback={<Empty icon="coins" title={words.noUsage} />}>
          <dl class="totals num">
            <div><dt>{words.cost}</dt><dd>{words.money(sum("cost"))}</dd></div>
            <div><dt>{words.steps}</dt><dd>{words.number(sum("steps"))}</dd></div>
            <div><dt>{words.errors}</dt><dd>{words.number(sum("errors"))}</dd></div>
          </dl>
          <Chart rows={days()?.rows ?? []} />
          <Table title={words.byDay} rows={[...(days()?.rows ?? [])].reverse()} />
          <Table title={words.byModel} rows={models()?.rows ?? []} />
          <Table title={words.byAgent} rows={agents()?.rows ?? []} />
          <Show when={days()?.isComplete === false}><p class="muted small">{words.notComplete}</p></Show>
        </Show>
      </Show>
    </main>
  );
}

const all = (tokens: Tokens) => tokens.input + tokens.output + tokens.reasoning + tokens.cache.read + tokens.cache.write;

/** One bar a day. The table below says the same in numbers. */
function Chart(props: { rows: readonly UsageRow[] }) {
  const days = () => Array.from({ length: DAYS }, (_, index) => new Date(Date.now() - (DAYS - 1 - index) * DAY_MS).toLocaleDateString("en-CA"));
  const value = (day: string) => {
    const row = props.rows.find((one) => one.key === day);
    return row === undefined ? 0 : all(row.tokens);
  };
  const most = () => Math.max(1, ...days().map(value));
  return (
    <svg class="chart" viewBox={`0 0 ${DAYS * 10} 60`} preserveAspectRatio="none" role="img" aria-label={words.byDay}>
      <For each={days()}>
        {(day, index) => {
          const height = () => (value(day) / most()) * 58;
          return <rect x={index() * 10 + 1} y={60 - height()} width="8" height={height()} rx="1"><title>{`${day}: ${words.number(value(day))}`}</title></rect>;
        }}
      </For>
    </svg>
  );
}

function Table(props: { title: string; rows: readonly UsageRow[] }) {
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
                <tr><th scope="row">{row.key}</th><td>{words.number(row.steps)}</td><td>{words.compact(row.tokens.input)}</td><td>{words.compact(row.tokens.output)}</td><td>{words.compact(row.tokens.cache.read)}</td><td>{words.number(row.errors)}</td><td>{words.money(row.cost)}</td></tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </section>
  );
}
