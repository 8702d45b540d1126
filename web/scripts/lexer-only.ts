// Of `marked` only the lexer goes into the page. Its parser and renderers make HTML strings, which nothing here may
// use; the bundler keeps them, because the library makes an instance of itself when it is loaded.

import type { Plugin } from "vite";

/** The instance, and the functions that hang on it. */
const INSTANCE = /var (\w+)=new \w+;function \w+\(\w+,\w+\)\{return \1\.parse\([^]*(?=export\{)/;

export function lexerOnly(): Plugin {
  return {
    name: "lexer-only",
    transform(code, id) {
      if (!id.endsWith("/marked/lib/marked.esm.js")) return null;
      const lexer = /\w+ as Lexer\b/.exec(code)?.[0];
      if (lexer === undefined || !INSTANCE.test(code)) return this.error("marked is built in another way than before: see scripts/lexer-only.ts");
      return { code: code.replace(INSTANCE, "").replace(/export\{[^}]*\}/, `export{${lexer}}`), map: null };
    },
  };
}
