// Whether somebody looks for words in the open session. Tiny and apart, so that the bar itself is loaded when needed.

import { createSignal } from "solid-js";

const [isFinding, setFinding] = createSignal(false);
export { isFinding, setFinding };
