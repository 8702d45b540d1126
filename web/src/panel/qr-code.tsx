// A link as a picture that a phone's camera reads.

import { Show, createMemo } from "solid-js";
import { type Modules, qrCode } from "./qr.ts";

/** White around it, which the standard asks for. */
const MARGIN = 4;

export function QrCode(props: { text: string; label: string }) {
  const modules = createMemo(() => qrCode(props.text));
  return (
    <Show when={modules()}>
      {(found) => (
        <svg class="qr" role="img" aria-label={props.label} viewBox={`0 0 ${found().length + 2 * MARGIN} ${found().length + 2 * MARGIN}`} shape-rendering="crispEdges">
          <rect width="100%" height="100%" fill="white" />
          <path d={pathOf(found())} fill="black" />
        </svg>
      )}
    </Show>
  );
}

/** One piece for each run of dark modules in a row. */
function pathOf(modules: Modules): string {
  const pieces: string[] = [];
  modules.forEach((row, y) => {
    for (let x = 0; x < row.length; x += 1) {
      const from = x;
      while (row[x] === true) x += 1;
      if (x > from) pieces.push(`M${from + MARGIN} ${y + MARGIN}h${x - from}v1h-${x - from}z`);
    }
  });
  return pieces.join("");
}
