// A file whose contents are read when it is looked at: an image when it is drawn, any other when it is saved.

import { Show } from "solid-js";
import { saveValue } from "../../view/download.ts";
import { isLink } from "../../wire/large.ts";
import type { FilePart } from "../../wire/types.ts";
import { FileChip, FileView } from "./file.tsx";
import { WholePart } from "./large.tsx";

/** Those that are shown; an SVG can hold script and references. */
const SHOWN = /^image\/(png|jpeg|gif|webp|avif)$/i;

export function LargeFile(props: { file: FilePart; name: string }) {
  return (
    <Show when={SHOWN.test(props.file.mime)} fallback={<FileChip file={props.file} name={props.name} url="" onSave={() => isLink(props.file.url) && void saveValue(props.file, props.file.url)} />}>
      <WholePart part={props.file}>{(file) => <FileView file={file} />}</WholePart>
    </Show>
  );
}
