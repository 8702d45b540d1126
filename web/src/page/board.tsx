// All sessions by what they need.

import { For, Show, createMemo } from "solid-js";
import { everySecond, useSeconds } from "../kit/ticking.tsx";
import { serverNow } from "../view/live.ts";
import { sessionPath } from "../view/router.ts";
import { sessions } from "../view/store.ts";
import { words } from "../words/en.ts";
import type { Session } from "../wire/types.ts";
import { type Need, NeedGlyph, needOf, projectName } from "./list.tsx";

const LANES: readonly Need[] = ["asks", "busy", "retry", "unseen", "idle"];
const LANE_MAX = 30;

export function BoardPage() {
  useSeconds();
  const lanes = createMemo(() => {
    const by = new Map<Need, Session[]>(LANES.map((need) => [need, []]));
    const roots = sessions().filter((one) => !one.time.archived);
    for (const one of roots.sort((a, b) => b.time.updated - a.time.updated)) by.get(needOf(one))?.push(one);
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
