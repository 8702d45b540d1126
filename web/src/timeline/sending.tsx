// A prompt on its way: lighter than what is stored, and never lost.

import { For, Show } from "solid-js";
import { words } from "../words/en.ts";
import { dropPrompt, pendingPrompt, resend } from "../view/prompts.ts";

export function SendingPrompt(props: { id: string }) {
  const prompt = () => pendingPrompt(props.id);
  return (
    <Show when={prompt()}>
      {(found) => (
        <article class="prompt is-sending" classList={{ "is-failed": found().error !== undefined }}>
          <div class="prompt-parts">
            <For each={found().prompt.parts}>{(part) => <p class="prompt-text" dir="auto">{part.type === "text" ? part.text : part.type === "file" ? part.filename : part.name}</p>}</For>
          </div>
          <footer class="actions">
            <Show when={found().error} fallback={<span class="muted tiny pulse">{words.sending}</span>}>
              {(error) => (
                <>
                  <span class="bad small grow">{words.notSentYet}: {error()}</span>
                  <button type="button" onClick={() => void resend(props.id)}>{words.error.tryAgain}</button>
                  <button type="button" onClick={() => dropPrompt(props.id)}>{words.edit}</button>
                </>
              )}
            </Show>
          </footer>
        </article>
      )}
    </Show>
  );
}
