// A part with large values in it: read when it is looked at, or, if they are very large, when somebody says so.

import { type JSX, Show, createEffect, createSignal, on, onCleanup } from "solid-js";
import { saveValue } from "../../view/download.ts";
import { wholePart } from "../../view/large.ts";
import { asCallError } from "../../wire/api.ts";
import { linksIn } from "../../wire/large.ts";
import type { Part } from "../../wire/types.ts";
import { words } from "../../words/en.ts";
import { panelWords } from "../../words/en-panels.ts";

/** What is read without asking: a second of a slow line. */
const UNASKED_BYTES_MAX = 512 * 1024;

/** What is inside is drawn with the whole part, once that is here. */
export function WholePart<T extends Part>(props: { part: T; children: (whole: T) => JSX.Element }) {
  const [whole, setWhole] = createSignal<T>();
  const [isAsked, setAsked] = createSignal(false);
  const [error, setError] = createSignal<string>();
  const links = () => linksIn(props.part);
  const bytes = () => links().reduce((sum, link) => sum + link.bytes, 0);
  const largest = () => links().reduce((one, other) => (other.bytes > one.bytes ? other : one));
  const isWanted = () => isAsked() || bytes() <= UNASKED_BYTES_MAX;
  createEffect(on([() => props.part, isWanted], ([part, wanted]) => {
    setError(undefined);
    if (!wanted) return;
    const abort = new AbortController();
    onCleanup(() => abort.abort());
    wholePart(part, abort.signal).then(
      (found) => !abort.signal.aborted && setWhole(() => found),
      (cause) => !abort.signal.aborted && setError(asCallError(cause).status === 404 ? panelWords.largeGone : asCallError(cause).message),
    );
  }));
  return (
    <Show when={whole()} fallback={<Unread bytes={bytes()} isWanted={isWanted()} error={error()} onAsk={() => setAsked(true)} onSave={() => void saveValue(props.part, largest())} />}>
      {(found) => props.children(found())}
    </Show>
  );
}

function Unread(props: { bytes: number; isWanted: boolean; error: string | undefined; onAsk: () => void; onSave: () => void }) {
  return (
    <p class="card-note" role="status">
      <Show when={props.error === undefined} fallback={<span class="bad">{props.error}</span>}>
        <Show when={!props.isWanted} fallback={<span class="muted">{panelWords.largeReading(words.bytes(props.bytes))}</span>}>
          <button type="button" class="link" onClick={props.onAsk}>{panelWords.largeRead(words.bytes(props.bytes))}</button>{" "}
          <button type="button" class="link" onClick={props.onSave}>{panelWords.largeSave}</button>
        </Show>
      </Show>
    </p>
  );
}
