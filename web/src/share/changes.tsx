// What a shared session changed, file by file, only to be read.

import { For, Show, lazy } from "solid-js";
import { Fold } from "../kit/fold.tsx";
import { Icon } from "../kit/icon.tsx";
import { panelWords } from "../words/en-panels.ts";
import type { FileDiff } from "../wire/types.ts";

const DiffView = lazy(() => import("../panel/diff.tsx").then((file) => ({ default: file.DiffView })));

export function SharedChanges(props: { diffs: readonly FileDiff[] }) {
  const sum = (field: "additions" | "deletions") => props.diffs.reduce((total, diff) => total + diff[field], 0);
  return (
    <Show when={props.diffs.length > 0}>
      <Fold class="card shared-changes" summary={<><Icon name="file-pen" /><span class="grow">{panelWords.changedFiles(props.diffs.length)}</span><Counts additions={sum("additions")} deletions={sum("deletions")} /></>}>
        <For each={props.diffs}>
          {(diff) => (
            <Fold class="card file-diff" summary={<><code class="grow cut" title={diff.file}>{diff.file}</code><Counts additions={diff.additions} deletions={diff.deletions} /></>}>
              <Show when={diff.patch}>{(patch) => <DiffView patch={patch()} />}</Show>
            </Fold>
          )}
        </For>
      </Fold>
    </Show>
  );
}

function Counts(props: { additions: number; deletions: number }) {
  return <span class="meta num"><span class="plus">+{props.additions}</span> <span class="minus">−{props.deletions}</span></span>;
}
