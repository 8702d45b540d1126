// The edges between list, conversation and panel: dragged, or moved by arrow keys; a double click or Home takes the
// usual width again. Only where there are columns.

import { Show } from "solid-js";
import { tabs } from "../view/live.ts";
import { prefer, preferences } from "../view/preferences.ts";
import { panelWords } from "../words/en-panels.ts";

const STEP_PX = 16;
const COLUMNS = {
  list: { name: "listWidth", usual: 280, least: 200, most: 480, grows: 1, label: panelWords.resizeList },
  panel: { name: "panelWidth", usual: 420, least: 300, most: 900, grows: -1, label: panelWords.resizePanel },
} as const;

export function Columns(props: { hasPanel: boolean }) {
  return (
    <section class="edges" aria-label={panelWords.columns}>
      <Show when={!preferences().isListFolded}><Edge of="list" /></Show>
      <Show when={props.hasPanel}><Edge of="panel" /></Show>
    </section>
  );
}

function Edge(props: { of: keyof typeof COLUMNS }) {
  const column = COLUMNS[props.of];
  const width = () => preferences()[column.name] ?? column.usual;
  const set = (next: number | undefined) => prefer({ [column.name]: next === undefined ? undefined : Math.round(Math.max(column.least, Math.min(column.most, next))) });
  const drag = (begin: PointerEvent & { currentTarget: HTMLElement }) => {
    const edge = begin.currentTarget;
    const from = width();
    edge.setPointerCapture(begin.pointerId);
    const move = (event: PointerEvent) => set(from + (event.clientX - begin.clientX) * column.grows * direction());
    const end = () => {
      edge.removeEventListener("pointermove", move);
      tabs.preferences();
    };
    edge.addEventListener("pointermove", move);
    edge.addEventListener("lostpointercapture", end, { once: true });
  };
  const key = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -STEP_PX, ArrowRight: STEP_PX }[event.key];
    if (step !== undefined) set(width() + step * column.grows * direction());
    else if (event.key === "Home") set(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
    tabs.preferences();
  };
  return (
    <div class={`edge of-${props.of}`} role="separator" tabindex="0" aria-orientation="vertical" aria-label={column.label} aria-valuenow={width()} aria-valuemin={column.least} aria-valuemax={column.most}
      onPointerDown={drag} onKeyDown={key} onDblClick={() => { set(undefined); tabs.preferences(); }} />
  );
}

/** Where the lines run from right to left, so do the columns. */
const direction = () => (getComputedStyle(document.documentElement).direction === "rtl" ? -1 : 1);
