// A place where nothing is yet, and what to do about it.

import { type JSX, Show } from "solid-js";
import { Icon } from "./icon.tsx";

export function Empty(props: { icon: string; title: string; hint?: string; children?: JSX.Element }) {
  return (
    <div class="empty">
      <Icon name={props.icon} />
      <p>{props.title}</p>
      <Show when={props.hint}>{(hint) => <p class="muted small">{hint()}</p>}</Show>
      {props.children}
    </div>
  );
}
