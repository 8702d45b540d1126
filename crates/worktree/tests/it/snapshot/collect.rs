//! Collections while somebody stores: what is about to be anchored is never taken away.

use super::{Place, chmod, path, program};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use sturdy_worktree::snapshot::{
    ObjectId, SnapshotError, State, StoreOptions, TreeId, TreeStore, collect_in,
};

/// A git that stops when it has counted what nothing keeps, until it is told to go on.
struct SlowGit {
    dir: tempfile::TempDir,
}

impl SlowGit {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for pipe in ["counted", "go"] {
            assert!(Command::new("mkfifo").arg(dir.path().join(pipe)).status().unwrap().success());
        }
        let here = dir.path().display();
        let usual = std::env::var("PATH").unwrap();
        let script = format!(
            "#!/bin/sh\nPATH={usual}\ngit \"$@\" || exit 1\ncase \"$*\" in\n*prune*) : > {here}/counted; read line < {here}/go;;\nesac\n"
        );
        program(&dir.path().join("git"), &script);
        Self { dir }
    }

    fn path(&self) -> OsString {
        self.dir.path().as_os_str().to_owned()
    }

    fn has_counted(&self) {
        std::fs::read(self.dir.path().join("counted")).unwrap();
    }

    fn may_go_on(&self) {
        std::fs::write(self.dir.path().join("go"), "go\n").unwrap();
    }
}

fn object_of(dir: &Path, id: &ObjectId) -> PathBuf {
    let id = id.to_string();
    dir.join("objects").join(&id[..2]).join(&id[2..])
}

/// A file whose content nothing keeps, stored two days ago.
fn old_garbage(place: &Place) -> ObjectId {
    place.write("a", "stored long ago");
    let id = place.store.state_now(&path("a")).unwrap().content().unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(48 * 3600);
    std::fs::File::open(object_of(&place.dir, &id)).unwrap().set_modified(long_ago).unwrap();
    id
}

#[test]
fn what_is_stored_again_while_a_collection_counts_is_not_removed() {
    let slow = SlowGit::new();
    let options = StoreOptions { search_path: Some(slow.path()), ..StoreOptions::default() };
    let place = Place::with(options);
    let id = old_garbage(&place);

    std::thread::scope(|scope| {
        let collection = scope.spawn(|| place.run(|store| store.collect().unwrap()));
        slow.has_counted();
        place.store.state_now(&path("a")).unwrap();
        slow.may_go_on();
        collection.join().unwrap();
    });

    assert_eq!(place.store.content(&id).unwrap(), b"stored long ago");
}

#[test]
fn a_collection_that_is_not_disturbed_removes_old_garbage() {
    let place = Place::new();
    let id = old_garbage(&place);

    place.run(|store| store.collect().unwrap());

    assert!(matches!(place.store.content(&id), Err(SnapshotError::Missing(_))));
}

#[test]
fn a_collection_of_a_closed_store_gives_way_to_whoever_opens_it() {
    let slow = SlowGit::new();
    let place = Place::new();
    let id = old_garbage(&place);
    let (closed, root, dir) = place.closed();

    std::thread::scope(|scope| {
        let collection = scope.spawn(|| {
            let _inside = closed.enter();
            collect_in(&dir, Some(slow.dir.path().as_os_str()), Duration::ZERO).unwrap()
        });
        slow.has_counted();
        // git is never told to go on: only giving way ends the collection.
        let store = TreeStore::open(&dir, &root, StoreOptions::default()).unwrap();
        assert!(collection.join().unwrap().gave_way);
        assert_eq!(store.content(&id).unwrap(), b"stored long ago");
    });
}

#[test]
fn a_collection_leaves_everything_in_a_store_that_somebody_has_open() {
    let place = Place::new();
    let id = old_garbage(&place);

    let collected = place.run(|store| collect_in(store.dir(), None, Duration::ZERO).unwrap());

    assert!(collected.gave_way);
    assert_eq!(place.store.content(&id).unwrap(), b"stored long ago");
}

#[test]
fn a_closed_store_gives_everything_back_that_nothing_keeps() {
    let place = Place::new();
    let old = old_garbage(&place);
    place.write("b", "stored just now");
    let new = place.store.state_now(&path("b")).unwrap().content().unwrap();
    place.write("c", "kept");
    let kept = place.store.capture(None, &[path("c")]).unwrap();
    place.store.anchor("ses_a", &[kept]).unwrap();
    // What a process has said that died while it waited.
    std::fs::write(place.dir.join("sturdy-wanted"), "").unwrap();
    let (closed, root, dir) = place.closed();

    let collected = {
        let _inside = closed.enter();
        collect_in(&dir, None, Duration::ZERO).unwrap()
    };

    assert!(!collected.gave_way);
    assert!(!object_of(&dir, &old).exists());
    assert!(!object_of(&dir, &new).exists());
    let store = TreeStore::open(&dir, &root, StoreOptions::default()).unwrap();
    let _inside = closed.enter();
    let state = store.states(&kept, [&path("c")].into_iter()).unwrap()[&path("c")];
    assert_eq!(store.content(&state.content().unwrap()).unwrap(), b"kept");
}

/// A tree with what git cannot hold: git does not keep such a one for its index.
fn released_scan(place: &Place) -> TreeId {
    place.write("d/secret", "1");
    chmod(&place.root.join("d/secret"), 0o600);
    std::fs::create_dir(place.root.join("empty")).unwrap();
    let tree = place.tree();
    place.store.anchor("ses_a", &[tree]).unwrap();
    place.store.release("ses_a").unwrap();
    tree
}

#[test]
fn the_tree_of_the_last_scan_is_made_anew_when_it_was_collected() {
    let place = Place::new();
    let tree = released_scan(&place);

    place.run(|store| store.collect_older_than(Duration::ZERO).unwrap());

    assert_eq!(place.tree(), tree);
    assert_eq!(place.listed(&tree), ["100644 d/secret"], "as git reads it");
    let states = place.run(|store| store.states(&tree, [&path("empty")].into_iter()).unwrap());
    assert_eq!(states[&path("empty")], State::EmptyDirectory);
}

#[test]
fn the_tree_of_the_last_scan_is_made_anew_when_it_was_collected_while_nobody_had_the_store_open() {
    let place = Place::new();
    let tree = released_scan(&place);
    let (closed, root, dir) = place.closed();
    let _inside = closed.enter();
    collect_in(&dir, None, Duration::ZERO).unwrap();

    let store = TreeStore::open(&dir, &root, StoreOptions::default()).unwrap();

    assert_eq!(store.scan().unwrap().tree, tree);
    assert!(
        store.states(&tree, [&path("d/secret")].into_iter()).unwrap()[&path("d/secret")].content().is_some()
    );
}

#[test]
fn trees_of_a_released_name_that_were_packed_long_ago_are_given_back() {
    let place = Place::new();
    place.write("a", "packed, then released");
    let tree = place.store.capture(None, &[path("a")]).unwrap();
    place.store.anchor("ses_a", &[tree]).unwrap();
    place.run(|store| store.collect().unwrap());
    let long_ago = SystemTime::now() - Duration::from_secs(48 * 3600);
    let packs = place.dir.join("objects/pack");
    for pack in packs.read_dir().unwrap() {
        std::fs::File::open(pack.unwrap().path()).unwrap().set_modified(long_ago).unwrap();
    }
    std::fs::write(packs.join("tmp_pack_dead"), "half").unwrap();
    std::fs::File::open(packs.join("tmp_pack_dead")).unwrap().set_modified(long_ago).unwrap();

    place.store.release("ses_a").unwrap();
    place.run(|store| store.collect().unwrap());

    let read = place.run(|store| store.states(&tree, [&path("a")].into_iter()));
    assert!(matches!(read, Err(SnapshotError::Missing(_))), "{read:?}");
    assert!(!packs.join("tmp_pack_dead").exists());
}
