// Where a part stands: an address that names it leads here (`jump.ts`).

import type { JSX } from "solid-js";

export function PartAnchor(props: { parts: readonly string[]; children: JSX.Element }) {
  return <div class="piece" data-part={props.parts.join(" ")} tabindex="-1">{props.children}</div>;
}
