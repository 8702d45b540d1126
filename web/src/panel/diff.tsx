// A unified patch as rows with line numbers. Long ones show their beginning first.

import { parsePatch } from "diff";
import { For, Show, createMemo, createSignal } from "solid-js";
import { words } from "../words/en.ts";

const ROWS_MAX = 400;

type DiffRow =
  | { readonly kind: "hunk"; readonly text: string }
  | { readonly kind: "add" | "del" | "same"; readonly text: string; readonly old?: number; readonly now?: number };

export function DiffView(props: { patch: string }) {
  const [isWhole, setWhole] = createSignal(false);
  const rows = createMemo(() => rowsOf(props.patch));
  const shown = () => (isWhole() ? rows() : rows().slice(0, ROWS_MAX));
  return (
    <div class="diff" tabindex="0" role="region" aria-label={words.panels.changes}>
      <table>
        <tbody>
          <For each={shown()}>
            {(row) => (
              <Show when={row.kind !== "hunk" && row} fallback={<tr class="hunk"><td colspan="4">{row.text}</td></tr>}>
                {(line) => (
                  <tr class={line().kind}>
                    <td class="no">{"old" in line() ? (line() as { old?: number }).old : ""}</td>
                    <td class="no">{"now" in line() ? (line() as { now?: number }).now : ""}</td>
                    <td class="sign">{line().kind === "add" ? "+" : line().kind === "del" ? "−" : ""}</td>
                    <td dir="ltr">{line().text}</td>
                  </tr>
                )}
              </Show>
            )}
          </For>
        </tbody>
      </table>
      <Show when={rows().length > ROWS_MAX && !isWhole()}>
        <button type="button" class="link card-note" onClick={() => setWhole(true)}>{words.showAll(rows().length)}</button>
      </Show>
    </div>
  );
}

function rowsOf(patch: string): DiffRow[] {
  try {
    const files = parsePatch(patch);
    return files.flatMap((file, index) => {
      const rows: DiffRow[] = files.length > 1 ? [{ kind: "hunk", text: file.newFileName ?? file.oldFileName ?? String(index + 1) }] : [];
      for (const hunk of file.hunks) {
        rows.push({ kind: "hunk", text: `@@ −${hunk.oldStart} +${hunk.newStart} @@` });
        let old = hunk.oldStart;
        let now = hunk.newStart;
        for (const line of hunk.lines) {
          const text = line.slice(1);
          if (line.startsWith("+")) rows.push({ kind: "add", text, now: now++ });
          else if (line.startsWith("-")) rows.push({ kind: "del", text, old: old++ });
          else if (line.startsWith("\\")) rows.push({ kind: "hunk", text: line });
          else rows.push({ kind: "same", text, old: old++, now: now++ });
        }
      }
      return rows;
    });
  } catch {
    // Not a patch after all: as it is.
    return patch.split("\n").map((text) => ({ kind: "same", text }));
  }
}
