// What one step changed: files, lines, and the difference itself.
//
// A prompt has the differences of its whole turn. That of a file is the step's own if no other step of the turn
// changed it; where one did, or the turn goes on, the server is asked for the step's own when the card is opened.

import { For, Show, createMemo, createSignal, lazy, onMount } from "solid-js";
import { Fold } from "../../kit/fold.tsx";
import { Icon } from "../../kit/icon.tsx";
import { api } from "../../view/live.ts";
import { sessionPath } from "../../view/router.ts";
import { message, part, partIds, thread } from "../../view/store.ts";
import { asCallError, segment } from "../../wire/api.ts";
import { words } from "../../words/en.ts";
import { panelWords } from "../../words/en-panels.ts";
import type { AssistantMessage, FileDiff, PartOf } from "../../wire/types.ts";

const DiffView = lazy(() => import("../../panel/diff.tsx").then((file) => ({ default: file.DiffView })));

/** A path of the disk, and one within the project. */
const isSameFile = (path: string, file: string | undefined) => file !== undefined && (path === file || path.endsWith(`/${file}`));

/** The difference of each file, if all of them are this step's own. */
function ownDiffs(patch: PartOf<"patch">, answer: AssistantMessage | undefined): readonly FileDiff[] | undefined {
  const { sessionID } = patch;
  const turn = answer === undefined ? undefined : message(sessionID, answer.parentID);
  if (turn?.role !== "user") return undefined;
  const steps = (thread(sessionID)?.order ?? []).filter((id) => {
    const info = message(sessionID, id);
    return info?.role === "assistant" && info.parentID === turn.id;
  });
  const others = steps
    .flatMap((id) => partIds(sessionID, id))
    .map((id) => part(sessionID, id))
    .flatMap((found) => (found?.type === "patch" && found.id !== patch.id ? found.files : []));
  const diffs = patch.files.map((path) => (others.includes(path) ? undefined : turn.summary?.diffs.find((diff) => isSameFile(path, diff.file))));
  return diffs.every((diff) => diff !== undefined) ? diffs : undefined;
}

export function Patch(props: { part: PartOf<"patch">; answer?: AssistantMessage | undefined }) {
  const [asked, setAsked] = createSignal<readonly FileDiff[]>();
  const own = createMemo(() => ownDiffs(props.part, props.answer));
  const diffs = () => own() ?? asked();
  const sum = (of: (diff: FileDiff) => number) => (diffs() ?? []).reduce((all, diff) => all + of(diff), 0);
  return (
    <Fold class="card patch" summary={
      <>
        <Icon name="file-diff" />
        <span class="grow">{panelWords.changedFiles(props.part.files.length)}</span>
        <Show when={diffs()}><span class="num small"><span class="plus">+{sum((diff) => diff.additions)}</span> <span class="minus">−{sum((diff) => diff.deletions)}</span></span></Show>
      </>
    }>
      <Show when={!READ_ONLY && own() === undefined}><AskForStep part={props.part} onAnswer={setAsked} /></Show>
      <ul class="paths">
        <For each={props.part.files}>
          {(path) => (
            <li>
              <code class="cut">{path}</code>
              <Show when={diffs()?.find((diff) => isSameFile(path, diff.file))?.patch}>{(patch) => <DiffView patch={patch()} />}</Show>
            </li>
          )}
        </For>
      </ul>
      <Show when={!READ_ONLY}><a class="card-link" href={sessionPath(props.part.sessionID, "changes", props.answer?.parentID)}>{words.panels.changes}</a></Show>
    </Fold>
  );
}

/** Says nothing unless there is no answer. */
function AskForStep(props: { part: PartOf<"patch">; onAnswer: (diffs: readonly FileDiff[]) => void }) {
  const [error, setError] = createSignal<string>();
  onMount(() => {
    const { sessionID, messageID } = props.part;
    api.get<readonly FileDiff[]>(`/sturdy/session/${segment(sessionID)}/message/${segment(messageID)}/diff`).then(props.onAnswer, (cause) => setError(asCallError(cause).message));
  });
  return <Show when={error()}>{(said) => <p class="card-note bad">{said()}</p>}</Show>;
}
