// A button with a list of things to do. Native popover: Escape and a click elsewhere close it.
//
// What is in it is made when it opens: a list of sessions has as many menus as rows.

import { type JSX, Show, createSignal, createUniqueId, onCleanup } from "solid-js";
import { Icon } from "./icon.tsx";

export function Menu(props: { label: string; icon: string; children: JSX.Element }) {
  const id = createUniqueId();
  const [isOpen, setOpen] = createSignal(false);
  let list!: HTMLDivElement;
  let button!: HTMLButtonElement;
  let watch: ResizeObserver | undefined;

  const items = () => [...list.querySelectorAll<HTMLElement>("[role=menuitem]")];
  const place = () => {
    const box = button.getBoundingClientRect();
    const height = list.offsetHeight || 200;
    const isBelow = box.bottom + height + 8 < innerHeight;
    list.style.insetBlockStart = `${isBelow ? box.bottom + 4 : Math.max(8, box.top - height - 4)}px`;
    list.style.insetInlineStart = `${Math.max(8, Math.min(innerWidth - list.offsetWidth - 8, box.right - list.offsetWidth))}px`;
    if (!list.contains(document.activeElement)) items()[0]?.focus();
  };
  const move = (event: KeyboardEvent) => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -at, End: all.length - 1 - at }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    all[(at + step + all.length) % all.length]?.focus();
  };
  const toggled = (event: ToggleEvent) => {
    watch?.disconnect();
    if (event.newState !== "open") return void setOpen(false);
    // What is in it may be on its way: it is placed when it has a size.
    watch = new ResizeObserver(place);
    watch.observe(list);
  };
  onCleanup(() => watch?.disconnect());
  return (
    <>
      <button type="button" class="quiet" ref={button} popovertarget={`m-${id}`} aria-haspopup="menu" aria-label={props.label} title={props.label}>
        <Icon name={props.icon} />
      </button>
      <div id={`m-${id}`} popover ref={list} class="menu" role="menu" aria-label={props.label} onKeyDown={move}
        on:beforetoggle={(event: ToggleEvent) => event.newState === "open" && setOpen(true)} onToggle={toggled} onClick={() => list.hidePopover()}>
        <Show when={isOpen()}>{props.children}</Show>
      </div>
    </>
  );
}

export function MenuItem(props: { icon: string; onPick: () => void; tone?: string; children: JSX.Element }) {
  return (
    <button type="button" role="menuitem" class={`quiet ${props.tone ?? ""}`} onClick={() => props.onPick()}>
      <Icon name={props.icon} /> {props.children}
    </button>
  );
}
