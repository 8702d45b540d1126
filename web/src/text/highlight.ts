// Asks the worker for colours. A worker that cannot be started leaves everything plain.

export type ColourRun = readonly [style: string, text: string];
export interface Coloured {
  readonly text: string;
  readonly runs: readonly ColourRun[];
}

interface Answer {
  readonly id: number;
  readonly runs: readonly ColourRun[] | undefined;
}

/** An entry of its own, beside the page. */
const FILE = "./highlight.js";

let worker: Worker | undefined;
let next = 0;
const waiting = new Map<number, (runs: readonly ColourRun[] | undefined) => void>();

export function colour(text: string, language: string): Promise<readonly ColourRun[] | undefined> {
  if (READ_ONLY) return Promise.resolve(undefined);
  try {
    worker ??= started();
  } catch {
    return Promise.resolve(undefined);
  }
  const id = (next += 1);
  return new Promise((done) => {
    waiting.set(id, done);
    worker?.postMessage({ id, text, language: language.split(/[\s,{]/)[0]?.toLowerCase() ?? "" });
  });
}

function started(): Worker {
  const made = new Worker(new URL(FILE, import.meta.url), { type: "module" });
  made.onmessage = (event: MessageEvent<Answer>) => {
    waiting.get(event.data.id)?.(event.data.runs);
    waiting.delete(event.data.id);
  };
  made.onerror = () => {
    for (const done of waiting.values()) done(undefined);
    waiting.clear();
  };
  return made;
}
