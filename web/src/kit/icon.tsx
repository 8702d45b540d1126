// An icon beside a word. It says nothing by itself: whoever uses one alone names it.

import { For } from "solid-js";
import { Dynamic } from "solid-js/web";
import { ICONS } from "./icons.ts";

export type IconName = keyof typeof ICONS & string;

export function Icon(props: { name: string; class?: string }) {
  const shapes = () => ICONS[props.name] ?? ICONS["circle"] ?? [];
  return (
    <svg class={`icon ${props.class ?? ""}`} viewBox="0 0 24 24" aria-hidden="true">
      <For each={shapes()}>{([tag, fields]) => <Dynamic component={tag} {...fields} />}</For>
    </svg>
  );
}
