// What somebody picked elsewhere for the composer that is open: a model, an agent or a command.

import { createSignal } from "solid-js";

export type ComposerRequest = { readonly model: string } | { readonly agent: string } | { readonly command: string };

const [composerRequest, requestComposer] = createSignal<ComposerRequest>();
export { composerRequest, requestComposer };
