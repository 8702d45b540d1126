// A file in a prompt or a result: an image is shown, anything else is named and can be saved.

import { Show, createSignal } from "solid-js";
import { Icon } from "../../kit/icon.tsx";
import { words } from "../../words/en.ts";
import type { FilePart } from "../../wire/types.ts";

/** Raster images only: an SVG can hold script and references. */
const SHOWN = /^data:image\/(png|jpeg|gif|webp|avif);base64,/i;

export function FileView(props: { file: FilePart }) {
  const [isLarge, setLarge] = createSignal(false);
  const name = () => props.file.filename ?? props.file.source?.path ?? props.file.source?.name ?? props.file.source?.uri ?? props.file.mime;
  return (
    <Show when={SHOWN.test(props.file.url)} fallback={<FileChip file={props.file} name={name()} />}>
      <button type="button" class="picture" classList={{ "is-large": isLarge() }} onClick={() => setLarge(!isLarge())} aria-label={name()}>
        <img src={props.file.url} alt={name()} loading="lazy" />
      </button>
    </Show>
  );
}

function FileChip(props: { file: FilePart; name: string }) {
  const isData = () => props.file.url.startsWith("data:");
  return (
    <span class="chip">
      <Icon name={props.file.mime.startsWith("text/") ? "file-text" : "file"} />
      <span class="cut">{props.name}</span>
      <span class="muted">{props.file.mime}</span>
      <Show when={isData()}>
        {/* A download never runs in this page. */}
        <a href={saved(props.file.url)} download={props.name} aria-label={`${words.downloadFile} ${props.name}`}>
          <Icon name="arrow-down" />
        </a>
      </Show>
    </span>
  );
}

/** The same bytes under a type that no browser opens by itself. */
function saved(url: string): string {
  return url.replace(/^data:[^,;]*/i, "data:application/octet-stream");
}
