//! What capturing and bringing back a worktree costs, beside the plain git commands in the same run.
//!
//! `cargo bench -p sturdy-worktree --bench trees`. Prints a table of medians, what plain git takes, and the goal of
//! each; a busy machine is no reason to fail.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot set its scene has nothing to measure")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use sturdy_worktree::snapshot::{
    Standing, Step, StoreOptions, Targets, TreePath, TreeStore, differences, unified,
};

const DIRECTORIES: usize = 500;
const FILES_EACH: usize = 100;
const ROUNDS: usize = 7;
const SMALL_EDITS: usize = 1_000;

/// What git recommends for large repositories.
const LARGE: [&str; 5] = [
    "feature.manyFiles=true",
    "index.version=4",
    "index.threads=true",
    "core.untrackedCache=true",
    "core.preloadIndex=true",
];

struct Scene {
    runtime: tokio::runtime::Runtime,
    root: PathBuf,
    git_dir: PathBuf,
    store: TreeStore,
}

fn main() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path().canonicalize().unwrap();
    let scene = Scene::new(&top.join("large"), DIRECTORIES);
    // Some of what is measured runs git from this thread.
    let _inside = scene.runtime.enter();
    println!("{} files\n", DIRECTORIES * FILES_EACH);
    println!("{:<44} {:>10}   {:>10}   {:>6}   goal", "", "ours", "git", "ratio");

    let ours = time(|| {
        let _ = scene.scan();
    });
    let git = time(|| scene.git_add());
    row("the first capture", ours, Some(git), "");

    no_change(&scene, "nothing has changed");
    while !scene.store.knows_stats() {
        scene.on(|store| store.remember_stats().unwrap());
    }
    no_change(&scene, "the same, looks are remembered");
    let tree = scene.scan();
    let kept = median(|| scene.store.anchor("ses_same", &[tree]).unwrap());
    row("nothing could have written", kept, None, "2 ms");

    known_files(&scene, "");
    thousand_files(&scene, "");
    small_edits(&scene);
    no_change(&scene, "nothing has changed, packed");
    known_files(&scene, ", packed");
    scene.on(|store| store.collect_older_than(Duration::ZERO).unwrap());
    thousand_files(&scene, ", packed");
    step_gap(&Scene::new(&top.join("middle"), DIRECTORIES / 5));
    println!("\nmemory, highest: {:.1} MB (goal: 60 MB)", resident_peak() as f64 / 1024.0);
}

/// What lies between a command and the next step in a project of 10,000 files: a scan, what it found, two trees.
fn step_gap(scene: &Scene) {
    let mut before = scene.scan();
    scene.git_add();
    let changed = path(7, 7);
    let mut ours = Vec::new();
    let mut git = Vec::new();
    for round in 0..ROUNDS {
        scene.write(&changed, &format!("changed in round {round}\n"));
        git.push(time(|| scene.git_add()));
        let begun = Instant::now();
        let after = scene.scan();
        let found = scene.on(|store| store.changed(&before, &after).unwrap());
        scene.on(|store| differences(store, &found).unwrap());
        scene.store.anchor("ses_gap", &[before, after]).unwrap();
        ours.push(begun.elapsed());
        before = after;
    }
    row("a step that changed one of 10,000 files", middle(ours), Some(middle(git)), "git + 20 ms");
}

fn no_change(scene: &Scene, what: &str) {
    let ours = median(|| {
        let _ = scene.scan();
    });
    let git = median(|| scene.git_add());
    row(what, ours, Some(git), "1.2x");
}

/// Ten files that our own tools change.
fn known_files(scene: &Scene, state: &str) {
    let base = scene.scan();
    let paths: Vec<TreePath> = (0..10).map(|number| path(number * 37, 5)).collect();
    let mut round = 0;
    let took = median(|| {
        let before = scene.on(|store| store.capture(Some(&base), &paths).unwrap());
        round += 1;
        paths.iter().for_each(|path| scene.write(path, &format!("known {round}\n")));
        let after = scene.on(|store| store.capture(Some(&base), &paths).unwrap());
        scene.store.anchor("ses_known", &[before, after]).unwrap();
    });
    row(&format!("10 files by known paths, both{state}"), took, None, "15 ms");

    let before = scene.scan();
    paths.iter().for_each(|path| scene.write(path, "undo me\n"));
    let after = scene.scan();
    let files = paths.clone();
    let targets = scene.on(|store| Targets::of(store, &[Step { before, after, files }]).unwrap());
    let mut undo = Vec::new();
    let mut redo = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let snapshot = scene.undo(&targets);
        undo.push(begun.elapsed());
        let begun = Instant::now();
        scene.redo(snapshot, &targets);
        redo.push(begun.elapsed());
    }
    row(&format!("revert of 10 files{state}"), middle(undo), None, "");
    row(&format!("unrevert of 10 files{state}"), middle(redo), None, "300 ms");
}

/// A command that changes a thousand files.
fn thousand_files(scene: &Scene, state: &str) {
    let paths: Vec<TreePath> = (0..1_000).map(|number| path(number / 2, 10 + number % 2)).collect();
    let mut ours = Vec::new();
    let mut git = Vec::new();
    let mut diff = Vec::new();
    let mut undo = Vec::new();
    let mut redo = Vec::new();
    for round in 0..3 {
        let before = scene.scan();
        scene.git_add();
        let text = format!("{}changed in round {round}\n", "a line that stays\n".repeat(40));
        paths.iter().for_each(|path| scene.write(path, &text));
        let begun = Instant::now();
        let after = scene.scan();
        ours.push(begun.elapsed());
        git.push(time(|| scene.git_add()));
        let begun = Instant::now();
        let changed = scene.on(|store| store.changed(&before, &after).unwrap());
        scene.on(|store| differences(store, &changed).unwrap());
        scene.on(|store| unified(store, &changed).unwrap());
        diff.push(begun.elapsed());
        let files = changed.into_iter().map(|one| one.path).collect();
        let targets = scene.on(|store| Targets::of(store, &[Step { before, after, files }]).unwrap());
        let begun = Instant::now();
        let snapshot = scene.undo(&targets);
        undo.push(begun.elapsed());
        let begun = Instant::now();
        scene.redo(snapshot, &targets);
        redo.push(begun.elapsed());
    }
    row(&format!("1,000 files changed{state}"), middle(ours), Some(middle(git)), "1.3x");
    row(&format!("diff of them, both forms{state}"), middle(diff), None, "500 ms");
    row(&format!("revert of them{state}"), middle(undo), None, "1 s");
    row(&format!("unrevert of them{state}"), middle(redo), None, "");
}

fn small_edits(scene: &Scene) {
    let before = scene.store.usage().unwrap().bytes;
    let mut base = scene.scan();
    for number in 0..SMALL_EDITS {
        let path = path(number % DIRECTORIES, 20);
        scene.write(&path, &format!("{}edit {number}\n", "a line that stays\n".repeat(40)));
        base = scene.on(|store| store.capture(Some(&base), std::slice::from_ref(&path)).unwrap());
        scene.store.anchor("ses_small", &[base]).unwrap();
    }
    let grown = scene.store.usage().unwrap().bytes - before;
    let collected = scene.on(|store| store.collect_older_than(Duration::ZERO).unwrap());
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    println!(
        "\n1,000 captures of small edits: the store grew by {:.1} MB; packed, all of it takes {:.1} MB (goal: 50 MB)\n",
        megabytes(grown),
        megabytes(collected.bytes_after)
    );
}

impl Scene {
    fn new(top: &Path, directories: usize) -> Self {
        let root = top.join("work");
        make_tree(&root, directories);
        let git_dir = top.join("plain");
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let store = TreeStore::open(&top.join("trees"), &root, StoreOptions::default()).unwrap();
        let scene = Self { runtime, root, git_dir, store };
        scene.git(&["init", "--quiet"]);
        scene
    }

    fn on<T>(&self, work: impl FnOnce(&TreeStore) -> T) -> T {
        let _inside = self.runtime.enter();
        work(&self.store)
    }

    fn scan(&self) -> sturdy_worktree::snapshot::TreeId {
        self.on(|store| store.scan().unwrap().tree)
    }

    fn undo(&self, targets: &Targets) -> sturdy_worktree::snapshot::TreeId {
        self.on(|store| {
            let undo = store.prepare_undo(None, None, targets, &BTreeSet::new()).unwrap();
            store.anchor("ses_undo", &[undo.snapshot]).unwrap();
            assert_eq!(store.apply(&undo.settings).unwrap().conflicts().count(), 0);
            undo.snapshot
        })
    }

    fn redo(&self, snapshot: sturdy_worktree::snapshot::TreeId, targets: &Targets) {
        self.on(|store| {
            let settings = store.prepare_redo(Standing { snapshot, targets }).unwrap();
            assert_eq!(store.apply(&settings).unwrap().conflicts().count(), 0);
        });
    }

    fn write(&self, path: &TreePath, text: &str) {
        std::fs::write(self.root.join(path.to_path()), text).unwrap();
    }

    fn git_add(&self) {
        self.git(&["add", "-A"]);
        self.git(&["write-tree"]);
    }

    fn git(&self, arguments: &[&str]) {
        let mut command = Command::new("git");
        for setting in LARGE {
            command.args(["-c", setting]);
        }
        let out = command
            .args(arguments)
            .env("GIT_DIR", &self.git_dir)
            .env("GIT_WORK_TREE", &self.root)
            .current_dir(&self.root)
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
}

fn path(directory: usize, file: usize) -> TreePath {
    TreePath::from_bytes(format!("d{:02}/e{directory:03}/file{file}.txt", directory % 20).as_bytes()).unwrap()
}

fn make_tree(root: &Path, directories: usize) {
    for directory in 0..directories {
        for file in 0..FILES_EACH {
            let place = root.join(path(directory, file).to_path());
            if file == 0 {
                std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            }
            let text = format!("file {file} of directory {directory}\n{}", "a line that stays\n".repeat(40));
            std::fs::write(place, text).unwrap();
        }
    }
}

fn time(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median(mut work: impl FnMut()) -> Duration {
    middle((0..ROUNDS).map(|_| time(&mut work)).collect())
}

fn middle(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took[took.len() / 2]
}

fn row(what: &str, ours: Duration, git: Option<Duration>, goal: &str) {
    let ratio = git.map(|git| format!("{:.2}x", ours.as_secs_f64() / git.as_secs_f64())).unwrap_or_default();
    let git = git.map(|git| format!("{git:.1?}")).unwrap_or_default();
    let ours = format!("{ours:.1?}");
    println!("{what:<44} {ours:>10}   {git:>10}   {ratio:>6}   {goal}");
}

/// In kilobytes.
fn resident_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or_default()
}
