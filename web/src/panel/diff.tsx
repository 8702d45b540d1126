// A unified patch, drawn in one column or two. Long ones show their beginning first. A line can be commented on.

import { For, Show, createMemo, createSignal } from "solid-js";
import { type DiffRow, type LineRow, rowsOf, sideBySide, withWords, withoutSpace } from "../text/patch.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";

const ROWS_MAX = 400;

export interface DiffOptions {
  readonly ignoreSpace?: boolean;
  readonly split?: boolean;
}

export function DiffView(props: { patch: string; options?: DiffOptions; onComment?: (line: number, code: string, comment: string) => void }) {
  const [isWhole, setWhole] = createSignal(false);
  const [commented, setCommented] = createSignal<LineRow>();
  const rows = createMemo(() => {
    const plain = rowsOf(props.patch);
    return withWords(props.options?.ignoreSpace === true ? withoutSpace(plain) : plain);
  });
  const shown = () => (isWhole() ? rows() : rows().slice(0, ROWS_MAX));
  const onLine = () => (props.onComment === undefined ? undefined : (line: LineRow) => setCommented(commented() === line ? undefined : line));
  const say = (line: LineRow, comment: string) => {
    props.onComment?.(line.now ?? line.old ?? 0, line.text, comment);
    setCommented(undefined);
  };
  const form = (line: LineRow | undefined, columns: number) => (
    <Show when={line !== undefined && commented() === line}>
      <tr class="comment"><td colspan={columns}><CommentForm line={line as LineRow} onSay={(comment) => say(line as LineRow, comment)} onCancel={() => setCommented(undefined)} /></td></tr>
    </Show>
  );
  return (
    <div class="diff" classList={{ "is-split": props.options?.split === true }} tabindex="0" role="group" aria-label={words.panels.changes}>
      <table>
        <tbody>
          <Show when={props.options?.split === true} fallback={<For each={shown()}>{(row) => <><UnifiedRow row={row} onLine={onLine()} />{form(row.kind === "hunk" ? undefined : row, 4)}</>}</For>}>
            <For each={sideBySide(shown())}>
              {(pair) => (
                <Show when={"head" in pair ? undefined : pair} fallback={<tr class="hunk"><td colspan="4">{"head" in pair ? pair.head : ""}</td></tr>}>
                  {(two) => (
                    <>
                      <tr>
                        <Number line={two().left} value={two().left?.old} onLine={undefined} />
                        <td class={two().left?.kind} dir="ltr"><Words line={two().left} /></td>
                        <Number line={two().right} value={two().right?.now} onLine={onLine()} />
                        <td class={two().right?.kind} dir="ltr"><Words line={two().right} /></td>
                      </tr>
                      {form(two().right, 4)}
                    </>
                  )}
                </Show>
              )}
            </For>
          </Show>
        </tbody>
      </table>
      <Show when={rows().length > ROWS_MAX && !isWhole()}>
        <button type="button" class="link card-note" onClick={() => setWhole(true)}>{words.showAll(rows().length)}</button>
      </Show>
    </div>
  );
}

function UnifiedRow(props: { row: DiffRow; onLine: ((line: LineRow) => void) | undefined }) {
  const line = () => (props.row.kind === "hunk" ? undefined : props.row);
  return (
    <Show when={line()} fallback={<tr class="hunk"><td colspan="4">{props.row.text}</td></tr>}>
      {(found) => (
        <tr class={found().kind}>
          <Number line={found()} value={found().old} onLine={found().now === undefined ? props.onLine : undefined} />
          <Number line={found()} value={found().now} onLine={props.onLine} />
          <td class="sign">{found().kind === "add" ? "+" : found().kind === "del" ? "−" : ""}</td>
          <td dir="ltr"><Words line={found()} /></td>
        </tr>
      )}
    </Show>
  );
}

/** The line's number; a button when lines can be commented on. */
function Number(props: { line: LineRow | undefined; value: number | undefined; onLine: ((line: LineRow) => void) | undefined }) {
  return (
    <td class="no">
      <Show when={props.value !== undefined && props.line !== undefined && props.onLine} fallback={props.value ?? ""}>
        {(pick) => <button type="button" class="plain" aria-label={panelWords.comment(props.value ?? 0)} onClick={() => pick()(props.line as LineRow)}>{props.value}</button>}
      </Show>
    </td>
  );
}

function Words(props: { line: LineRow | undefined }) {
  return (
    <Show when={props.line?.runs} fallback={props.line?.text ?? ""}>
      {(runs) => <For each={runs()}>{(run) => (run.isNew ? <mark>{run.text}</mark> : run.text)}</For>}
    </Show>
  );
}

function CommentForm(props: { line: LineRow; onSay: (comment: string) => void; onCancel: () => void }) {
  const [text, setText] = createSignal("");
  return (
    <form onSubmit={(event) => { event.preventDefault(); if (text().trim() !== "") props.onSay(text().trim()); }}>
      <textarea aria-label={panelWords.comment(props.line.now ?? props.line.old ?? 0)} placeholder={panelWords.commentHint} value={text()} onInput={(event) => setText(event.currentTarget.value)} ref={(field) => queueMicrotask(() => field.focus())} />
      <div class="dialog-buttons">
        <button type="submit" class="primary" disabled={text().trim() === ""}>{panelWords.commentAdd}</button>
        <button type="button" onClick={() => props.onCancel()}>{panelWords.cancel}</button>
      </div>
    </form>
  );
}
