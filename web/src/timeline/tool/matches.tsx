// What a search found: each file, and each line in it, leads to the files panel.

import { For, Show, createMemo } from "solid-js";
import { matchLines } from "../../text/matches.ts";
import { filePath } from "../../view/router.ts";
import { Output } from "./output.tsx";

/** More are text: whoever looks through thousands looks in the files panel. */
const LINES_MAX = 500;

export function Matches(props: { sessionID: string; text: string }) {
  const lines = createMemo(() => matchLines(props.text));
  const isPlain = () => READ_ONLY || lines().length > LINES_MAX || !lines().some((line) => line.file !== undefined);
  return (
    <Show when={!isPlain()} fallback={<Output text={props.text} isGrowing={false} />}>
      <pre class="terminal matches" dir="ltr">
        <For each={lines()}>
          {(line) => <><Show when={line.file} fallback={line.text}>{(file) => <a href={filePath(props.sessionID, file(), line.line)}>{line.text}</a>}</Show>{"\n"}</>}
        </For>
      </pre>
    </Show>
  );
}
