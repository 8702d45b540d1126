// Builds the page into dist/: readable names without hashes, so that a change is a small difference.

import { defineConfig } from "vite";
import solid from "vite-plugin-solid";
import { lexerOnly } from "./scripts/lexer-only.ts";

const server = process.env["STURDY_URL"] ?? "http://127.0.0.1:4096";

export default defineConfig({
  base: "./",
  plugins: [solid(), lexerOnly()],
  // Components that are also on the share page and in an exported file ask this; see vite.reader.config.ts.
  define: { READ_ONLY: "false" },
  build: {
    // Elsewhere only to compare with what is in the repository.
    outDir: process.env["DIST"] ?? "dist",
    emptyOutDir: true,
    target: ["chrome125", "firefox128", "safari17.5"],
    assetsDir: "",
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      input: { index: "index.html", highlight: "src/text/highlight.worker.ts" },
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "[name].js",
        assetFileNames: "[name][extname]",
        // Two files until the list is usable, one more for a session: requests cost more than bytes.
        codeSplitting: {
          groups: [
            { name: "remend", test: /node_modules\/remend/ },
            { name: "icons", test: /src\/kit\/icons-more/ },
            { name: "en-panels", priority: 15, test: /src\/words\/en-panels/ },
            { name: "core", priority: 20, test: /solid-js|src\/words\/en\.ts|src\/kit\/(empty|guard|icon|icons|menu|ticking|toast)\.|src\/wire\/|src\/sync\/(?!travel|send|mentions)|src\/view\/(store|last-session|live|router|preferences|keys|seen|announce|shortcuts|undo|find|rename|composer-request|interrupted)|src\/page\/(app|list|pill|session-menu)\.|src\/(first-requests|main)\.|src\/view\/prefetch|preload-helper/ },
            { name: "tools", test: /src\/timeline\/tool\/(body|look-group|matches|output)\.|src\/timeline\/part\/patch\.|src\/text\/(ansi|matches)|src\/panel\/todo/ },
            { name: "session", priority: 10, test: /node_modules\/(marked|virtua)|src\/timeline\/(?!jump|rail|error|first-words|part\/(patch|large|mentions|retry)|tool\/(body|look|matches|output|task))|src\/dock\/docks|src\/text\/(?!highlight\.worker|patch|ansi|matches|mentioned)|src\/panel\/ring|src\/kit\/(?!icons-more|dialog)|src\/sync\/send|src\/page\/(session|composer)\.|src\/view\/(actions|catalog|drafts|holes|processes|prompts|queue|sharing)/ },
          ],
        },
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      // Whole words: "/log" must not take "/login", nor "/session" a page that begins like it.
      ["sturdy", "session", "global", "event", "permission", "question", "config", "agent", "command", "vcs", "lsp", "file", "find", "mcp", "api", "experimental", "log"].map((path) => [`^/${path}(?=[/?]|$)`, { target: server, changeOrigin: true }]),
    ),
  },
});
