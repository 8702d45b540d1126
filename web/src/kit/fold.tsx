// Something folded. What is inside is made when it is opened for the first time: a long session has thousands.

import { type JSX, Show, createEffect, createSignal } from "solid-js";

export function Fold(props: { class?: string; open?: boolean; summary: JSX.Element; children: JSX.Element }) {
  const [wasOpen, setWasOpen] = createSignal(props.open === true);
  createEffect(() => props.open === true && setWasOpen(true));
  return (
    <details class={props.class} open={props.open === true} onToggle={(event) => event.currentTarget.open && setWasOpen(true)}>
      <summary>{props.summary}</summary>
      <Show when={wasOpen()}>{props.children}</Show>
    </details>
  );
}
