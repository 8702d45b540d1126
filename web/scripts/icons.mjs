// Writes src/kit/icons.ts and src/kit/icons-more.ts: the shapes of the icons we use, as plain values. Run it when a list changes.
import { readFileSync, writeFileSync } from "node:fs";

/** Needed until the list is usable. */
const FIRST = `circle circle-check circle-dot circle-help circle-x coins ellipsis git-fork globe hand house inbox layout-dashboard
list-filter loader-circle message-square panel-left plus refresh-cw search settings triangle-alert x`;
const MORE = `archive archive-restore arrow-down arrow-up at-sign ban bot brain camera check chevron-down
chevron-left chevron-right circle-alert circle-pause clipboard-list clock copy
corner-down-right file file-diff file-pen file-text folder folder-tree git-branch history
image info key-round list list-todo menu paperclip
pencil play plug redo-2 scissors server shield-question sparkles square
terminal trash-2 undo-2 user wifi-off workflow wrench zap`;

function shapesOf(name) {
  const svg = readFileSync(new URL(`../node_modules/lucide-static/icons/${name}.svg`, import.meta.url), "utf8");
  const shapes = [...svg.matchAll(/<(path|circle|rect|line|polyline|polygon|ellipse)\s([^>]*?)\/>/g)].map(([, tag, rest]) => {
    const fields = [...rest.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value]);
    return [tag, Object.fromEntries(fields)];
  });
  if (shapes.length === 0) throw new Error(`${name} has no shapes`);
  return `  ${JSON.stringify(name)}: ${JSON.stringify(shapes)},`;
}

function write(file, names, constant, types) {
  const head = "// Written by scripts/icons.mjs from lucide-static (ISC). Shapes of 24 by 24, stroked.\n\n";
  const lines = names.split(/\s+/).map(shapesOf);
  writeFileSync(
    new URL(`../src/kit/${file}`, import.meta.url),
    `${head}${types}export const ${constant} = {\n${lines.join("\n")}\n} satisfies Record<string, readonly Shape[]> as Record<string, readonly Shape[]>;\n`,
  );
}

write("icons.ts", FIRST, "ICONS", "export type Shape = readonly [string, Readonly<Record<string, string>>];\n\n");
write("icons-more.ts", MORE, "MORE_ICONS", 'import type { Shape } from "./icons.ts";\n\n');
