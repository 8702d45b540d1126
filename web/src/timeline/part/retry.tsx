// Tries of a step that failed before one went through: each a line, several folded into one.

import { For, createMemo } from "solid-js";
import { Fold } from "../../kit/fold.tsx";
import { Icon } from "../../kit/icon.tsx";
import { part } from "../../view/store.ts";
import { words } from "../../words/en.ts";
import { panelWords } from "../../words/en-panels.ts";
import type { PartOf } from "../../wire/types.ts";
import { PartAnchor } from "./anchor.tsx";

type RetryPart = PartOf<"retry">;

function whatOf(found: RetryPart): string {
  const { statusCode, message } = found.error.data ?? {};
  return [statusCode, message].filter((said) => said !== undefined).join(" ");
}

/** `waited` is how long it was until the next try. */
export function Retry(props: { part: RetryPart; waited?: number | undefined }) {
  const waited = () => (props.waited === undefined ? "" : ` · ${panelWords.waited(words.took(props.waited))}`);
  return (
    <Fold class="line" summary={<><Icon name="refresh-cw" /> <span class="cut">{panelWords.attempt(props.part.attempt, whatOf(props.part))}{waited()}</span></>}>
      <pre class="terminal">{JSON.stringify(props.part.error, null, 2)}</pre>
    </Fold>
  );
}

export function RetryGroup(props: { sessionID: string; ids: readonly string[] }) {
  const parts = createMemo(() => props.ids.map((id) => part(props.sessionID, id)).filter((found): found is RetryPart => found?.type === "retry"));
  const last = () => parts().at(-1);
  const waited = (index: number) => {
    const [here, next] = [parts()[index], parts()[index + 1]];
    return here && next ? next.time.created - here.time.created : undefined;
  };
  return (
    <Fold class="line" summary={<><Icon name="refresh-cw" /> <span class="cut">{panelWords.attempts(parts().length, last() === undefined ? "" : whatOf(last() as RetryPart))}</span></>}>
      <For each={parts()}>{(found, index) => <PartAnchor parts={[found.id]}><Retry part={found} waited={waited(index())} /></PartAnchor>}</For>
    </Fold>
  );
}
