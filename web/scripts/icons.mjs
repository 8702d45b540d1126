// Writes src/kit/icons.ts: the shapes of the icons we use, as plain values. Run it when the list changes.
import { readFileSync, writeFileSync } from "node:fs";

const NAMES = `archive archive-restore arrow-down arrow-up at-sign ban bot brain camera check chevron-down
chevron-left chevron-right circle circle-alert circle-check circle-dot circle-help circle-pause circle-x clipboard-list clock coins copy
corner-down-right ellipsis file file-diff file-pen file-text folder folder-tree git-branch git-fork globe hand history house
image inbox info layout-dashboard list list-todo loader-circle menu message-square paperclip
pencil play plug plus refresh-cw redo-2 scissors search server settings shield-question sparkles square
terminal trash-2 triangle-alert undo-2 user wifi-off workflow wrench x zap`.split(/\s+/);

const lines = NAMES.map((name) => {
  const svg = readFileSync(new URL(`../node_modules/lucide-static/icons/${name}.svg`, import.meta.url), "utf8");
  const shapes = [...svg.matchAll(/<(path|circle|rect|line|polyline|polygon|ellipse)\s([^>]*?)\/>/g)].map(([, tag, rest]) => {
    const fields = [...rest.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value]);
    return [tag, Object.fromEntries(fields)];
  });
  if (shapes.length === 0) throw new Error(`${name} has no shapes`);
  return `  ${JSON.stringify(name)}: ${JSON.stringify(shapes)},`;
});
const head = "// Written by scripts/icons.mjs from lucide-static (ISC). Shapes of 24 by 24, stroked.\n\n";
const types = "export type Shape = readonly [string, Readonly<Record<string, string>>];\n\n";
writeFileSync(
  new URL("../src/kit/icons.ts", import.meta.url),
  `${head}${types}export const ICONS = {\n${lines.join("\n")}\n} satisfies Record<string, readonly Shape[]> as Record<string, readonly Shape[]>;\n`,
);
