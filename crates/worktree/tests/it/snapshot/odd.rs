//! Odd repositories, odd files and several hands at once: everything is captured as it is and comes back as it was.

use super::{Place, git, path};
use std::fs::File;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use sturdy_worktree::snapshot::{LeftOut, SnapshotError, Standing, Why};

/// An undo gives exactly what was there, and taking it back what the agent left.
fn undo_is_exact(place: &Place, act: impl FnOnce(&Place)) {
    let before = place.everything();
    let step = place.step(act);
    let after = place.everything();
    assert_ne!(before, after);
    let targets = place.targets(&[step]);

    let (snapshot, done) = place.undo(&targets);
    assert_eq!(place.everything(), before, "{done:?}");
    place.redo(snapshot, &targets);
    assert_eq!(place.everything(), after);
}

fn committed() -> Place {
    let place = Place::repository();
    place.write("in/a", "1");
    place.write("out/b", "1");
    git(&place.root, &["add", "."]);
    git(&place.root, &["commit", "--quiet", "-m", "first"]);
    place
}

#[test]
fn a_sparse_checkout_is_captured_as_it_is_and_nothing_outside_of_it_appears() {
    let place = committed();
    git(&place.root, &["sparse-checkout", "set", "in"]);
    assert!(!place.has("out/b"));

    undo_is_exact(&place, |place| {
        place.write("in/a", "2");
        place.write("out/new", "2");
    });

    assert!(!place.has("out/b"), "what is not checked out is not brought back");
}

#[test]
fn settings_for_large_repositories_change_nothing() {
    for settings in [
        &["config core.splitIndex true", "update-index --split-index"][..],
        &["config core.untrackedCache true", "update-index --untracked-cache"],
        &["config feature.manyFiles true", "update-index --index-version 4"],
        &["config core.fsmonitor true"],
        &["config core.ignoreCase true", "config core.precomposeUnicode true"],
        &["config core.fileMode false", "config core.symlinks false"],
        &["config core.autocrlf input", "config core.safecrlf true"],
        &["config commit.gpgSign true", "config gpg.program false", "config user.signingKey nobody"],
        &["config extensions.worktreeConfig true", "config core.bare false"],
    ] {
        let place = committed();
        for setting in settings {
            git(&place.root, &setting.split(' ').collect::<Vec<_>>());
        }
        place.write("Case", "upper");
        place.write("case", "lower");
        place.write("dos.txt", "one\r\ntwo\n");

        undo_is_exact(&place, |place| {
            place.write("in/a", "2\r\n");
            place.remove("Case");
            place.write("case", "changed");
            let program = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(place.root.join("out/b"), program).unwrap();
        });
    }
}

#[test]
fn a_repository_that_belongs_to_somebody_else_is_captured() {
    let place = committed();
    // Only root can give a directory away; for others the test is that of their own.
    let _ = std::os::unix::fs::chown(&place.root, Some(12_345), Some(12_345));
    let _ = std::os::unix::fs::chown(place.root.join(".git"), Some(12_345), Some(12_345));

    undo_is_exact(&place, |place| place.write("in/a", "2"));
}

#[test]
fn a_submodule_is_recorded_and_what_an_agent_does_beside_it_is_undone() {
    let library = Place::repository();
    library.write("inner.txt", "theirs");
    git(&library.root, &["add", "."]);
    git(&library.root, &["commit", "--quiet", "-m", "theirs"]);
    let place = committed();
    git(&place.root, &["submodule", "--quiet", "add", library.root.to_str().unwrap(), "lib"]);
    git(&place.root, &["commit", "--quiet", "-m", "a library"]);

    let captured = place.scan();
    assert_eq!(captured.left_out, [LeftOut { path: path("lib"), why: Why::Repository }]);
    let step = place.step(|place| {
        place.write("in/a", "2");
        place.write(".gitmodules", "");
        place.write("lib/inner.txt", "changed by a command");
    });
    place.undo(&place.targets(&[step]));

    assert_eq!(place.read("in/a").as_deref(), Some("1"));
    assert!(place.read(".gitmodules").unwrap().contains("path = lib"));
    assert_eq!(place.read("lib/inner.txt").as_deref(), Some("changed by a command"), "it is not entered");
    assert_eq!(git(&place.root, &["status", "--porcelain"]), " M lib\n");
}

#[test]
fn nothing_of_the_users_repository_is_needed_after_a_capture() {
    let place = committed();
    let step = place.step(|place| place.write("in/a", "2"));
    let targets = place.targets(&[step]);
    std::fs::remove_dir_all(place.root.join(".git")).unwrap();

    place.undo(&targets);

    assert_eq!(place.read("in/a").as_deref(), Some("1"));
}

#[test]
fn a_file_of_four_gigabytes_is_recorded_and_neither_read_nor_touched() {
    let place = Place::new();
    place.write("small", "1");
    File::create(place.root.join("huge")).unwrap().set_len(4 << 30).unwrap();

    let captured = place.scan();
    assert_eq!(captured.left_out, [LeftOut { path: path("huge"), why: Why::TooLarge }]);
    let step = place.step(|place| {
        place.write("small", "2");
        File::options().append(true).open(place.root.join("huge")).unwrap().set_len(5 << 30).unwrap();
    });
    place.undo(&place.targets(&[step]));

    assert_eq!(place.read("small").as_deref(), Some("1"));
    assert_eq!(place.root.join("huge").metadata().unwrap().size(), 5 << 30);
    assert!(place.store.usage().unwrap().bytes < 1 << 20);
}

#[test]
fn thousands_of_files_are_removed_and_come_back() {
    let place = Place::new();
    for number in 0..3_000 {
        place.write(&format!("d{}/f{number}", number % 50), &format!("text {number}\n"));
    }

    undo_is_exact(&place, |place| {
        for number in 0..25 {
            std::fs::remove_dir_all(place.root.join(format!("d{number}"))).unwrap();
        }
        for number in 0..500 {
            place.write(&format!("new{}/f{number}", number % 5), "made");
        }
    });
}

#[test]
fn a_directory_that_must_not_be_written_fails_whole_or_is_written_whole() {
    let place = Place::new();
    place.write("a", "1");
    place.write("locked/b", "1");
    let step = place.step(|place| {
        place.write("a", "2");
        place.write("locked/b", "2");
    });
    let targets = place.targets(&[step]);
    let undo = place.prepare(None, &targets, &[]);
    let mode = |mode| {
        std::fs::set_permissions(place.root.join("locked"), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o555);

    let done = place.run(|store| store.apply(&undo.settings));
    mode(0o755);

    let files = (place.read("a"), place.read("locked/b"));
    let both = |text: &str| (Some(text.to_owned()), Some(text.to_owned()));
    match done {
        // Root may write it.
        Ok(_) => assert_eq!(files, both("1")),
        Err(error) => {
            assert!(matches!(error, SnapshotError::Path(_) | SnapshotError::Io { .. }), "{error}");
            assert_eq!(files, both("2"), "what was set is taken back");
        }
    }
}

#[test]
fn two_undos_at_once_each_bring_back_their_own_files() {
    for _ in 0..10 {
        let place = Place::new();
        let names = |who: usize| (0..8).map(move |number| format!("shared/{who}-{number}"));
        for who in 0..2 {
            names(who).for_each(|name| place.write(&name, "1"));
        }
        let before = place.everything();
        let steps = [0, 1].map(|who| {
            place.step(|place| {
                names(who).for_each(|name| place.write(&name, "2"));
                place.write(&format!("made/{who}"), "2");
            })
        });
        let after = place.everything();
        let targets = steps.map(|step| place.targets(&[step]));
        let undos = [0, 1].map(|who| place.prepare(None, &targets[who], &[]));

        let store = &place.store;
        std::thread::scope(|scope| {
            for undo in &undos {
                scope.spawn(move || store.apply(&undo.settings).unwrap());
            }
        });
        assert_eq!(place.everything(), before);

        let settings = [0, 1].map(|who| {
            let standing = Standing { snapshot: undos[who].snapshot, targets: &targets[who] };
            store.prepare_redo(standing).unwrap()
        });
        std::thread::scope(|scope| {
            for settings in &settings {
                scope.spawn(move || store.apply(settings).unwrap());
            }
        });
        assert_eq!(place.everything(), after);
    }
}

#[test]
fn a_repository_inside_that_becomes_a_pipe_is_not_waited_for() {
    let place = Place::repository();
    place.write("a.txt", "1");
    place.write("inside/b.txt", "1");
    git(&place.root.join("inside"), &["init", "--quiet"]);
    assert_eq!(place.listed(&place.tree()), ["100644 a.txt", "160000 inside"]);
    let pipe = place.root.join("inside/.git");
    std::fs::remove_dir_all(&pipe).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());

    // Was: whoever captured waited for somebody to write into the pipe.
    let captured = place.scan();

    assert_eq!(place.listed(&captured.tree), ["100644 a.txt", "160000 inside"]);
}

#[test]
fn files_and_directories_that_an_agent_renamed_go_back_to_their_names() {
    let place = committed();
    place.write("in/deep/c", "1");

    undo_is_exact(&place, |place| {
        std::fs::rename(place.root.join("in/a"), place.root.join("out/a")).unwrap();
        std::fs::rename(place.root.join("in"), place.root.join("moved")).unwrap();
        std::fs::rename(place.root.join("out/b"), place.root.join("in")).unwrap();
    });
}

/// What undoing a step comes to after a person has been at work: the conflicts, and everything that is there then.
fn undone_after(act: impl FnOnce(&Place), person: impl FnOnce(&Place)) -> (Place, Vec<String>) {
    let place = committed();
    let step = place.step(act);
    person(&place);
    let targets = place.targets(&[step]);
    let undo = place.prepare(None, &targets, &[]);
    place.run(|store| store.apply(&undo.settings).unwrap());
    let conflicts = undo.plan.conflicts().map(|(entry, _)| entry.path.to_string()).collect();
    (place, conflicts)
}

#[test]
fn a_file_that_a_person_removed_or_renamed_since_is_a_conflict_and_their_work_stays() {
    let act = |place: &Place| {
        place.write("in/a", "2");
        place.write("out/b", "2");
        place.write("made", "2");
    };
    let (place, conflicts) = undone_after(act, |place| {
        place.remove("in/a");
        std::fs::rename(place.root.join("out/b"), place.root.join("out/renamed")).unwrap();
    });

    assert_eq!(conflicts, ["in/a", "out/b"]);
    assert!(!place.has("in/a") && !place.has("out/b") && !place.has("made"));
    assert_eq!(place.read("out/renamed").as_deref(), Some("2"));
}

#[test]
fn a_file_that_a_person_turned_into_a_directory_since_is_left_alone_and_so_the_other_way_round() {
    let act = |place: &Place| {
        place.write("in/a", "2");
        place.write("out/b", "2");
    };
    let (place, conflicts) = undone_after(act, |place| {
        place.remove("in/a");
        place.write("in/a/inner", "a person's work");
        std::fs::remove_dir_all(place.root.join("out")).unwrap();
        place.write("out", "a person's work");
    });

    assert_eq!(conflicts, ["in/a", "out/b"]);
    assert_eq!(place.read("in/a/inner").as_deref(), Some("a person's work"));
    assert_eq!(place.read("out").as_deref(), Some("a person's work"));
}

#[test]
fn a_file_that_was_turned_into_a_directory_and_back_since_goes_back() {
    let (place, conflicts) = undone_after(
        |place| place.write("in/a", "2"),
        |place| {
            place.remove("in/a");
            place.write("in/a/inner", "for a moment");
            std::fs::remove_dir_all(place.root.join("in/a")).unwrap();
            place.write("in/a", "2");
        },
    );

    assert_eq!(conflicts, [""; 0]);
    assert_eq!(place.read("in/a").as_deref(), Some("1"));
}
