// The session's directory: a list of what is in it, and one file to read.

import { For, Show, createEffect, createSignal } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { asCallError } from "../sync/send.ts";
import { CodeText } from "../text/code.tsx";
import { api } from "../view/live.ts";
import { session } from "../view/store.ts";
import { words } from "../words/en.ts";

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

export function FilesPanel(props: { sessionID: string }) {
  const [place, setPlace] = createSignal("");
  const [nodes, setNodes] = createSignal<readonly Node[]>([]);
  const [file, setFile] = createSignal<{ readonly path: string; readonly content: Content }>();
  const [trouble, setTrouble] = createSignal("");
  const directory = () => session(props.sessionID)?.directory;
  const failed = (cause: unknown) => setTrouble(asCallError(cause).message);
  createEffect(() => {
    const query = new URLSearchParams({ path: place() || "." });
    api.get<Node[]>(`/file?${query}`, { directory: directory() }).then((found) => { setNodes(sorted(found)); setTrouble(""); }, failed);
  });
  const open = (node: Node) => {
    if (node.type === "directory") return setPlace(node.path.replace(/\/$/, ""));
    const query = new URLSearchParams({ path: node.path });
    api.get<Content>(`/file/content?${query}`, { directory: directory() }).then((content) => setFile({ path: node.path, content }), failed);
  };
  const up = () => setPlace(place().split("/").slice(0, -1).join("/"));
  return (
    <>
      <p class="list-meta"><code class="cut">{file()?.path ?? (place() || ".")}</code></p>
      <Show when={trouble() !== ""}><p class="bad small">{trouble()}</p></Show>
      <Show when={file()} fallback={
        <ul class="tree">
          <Show when={place() !== ""}><li><button type="button" class="quiet row" onClick={up}><Icon name="chevron-left" /> ..</button></li></Show>
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
      }>
        {(found) => (
          <>
            <button type="button" onClick={() => setFile(undefined)}><Icon name="chevron-left" /> {words.back}</button>
            <Show when={found().content.type !== "binary"} fallback={<p class="muted">{words.binary}</p>}>
              <div class="code-scroll"><CodeText text={found().content.content} language={found().path.split(".").at(-1)} /></div>
            </Show>
          </>
        )}
      </Show>
    </>
  );
}

function sorted(nodes: readonly Node[]): Node[] {
  return [...nodes].sort((a, b) => (a.type === b.type ? a.name.localeCompare(b.name) : a.type === "directory" ? -1 : 1));
}
