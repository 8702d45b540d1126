#!/usr/bin/env node
// Plants bugs and looks whether a test turns red. A test that no bug turns red is decoration.
//
//   scripts/plants.mjs            every bug of every crates/*/plants.txt
//   scripts/plants.mjs CRATE      those of one crate: session, store, engine, worktree
//   scripts/plants.mjs NAME...    only these
//
// The crates are copied, and every bug is written into the copy at once, behind a switch: `was` becomes
// `(if planted("NAME") { is } else { was })`. So there is one build, and each bug is one run of one test with the
// environment variable STURDY_PLANT. With no bug switched on, all those tests must be green. A bug whose
// `was` is not found exactly once fails: the code has moved on, and so must the list.
//
// Ends with a line `N passed, M failed`.
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const target = process.env.CARGO_TARGET_DIR
  ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "sturdy-target");
const copy = join(target, "plants");
const crateOf = (name) => join(copy, "crates", name);

/** Blocks of `[name]` and `key  value` lines. */
function parse(text) {
  const plants = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const name = line.match(/^\[(.+)\]$/);
    if (name) plants.push({ name: name[1] });
    else {
      const [, key, value] = line.match(/^(file|was|is|red)\s+(.*)$/) ?? fail(`not a line of a plant: ${line}`);
      plants.at(-1)[key] = value;
    }
  }
  return plants;
}

function fail(why) {
  console.error(`error: ${why}`);
  process.exit(2);
}

function copyCrates() {
  mkdirSync(copy, { recursive: true });
  for (const name of ["crates", "Cargo.toml", "Cargo.lock", "clippy.toml"]) {
    rmSync(join(copy, name), { recursive: true, force: true });
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
}

/** Crates of others are the same in the copy: what is built of them already is not built again. */
function borrow() {
  const ours = /^(lib)?sturdy|^it-/;
  for (const part of ["deps", "build", ".fingerprint"]) {
    const from = join(target, "debug", part);
    const to = join(copy, "target", "debug", part);
    if (existsSync(to) || !existsSync(from)) continue;
    mkdirSync(to, { recursive: true });
    const names = readdirSync(from).filter((name) => !ours.test(name));
    // By another name for the same file where that can be, which takes no room. What is missing is built.
    spawnSync("xargs", ["-0", "cp", "-al", "-t", to], { cwd: from, input: names.join("\0"), stdio: ["pipe", "ignore", "ignore"] });
  }
}

/** Writes the bugs into the copy; gives those that could not be written. */
function plant(plants) {
  const misfits = [];
  for (const bug of plants) {
    const path = join(crateOf(bug.crate), "src", bug.file);
    const source = readFileSync(path, "utf8");
    if (source.split(bug.was).length !== 2) {
      misfits.push(bug);
      continue;
    }
    const switched = `(if crate::planted(${JSON.stringify(bug.name)}) { ${bug.is} } else { ${bug.was} })`;
    writeFileSync(path, source.replace(bug.was, () => switched));
  }
  const door = `
    /// Which bug is switched on.
    pub(crate) fn planted(name: &str) -> bool {
        static PLANT: std::sync::LazyLock<String> =
            std::sync::LazyLock::new(|| std::env::var("STURDY_PLANT").unwrap_or_default());
        PLANT.as_str() == name
    }
  `;
  for (const name of new Set(plants.map((bug) => bug.crate))) {
    const lib = join(crateOf(name), "src", "lib.rs");
    writeFileSync(lib, readFileSync(lib, "utf8") + door);
  }
  return misfits;
}

/** Builds the tests of these crates; gives the program of each. */
function build(crates) {
  const packages = crates.flatMap((name) => ["-p", `sturdy-${name}`]);
  const said = spawnSync(
    "cargo",
    ["test", "--offline", ...packages, "--test", "it", "--no-run", "--message-format", "json"],
    {
      cwd: copy,
      // A target of its own: cargo would take the copy's objects for those of the crate itself.
      env: { ...process.env, CARGO_TARGET_DIR: join(copy, "target") },
      encoding: "utf8",
      maxBuffer: 1 << 28,
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const lines = said.stdout.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  if (said.status !== 0) {
    for (const { message } of lines) if (message?.level === "error") console.error(message.rendered);
    fail("the copy with the bugs does not build");
  }
  const built = lines.filter((line) => line.executable && line.target.name === "it");
  const of = (name) => built.find((line) => line.manifest_path === join(crateOf(name), "Cargo.toml"))?.executable;
  return new Map(crates.map((name) => [name, of(name) ?? fail(`the tests of ${name} were not built`)]));
}

/** Whether the tests are green with this bug switched on. */
async function isGreen(crate, tests, bug) {
  const env = { ...process.env, STURDY_PLANT: bug, INSTA_UPDATE: "no", INSTA_FORCE_PASS: "0" };
  const child = spawn(programs.get(crate), ["--exact", ...tests], { cwd: crateOf(crate), env, timeout: 300_000, stdio: ["ignore", "pipe", "ignore"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => { said += text; });
  const code = await new Promise((resolve, reject) => child.once("close", resolve).once("error", reject));
  const counted = said.match(/^running (\d+) tests?$/m)?.[1];
  if (Number(counted) !== tests.length) fail(`these are not ${tests.length} tests: ${tests.join(" ")}`);
  return code === 0;
}

/** The tests of a bug that do not see it. */
async function blind(bug) {
  const green = [];
  for (const test of bug.red.split(" ")) if (await isGreen(bug.crate, [test], bug.name)) green.push(test);
  return green;
}

const all = readdirSync(join(root, "crates")).flatMap((crate) => {
  const list = join(root, "crates", crate, "plants.txt");
  return existsSync(list) ? parse(readFileSync(list, "utf8")).map((bug) => ({ ...bug, crate })) : [];
});
const wanted = process.argv.slice(2);
const plants = wanted.length === 0 ? all : all.filter((bug) => wanted.includes(bug.name) || wanted.includes(bug.crate));
for (const bug of plants) {
  for (const key of ["file", "was", "is", "red"]) if (!bug[key]) fail(`${bug.name} has no line "${key}"`);
}
if (plants.length === 0) fail(`there is no such bug: ${wanted.join(" ")}`);
copyCrates();
borrow();
const misfits = plant(plants);
const fits = plants.filter((bug) => !misfits.includes(bug));
const crates = [...new Set(fits.map((bug) => bug.crate))];
const programs = build(crates);
for (const crate of crates) {
  const tests = new Set(fits.filter((bug) => bug.crate === crate).flatMap((bug) => bug.red.split(" ")));
  if (!(await isGreen(crate, [...tests], ""))) fail(`the tests of ${crate} are red before any bug is switched on`);
}

let failed = misfits.length;
for (const bug of misfits) console.log(`not planted  ${bug.name}: its text is not found once in ${bug.crate}/src/${bug.file}`);
// As many at a time as there are processors.
const waiting = [...fits];
async function work() {
  for (let bug = waiting.shift(); bug; bug = waiting.shift()) {
    const green = await blind(bug);
    if (green.length > 0) failed += 1;
    console.log(green.length > 0 ? `not caught   ${bug.name} by ${green.join(" ")}` : `caught       ${bug.name}`);
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, work));
console.log(`${plants.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
