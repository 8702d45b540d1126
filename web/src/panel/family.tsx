// Parents above, sub-agents below, each with what it does now.

import { For, Show } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { Empty } from "../kit/empty.tsx";
import { NeedGlyph, needOf } from "../page/list.tsx";
import { sessionPath } from "../view/router.ts";
import { ancestry, sessions } from "../view/store.ts";
import { words } from "../words/en.ts";
import type { Session } from "../wire/types.ts";

const DEPTH_MAX = 8;

export function FamilyPanel(props: { sessionID: string }) {
  const above = () => ancestry(props.sessionID).slice(0, -1);
  const below = () => childrenOf(props.sessionID);
  return (
    <Show when={above().length + below().length > 0} fallback={<Empty icon="git-branch" title={words.noFamily} />}>
      <Show when={above().length > 0}>
        <h3>{words.parents}</h3>
        <ul class="tree"><For each={above()}>{(one) => <Row session={one} />}</For></ul>
      </Show>
      <Show when={below().length > 0}>
        <h3>{words.children}</h3>
        <Branch sessions={below()} depth={0} />
      </Show>
    </Show>
  );
}

function Branch(props: { sessions: readonly Session[]; depth: number }) {
  return (
    <ul class="tree">
      <For each={props.sessions}>
        {(one) => (
          <>
            <Row session={one} />
            <Show when={props.depth < DEPTH_MAX && childrenOf(one.id).length > 0}>
              <li><Branch sessions={childrenOf(one.id)} depth={props.depth + 1} /></li>
            </Show>
          </>
        )}
      </For>
    </ul>
  );
}

function Row(props: { session: Session }) {
  return (
    <li>
      <a href={sessionPath(props.session.id)}>
        <NeedGlyph need={needOf(props.session)} />
        <span class="cut grow">{props.session.title}</span>
        <Icon name="corner-down-right" class="muted" />
      </a>
    </li>
  );
}

function childrenOf(id: string): Session[] {
  return sessions().filter((one) => one.parentID === id).sort((a, b) => a.time.created - b.time.created);
}
