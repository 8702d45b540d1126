// What would become of which file, each with what the turns did to it. A file with somebody else's work in it is
// left alone unless it is ticked, one by one.

import { For, Show } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { message, thread } from "../view/store.ts";
import { panelWords } from "../words/en-panels.ts";
import type { FileDiff, RevertPlan, Uncaptured } from "../wire/types.ts";
import { DiffView } from "./diff.tsx";

export type PlannedFile = RevertPlan["files"][number];

const ICONS: Readonly<Record<string, string>> = { create: "plus", delete: "trash-2", change: "file-pen", conflict: "hand" };

export function PlanList(props: {
  files: readonly PlannedFile[];
  /** Said when there are none. */
  empty: string;
  forced: ReadonlySet<string>;
  /** None: what is left alone cannot be forced. */
  onToggle?: (file: string) => void;
  patchOf: (file: string) => string | undefined;
}) {
  return (
    <ul class="plan">
      <For each={props.files} fallback={<li class="muted">{props.empty}</li>}>
        {(file) => (
          <li class={`is-${file.action}`} data-file={file.file}>
            <Show when={file.action === "conflict" && props.onToggle} fallback={<Icon name={ICONS[file.action] ?? "file-pen"} />}>
              <input type="checkbox" checked={props.forced.has(file.file)} onChange={() => props.onToggle?.(file.file)} aria-label={panelWords.undoForce(file.file)} />
            </Show>
            <details class="grow">
              <summary>
                <code class="cut" title={file.file}>{file.file}</code>
                <span class="small" classList={{ warn: file.action === "conflict", muted: file.action !== "conflict" }}>
                  {props.forced.has(file.file) ? panelWords.undoForced : panelWords.undoActions[file.action]}
                  <Show when={file.why}>{(why) => <>: {why()}</>}</Show>
                </span>
              </summary>
              <Show when={props.patchOf(file.file)} fallback={<p class="card-note">{panelWords.noChanges}</p>}>{(patch) => <DiffView patch={patch()} />}</Show>
            </details>
          </li>
        )}
      </For>
    </ul>
  );
}

/** What the turns from one message to before another did to this file, as far as they are loaded. */
export function patchBetween(sessionID: string, from: string, before: string | undefined, file: string): string | undefined {
  const order = thread(sessionID)?.order ?? [];
  const end = before === undefined ? -1 : order.indexOf(before);
  const diffs = order.slice(Math.max(0, order.indexOf(from)), end < 0 ? undefined : end).flatMap((id): readonly FileDiff[] => {
    const info = message(sessionID, id);
    return info?.role === "user" ? (info.summary?.diffs ?? []) : [];
  });
  const patches = diffs.filter((diff) => diff.file === file && diff.patch).map((diff) => diff.patch);
  return patches.length === 0 ? undefined : patches.join("\n");
}

/** What stays because nobody knows what it was. */
export function UncapturedList(props: { calls: readonly Uncaptured[] }) {
  return (
    <Show when={props.calls.length > 0}>
      <p class="warn small">{panelWords.uncaptured(props.calls.length)}</p>
      <ul class="paths"><For each={props.calls}>{(call) => <li><code>{call.tool}</code> <span class="muted small">{call.why}</span></li>}</For></ul>
    </Show>
  );
}
