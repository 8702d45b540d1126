// What cannot be drawn costs itself and nothing beside it: a value that nobody expected, or a file of the page that
// is not there any more.

import { ErrorBoundary, type JSX, Show, createEffect, on } from "solid-js";
import { words } from "../words/en.ts";

/** `of` is what is drawn: it is shown as it is instead, and tried again when it changes. */
export function Guard(props: { of?: () => unknown; children: JSX.Element }) {
  return (
    <ErrorBoundary fallback={(cause, again) => <Broken cause={cause} of={props.of} again={again} />}>{props.children}</ErrorBoundary>
  );
}

/** A file of the page was not loaded: the server has others by now, or cannot be reached. */
function isFileMissing(cause: unknown): boolean {
  return cause instanceof Error && /dynamically imported module|module script/i.test(cause.message);
}

function Broken(props: { cause: unknown; of: (() => unknown) | undefined; again: () => void }) {
  createEffect(on(() => props.of?.(), props.again, { defer: true }));
  if (!READ_ONLY && !isFileMissing(props.cause)) void import("../view/report.ts").then((file) => file.report(props.cause), () => {});
  return (
    <Show when={!isFileMissing(props.cause)} fallback={
      <p class="note is-bad" role="alert">{words.fileMissing} <button type="button" onClick={() => location.reload()}>{words.reload}</button></p>
    }>
      <details class="line broken">
        <summary>{words.notDrawn}</summary>
        <pre class="terminal">{asText(props.of?.() ?? String(props.cause))}</pre>
      </details>
    </Show>
  );
}

function asText(value: unknown): string {
  try {
    return typeof value === "string" ? value : JSON.stringify(value, null, 2);
  } catch {
    return String(value);
  }
}
