// Finds the colours of code, away from the main thread. Answers runs of text with the name of a style.

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import type { ColourRun } from "./highlight.ts";

const LANGUAGES = { bash, cpp, css, diff, go, ini, java, javascript, json, markdown, python, rust, sql, typescript, xml, yaml };
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** Collects runs where the library would write HTML. */
class RunEmitter {
  runs: ColourRun[] = [];
  #scopes: string[] = [];

  addText(text: string): void {
    if (text !== "") this.runs.push([this.#scopes.at(-1) ?? "", text]);
  }
  startScope(name: string): void {
    this.#scopes.push(name.split(".")[0] ?? "");
  }
  endScope(): void {
    this.#scopes.pop();
  }
  openNode(name: string): void {
    this.startScope(name);
  }
  closeNode(): void {
    this.endScope();
  }
  __addSublanguage(emitter: RunEmitter): void {
    this.runs.push(...emitter.runs);
  }
  finalize(): void {}
  toHTML(): string {
    return "";
  }
}

hljs.configure({ __emitter: RunEmitter } as never);

interface Wanted {
  readonly id: number;
  readonly text: string;
  readonly language: string;
}

self.onmessage = (event: MessageEvent<Wanted>) => {
  const { id, text, language } = event.data;
  let runs: readonly ColourRun[] | undefined;
  try {
    if (hljs.getLanguage(language)) {
      const result = hljs.highlight(text, { language, ignoreIllegals: true }) as unknown as { _emitter: RunEmitter };
      runs = result._emitter.runs;
    }
  } catch {
    // Plain text is always right.
  }
  self.postMessage({ id, runs });
};
