// A growing text, cut into blocks that are drawn once. Only the end of it is lexed again.
//
// A block is finished when the one behind it has its first line: until then "2" may become "2. item" and
// belong to the list before. Not here: what a block looks like (`render.tsx`).

import { Lexer, type Token, type Tokens } from "marked";

export interface Blocks {
  /** Drawn once, never again. */
  readonly done: readonly Token[];
  /** Drawn anew with every change. */
  readonly open: readonly Token[];
}

const OPTIONS = { gfm: true, breaks: false, pedantic: false } as const;

export class BlockCutter {
  #done: Token[] = [];
  #offset = 0;
  #text = "";
  #open: readonly Token[] = [];

  /** The blocks of a text that is the one before with more at its end, or a new one. */
  cut(text: string): Blocks {
    if (!text.startsWith(this.#text.slice(0, this.#offset))) {
      this.#done = [];
      this.#offset = 0;
      this.#open = [];
    }
    this.#text = text;
    const open = wholeBlocks(text.slice(this.#offset));
    const finished = finishedCount(open);
    for (const token of open.splice(0, finished)) {
      this.#done.push(token);
      this.#offset += token.raw.length;
    }
    return { done: this.#done, open: kept(this.#open, open, (token) => (this.#open = token)) };
  }

  /** All blocks of a text that does not grow any more. Those that were drawn, and are still right, are the same ones. */
  end(text: string): readonly Token[] {
    const drawn = [...this.#done, ...this.#open];
    const whole = wholeBlocks(text);
    // A name that is defined at the end counts in the blocks before it, too.
    if (drawn.length === 0 || DEFINITION.test(text)) return whole;
    return whole.map((token, index) => {
      const same = drawn[index];
      return same?.raw === token.raw && same.type === token.type ? same : token;
    });
  }
}

/** `[name]: address` */
const DEFINITION = /^ {0,3}\[[^\]]+\]:/m;

/** Items of a growing list that are as they were stay the same objects, so that only the last is drawn anew. */
function kept(before: readonly Token[], now: Token[], keep: (tokens: readonly Token[]) => void): readonly Token[] {
  const next = now.map((token, index) => {
    const old = before[index];
    if (token.type !== "list" || old?.type !== "list") return token;
    const items = (token as Tokens.List).items.map((item, at) => {
      const same = (old as Tokens.List).items[at];
      return same?.raw === item.raw && same.loose === item.loose ? same : item;
    });
    return { ...token, items } as Token;
  });
  keep(next);
  return next;
}

/** How many of the first blocks nothing that follows can change. */
function finishedCount(tokens: readonly Token[]): number {
  const solid = tokens.map((token, index) => ({ token, index })).filter(({ token }) => token.type !== "space");
  const last = solid.at(-1);
  if (!last || solid.length < 2) return 0;
  return last.token.raw.includes("\n") ? last.index : (solid.at(-2)?.index ?? 0);
}

export function wholeBlocks(text: string): Token[] {
  try {
    return [...Lexer.lex(text, OPTIONS)];
  } catch {
    // Thousands of levels, one inside the other: not written by anybody who wants to be read. As plain text.
    return [{ type: "text", raw: text, text } as Token];
  }
}
