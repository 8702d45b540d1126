//! Several files are written at the same time: one that fails, a process that dies and an editor in between.

use super::{Place, path};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use sturdy_worktree::snapshot::{Fault, FaultKind, SnapshotError, Targets, TreePath, Undo};

const FILES: usize = 40;

fn name(number: usize) -> String {
    format!("dir{}/file{number:02}", number % 3)
}

struct Scene {
    place: Place,
    targets: Targets,
    undo: Undo,
    before: BTreeMap<PathBuf, String>,
    after: BTreeMap<PathBuf, String>,
}

/// The agent changed most files, removed some and made some; an undo of it is prepared.
fn scene() -> Scene {
    let place = Place::new();
    (0..FILES).filter(|number| number % 10 != 7).for_each(|number| place.write(&name(number), "before"));
    let before = place.everything();
    let step = place.step(|place| {
        for number in 0..FILES {
            match number % 10 {
                3 => place.remove(&name(number)),
                _ => place.write(&name(number), &format!("after {number}")),
            }
        }
    });
    let after = place.everything();
    let targets = place.targets(&[step]);
    let undo = place.prepare(None, &targets, &[]);
    place.store.anchor("ses_a", &[undo.snapshot]).unwrap();
    Scene { place, targets, undo, before, after }
}

/// Lets the `at`-th file have this fault, and not before another writer is busy with a later one.
fn in_the_middle(begun: &AtomicUsize, at: usize, kind: FaultKind) -> Result<(), FaultKind> {
    if begun.fetch_add(1, Ordering::SeqCst) != at {
        return Ok(());
    }
    while begun.load(Ordering::SeqCst) < at + 2 {
        std::thread::yield_now();
    }
    Err(kind)
}

#[test]
fn one_writer_that_fails_among_others_takes_everything_back() {
    for at in [4, 12, 25, FILES - 2] {
        let Scene { place, undo, before, after, .. } = scene();
        let begun = AtomicUsize::new(0);
        let full = |_: &TreePath| in_the_middle(&begun, at, FaultKind::Fails);

        let failed = place.run(|store| store.apply_with(&undo.settings, Fault(&full)));

        assert!(matches!(failed, Err(SnapshotError::Io { .. })), "{failed:?}");
        assert_eq!(place.everything(), after, "failed at {at}");
        place.run(|store| store.apply(&undo.settings).unwrap());
        assert_eq!(place.everything(), before, "and once there is room it is done");
    }
}

#[test]
fn a_process_that_dies_among_others_leaves_what_can_be_ended_or_taken_back() {
    for at in [4, 12, 25, FILES - 2] {
        for is_ended in [true, false] {
            let Scene { place, targets, undo, before, after } = scene();
            let begun = AtomicUsize::new(0);
            let dying = |_: &TreePath| in_the_middle(&begun, at, FaultKind::Dies);

            place.run(|store| store.apply_with(&undo.settings, Fault(&dying)).unwrap_err());
            let place = place.reopened();

            if is_ended {
                let done = place.run(|store| store.apply(&undo.settings).unwrap());
                assert_eq!(done.conflicts().count(), 0);
                assert_eq!(place.everything(), before, "ended after dying at {at}");
            } else {
                let done = place.redo(undo.snapshot, &targets);
                assert_eq!(done.conflicts().count(), 0);
                assert_eq!(place.everything(), after, "taken back after dying at {at}");
            }
        }
    }
}

#[test]
fn what_cannot_be_taken_back_is_named_and_comes_back_later() {
    let Scene { place, targets, undo, after, .. } = scene();
    // A file that the agent made is removed first; while everything is taken back, the disk is still full.
    let made = name(7);
    let begun = AtomicUsize::new(0);
    let full = |path: &TreePath| {
        let is_second_time = begun.load(Ordering::SeqCst) > 20;
        if path.to_string() == made && is_second_time {
            return Err(FaultKind::Fails);
        }
        in_the_middle(&begun, 20, FaultKind::Fails)
    };

    let failed = place.run(|store| store.apply_with(&undo.settings, Fault(&full)));

    let Err(SnapshotError::HalfDone { files, cause }) = failed else { panic!("{failed:?}") };
    assert_eq!(files, [path(&made)]);
    assert!(matches!(*cause, SnapshotError::Io { .. }));
    assert!(!place.has(&made));
    place.redo(undo.snapshot, &targets);
    assert_eq!(place.everything(), after);
}

#[test]
fn an_editor_that_writes_among_others_keeps_its_text_and_the_rest_goes_back() {
    let Scene { place, undo, before, .. } = scene();
    let edited = name(11);
    let write = |path: &TreePath| {
        if path.to_string() == edited {
            place.write(&edited, "from the editor");
        }
        Ok(())
    };

    let done = place.run(|store| store.apply_with(&undo.settings, Fault(&write)).unwrap());

    let conflicts: Vec<String> = done.conflicts().map(ToString::to_string).collect();
    assert_eq!(conflicts, [edited.as_str()]);
    let mut expected = before;
    expected.insert(PathBuf::from(&edited), "644 from the editor".to_owned());
    assert_eq!(place.everything(), expected);
}
