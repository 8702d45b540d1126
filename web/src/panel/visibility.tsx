// Who may read a share by the plain link: whoever has it, or nobody without a link of their own.

import { createSignal, onCleanup, onMount } from "solid-js";
import { showToast } from "../kit/toast.tsx";
import { asCallError } from "../wire/api.ts";
import { panelWords } from "../words/en-panels.ts";
import type { AskOwner } from "./share-owner.ts";

type Visibility = "link" | "private";

export function PlainLink(props: { ask: AskOwner }) {
  const [visibility, setVisibility] = createSignal<Visibility>();
  const abort = new AbortController();
  onCleanup(() => abort.abort());
  const ask = async (rest: string, method: "POST" | "PUT", body: unknown) => {
    await props.ask<{ readonly visibility: Visibility }>(rest, method, body, abort.signal).then(
      (value) => setVisibility(value.visibility),
      (cause: unknown) => abort.signal.aborted || showToast(asCallError(cause).message, "bad"),
    );
  };
  onMount(() => void ask("/redeem", "POST", {}));
  return (
    <label class="small">
      <input
        type="checkbox"
        disabled={visibility() === undefined}
        checked={visibility() === "link"}
        onChange={(event) => void ask("/visibility", "PUT", { visibility: event.currentTarget.checked ? "link" : "private" })}
      />
      {panelWords.sharePlain}
    </label>
  );
}
