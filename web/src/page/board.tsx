// All sessions by what they need.

import { For, Show, createMemo } from "solid-js";
import { everySecond, useSeconds } from "../kit/ticking.tsx";
import { serverNow } from "../view/live.ts";
import { useEnds } from "../view/ends.ts";
import { sessionPath } from "../view/router.ts";
import { sessions } from "../view/store.ts";
import { words } from "../words/en.ts";
import type { Session } from "../wire/types.ts";
import { type Need, NeedGlyph, needOf, projectName } from "./list.tsx";

const LANES: readonly Need[] = ["asks", "busy", "retry", "failed", "unseen", "idle"];
const LANE_MAX = 30;

export function BoardPage() {
  useSeconds();
  const shown = createMemo(() => sessions().filter((one) => !one.time.archived).sort((a, b) => b.time.updated - a.time.updated));
  const hasFailed = useEnds(shown);
  const laneOf = (one: Session): Need => {
    const need = needOf(one);
    return (need === "unseen" || need === "idle") && hasFailed(one.id) ? "failed" : need;
  };
  const lanes = createMemo(() => {
    const by = new Map<Need, Session[]>(LANES.map((need) => [need, []]));
    for (const one of shown()) by.get(laneOf(one))?.push(one);
    return by;
  });
  return (
    <main class="page board" id="main" aria-label={words.board}>
      <h1>{words.board}</h1>
      <div class="lanes">
        <For each={LANES}>
          {(need) => (
            <section class={`lane is-${need}`} aria-label={words.status[need]}>
              <h2><NeedGlyph need={need} /> {words.status[need]} <span class="muted num">{lanes().get(need)?.length}</span></h2>
              <ul>
                <For each={lanes().get(need)?.slice(0, LANE_MAX)}>
                  {(one) => (
                    <li>
                      <a class="tile" href={sessionPath(one.id)}>
                        <span class="list-title" dir="auto">{one.title}</span>
                        <span class="list-meta num"><span class="cut">{projectName(one)}</span><Show when={one.cost > 0}><span>{words.money(one.cost)}</span></Show><span>{everySecond() >= 0 && words.ago(one.time.updated, serverNow())}</span></span>
                      </a>
                    </li>
                  )}
                </For>
              </ul>
            </section>
          )}
        </For>
      </div>
    </main>
  );
}
