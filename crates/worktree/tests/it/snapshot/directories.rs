//! Rights of directories: one that an undo or a redo makes has those it had.

use super::stat_cache::remember;
use super::{Place, chmod};
use std::os::unix::fs::PermissionsExt as _;
use sturdy_worktree::snapshot::{Fault, FaultKind, Step};

fn mode(place: &Place, path: &str) -> u32 {
    place.root.join(path).metadata().unwrap().permissions().mode() & 0o777
}

fn remove_all(place: &Place, path: &str) {
    std::fs::remove_dir_all(place.root.join(path)).unwrap();
}

/// Private directories, one inside of another, and one in which nobody may write.
fn private() -> Place {
    let place = Place::new();
    place.write("private/inner/secret", "1");
    place.write("closed/text", "1");
    place.write("open/text", "1");
    std::fs::create_dir(place.root.join("private/nothing")).unwrap();
    chmod(&place.root.join("private/nothing"), 0o711);
    chmod(&place.root.join("private/inner"), 0o750);
    chmod(&place.root.join("private"), 0o700);
    chmod(&place.root.join("closed"), 0o555);
    place
}

#[test]
fn a_private_directory_that_was_removed_comes_back_private() {
    let place = private();
    let before = place.everything();
    let step = place.step(|place| {
        remove_all(place, "private");
        chmod(&place.root.join("closed"), 0o755);
        remove_all(place, "closed");
        remove_all(place, "open");
    });
    let targets = place.targets(&[step]);

    // Was: 755, so that everybody could read what was private.
    let (snapshot, _) = place.undo(&targets);

    assert_eq!(place.everything(), before);
    let modes =
        ["private", "private/inner", "private/nothing", "closed", "open"].map(|path| mode(&place, path));
    assert_eq!(modes, [0o700, 0o750, 0o711, 0o555, 0o755]);
    chmod(&place.root.join("closed"), 0o755);
    place.redo(snapshot, &targets);
    assert!(place.everything().is_empty());
}

#[test]
fn a_private_directory_that_an_agent_made_is_private_again_after_a_redo() {
    let place = Place::new();
    place.write("a", "1");
    let step = place.step(|place| {
        place.write("made/deep/secret", "1");
        chmod(&place.root.join("made/deep"), 0o700);
    });
    let after = place.everything();
    let targets = place.targets(&[step]);

    let (snapshot, _) = place.undo(&targets);
    assert!(!place.has("made"));
    place.redo(snapshot, &targets);

    assert_eq!(place.everything(), after);
    assert_eq!((mode(&place, "made"), mode(&place, "made/deep")), (0o755, 0o700));
}

#[test]
fn rights_that_a_person_gave_a_directory_before_a_step_are_known_to_it() {
    let place = Place::new();
    place.write("dir/text", "1");
    place.tree();
    // Nothing but the rights is another, and git does not say so.
    remember(&place);
    chmod(&place.root.join("dir"), 0o700);
    let step = place.step(|place| remove_all(place, "dir"));

    place.undo(&place.targets(&[step]));

    assert_eq!(mode(&place, "dir"), 0o700);
}

#[test]
fn rights_of_directories_are_known_after_a_restart_and_after_their_directory_came_again() {
    let place = private();
    let tree = place.tree();
    let place = place.reopened();
    assert_eq!(place.tree(), tree);

    remove_all(&place, "private");
    place.tree();
    place.write("private/inner/secret", "1");
    std::fs::create_dir(place.root.join("private/nothing")).unwrap();
    assert_ne!(place.tree(), tree, "another directory with usual rights");
    remember(&place);
    chmod(&place.root.join("private"), 0o700);
    chmod(&place.root.join("private/inner"), 0o750);
    chmod(&place.root.join("private/nothing"), 0o711);
    assert_eq!(place.tree(), tree);
}

#[test]
fn rights_of_a_directory_that_is_there_are_left_alone() {
    let place = Place::new();
    place.write("dir/text", "1");
    let step = place.step(|place| {
        place.write("dir/text", "2");
        chmod(&place.root.join("dir"), 0o700);
    });

    place.undo(&place.targets(&[step]));

    assert_eq!(place.read("dir/text").as_deref(), Some("1"));
    assert_eq!(mode(&place, "dir"), 0o700);
}

#[test]
fn directories_that_an_undo_removed_and_took_back_are_private_again() {
    let place = Place::new();
    place.write("a", "1");
    let step: Step = place.step(|place| {
        place.write("a", "2");
        place.write("made/secret", "1");
        chmod(&place.root.join("made"), 0o700);
    });
    let after = place.everything();
    let undo = place.prepare(None, &place.targets(&[step]), &[]);

    // What is made is removed first; then the disk is full.
    let full = |path: &sturdy_worktree::snapshot::TreePath| match path.to_string() == "a" {
        true => Err(FaultKind::Fails),
        false => Ok(()),
    };
    place.run(|store| store.apply_with(&undo.settings, Fault(&full)).unwrap_err());

    assert_eq!(place.everything(), after);
}
