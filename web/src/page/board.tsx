// All sessions by what they need.

import { For, Show, createMemo, createSignal } from "solid-js";
import { everyTenSeconds, useSeconds } from "../kit/ticking.tsx";
import { serverNow } from "../view/live.ts";
import { useFailedSessions } from "../view/failed-sessions.ts";
import { sessionPath } from "../view/router.ts";
import { session, sessions } from "../view/store.ts";
import { words } from "../words/en.ts";
import type { Session } from "../wire/types.ts";
import { type Need, NeedGlyph, needOf, projectName } from "./list.tsx";

const LANES: readonly Need[] = ["asks", "busy", "retry", "failed", "unseen", "idle"];
/** Of one lane, at first and with each wish for more. */
const LANE_MAX = 30;

export function BoardPage() {
  useSeconds();
  const shown = createMemo(() => sessions().filter((one) => !one.time.archived).sort((a, b) => b.time.updated - a.time.updated));
  const hasFailed = useFailedSessions(shown);
  const laneOf = (one: Session): Need => {
    const need = needOf(one);
    return (need === "unseen" || need === "idle") && hasFailed(one.id) ? "failed" : need;
  };
  const lanes = createMemo(() => {
    // By id: a step that changes one session draws one tile again.
    const by = new Map<Need, string[]>(LANES.map((need) => [need, []]));
    for (const one of shown()) by.get(laneOf(one))?.push(one.id);
    return by;
  });
  return (
    <main class="page board" id="main" aria-label={words.board}>
      <h1>{words.board}</h1>
      <div class="lanes">
        <For each={LANES}>
          {(need) => {
            const [room, setRoom] = createSignal(LANE_MAX);
            const ids = () => lanes().get(need) ?? [];
            return (
            <section class={`lane is-${need}`} aria-label={words.status[need]}>
              <h2><NeedGlyph need={need} /> {words.status[need]} <span class="muted num">{ids().length}</span></h2>
              <ul>
                <For each={ids().slice(0, room())}>
                  {(id) => <Show when={session(id)}>{(one) => <Tile session={one()} />}</Show>}
                </For>
              </ul>
              <Show when={ids().length > room()}><button type="button" class="wide" onClick={() => setRoom(room() + LANE_MAX)}>{words.andMore(ids().length - room())}</button></Show>
            </section>
            );
          }}
        </For>
      </div>
    </main>
  );
}

function Tile(props: { session: Session }) {
  return (
    <li>
      <a class="tile" href={sessionPath(props.session.id)}>
        <span class="list-title" dir="auto">{props.session.title}</span>
        <span class="list-meta num"><span class="cut">{projectName(props.session)}</span><Show when={props.session.cost > 0}><span>{words.money(props.session.cost)}</span></Show><span>{everyTenSeconds() >= 0 && words.ago(props.session.time.updated, serverNow())}</span></span>
      </a>
    </li>
  );
}
