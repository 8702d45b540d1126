// A link to look at, to copy, and to hold a phone at.

import { Show, createSignal } from "solid-js";
import { copyText } from "../kit/copy.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import { QrCode } from "./qr-code.tsx";

export function LinkBox(props: { url: string; label: string }) {
  const [isCopied, setCopied] = createSignal(false);
  const [isDrawn, setDrawn] = createSignal(false);
  return (
    <div class="link-box">
      <pre class="terminal" tabindex="0" role="group" aria-label={props.label}>{props.url}</pre>
      <div class="dialog-buttons">
        <button type="button" onClick={() => void copyText(props.url).then(setCopied)}>{isCopied() ? panelWords.copied : words.copy}</button>
        <button type="button" aria-expanded={isDrawn()} onClick={() => setDrawn(!isDrawn())}>{isDrawn() ? panelWords.hideCode : panelWords.showCode}</button>
      </div>
      <Show when={isDrawn()}><QrCode text={props.url} label={panelWords.codeOf(props.label)} /></Show>
    </div>
  );
}
