// An icon beside a word. It says nothing by itself: whoever uses one alone names it.
//
// Each is built once and copied: a list of sessions has hundreds.

import { createRenderEffect, createSignal } from "solid-js";
import { ICONS, type Shape } from "./icons.ts";

const SVG = "http://www.w3.org/2000/svg";
const built = new Map<string, DocumentFragment>();

/** The icons that the list does without; read when the first of them is wanted. */
const [more, setMore] = createSignal<Readonly<Record<string, readonly Shape[]>>>();
let isAsked = false;

export function addIcons(icons: Readonly<Record<string, readonly Shape[]>>): void {
  isAsked = true;
  setMore(icons);
}

export function Icon(props: { name: string; class?: string }) {
  let svg!: SVGSVGElement;
  const drawn = <svg ref={svg} class={`icon ${props.class ?? ""}`} viewBox="0 0 24 24" aria-hidden="true" />;
  createRenderEffect(() => svg.replaceChildren(shapesOf(props.name).cloneNode(true)));
  return drawn;
}

function shapesOf(name: string): DocumentFragment {
  const found = built.get(name);
  if (found) return found;
  const shapes = ICONS[name] ?? more()?.[name];
  if (!shapes) {
    if (!isAsked) void import("./icons-more.ts").then((file) => addIcons(file.MORE_ICONS), () => {});
    isAsked = true;
    return document.createDocumentFragment();
  }
  const fragment = document.createDocumentFragment();
  for (const [tag, fields] of shapes) {
    const shape = document.createElementNS(SVG, tag);
    for (const [field, value] of Object.entries(fields)) shape.setAttribute(field, value);
    fragment.append(shape);
  }
  built.set(name, fragment);
  return fragment;
}
