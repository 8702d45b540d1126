//! `kill -9` at every place of a capture: the next process finds a store that is whole, and captures the same.

use super::{Place, link, path, program};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use sturdy_worktree::snapshot::{StoreOptions, TreeId, TreePath, TreeStore, tell_of_points};

const TOP: &str = "STURDY_TEST_DIE_IN";
const AT: &str = "STURDY_TEST_DIE_AT";
const GIT: &str = "STURDY_TEST_DIE_GIT";

fn options() -> StoreOptions {
    let search_path = std::env::var_os(GIT);
    StoreOptions { file_bytes_max: 1_000, search_path, ..StoreOptions::default() }
}

fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    unreachable!("BUG: nothing survives that")
}

/// What a session does: a scan, known paths, and keeping both.
fn capture(store: &TreeStore) -> TreeId {
    let scanned = store.scan().unwrap().tree;
    store.anchor("ses_b", &[scanned]).unwrap();
    let named = store.capture(Some(&scanned), &[path("ignored/known"), path("changed")]).unwrap();
    store.anchor("ses_b", &[named]).unwrap();
    named
}

#[test]
#[ignore = "started by the tests below"]
fn a_process_that_captures() {
    let Some(top) = std::env::var_os(TOP).map(PathBuf::from) else { return };
    let at: usize = std::env::var(AT).unwrap().parse().unwrap();
    let begun = AtomicUsize::new(0);
    tell_of_points(Box::new(move |_| {
        if begun.fetch_add(1, Ordering::SeqCst) == at {
            die();
        }
    }));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _inside = runtime.enter();
    let store = TreeStore::open(&top.join("trees"), &top.join("work"), options()).unwrap();
    capture(&store);
}

fn run_child(place: &Place, at: usize, git: Option<&Path>) -> ExitStatus {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "snapshot::die::a_process_that_captures", "--ignored"]);
    child.env(TOP, place.root.parent().unwrap()).env(AT, at.to_string());
    if let Some(git) = git {
        child.env(GIT, git);
    }
    child.output().unwrap().status
}

struct Scene {
    place: Place,
    first: TreeId,
    files: BTreeMap<PathBuf, String>,
}

/// A captured worktree in which much has changed since: there is something to do for every part of a capture.
fn scene() -> Scene {
    let place = Place::with(options());
    place.write(".gitignore", "ignored/\n");
    place.write("changed", "1");
    place.write("removed", "1");
    place.write("was-a-file", "1");
    place.write("large", &"much".repeat(500));
    place.write("ignored/known", "1");
    let first = place.tree();
    place.store.anchor("ses_a", &[first]).unwrap();
    place.write("changed", "2");
    place.remove("removed");
    place.remove("was-a-file");
    place.write("was-a-file/below", "2");
    place.write("large", "little");
    place.write("grown", &"much".repeat(500));
    place.write("new\nname", "2");
    link("changed", &place.root.join("link"));
    let files = place.everything();
    Scene { place, first, files }
}

impl Scene {
    /// What the next process finds.
    fn check(self, when: &str) -> Place {
        let Self { place, first, files } = self;
        let place = place.reopened_with(options());
        assert_eq!(place.everything(), files, "{when}: a capture changed the worktree");
        assert_whole(&place, when);
        let old: TreePath = path("removed");
        let state = place.run(|store| store.states(&first, [&old].into_iter()).unwrap())[&old];
        assert_eq!(place.run(|store| store.content(&state.content().unwrap()).unwrap()), b"1", "{when}");

        // What a store says that nobody was killed in.
        let fresh = TreeStore::open(&place.dir.with_file_name("fresh"), &place.root, options()).unwrap();
        let expected = place.run(|_| capture(&fresh));
        assert_eq!(place.run(capture), expected, "{when}: another tree was captured");
        let changed = place.run(|store| store.changed(&first, &expected).unwrap());
        assert_eq!(changed.len(), 9, "{when}: {changed:?}");
        place
    }
}

/// Everything that a name keeps is there.
fn assert_whole(place: &Place, when: &str) {
    let out = Command::new("git")
        .args(["fsck", "--connectivity-only", "--no-dangling", "--no-progress"])
        .env("GIT_DIR", &place.dir)
        .output()
        .unwrap();
    assert!(out.status.success(), "{when}: {}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn wherever_a_process_dies_in_a_capture_the_next_one_captures_the_same() {
    let mut deaths = 0;
    for at in 0.. {
        let scene = scene();
        let ended = run_child(&scene.place, at, None);
        let survived = ended.success();
        assert!(survived || ended.code().is_none(), "the process failed by itself at point {at}: {ended}");
        scene.check(&format!("killed at point {at}"));
        if survived {
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 20, "only {deaths} places were tried");
}

/// The git that a dead process has started goes on without it.
#[test]
fn a_git_that_outlives_its_process_does_no_harm() {
    let mut deaths = 0;
    for at in 1.. {
        let scene = scene();
        let tools = tempfile::tempdir().unwrap();
        let here = tools.path().display();
        let usual = std::env::var("PATH").unwrap();
        // The `at`-th git kills whoever started it, works on, and says when it has ended.
        let script = format!(
            "#!/bin/sh\nPATH={usual}\nwhile ! mkdir {here}/turn 2> /dev/null; do :; done\necho x >> {here}/count\nn=$(wc -l < {here}/count)\nrmdir {here}/turn\n\
             if [ $n = {at} ]; then kill -9 $PPID; git \"$@\" > /dev/null 2>&1; : > {here}/ended; exit; fi\nexec git \"$@\"\n"
        );
        program(&tools.path().join("git"), &script);
        assert!(Command::new("mkfifo").arg(tools.path().join("ended")).status().unwrap().success());
        let ended = run_child(&scene.place, usize::MAX, Some(tools.path()));
        if ended.success() {
            scene.check("nobody was killed");
            break;
        }
        std::fs::read(tools.path().join("ended")).unwrap();
        let place = scene.check(&format!("killed by git {at}"));
        place.run(|store| store.collect().unwrap());
        assert_whole(&place, "after a collection");
        deaths += 1;
    }
    assert!(deaths >= 4, "only {deaths} runs of git were tried");
}
