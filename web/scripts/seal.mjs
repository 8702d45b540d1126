// After the build: names it, writes its name into the shell, and writes down which sources it was made of.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = new URL("..", import.meta.url).pathname;
const dist = process.env.DIST ?? join(root, "dist");
const hash = (parts) => {
  const sum = createHash("sha256");
  for (const part of parts) sum.update(part);
  return sum.digest("hex");
};
const walk = (dir) =>
  readdirSync(join(root, dir)).flatMap((name) => {
    const path = join(dir, name);
    return statSync(join(root, path)).isDirectory() ? walk(path) : [path];
  });

writeFileSync(join(dist, "licenses.txt"), licenses());

const shell = readFileSync(join(dist, "index.html"), "utf8");
const assets = readdirSync(dist).filter((name) => !["index.html", "build.txt", "sources.sha256"].includes(name)).sort();
const build = hash([shell, ...assets.flatMap((name) => [name, readFileSync(join(dist, name))])]).slice(0, 16);
writeFileSync(join(dist, "build.txt"), `${build}\n`);
const named = shell.replaceAll(/(src|href)="\.\/(?!\/)/g, `$1="/ui/${build}/`).replace('name="sturdy-build" content=""', `name="sturdy-build" content="${build}"`);
writeFileSync(join(dist, "index.html"), named.replaceAll(`/ui/${build}/favicon.svg`, "/favicon.svg").replaceAll(`/ui/${build}/site.webmanifest`, "/site.webmanifest"));

const inputs = [...walk("src"), ...walk("public"), ...walk("scripts"), "index.html", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json"].sort();
const lines = inputs.map((path) => `${hash([readFileSync(join(root, path))])}  ${path}`);
writeFileSync(join(dist, "sources.sha256"), `${lines.join("\n")}\n`);

/** The licences of what is in the files, from the packages themselves. */
function licenses() {
  const packages = ["solid-js", "virtua", "marked", "remend", "highlight.js", "diff", "lucide-static"];
  return packages
    .map((name) => {
      const dir = join(root, "node_modules", name);
      const { version, license } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
      const file = readdirSync(dir).find((found) => /^licen[cs]e/i.test(found));
      const text = file === undefined ? "" : readFileSync(join(dir, file), "utf8").trim();
      return `${name} ${version} (${license})\n\n${text}\n`;
    })
    .join(`\n${"-".repeat(72)}\n\n`);
}
