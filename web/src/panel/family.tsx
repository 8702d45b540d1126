// Parents above, sub-agents below, and forks: the session this one was copied from, and the copies made of it, each
// with what it does now. A sub-agent belongs to its parent; a fork is independent.

import { For, type JSX, Show } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { Empty } from "../kit/empty.tsx";
import { NeedGlyph, needOf } from "../page/list.tsx";
import { messagePath, sessionPath } from "../view/router.ts";
import { firstWords } from "../timeline/first-words.ts";
import { ancestry, message, session, sessions } from "../view/store.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import type { Session } from "../wire/types.ts";

const DEPTH_MAX = 8;

type Below = (id: string) => Session[];

export function FamilyPanel(props: { sessionID: string }) {
  const above = () => ancestry(props.sessionID).slice(0, -1);
  const below = () => childrenOf(props.sessionID);
  const origin = () => originOf(session(props.sessionID));
  const forks = () => forksOf(props.sessionID);
  return (
    <Show when={above().length + below().length + forks().length > 0 || origin() !== undefined} fallback={<Empty icon="git-branch" title={panelWords.noFamily} />}>
      <Show when={above().length > 0}>
        <h3>{words.parents}</h3>
        <ul class="tree"><For each={above()}>{(one) => <Row session={one} icon="corner-down-right" />}</For></ul>
      </Show>
      <Show when={below().length > 0}>
        <h3>{panelWords.children}</h3>
        <Branch sessions={below()} below={childrenOf} icon="corner-down-right" depth={0} />
      </Show>
      <Show when={origin()}>
        {(from) => (
          <>
            <h3>{panelWords.forkedFrom}</h3>
            <ul class="tree">
              <Show when={session(from().sessionID)} fallback={<li class="muted small">{panelWords.forkGone}</li>}>{(one) => <Row session={one()} icon="git-fork" at={from().messageID} />}</Show>
            </ul>
          </>
        )}
      </Show>
      <Show when={forks().length > 0}>
        <h3>{panelWords.forks}</h3>
        <Branch sessions={forks()} below={forksOf} icon="git-fork" depth={0} left={(fork) => <ForkPoint sessionID={props.sessionID} fork={fork} />} />
      </Show>
    </Show>
  );
}

/** At which message of this session a fork left, if that is loaded. */
function ForkPoint(props: { sessionID: string; fork: Session }) {
  const at = () => {
    const id = originOf(props.fork)?.messageID;
    return id !== undefined && message(props.sessionID, id) !== undefined ? id : undefined;
  };
  return (
    <Show when={at()}>
      {(id) => <li class="fork-point"><a href={messagePath(props.sessionID, id(), { panel: "family" })}><span class="muted small cut">{panelWords.forkedAt(words.time(message(props.sessionID, id())?.time.created ?? 0), firstWords(props.sessionID, id()))}</span></a></li>}
    </Show>
  );
}

/** `left` is drawn above each that has one: where it left. */
function Branch(props: { sessions: readonly Session[]; below: Below; icon: string; depth: number; left?: (one: Session) => JSX.Element }) {
  return (
    <ul class="tree">
      <For each={props.sessions}>
        {(one) => (
          <>
            {props.left?.(one)}
            <Row session={one} icon={props.icon} />
            <Show when={props.depth < DEPTH_MAX && props.below(one.id).length > 0}>
              <li><Branch sessions={props.below(one.id)} below={props.below} icon={props.icon} depth={props.depth + 1} /></li>
            </Show>
          </>
        )}
      </For>
    </ul>
  );
}

/** `at` is the message at which a fork left: the link leads there. */
function Row(props: { session: Session; icon: string; at?: string | undefined }) {
  return (
    <li>
      <a href={props.at === undefined ? sessionPath(props.session.id) : messagePath(props.session.id, props.at)}>
        <NeedGlyph need={needOf(props.session)} />
        <span class="cut grow" dir="auto">{props.session.title}</span>
        <Show when={props.at !== undefined}><span class="muted small">{panelWords.forkPoint}</span></Show>
        <Icon name={props.icon} class="muted" />
      </a>
    </li>
  );
}

function childrenOf(id: string): Session[] {
  return sessions().filter((one) => one.parentID === id).sort((a, b) => a.time.created - b.time.created);
}

function originOf(one: Session | undefined) {
  return one?.metadata?.["sturdy.fork"];
}

function forksOf(id: string): Session[] {
  return sessions().filter((one) => originOf(one)?.sessionID === id).sort((a, b) => a.time.created - b.time.created);
}
