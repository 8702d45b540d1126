// What somebody picked elsewhere for the composer that is open: a model, an agent or a command.

import { createSignal } from "solid-js";

export type Wish = { readonly model: string } | { readonly agent: string } | { readonly command: string };

const [wish, setWish] = createSignal<Wish>();
export { wish, setWish };
