// A file in a prompt or a result: an image is shown, anything else is named and can be saved.

import { Show, createSignal, lazy } from "solid-js";
import { Icon } from "../../kit/icon.tsx";
import { filePath } from "../../view/router.ts";
import { words } from "../../words/en.ts";
import { isLink } from "../../wire/large.ts";
import type { FilePart } from "../../wire/types.ts";

// Loaded with the first file that is large.
const LargeFile = lazy(() => import("./large-file.tsx").then((file) => ({ default: file.LargeFile })));

/** Raster images only: an SVG can hold script and references. */
const SHOWN = /^data:image\/(png|jpeg|gif|webp|avif);base64,/i;

export function FileView(props: { file: FilePart }) {
  const [isLarge, setLarge] = createSignal(false);
  const url = () => (isLink(props.file.url) ? "" : props.file.url);
  return (
    <Show when={READ_ONLY || !isLink(props.file.url)} fallback={<LargeFile file={props.file} name={nameOf(props.file)} />}>
      <Show when={SHOWN.test(url())} fallback={<FileChip file={props.file} name={nameOf(props.file)} url={url()} />}>
        <button type="button" class="picture" classList={{ "is-large": isLarge() }} onClick={() => setLarge(!isLarge())} aria-label={nameOf(props.file)}>
          <img src={url()} alt={nameOf(props.file)} loading="lazy" />
        </button>
      </Show>
    </Show>
  );
}

function nameOf(file: FilePart): string {
  return file.filename ?? file.source?.path ?? file.source?.name ?? file.source?.uri ?? file.mime;
}

export function FileChip(props: { file: FilePart; name: string; url: string; onSave?: () => void }) {
  return (
    <span class="chip">
      <Icon name={props.file.mime.startsWith("text/") ? "file-text" : "file"} />
      <Show when={!READ_ONLY && placeOf(props.file)} fallback={<span class="cut">{props.name}</span>}>
        {(path) => <a class="cut" href={filePath(props.file.sessionID, path())}>{props.name}</a>}
      </Show>
      <span class="muted">{[props.file.mime, sizeOf(props.file)].filter(Boolean).join(", ")}</span>
      <Show when={props.url.startsWith("data:")}>
        {/* A download never runs in this page. */}
        <a href={saved(props.url)} download={props.name} aria-label={`${words.downloadFile} ${props.name}`}>
          <Icon name="arrow-down" />
        </a>
      </Show>
      <Show when={props.onSave}>
        {(save) => <button type="button" class="plain" onClick={save()} aria-label={`${words.downloadFile} ${props.name}`}><Icon name="arrow-down" /></button>}
      </Show>
    </span>
  );
}

/** Of what was attached; what is on the disk may have changed since. */
function sizeOf(file: FilePart): string {
  if (isLink(file.url)) return words.bytes(file.url.bytes);
  const data = /^data:[^,]*;base64,([^=]*)/.exec(file.url)?.[1];
  return data === undefined ? "" : words.bytes(Math.floor((data.length * 3) / 4));
}

/** A file of the disk that was named, and that the panel for files shows; not what was attached from a device. */
function placeOf(file: FilePart): string | undefined {
  return file.sessionID !== undefined && file.source?.type === "file" ? file.source.path : undefined;
}

/** The same bytes under a type that no browser opens by itself. */
function saved(url: string): string {
  return url.replace(/^data:[^,;]*/i, "data:application/octet-stream");
}
