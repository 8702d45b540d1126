// The session's directory: a list of what is in it, and one file to read, at a line. The address says which.

import { For, Show, createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { asCallError } from "../wire/api.ts";
import { CodeText } from "../text/code.tsx";
import { api } from "../view/live.ts";
import { filePath, navigate, sessionPath } from "../view/router.ts";
import { session, trackHints } from "../view/store.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";

interface Node {
  readonly name: string;
  readonly path: string;
  readonly type: "file" | "directory";
  readonly ignored?: boolean;
}
interface Content {
  readonly type?: string;
  readonly content: string;
}

/** Longer files show the lines around the wanted one. */
const LINES_MAX = 2000;

export function FilesPanel(props: { sessionID: string; file: string | undefined; line: number | undefined }) {
  const [place, setPlace] = createSignal(parentOf(props.file ?? ""));
  const [nodes, setNodes] = createSignal<readonly Node[]>([]);
  const [file, setFile] = createSignal<{ readonly path: string; readonly content: Content }>();
  const [trouble, setTrouble] = createSignal("");
  const directory = createMemo(() => session(props.sessionID)?.directory);
  const failed = (cause: unknown) => setTrouble(asCallError(cause).message);
  createEffect(() => {
    trackHints("file.watcher.updated", "vcs.branch.updated");
    const abort = new AbortController();
    onCleanup(() => abort.abort());
    const query = new URLSearchParams({ path: place() || "." });
    api.get<Node[]>(`/file?${query}`, { directory: directory(), signal: abort.signal }).then((found) => { setNodes(sorted(found)); setTrouble(""); }, (cause) => { if (!abort.signal.aborted) failed(cause); });
  });
  createEffect(on(() => props.file, () => setFile(undefined)));
  createEffect(() => {
    const path = props.file;
    if (path === undefined) return;
    // Read again while it is open: what is shown stays until the answer is here.
    trackHints("file.watcher.updated", "vcs.branch.updated");
    const abort = new AbortController();
    onCleanup(() => abort.abort());
    const query = new URLSearchParams({ path: within(path, directory()) });
    api.get<Content>(`/file/content?${query}`, { directory: directory(), signal: abort.signal }).then((content) => { setFile({ path, content }); setTrouble(""); }, (cause) => { if (!abort.signal.aborted) failed(cause); });
  });
  const open = (node: Node) => {
    if (node.type === "directory") return setPlace(node.path.replace(/\/$/, ""));
    navigate(filePath(props.sessionID, node.path));
  };
  return (
    <>
      <p class="list-meta"><code class="cut">{props.file ?? (place() || ".")}</code></p>
      <Show when={trouble() !== ""}><p class="bad small" role="alert">{trouble()}</p></Show>
      <Show when={props.file === undefined} fallback={
        <>
          <a class="button" href={sessionPath(props.sessionID, "files")}><Icon name="chevron-left" /> {words.back}</a>
          <Show when={file()}>
            {(found) => (
              <Show when={found().content.type !== "binary"} fallback={<p class="muted">{panelWords.binary}</p>}>
                <FileText path={found().path} text={found().content.content} line={props.line} />
              </Show>
            )}
          </Show>
        </>
      }>
        <ul class="tree">
          <Show when={place() !== ""}><li><button type="button" class="quiet row" onClick={() => setPlace(parentOf(place()))}><Icon name="chevron-left" /> ..</button></li></Show>
          <For each={nodes()}>
            {(node) => (
              <li>
                <button type="button" class="quiet row" classList={{ muted: node.ignored === true }} onClick={() => open(node)}>
                  <Icon name={node.type === "directory" ? "folder" : "file"} /> <span class="cut">{node.name}</span>
                </button>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </>
  );
}

function FileText(props: { path: string; text: string; line: number | undefined }) {
  const lines = createMemo(() => props.text.split("\n"));
  const first = () => (lines().length <= LINES_MAX ? 0 : Math.max(0, Math.min((props.line ?? 1) - 1 - LINES_MAX / 2, lines().length - LINES_MAX)));
  const shown = () => lines().slice(first(), first() + LINES_MAX);
  const atLine = (element: HTMLElement) => requestAnimationFrame(() => element.scrollIntoView({ block: "center", inline: "start" }));
  const language = () => props.path.split(".").at(-1);
  const numbers = () => shown().map((_, index) => first() + index + 1).join("\n");
  return (
    <div class="code-scroll is-numbered">
      <pre class="line-numbers num" aria-hidden="true"><code>{numbers()}</code></pre>
      <div>
        <Show when={props.line} fallback={<CodeText text={shown().join("\n")} language={language()} />}>
          {(line) => {
            // With its end: a last line that is empty would not be drawn, and everything below would be one too high.
            const before = () => shown().slice(0, line() - 1 - first()).map((one) => `${one}\n`).join("");
            const here = () => lines()[line() - 1] ?? "";
            const after = () => shown().slice(line() - first()).join("\n");
            return (
              <>
                <CodeText text={before()} language={language()} />
                <pre class="at-line" aria-label={panelWords.atLine(line())} tabindex="0" ref={atLine}><code>{here() || " "}</code></pre>
                <CodeText text={after()} language={language()} />
              </>
            );
          }}
        </Show>
      </div>
    </div>
  );
}

function parentOf(path: string): string {
  return path.startsWith("/") ? "" : path.split("/").slice(0, -1).join("/");
}

/** Tools name files whole; the route wants them from the directory. */
function within(path: string, directory: string | undefined): string {
  return directory !== undefined && path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : path;
}

function sorted(nodes: readonly Node[]): Node[] {
  return [...nodes].sort((a, b) => (a.type === b.type ? a.name.localeCompare(b.name) : a.type === "directory" ? -1 : 1));
}
