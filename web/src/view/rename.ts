// Which session is being renamed in its header. Tiny and apart, so that a key can begin it.

import { createSignal } from "solid-js";

const [renaming, setRenaming] = createSignal<string>();
export { renaming, setRenaming };
