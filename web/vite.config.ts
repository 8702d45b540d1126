// Builds the page into dist/: readable names without hashes, so that a change is a small difference.

import { defineConfig } from "vite";
import solid from "vite-plugin-solid";

const server = process.env["STURDY_URL"] ?? "http://127.0.0.1:4096";

export default defineConfig({
  base: "./",
  plugins: [solid()],
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
            { name: "core", test: /solid-js|src\/words\/en\.ts|src\/(kit|wire)\/|src\/sync\/(?!travel)|src\/view\/(store|live|router|preferences|keys|seen|announce|actions|prompts|drafts|undo|find)|src\/page\/(app|list|pill|palette|session-menu)/ },
            { name: "session", test: /node_modules\/(marked|virtua)|src\/timeline\/|src\/dock\/docks|src\/text\/(?!highlight\.worker|patch)|src\/panel\/(ring|todo)|src\/page\/(session|composer|suggestions)\.|src\/view\/(catalog|queue)/ },
          ],
        },
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ["/sturdy", "/session", "/global", "/event", "/permission", "/question", "/config", "/agent", "/command", "/vcs", "/file", "/find", "/mcp", "/api", "/experimental", "/log"].map((path) => [path, { target: server, changeOrigin: true }]),
    ),
  },
});
