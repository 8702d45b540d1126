// A native dialog in front of everything else.

import { type JSX, onMount } from "solid-js";
import { Portal } from "solid-js/web";

export function Dialog(props: { label: string; class?: string; onClose: () => void; children: JSX.Element }) {
  let dialog!: HTMLDialogElement;
  onMount(() => dialog.showModal());
  return (
    <Portal>
      <dialog ref={dialog} class={`dialog ${props.class ?? ""}`} aria-label={props.label} onClose={() => props.onClose()}
        onClick={(event) => event.target === dialog && props.onClose()}>
        {props.children}
      </dialog>
    </Portal>
  );
}
