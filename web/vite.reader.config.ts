// Builds what only shows a session, of the page's own components: the share page, and the one file of an export.
//
//   vite build -c vite.reader.config.ts --mode share     share.html and its files, into dist/
//   vite build -c vite.reader.config.ts --mode viewer    viewer.js and viewer.css; seal.mjs makes viewer.html of them

import { resolve } from "node:path";
import { defineConfig } from "vite";
import solid from "vite-plugin-solid";
import { lexerOnly } from "./scripts/lexer-only.ts";

const here = import.meta.dirname;

export default defineConfig(({ mode }) => ({
  base: "./",
  publicDir: false,
  plugins: [
    solid(), lexerOnly(),
    {
      // What is read is here already: in place of the line and its calls stands something that asks nobody.
      name: "still",
      enforce: "pre" as const,
      resolveId: (source: string) => (/\/view\/live\.ts$|^\.\/live\.ts$/.test(source) ? resolve(here, "src/share/offline-api.ts") : undefined),
    },
  ],
  define: { READ_ONLY: "true" },
  build: {
    outDir: process.env["DIST"] ?? "dist",
    emptyOutDir: false,
    target: ["chrome125", "firefox128", "safari17.5"],
    assetsDir: "",
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      input: mode === "viewer" ? { viewer: "src/share/viewer.tsx" } : { share: "share.html" },
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: `${mode}-[name].js`,
        assetFileNames: `${mode}[extname]`,
        // One file that needs nothing beside it.
        codeSplitting: mode === "viewer" ? false : { groups: [{ name: "remend", test: /node_modules\/remend/ }] },
      },
    },
  },
}));
