// After the build: names it, writes its name into the shell, and writes down which sources it was made of.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
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

writeFileSync(join(dist, "viewer.html"), viewer());

const shell = readFileSync(join(dist, "index.html"), "utf8");
const assets = readdirSync(dist).filter((name) => !["index.html", "share.html", "build.txt", "sources.sha256"].includes(name)).sort();
const shared = readFileSync(join(dist, "share.html"), "utf8");
const build = hash([shell, shared, ...assets.flatMap((name) => [name, readFileSync(join(dist, name))])]).slice(0, 16);
writeFileSync(join(dist, "build.txt"), `${build}\n`);
for (const [name, page] of [["index.html", shell], ["share.html", shared]]) {
  const named = page.replaceAll(/(src|href)="\.\/(?!\/)/g, `$1="/ui/${build}/`).replace('name="sturdy-build" content=""', `name="sturdy-build" content="${build}"`);
  // What a browser looks for beside the shell keeps its place there.
  const atTheRoot = ["favicon.svg", "site.webmanifest", "apple-touch-icon.png"];
  writeFileSync(join(dist, name), atTheRoot.reduce((text, file) => text.replaceAll(`/ui/${build}/${file}`, `/${file}`), named));
}

const inputs = [...walk("src"), ...walk("public"), ...walk("scripts"), "index.html", "share.html", "viewer.html", "vite.reader.config.ts", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json"].sort();
const lines = inputs.map((path) => `${hash([readFileSync(join(root, path))])}  ${path}`);
writeFileSync(join(dist, "sources.sha256"), `${lines.join("\n")}\n`);

/** The exported file without its session: script and style inside, and a policy that lets only these run. */
function viewer() {
  const take = (name) => {
    const text = readFileSync(join(dist, name), "utf8").trim();
    rmSync(join(dist, name));
    return text;
  };
  // The parser of HTML must not see an end of the element in the middle of it.
  const script = take("viewer.js").replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const style = take("viewer.css").replaceAll("</style", "<\\/style");
  const sum = (text) => `sha256-${createHash("sha256").update(text).digest("base64")}`;
  const template = readFileSync(join(root, "viewer.html"), "utf8");
  const put = (text, name, value) => text.replace(name, () => value);
  return [["%SCRIPT%", sum(script)], ["%STYLE%", sum(style)], ["%CSS%", style], ["%JS%", script]].reduce((text, [name, value]) => put(text, name, value), template);
}

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
