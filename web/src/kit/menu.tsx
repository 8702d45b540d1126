// A button with a list of things to do. Native popover: Escape and a click elsewhere close it.

import { type JSX, createUniqueId } from "solid-js";
import { Icon } from "./icon.tsx";

export function Menu(props: { label: string; icon: string; children: JSX.Element }) {
  const id = createUniqueId();
  let list!: HTMLDivElement;
  let button!: HTMLButtonElement;

  const place = () => {
    const box = button.getBoundingClientRect();
    const height = list.offsetHeight || 200;
    const isBelow = box.bottom + height + 8 < innerHeight;
    list.style.insetBlockStart = `${isBelow ? box.bottom + 4 : Math.max(8, box.top - height - 4)}px`;
    list.style.insetInlineStart = `${Math.max(8, Math.min(innerWidth - list.offsetWidth - 8, box.right - list.offsetWidth))}px`;
  };
  const move = (event: KeyboardEvent) => {
    const items = [...list.querySelectorAll<HTMLElement>("[role=menuitem]")];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -at, End: items.length - 1 - at }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    items[(at + step + items.length) % items.length]?.focus();
  };
  const toggled = (event: ToggleEvent) => {
    if (event.newState !== "open") return;
    place();
    list.querySelector<HTMLElement>("[role=menuitem]")?.focus();
  };
  return (
    <>
      <button type="button" class="quiet" ref={button} popovertarget={`m-${id}`} aria-haspopup="menu" aria-label={props.label} title={props.label}>
        <Icon name={props.icon} />
      </button>
      <div id={`m-${id}`} popover ref={list} class="menu" role="menu" aria-label={props.label} onKeyDown={move} onToggle={toggled} onClick={() => list.hidePopover()}>
        {props.children}
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
