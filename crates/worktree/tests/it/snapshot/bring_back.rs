//! Undoing, undoing less or more, and taking it back.

use super::{Place, chmod, link, path};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use sturdy_worktree::snapshot::{
    Conflict, Done, Fault, FaultKind, Outcome, SnapshotError, Standing, Step, StoreOptions, Targets, TreeId,
    TreePath, Undo, Verdict,
};

impl Place {
    /// What somebody does, as a step of a session.
    pub(super) fn step(&self, act: impl FnOnce(&Self)) -> Step {
        let before = self.tree();
        act(self);
        let after = self.tree();
        let changed = self.run(|store| store.changed(&before, &after).unwrap());
        Step { before, after, files: changed.into_iter().map(|one| one.path).collect() }
    }

    pub(super) fn targets(&self, steps: &[Step]) -> Targets {
        self.run(|store| Targets::of(store, steps).unwrap())
    }

    pub(super) fn prepare(&self, standing: Option<Standing<'_>>, targets: &Targets, forced: &[&str]) -> Undo {
        let forced: BTreeSet<TreePath> = forced.iter().map(|name| path(name)).collect();
        self.run(|store| store.prepare_undo(None, standing, targets, &forced).unwrap())
    }

    pub(super) fn undo(&self, targets: &Targets) -> (TreeId, Done) {
        let undo = self.prepare(None, targets, &[]);
        (undo.snapshot, self.run(|store| store.apply(&undo.settings).unwrap()))
    }

    pub(super) fn redo(&self, snapshot: TreeId, targets: &Targets) -> Done {
        let settings = self.run(|store| store.prepare_redo(Standing { snapshot, targets }).unwrap());
        self.run(|store| store.apply(&settings).unwrap())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.root.join(name).symlink_metadata().is_ok()
    }
}

/// A step that makes, changes and removes files, changes a mode and a link, and exchanges a file and a directory.
fn busy_step(place: &Place) -> (BTreeMap<PathBuf, String>, Step, BTreeMap<PathBuf, String>) {
    place.write("changed", "old\r\n");
    place.write("removed", "precious");
    place.write("run", "#!/bin/sh");
    place.write("file-to-dir", "was a file");
    place.write("dir-to-file/inner", "was in a directory");
    place.write("untouched", "same");
    link("changed", &place.root.join("link"));
    let before = place.everything();
    let step = place.step(|place| {
        place.write("changed", "new");
        place.remove("removed");
        place.write("made/deep/er", "fresh");
        std::fs::set_permissions(place.root.join("run"), std::fs::Permissions::from_mode(0o755)).unwrap();
        place.remove("file-to-dir");
        place.write("file-to-dir/x", "now in a directory");
        std::fs::remove_dir_all(place.root.join("dir-to-file")).unwrap();
        place.write("dir-to-file", "now a file");
        place.remove("link");
        link("run", &place.root.join("link"));
    });
    let after = place.everything();
    (before, step, after)
}

#[test]
fn an_undo_brings_everything_back_and_taking_it_back_restores_deletions_too() {
    let place = Place::new();
    let (before, step, after) = busy_step(&place);
    let targets = place.targets(&[step]);

    let (snapshot, done) = place.undo(&targets);

    assert_eq!(place.everything(), before);
    assert_eq!(done.conflicts().count(), 0);
    assert!(!place.has("made"), "a directory that nothing is left in is removed");

    let done = place.redo(snapshot, &targets);
    assert_eq!(place.everything(), after);
    assert_eq!(done.conflicts().count(), 0);
}

#[test]
fn a_file_that_a_person_changed_since_is_a_conflict_and_untouched() {
    let place = Place::new();
    place.write("a", "1");
    place.write("b", "1");
    let step = place.step(|place| {
        place.write("a", "2");
        place.write("b", "2");
        place.write("made", "by the agent");
    });
    place.write("b", "a person's work");
    place.write("made", "a person's work");
    let targets = place.targets(&[step]);

    let undo = place.prepare(None, &targets, &[]);
    place.run(|store| store.apply(&undo.settings).unwrap());

    let verdicts: Vec<_> =
        undo.plan.entries.iter().map(|entry| (entry.path.to_string(), entry.verdict)).collect();
    assert_eq!(
        verdicts,
        [
            ("a".to_owned(), Verdict::Change),
            ("b".to_owned(), Verdict::Conflict(Conflict::ChangedSince)),
            ("made".to_owned(), Verdict::Conflict(Conflict::ChangedSince)),
        ]
    );
    assert_eq!(place.read("a").as_deref(), Some("1"));
    assert_eq!(place.read("b").as_deref(), Some("a person's work"));
    assert_eq!(place.read("made").as_deref(), Some("a person's work"));

    // Asked for by name, it goes back, and can be had again.
    let standing = Standing { snapshot: undo.snapshot, targets: &targets };
    let forced = place.prepare(Some(standing), &targets, &["b"]);
    place.run(|store| store.apply(&forced.settings).unwrap());
    assert_eq!(place.read("b").as_deref(), Some("1"));
    assert_eq!(place.read("made").as_deref(), Some("a person's work"));
    place.redo(forced.snapshot, &targets);
    assert_eq!(place.read("a").as_deref(), Some("2"));
    assert_eq!(place.read("b").as_deref(), Some("a person's work"));
}

#[test]
fn a_change_between_two_steps_is_not_swept_away() {
    let place = Place::new();
    place.write("a", "1");
    let first = place.step(|place| place.write("a", "2"));
    place.write("a", "a person's work");
    let second = place.step(|place| place.write("a", "3"));

    let both = place.prepare(None, &place.targets(&[first, second.clone()]), &[]);
    let last = place.prepare(None, &place.targets(&[second]), &[]);

    assert_eq!(both.plan.entries[0].verdict, Verdict::Conflict(Conflict::ChangedBetween));
    assert_eq!(last.plan.entries[0].verdict, Verdict::Change);
    place.run(|store| store.apply(&last.settings).unwrap());
    assert_eq!(place.read("a").as_deref(), Some("a person's work"));
}

#[test]
fn only_the_files_of_the_undone_steps_are_touched() {
    let place = Place::new();
    place.write("ours", "1");
    place.write("theirs", "1");
    let ours = place.step(|place| place.write("ours", "2"));
    place.step(|place| place.write("theirs", "2"));
    place.write("person", "mine");

    place.undo(&place.targets(&[ours]));

    assert_eq!(place.read("ours").as_deref(), Some("1"));
    assert_eq!(place.read("theirs").as_deref(), Some("2"));
    assert_eq!(place.read("person").as_deref(), Some("mine"));
}

#[test]
fn going_further_back_and_forward_again_ends_where_it_began() {
    let place = Place::new();
    place.write("a", "0");
    let first = place.step(|place| place.write("a", "1"));
    let second = place.step(|place| {
        place.write("a", "2");
        place.write("b", "2");
    });
    let end = place.everything();
    let only_second = place.targets(std::slice::from_ref(&second));
    let both = place.targets(&[first, second]);

    let (snapshot, _) = place.undo(&only_second);
    assert_eq!(place.read("a").as_deref(), Some("1"));
    let further = place.prepare(Some(Standing { snapshot, targets: &only_second }), &both, &[]);
    place.run(|store| store.apply(&further.settings).unwrap());
    assert_eq!((place.read("a").as_deref(), place.has("b")), (Some("0"), false));
    let standing = Standing { snapshot: further.snapshot, targets: &both };
    let forward = place.prepare(Some(standing), &only_second, &[]);
    place.run(|store| store.apply(&forward.settings).unwrap());
    assert_eq!((place.read("a").as_deref(), place.has("b")), (Some("1"), false));
    place.redo(forward.snapshot, &only_second);
    assert_eq!(place.everything(), end);
}

#[test]
fn a_missing_tree_is_an_error_and_nothing_is_deleted() {
    let place = Place::new();
    place.write("a", "1");
    let step = place.step(|place| {
        place.write("a", "2");
        place.write("b", "2");
    });
    let nowhere: TreeId = "1234567890123456789012345678901234567890".parse().unwrap();

    for broken in [Step { before: nowhere, ..step.clone() }, Step { after: nowhere, ..step.clone() }] {
        let targets = place.run(|store| Targets::of(store, &[broken]));
        assert!(matches!(targets, Err(SnapshotError::Missing(id)) if id == nowhere));
    }

    // A tree that is there, with a file of which the content is not.
    let targets = place.targets(&[step]);
    let undo = place.prepare(None, &targets, &[]);
    let content = targets.found(&path("a")).unwrap().content().unwrap().to_string();
    std::fs::remove_file(place.dir.join("objects").join(&content[..2]).join(&content[2..])).unwrap();
    let done = place.run(|store| store.apply(&undo.settings));
    assert!(matches!(done, Err(SnapshotError::Missing(_))), "{done:?}");
    assert_eq!(place.read("a").as_deref(), Some("2"));
    assert_eq!(place.read("b").as_deref(), Some("2"));
}

#[test]
fn what_was_too_large_to_capture_is_never_deleted() {
    let place = Place::with(StoreOptions { file_bytes_max: 10, ..StoreOptions::default() });
    place.write("large", "more than ten bytes");
    let step = place.step(|place| place.write("large", "few"));

    let undo = place.prepare(None, &place.targets(&[step]), &["large"]);
    place.run(|store| store.apply(&undo.settings).unwrap());

    assert_eq!(undo.plan.entries[0].verdict, Verdict::Conflict(Conflict::NotCaptured));
    assert_eq!(place.read("large").as_deref(), Some("few"));
}

#[test]
fn wherever_the_process_dies_doing_it_again_or_taking_it_back_is_right() {
    let files = {
        let place = Place::new();
        let (_, step, _) = busy_step(&place);
        step.files.len()
    };
    for die_at in 0..files {
        for redo_after in [false, true] {
            let place = Place::new();
            let (before, step, after) = busy_step(&place);
            let targets = place.targets(&[step]);
            let undo = place.prepare(None, &targets, &[]);
            place.store.anchor("ses_a", &[undo.snapshot]).unwrap();
            let begun = AtomicUsize::new(0);
            let dying = |_: &TreePath| match begun.fetch_add(1, Ordering::SeqCst) {
                before if before < die_at => Ok(()),
                _ => Err(FaultKind::Dies),
            };
            place.run(|store| store.apply_with(&undo.settings, Fault(&dying)).unwrap_err());

            let place = place.reopened();
            if redo_after {
                place.redo(undo.snapshot, &targets);
                assert_eq!(place.everything(), after, "taken back after dying at {die_at}");
            } else {
                let again = place.run(|store| store.apply(&undo.settings).unwrap());
                assert_eq!(place.everything(), before, "done again after dying at {die_at}");
                assert_eq!(again.conflicts().count(), 0);
            }
        }
    }
}

#[test]
fn a_full_disk_in_the_middle_takes_everything_back() {
    for fail_at in 0..6 {
        let place = Place::new();
        let (_, step, after) = busy_step(&place);
        let undo = place.prepare(None, &place.targets(&[step]), &[]);
        let begun = AtomicUsize::new(0);
        let full = |_: &TreePath| match begun.fetch_add(1, Ordering::SeqCst) {
            before if before == fail_at => Err(FaultKind::Fails),
            _ => Ok(()),
        };

        let failed = place.run(|store| store.apply_with(&undo.settings, Fault(&full)));

        assert!(matches!(failed, Err(SnapshotError::Io { .. })), "{failed:?}");
        assert_eq!(place.everything(), after, "failed at {fail_at}");
    }
}

#[test]
fn a_directory_exchanged_for_a_link_is_not_followed_out_of_the_worktree() {
    let place = Place::new();
    let outside = place.root.parent().unwrap().join("outside");
    std::fs::create_dir(&outside).unwrap();
    place.write("dir/changed", "1");
    place.write("dir/removed", "1");
    let step = place.step(|place| {
        place.write("dir/changed", "2");
        place.remove("dir/removed");
        place.write("dir/made", "2");
    });
    let undo = place.prepare(None, &place.targets(&[step]), &[]);
    std::fs::write(outside.join("changed"), "2").unwrap();
    std::fs::write(outside.join("made"), "2").unwrap();
    let swapped = AtomicBool::new(false);
    let swap = |_: &TreePath| {
        if !swapped.swap(true, Ordering::SeqCst) {
            std::fs::rename(place.root.join("dir"), place.root.join("was-dir")).unwrap();
            link(outside.to_str().unwrap(), &place.root.join("dir"));
        }
        Ok(())
    };

    let done = place.run(|store| store.apply_with(&undo.settings, Fault(&swap)));

    let kept = |name: &str| std::fs::read_to_string(outside.join(name)).ok();
    assert_eq!(kept("changed").as_deref(), Some("2"), "{done:?}");
    assert_eq!(kept("made").as_deref(), Some("2"));
    assert_eq!(kept("removed"), None);
}

#[test]
fn an_editor_that_writes_a_moment_before_wins() {
    let place = Place::new();
    place.write("a", "1");
    let step = place.step(|place| place.write("a", "2"));
    let undo = place.prepare(None, &place.targets(&[step]), &[]);
    let write = |_: &TreePath| {
        place.write("a", "from the editor");
        Ok(())
    };

    let done = place.run(|store| store.apply_with(&undo.settings, Fault(&write)).unwrap());

    assert_eq!(done.files, [(path("a"), Outcome::Conflict)]);
    assert_eq!(place.read("a").as_deref(), Some("from the editor"));
}

#[test]
fn a_directory_with_a_persons_files_in_it_stays() {
    let place = Place::new();
    place.write("thing", "was a file");
    let step = place.step(|place| {
        place.remove("thing");
        place.write("thing/made", "by the agent");
    });
    place.write("thing/mine", "a person's work");

    let (_, done) = place.undo(&place.targets(&[step]));

    assert_eq!(done.files, [(path("thing"), Outcome::Conflict), (path("thing/made"), Outcome::Set)]);
    assert_eq!(place.read("thing/mine").as_deref(), Some("a person's work"));
}

#[test]
fn a_read_only_file_comes_back_read_only() {
    let place = Place::new();
    place.write("a", "1");
    let mode =
        |mode| std::fs::set_permissions(place.root.join("a"), std::fs::Permissions::from_mode(mode)).unwrap();
    let step = place.step(|place| place.write("a", "2"));
    mode(0o444);

    place.undo(&place.targets(&[step]));

    assert_eq!(place.read("a").as_deref(), Some("1"));
    assert_eq!(place.root.join("a").metadata().unwrap().permissions().mode() & 0o777, 0o444);
}

#[test]
fn a_private_file_comes_back_private() {
    for mode in [0o600, 0o640, 0o400, 0o700] {
        let place = Place::new();
        place.write("removed", "a secret");
        place.write("replaced", "a secret");
        place.write("opened", "a secret");
        for name in ["removed", "replaced", "opened"] {
            chmod(&place.root.join(name), mode);
        }
        let before = place.everything();
        let step = place.step(|place| {
            place.remove("removed");
            place.remove("replaced");
            place.write("replaced", "public");
            chmod(&place.root.join("opened"), 0o644);
        });
        let after = place.everything();
        let targets = place.targets(&[step]);

        // Was: what had been removed came back as the umask has it, for everybody to read.
        let (snapshot, _) = place.undo(&targets);
        assert_eq!(place.everything(), before, "{mode:o}");

        place.redo(snapshot, &targets);
        assert_eq!(place.everything(), after, "{mode:o}");
    }
}

#[test]
fn rights_that_a_person_gave_since_stay() {
    let place = Place::new();
    place.write("a", "1");
    let first = place.step(|place| place.write("a", "2"));
    chmod(&place.root.join("a"), 0o600);
    let second = place.step(|place| place.write("a", "3"));

    let (_, done) = place.undo(&place.targets(&[first, second]));

    assert_eq!(done.conflicts().count(), 0);
    assert_eq!(place.everything(), BTreeMap::from([(PathBuf::from("a"), "600 1".to_owned())]));
}

#[test]
fn private_files_are_known_after_a_restart() {
    let place = Place::new();
    place.write("secret", "1");
    place.write("other", "1");
    chmod(&place.root.join("secret"), 0o600);
    let first = place.tree();
    let place = place.reopened();
    assert_eq!(place.tree(), first);

    let step = place.step(|place| {
        place.remove("secret");
        place.write("other", "2");
    });
    place.undo(&place.targets(&[step]));

    assert_eq!(place.root.join("secret").metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn empty_directories_are_left_removed_and_made_as_they_were() {
    let place = Place::repository();
    place.write(".gitignore", "*.o\nbuild/\n");
    place.write("emptied/a", "1");
    place.write("objects/x.o", "ignored");
    place.write("build/deep/x", "ignored");
    for name in ["filled", "removed/inside", "stays"] {
        std::fs::create_dir_all(place.root.join(name)).unwrap();
    }
    let before = place.everything();
    let step = place.step(|place| {
        place.remove("emptied/a");
        place.write("filled/b", "2");
        std::fs::remove_dir_all(place.root.join("removed")).unwrap();
        std::fs::create_dir_all(place.root.join("made/inside")).unwrap();
        place.write("new/c", "2");
        std::fs::create_dir(place.root.join("new/empty")).unwrap();
    });
    let after = place.everything();
    let targets = place.targets(&[step]);

    // Was: `filled` went with the file in it, `removed` stayed away and `made` stayed.
    let (snapshot, _) = place.undo(&targets);
    assert_eq!(place.everything(), before);
    place.redo(snapshot, &targets);
    assert_eq!(place.everything(), after);
}

#[test]
fn a_directory_that_a_person_has_filled_since_stays() {
    let place = Place::new();
    place.write("a", "1");
    let step = place.step(|place| std::fs::create_dir(place.root.join("made")).unwrap());
    place.write("made/mine", "a person's work");

    place.undo(&place.targets(&[step]));

    assert_eq!(place.read("made/mine").as_deref(), Some("a person's work"));
}

#[test]
fn a_name_that_is_not_utf8_is_forced_as_it_is_shown_unless_two_are_shown_alike() {
    let place = Place::repository();
    let write = |name: &[u8], text: &str| {
        let name = std::ffi::OsStr::from_bytes(name);
        std::fs::write(place.root.join(name), text).unwrap();
    };
    let one = place.step(|_| write(b"caf\xe9.txt", "1"));
    let other = place.step(|_| write(b"caf\xe8.txt", "1"));
    let shown = ["caf\u{fffd}.txt".to_owned()];

    let meant = place.targets(std::slice::from_ref(&one)).named(&shown).unwrap();
    let unclear = place.targets(&[one, other]).named(&shown);

    assert_eq!(meant.into_iter().collect::<Vec<_>>(), [TreePath::from_bytes(b"caf\xe9.txt").unwrap()]);
    assert!(matches!(unclear, Err(SnapshotError::Malformed(_))), "{unclear:?}");
}
