// Bugs on purpose: each is planted into a copy of the compiled code, and the oracle has to find it. A property that
// finds nothing proves nothing.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

/** `build`, where the compiled files are. */
const BUILD = join(import.meta.dirname, "..", "..");
/** What has to find a bug in a file. */
const ORACLES = {
  "apply.js": ["sync.test.js", "whatever is read when, the world equals a fresh read"],
  "hydrate.js": ["sync.test.js", "whatever is read when, the world equals a fresh read"],
  "line.js": ["line.test.js", "whatever is cut where and lost when, every entry is applied once and in order"],
} as const;
type PlantedFile = keyof typeof ORACLES;

const PLANTS = [
  ["a growth is added whatever its place", "apply.js", /(function grow[\s\S]*?)if \(!isAfter\(place, held\.place\)\)\s+return;/, "$1"],
  ["growths of two parts are joined in one", "apply.js", /(function grow[\s\S]*?)thread\?\.part\.get\(partID\)/, "$1[...(thread?.part.values() ?? [])][0]"],
  ["a removed message stays in the conversation", "apply.js", /thread\.order = thread\.order\.filter\(\(known\) => known !== id\);/, ""],
  ["what came while a read was on its way is forgotten", "hydrate.js", /this\.#memory\.slice\(reading\.from - this\.#first\)/, "[]"],
  ["a lost line goes on after a pause", "line.js", /(await this\.#ports\.pause\([\s\S]*?)if \(this\.#abort !== abort\)\s+return;/, "$1"],
  ["the entry before a pause is left out", "line.js", /continue;(\s+if \(!this\.#take)/, "continue;if (this.#ports.elapsed() - sliceBegan >= SLICE_MS - 1) continue;$1"],
] as const satisfies readonly (readonly [string, PlantedFile, RegExp, string])[];

function runOracle(folder: string, planted: PlantedFile): { readonly status: number | null; readonly output: string } {
  const [name, test] = ORACLES[planted];
  const file = join(folder, "test", "unit", name);
  // Not as a part of this run, which would take its words for its own.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const run = spawnSync(process.execPath, ["--test", "--test-name-pattern", test, file], { encoding: "utf8", env });
  return { status: run.status, output: run.stdout + run.stderr };
}

for (const [name, file, find, put] of PLANTS) {
  test(`the oracle notices that ${name}`, () => {
    const folder = join(BUILD, "plants", String(PLANTS.findIndex(([known]) => known === name)));
    rmSync(folder, { recursive: true, force: true });
    for (const part of ["src", join("test", "unit", ORACLES[file][0]), join("test", "unit", "model.js")]) cpSync(join(BUILD, part), join(folder, part), { recursive: true });
    const path = join(folder, "src", "sync", file);
    const source = readFileSync(path, "utf8");
    const planted = source.replace(find, put);
    assert.notEqual(planted, source, "the place to plant it is still there");
    writeFileSync(path, planted);

    const { status, output } = runOracle(folder, file);

    assert.equal(status, 1, output);
    assert.match(output, /Property failed/, "it fails for its own reason");
    rmSync(folder, { recursive: true });
  });
}

for (const file of ["apply.js", "line.js"] as const) {
  test(`without a bug in ${file} the oracle finds none`, () => {
    const { status, output } = runOracle(BUILD, file);

    assert.equal(status, 0, output);
  });
}
