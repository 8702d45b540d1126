// What a session, one of its turns, or the working tree changed, file by file, for somebody who decides about it.

import { For, Show, createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { Empty } from "../kit/empty.tsx";
import { key } from "../sync/world.ts";
import { api } from "../view/live.ts";
import { navigate, sessionPath } from "../view/router.ts";
import { message, session, status, thread, track, trackHints } from "../view/store.ts";
import { firstWords } from "../timeline/first-words.ts";
import { asCallError, segment } from "../wire/api.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import type { FileDiff } from "../wire/types.ts";
import { DiffView } from "./diff.tsx";

/** What is not the id of a turn. */
const WHOLE = "session";
const TREE = "tree";
/** Files that somebody has looked through, each with the change it had then: kept while the panel is closed, until the page is left. */
const [viewed, setViewed] = createSignal<ReadonlySet<string>>(new Set());
/** Turns that can be chosen; older ones are in the conversation. */
const TURNS_MAX = 100;

export function ChangesPanel(props: { sessionID: string; turn: string | undefined; onQuote: (text: string) => void }) {
  const [diffs, setDiffs] = createSignal<readonly FileDiff[]>();
  const [trouble, setTrouble] = createSignal("");
  const [ignoreSpace, setIgnoreSpace] = createSignal(false);
  const [split, setSplit] = createSignal(false);
  const of = () => props.turn ?? WHOLE;
  const place = createMemo(() => session(props.sessionID)?.directory);
  // What was chosen before does not stand below the name of what is chosen now.
  createEffect(on(of, () => setDiffs(undefined), { defer: true }));
  createEffect(() => {
    // Read again when a turn ends, and when the server says that something changed.
    track(key.hint(`session.diff:${props.sessionID}`));
    status(props.sessionID);
    if (of() === TREE) trackHints("file.watcher.updated", "vcs.branch.updated");
    const directory = place();
    if (directory === undefined) return;
    const abort = new AbortController();
    onCleanup(() => abort.abort());
    api.get<FileDiff[]>(pathOf(props.sessionID, of()), { directory, signal: abort.signal }).then(
      (found) => { setDiffs(found); setTrouble(""); },
      (cause) => { if (!abort.signal.aborted) setTrouble(asCallError(cause).message); },
    );
  });
  // A file that changes after it was looked at is new again.
  const nameOf = (diff: FileDiff) => `${props.sessionID}\n${diff.file ?? ""}\n${diff.patch ?? ""}`;
  const toggle = (diff: FileDiff) => {
    const next = new Set(viewed());
    if (!next.delete(nameOf(diff))) next.add(nameOf(diff));
    setViewed(next);
  };
  const sum = (field: "additions" | "deletions") => (diffs() ?? []).reduce((total, diff) => total + diff[field], 0);
  const quote = (file: string, line: number, code: string, comment: string) => props.onQuote(`> ${file}:${line}\n> ${code.trim()}\n\n${comment}`);
  return (
    <>
      <Chooser sessionID={props.sessionID} chosen={of()} />
      <Show when={trouble() === ""} fallback={<Empty icon="file-diff" title={panelWords.changesFailed} hint={trouble()} />}>
        <Show when={(diffs()?.length ?? 0) > 0} fallback={<Empty icon="file-diff" title={diffs() === undefined ? "…" : panelWords.noChanges} hint={of() === TREE ? panelWords.noChangesHint : panelWords.turnHint} />}>
          <p class="list-meta num" data-changes={of()}>
            <span>{panelWords.changedFiles(diffs()?.length ?? 0)}</span> <span class="plus">+{sum("additions")}</span> <span class="minus">−{sum("deletions")}</span>
            <span>{panelWords.viewedOf((diffs() ?? []).filter((diff) => viewed().has(nameOf(diff))).length, diffs()?.length ?? 0)}</span>
          </p>
          <p class="checks">
            <label><input type="checkbox" checked={ignoreSpace()} onChange={(event) => setIgnoreSpace(event.currentTarget.checked)} /> {panelWords.ignoreSpace}</label>
            <label><input type="checkbox" checked={split()} onChange={(event) => setSplit(event.currentTarget.checked)} /> {panelWords.split}</label>
          </p>
          <For each={diffs()}>
            {(diff) => (
              <details class="card file-diff" open={!viewed().has(nameOf(diff))}>
                <summary>
                  <Icon name={diff.status === "added" ? "plus" : diff.status === "deleted" ? "trash-2" : "file-pen"} />
                  <code class="grow cut" title={diff.file}>{diff.file}</code>
                  <span class="meta num"><span class="plus">+{diff.additions}</span> <span class="minus">−{diff.deletions}</span></span>
                </summary>
                <label class="card-note">
                  <input type="checkbox" checked={viewed().has(nameOf(diff))} onChange={() => toggle(diff)} /> {panelWords.viewed}
                </label>
                <Show when={diff.patch}>
                  {(patch) => <DiffView patch={patch()} options={{ ignoreSpace: ignoreSpace(), split: split() }} onComment={(line, code, comment) => quote(diff.file ?? "", line, code, comment)} />}
                </Show>
              </details>
            )}
          </For>
        </Show>
      </Show>
    </>
  );
}

function pathOf(sessionID: string, of: string): string {
  if (of === TREE) return "/vcs/diff?mode=git";
  const path = `/session/${segment(sessionID)}/diff`;
  return of === WHOLE ? path : `${path}?${new URLSearchParams({ messageID: of })}`;
}

function Chooser(props: { sessionID: string; chosen: string }) {
  const turns = createMemo(() => {
    const prompts = (thread(props.sessionID)?.order ?? []).filter((id) => message(props.sessionID, id)?.role === "user");
    return prompts.slice(-TURNS_MAX).toReversed().map((id) => ({ id, name: panelWords.turnOf(words.time(message(props.sessionID, id)?.time.created ?? 0), firstWords(props.sessionID, id)) }));
  });
  return (
    <select aria-label={panelWords.changesOf} onChange={(event) => navigate(sessionPath(props.sessionID, "changes", event.currentTarget.value), "replace")}>
      <option value={WHOLE} selected={props.chosen === WHOLE}>{panelWords.wholeSession}</option>
      <option value={TREE} selected={props.chosen === TREE}>{panelWords.workingTree}</option>
      <For each={turns()}>{(turn) => <option value={turn.id} selected={props.chosen === turn.id}>{turn.name}</option>}</For>
    </select>
  );
}
