// What a prompt names with "@": files, agents and resources of MCP servers. Each goes along as a part of its own, so
// that the model gets what is meant and not only its name.
//
// What was picked from the suggestions is remembered; a draft of another visit names things that were not picked now,
// so an agent counts by its name, and a path if there is exactly this file.

import type { FileSource, NewPart, SourceText } from "./send.ts";

/** What `GET /experimental/resource` says of each. */
export interface McpResource {
  readonly name: string;
  readonly uri: string;
  readonly client: string;
  readonly description?: string;
  readonly mimeType?: string;
}

export type Mention =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "agent"; readonly name: string }
  | { readonly kind: "resource"; readonly resource: McpResource };

const PICKED_MAX = 200;
/** Paths that were typed and not picked, in one prompt. */
const LOOKED_UP_MAX = 10;

/** By what stands in the text, with its "@". */
const picked = new Map<string, Mention>();

export function rememberPick(value: string, mention: Mention): void {
  picked.delete(value);
  picked.set(value, mention);
  const oldest = picked.size > PICKED_MAX ? picked.keys().next().value : undefined;
  if (oldest !== undefined) picked.delete(oldest);
}

export interface MentionPorts {
  /** Of the directory the prompt is for. */
  readonly directory: string | undefined;
  readonly agents: readonly string[];
  /** Whether there is exactly this file or directory. */
  isThere(path: string): Promise<boolean>;
}

export async function mentionParts(text: string, ports: MentionPorts): Promise<NewPart[]> {
  const found = new Map<number, { readonly value: string; readonly mention: Mention }>();
  // Longer ones first: "@notes.md.bak" is not "@notes.md".
  for (const [value, mention] of [...picked].sort(([a], [b]) => b.length - a.length)) {
    const start = placeOf(text, value);
    if (start !== undefined && !found.has(start)) found.set(start, { value, mention });
  }
  let lookups = 0;
  for (const match of text.matchAll(/(?<=^|\s)@([^\s@]+)/g)) {
    const word = (match[1] ?? "").replace(/[.,;:!?)\]}'"]+$/, "");
    if (word === "" || [...found].some(([start, one]) => match.index >= start && match.index < start + one.value.length)) continue;
    const isAgent = ports.agents.includes(word);
    if (!isAgent && (!/[./]/.test(word) || (lookups += 1) > LOOKED_UP_MAX || !(await ports.isThere(word)))) continue;
    found.set(match.index, { value: `@${word}`, mention: isAgent ? { kind: "agent", name: word } : { kind: "file", path: word } });
  }
  const once = new Map<string, NewPart[]>();
  for (const [start, { value, mention }] of [...found].sort(([a], [b]) => a - b)) {
    if (!once.has(value)) once.set(value, partOf(mention, { value, start, end: start + value.length }, ports.directory));
  }
  return [...once.values()].flat();
}

/** Where a picked name stands as a word of its own. */
function placeOf(text: string, value: string): number | undefined {
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    const isBegin = /^$|\s/.test(text.charAt(at - 1));
    if (isBegin && /^[.,;:!?)\]}'"]*(?:\s|$)/.test(text.slice(at + value.length))) return at;
  }
  return undefined;
}

function partOf(mention: Mention, text: SourceText, directory: string | undefined): NewPart[] {
  switch (mention.kind) {
    case "agent":
      return [{ type: "agent", name: mention.name, source: text }];
    case "resource": {
      const { client, uri, name, mimeType } = mention.resource;
      const source: FileSource = { type: "resource", clientName: client, uri, text };
      return [{ type: "file", mime: mimeType ?? "text/plain", filename: name, url: uri, source }];
    }
    case "file": {
      if (directory === undefined) return [];
      const isDirectory = mention.path.endsWith("/");
      const whole = mention.path.startsWith("/") ? mention.path : `${directory.replace(/\/$/, "")}/${mention.path}`;
      const source: FileSource = { type: "file", path: mention.path, text };
      const url = `file://${whole.split("/").map(encodeURIComponent).join("/")}`;
      return [{ type: "file", mime: isDirectory ? "application/x-directory" : "text/plain", filename: mention.path, url, source }];
    }
    default:
      return mention satisfies never;
  }
}
