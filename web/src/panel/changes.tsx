// What the working tree differs by from its last commit, file by file, for somebody who decides about it.

import { For, Show, createEffect, createSignal } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { Empty } from "../kit/empty.tsx";
import { asCallError } from "../sync/send.ts";
import { key } from "../sync/world.ts";
import { api } from "../view/live.ts";
import { session, status, track } from "../view/store.ts";
import { words } from "../words/en.ts";
import type { FileDiff } from "../wire/types.ts";
import { DiffView } from "./diff.tsx";

export function ChangesPanel(props: { sessionID: string; onQuote: (text: string) => void }) {
  const [diffs, setDiffs] = createSignal<readonly FileDiff[]>();
  const [trouble, setTrouble] = createSignal("");
  const [viewed, setViewed] = createSignal<ReadonlySet<string>>(new Set());
  createEffect(() => {
    // Read again when a turn ends, and when the server says that something changed.
    track(key.hint(`session.diff:${props.sessionID}`));
    status(props.sessionID);
    const directory = session(props.sessionID)?.directory;
    if (directory === undefined) return;
    api.get<FileDiff[]>("/vcs/diff?mode=git", { directory }).then(
      (found) => { setDiffs(found); setTrouble(""); },
      (cause) => setTrouble(asCallError(cause).message),
    );
  });
  const toggle = (file: string) => {
    const next = new Set(viewed());
    if (!next.delete(file)) next.add(file);
    setViewed(next);
  };
  const sum = (field: "additions" | "deletions") => (diffs() ?? []).reduce((total, diff) => total + diff[field], 0);
  return (
    <Show when={trouble() === ""} fallback={<Empty icon="file-diff" title={words.noChanges} hint={trouble()} />}>
      <Show when={(diffs()?.length ?? 0) > 0} fallback={<Empty icon="file-diff" title={diffs() === undefined ? "…" : words.noChanges} hint={words.noChangesHint} />}>
        <p class="list-meta num">
          <span>{words.workingTree}</span> <span>{words.changedFiles(diffs()?.length ?? 0)}</span> <span class="plus">+{sum("additions")}</span> <span class="minus">−{sum("deletions")}</span>
        </p>
        <For each={diffs()}>
          {(diff) => (
            <details class="card file-diff" open={!viewed().has(diff.file ?? "")}>
              <summary>
                <Icon name={diff.status === "added" ? "plus" : diff.status === "deleted" ? "trash-2" : "file-pen"} />
                <code class="grow cut" title={diff.file}>{diff.file}</code>
                <span class="meta num"><span class="plus">+{diff.additions}</span> <span class="minus">−{diff.deletions}</span></span>
              </summary>
              <label class="card-note">
                <input type="checkbox" checked={viewed().has(diff.file ?? "")} onChange={() => toggle(diff.file ?? "")} /> {words.viewed}
              </label>
              <Show when={diff.patch}>{(patch) => <DiffView patch={patch()} />}</Show>
            </details>
          )}
        </For>
      </Show>
    </Show>
  );
}
