//! What stays, what goes, and what a dead process may leave behind.

use super::stat_cache::{counted, counting, runs};
use super::{Place, path};
use std::process::Command;
use std::time::{Duration, SystemTime};
use sturdy_worktree::snapshot::{SnapshotError, StoreOptions, TreeId, TreePath, TreeStore, differences};

fn gc(place: &Place) {
    let out = Command::new("git")
        .args(["gc", "--quiet", "--aggressive", "--prune=now"])
        .env("GIT_DIR", &place.dir)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn an_anchored_tree_survives_every_collection_until_it_is_released() {
    let place = Place::new();
    place.write("dir/a", "the first text\n");
    let first = place.tree();
    place.write("dir/a", "the second text\n");
    let second = place.tree();
    place.write("dir/a", "the third text\n");
    let third = place.store.capture(Some(&second), &[path("dir/a")]).unwrap();
    place.store.anchor("ses_a", &[first, second]).unwrap();
    place.store.anchor("ses_b", &[third]).unwrap();
    place.remove("dir/a");
    place.tree();

    gc(&place);
    let place = place.reopened();

    let text = |tree| {
        place.run(|store| {
            let states = store.states(tree, [&path("dir/a")].into_iter())?;
            store.content(&states[&path("dir/a")].content().unwrap())
        })
    };
    assert_eq!(text(&first).unwrap(), b"the first text\n");
    assert_eq!(text(&second).unwrap(), b"the second text\n");
    assert_eq!(text(&third).unwrap(), b"the third text\n");

    assert_eq!(place.store.names().unwrap(), ["ses_a", "ses_b"]);
    place.store.release("ses_a").unwrap();
    place.run(|store| store.collect().unwrap());
    assert_eq!(text(&first).unwrap(), b"the first text\n", "what is recent may be about to be anchored");
    place.run(|store| store.collect_older_than(Duration::ZERO).unwrap());
    assert_eq!(place.store.names().unwrap(), ["ses_b"]);
    assert!(matches!(text(&first), Err(SnapshotError::Missing(_))));
    assert_eq!(text(&third).unwrap(), b"the third text\n");
}

#[test]
fn what_is_anchored_later_joins_what_was_packed() {
    let place = Place::new();
    place.write("a", "1");
    let first = place.tree();
    place.store.anchor("ses_a", &[first]).unwrap();
    gc(&place);
    place.write("a", "2");
    let second = place.run(|store| store.capture(Some(&first), &[path("a")]).unwrap());
    place.run(|store| store.anchor("ses_a", &[second])).unwrap();
    place.run(|store| store.collect().unwrap());

    assert_eq!(place.run(|store| store.changed(&first, &second).unwrap()).len(), 1);
}

#[test]
fn stale_locks_leftover_packs_and_a_spoilt_index_do_not_stop_a_scan() {
    let place = Place::new();
    place.write("a", "1");
    let before = place.tree();
    for name in ["index.lock", "packed-refs.lock", "gc.pid", "refs/sturdy/ses_a.lock", "objects/tmp_obj_1_1"]
    {
        std::fs::write(place.dir.join(name), "dead").unwrap();
    }
    std::fs::write(place.dir.join("objects/pack/tmp_pack_x"), "half").unwrap();
    place.write("b", "2");

    let with_locks = place.scan();
    std::fs::write(place.dir.join("index"), "not an index").unwrap();
    let place = place.reopened();
    let with_spoilt_index = place.scan();

    assert_ne!(with_locks.tree, before);
    assert_eq!(with_spoilt_index.tree, with_locks.tree);
}

#[test]
fn an_object_that_somebody_removed_is_stored_again_by_the_next_scan() {
    let place = Place::new();
    place.write("a", "1");
    let tree = place.tree();
    std::fs::remove_dir_all(place.dir.join("objects")).unwrap();
    let place = place.reopened();
    place.write("b", "2");
    place.tree();
    place.remove("b");

    assert_eq!(place.tree(), tree);
    let states = place.run(|store| store.states(&tree, [&path("a")].into_iter()).unwrap());
    let content = place.run(|store| store.content(&states[&path("a")].content().unwrap()).unwrap());
    assert_eq!(content, b"1");
}

#[test]
fn a_full_store_refuses_and_says_so() {
    let place = Place::new();
    place.write("a", "1");
    place.tree();
    let options = StoreOptions { store_bytes_max: 1, ..StoreOptions::default() };
    let store = TreeStore::open(&place.dir, &place.root, options).unwrap();

    let refused = place.run(|_| store.scan());

    assert!(matches!(refused, Err(SnapshotError::Full { max: 1, .. })), "{refused:?}");
}

#[test]
fn the_budget_is_that_of_all_stores_of_a_project() {
    let place = Place::new();
    place.write("a", &"not much, but more than nothing\n".repeat(1_000));
    place.tree();
    let options = StoreOptions {
        budget_dir: Some(place.dir.parent().unwrap().to_owned()),
        store_bytes_max: 1,
        ..StoreOptions::default()
    };
    let store = TreeStore::open(&place.dir.with_file_name("second"), &place.root, options).unwrap();

    let refused = store.state_now(&path("a")).unwrap_err();

    assert!(matches!(refused, SnapshotError::Full { .. }), "{refused:?}");
    assert!(refused.to_string().contains("sturdy gc"), "{refused}");
}

#[test]
fn an_old_object_that_is_stored_again_is_not_collected() {
    let place = Place::new();
    place.write("a", "1");
    let state = place.store.state_now(&path("a")).unwrap();
    let id = state.content().unwrap().to_string();
    let object = place.dir.join("objects").join(&id[..2]).join(&id[2..]);
    let yesterday = SystemTime::now() - Duration::from_secs(24 * 3600);
    std::fs::File::open(&object).unwrap().set_modified(yesterday).unwrap();

    place.store.state_now(&path("a")).unwrap();
    place.run(|store| store.collect().unwrap());

    assert_eq!(place.store.content(&state.content().unwrap()).unwrap(), b"1");
}

#[test]
fn a_scan_does_not_take_away_what_another_thread_is_storing() {
    let place = Place::new();
    place.write("a", "1");
    let unfinished = place.dir.join("objects/tmp_obj_1_1");
    std::fs::write(&unfinished, "half").unwrap();

    place.tree();
    assert!(unfinished.exists());

    let place = place.reopened();
    assert!(!place.dir.join("objects/tmp_obj_1_1").exists(), "after a restart nobody is");
}

#[test]
fn the_store_itself_is_not_captured_when_it_lies_in_the_worktree() {
    let place = Place::new();
    place.write("a", "1");
    let inside = place.root.join(".sturdy/trees");
    let store = TreeStore::open(&inside, &place.root, StoreOptions::default()).unwrap();

    let first = place.run(|_| store.scan().unwrap());
    let second = place.run(|_| store.scan().unwrap());

    assert_eq!(first.tree, second.tree);
    let states = place.run(|_| store.states(&first.tree, [&path(".sturdy/trees/HEAD")].into_iter()).unwrap());
    assert_eq!(states[&path(".sturdy/trees/HEAD")], sturdy_worktree::snapshot::State::Absent);
}

#[test]
fn a_damaged_object_is_said_and_not_believed() {
    let place = Place::new();
    place.write("a", "1");
    let tree = place.tree();
    let name = tree.to_string();
    let object = place.dir.join("objects").join(&name[..2]).join(&name[2..]);
    let mut permissions = object.metadata().unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
    std::fs::set_permissions(&object, permissions).unwrap();
    std::fs::write(&object, "nonsense").unwrap();

    let read = place.run(|store| store.states(&tree, [&path("a")].into_iter()));

    assert!(matches!(read, Err(SnapshotError::Damaged { .. })));
}

#[test]
fn trees_that_are_packed_are_read_once_and_compared_without_git_from_then_on() {
    let place = counted();
    place.write("deep/er/a.txt", "1");
    place.write("b.txt", "1");
    let before = place.tree();
    place.write("deep/er/a.txt", "2");
    let after = place.tree();
    place.run(|store| store.anchor("one", &[before, after]).unwrap());
    place.run(|store| store.collect_older_than(Duration::ZERO).unwrap());
    let changed = || place.run(|store| store.changed(&before, &after).unwrap());
    let first = changed();
    let asked = runs(&place);

    let second = changed();

    assert_eq!(second, first);
    assert_eq!(second.iter().map(|one| one.path.to_string()).collect::<Vec<_>>(), ["deep/er/a.txt"]);
    // Was: git was run for each level of directories, at every step.
    assert_eq!(runs(&place), asked);
}

/// Ten files in directories of their own, in a store that is packed. The tree of all of them.
fn packed(place: &Place) -> (TreeId, Vec<TreePath>) {
    let paths: Vec<TreePath> = (0..10).map(|number| path(&format!("d{}/e{number}/f", number % 3))).collect();
    paths.iter().for_each(|one| place.write(&one.to_string(), &format!("in {one}")));
    let tree = place.tree();
    place.run(|store| store.anchor("one", &[tree]).unwrap());
    // Something that nothing keeps, too.
    place.write("d0/e0/f", "nobody keeps this");
    place.run(|store| store.capture(Some(&tree), &paths).unwrap());
    place.write("d0/e0/f", "in d0/e0/f");
    place.run(|store| store.collect_older_than(Duration::ZERO).unwrap());
    (tree, paths)
}

#[test]
fn directories_that_were_known_are_still_known_when_the_store_was_packed() {
    let place = counted();
    let (tree, paths) = packed(&place);
    let asked = runs(&place);

    let same = place.run(|store| store.capture(Some(&tree), &paths).unwrap());

    assert_eq!(same, tree);
    // Was: a collection forgot all of them, and git was run for each level of directories.
    assert_eq!(runs(&place), asked);
}

#[test]
fn a_packed_store_is_asked_once_for_each_level_of_directories() {
    let place = counted();
    let (tree, paths) = packed(&place);
    let options = counting(&place);
    let place = place.reopened_with(options);
    let asked = runs(&place);

    let states = place.run(|store| store.states(&tree, paths.iter()).unwrap());

    assert_eq!(states.len(), paths.len());
    assert_eq!(runs(&place) - asked, 3, "the top and two levels below it");
}

#[test]
fn many_files_of_a_packed_store_come_back_with_a_few_runs_of_git() {
    let place = counted();
    let (_, paths) = packed(&place);
    let step = place.step(|place| paths.iter().for_each(|path| place.write(&path.to_string(), "changed")));
    let undo = place.prepare(None, &place.targets(&[step]), &[]);
    let asked = runs(&place);

    place.run(|store| store.apply(&undo.settings).unwrap());

    assert_eq!(runs(&place) - asked, 3, "whether all are there, how large they are, and what is in them");
    assert_eq!(place.read("d0/e0/f").as_deref(), Some("in d0/e0/f"));
}

#[test]
fn there_is_a_place_for_every_new_object_when_a_store_was_packed() {
    let place = Place::new();
    packed(&place);

    let made = (0..=255).filter(|first| place.dir.join(format!("objects/{first:02x}")).is_dir()).count();

    assert_eq!(made, 256);
}

#[test]
fn the_difference_of_a_file_is_worked_out_once() {
    let place = counted();
    place.write("a.txt", "1\n");
    place.write("b.txt", "1\n");
    let before = place.tree();
    place.write("a.txt", "2\n");
    let middle = place.tree();
    place.write("b.txt", "2\n");
    let after = place.tree();
    place.run(|store| store.anchor("one", &[before, middle, after]).unwrap());
    place.run(|store| store.collect_older_than(Duration::ZERO).unwrap());
    let shown = |to| {
        let changed = place.run(|store| store.changed(&before, to).unwrap());
        place.run(|store| differences(store, &changed).unwrap())
    };
    let first = shown(&middle);
    let both = shown(&after);
    let asked = runs(&place);

    let again = shown(&after);

    assert_eq!(runs(&place), asked, "nothing is read again");
    assert_eq!(again, both);
    assert_eq!(again.files[0], first.files[0]);
    assert_eq!((again.files.len(), again.additions, again.deletions), (2, 2, 2));
}

#[test]
fn a_name_that_cannot_be_read_is_an_error_and_what_it_kept_is_not_collected() {
    let place = Place::repository();
    place.write("a.txt", "1");
    let kept = place.tree();
    place.run(|store| store.anchor("one", &[kept]).unwrap());
    place.write("a.txt", "2");
    let newer = place.tree();
    place.run(|store| store.anchor("two", &[newer]).unwrap());
    let name = place.dir.join("refs/sturdy/one");
    let text = std::fs::read(&name).unwrap();

    // As a loss of power leaves a file that was not synced.
    std::fs::write(&name, "").unwrap();
    // Was: as if nothing had been kept before; the next collection took it.
    let anchored = place.run(|store| store.anchor("one", &[newer]));
    let collected = place.run(|store| store.collect_older_than(Duration::ZERO));

    assert!(matches!(anchored, Err(SnapshotError::Malformed(_))), "{anchored:?}");
    assert!(matches!(collected, Err(SnapshotError::Malformed(_))), "{collected:?}");
    std::fs::write(&name, text).unwrap();
    place.run(|store| store.collect_older_than(Duration::ZERO).unwrap());
    assert_eq!(place.listed(&kept), ["100644 a.txt"]);
}

#[test]
fn an_object_that_lost_its_content_is_stored_again() {
    let place = Place::repository();
    place.write("a.txt", "one");
    let path = path("a.txt");
    let state = place.run(|store| store.state_now(&path).unwrap());
    let id = state.content().unwrap();
    let name = id.to_string();
    let object = place.dir.join("objects").join(&name[..2]).join(&name[2..]);
    std::fs::write(&object, "").unwrap();

    place.run(|store| store.state_now(&path).unwrap());

    assert_eq!(place.run(|store| store.content(&id).unwrap()), b"one");
}
