//! What a captured tree holds.

use super::{Place, git, link, path, program};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use sturdy_worktree::snapshot::{LeftOut, SnapshotError, State, StoreOptions, TreePath, TreeStore, Why};

#[test]
fn a_tree_holds_every_file_with_its_mode_and_no_ignored_one() {
    let place = Place::repository();
    place.write("a.txt", "one\n");
    place.write("dir/run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(place.root.join("dir/run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    link("a.txt", &place.root.join("link"));
    place.write(".gitignore", "target/\n");
    place.write("target/out", "built");
    std::fs::write(place.root.join(".git/info/exclude"), "secret\n").unwrap();
    place.write("secret", "mine");
    let options = StoreOptions {
        repository_excludes: Some(place.root.join(".git/info/exclude")),
        ..StoreOptions::default()
    };
    let store = TreeStore::open(&place.dir, &place.root, options).unwrap();

    let captured = place.run(|_| store.scan().unwrap());

    assert_eq!(
        place.listed(&captured.tree),
        ["100644 .gitignore", "100644 a.txt", "100755 dir/run.sh", "120000 link",]
    );
    assert_eq!(captured.left_out, []);
}

#[test]
fn names_are_kept_byte_by_byte() {
    let place = Place::new();
    let names: [&[u8]; 7] =
        [b"with space", b"new\nline", b"quo\"te", b"back\\slash", b"\xff\xfe", b"-rf", "größe".as_bytes()];
    for name in names {
        std::fs::write(place.root.join(OsStr::from_bytes(name)), name).unwrap();
    }

    let tree = place.tree();

    for name in names {
        let path = TreePath::from_bytes(name).unwrap();
        let states = place.run(|store| store.states(&tree, [&path].into_iter()).unwrap());
        let content = states[&path].content().unwrap();
        assert_eq!(place.run(|store| store.content(&content).unwrap()), name);
    }
}

// Also what brings files back: both write objects, indexes and references of a repository of our own.
#[test]
fn hooks_of_the_repository_are_not_run_by_captures() {
    let place = Place::repository();
    let marker = place.root.parent().unwrap().join("ran");
    let names =
        ["post-index-change", "reference-transaction", "pre-auto-gc", "post-checkout", "fsmonitor-watchman"];
    for directory in [".git/hooks", "hooks"] {
        std::fs::create_dir_all(place.root.join(directory)).unwrap();
        for name in names {
            let hook = place.root.join(directory).join(name);
            program(&hook, &format!("#!/bin/sh\ntouch {}\n", marker.display()));
        }
    }
    git(&place.root, &["config", "core.hooksPath", place.root.join("hooks").to_str().unwrap()]);
    place.write("a.txt", "one\n");
    git(&place.root, &["add", "a.txt"]);
    assert!(marker.exists(), "the door is not open");
    std::fs::remove_file(&marker).unwrap();

    let before = place.tree();
    place.write("a.txt", "two\n");
    let after = place.tree();

    assert_ne!(before, after);
    assert!(!marker.exists(), "a hook of the repository was run");
}

#[test]
fn line_endings_filters_and_hooks_of_the_repository_do_not_apply() {
    let place = Place::repository();
    let marker = place.root.parent().unwrap().join("ran");
    let act = format!("touch {}; cat", marker.display());
    git(&place.root, &["config", "core.autocrlf", "true"]);
    git(&place.root, &["config", "filter.evil.clean", &act]);
    git(&place.root, &["config", "filter.evil.smudge", &act]);
    git(&place.root, &["config", "core.fsmonitor", &act]);
    git(&place.root, &["config", "commit.gpgSign", "true"]);
    place.write(".gitattributes", "* text=auto eol=crlf filter=evil ident working-tree-encoding=UTF-16\n");
    place.write("dos.txt", "one\r\ntwo\r\n");
    place.write("ident.txt", "$Id$\n");

    let tree = place.tree();

    let wanted = path("dos.txt");
    let states = place.run(|store| store.states(&tree, [&wanted].into_iter()).unwrap());
    let content = place.run(|store| store.content(&states[&wanted].content().unwrap()).unwrap());
    assert_eq!(content, b"one\r\ntwo\r\n");
    assert!(!marker.exists(), "a program of the repository was run");
}

#[test]
fn a_worktree_without_git_a_linked_one_and_a_sub_directory_are_captured() {
    let plain = Place::new();
    plain.write("sub/a", "1");
    assert_eq!(plain.listed(&plain.tree()), ["100644 sub/a"]);

    let place = Place::repository();
    place.write("sub/a", "1");
    git(&place.root, &["add", "."]);
    git(&place.root, &["commit", "--quiet", "-m", "first"]);
    let linked = place.root.parent().unwrap().join("linked");
    git(&place.root, &["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    let open = |root: &std::path::Path, name: &str| {
        TreeStore::open(&place.dir.join(name), root, StoreOptions::default()).unwrap()
    };

    let of_linked = open(&linked, "linked");
    let of_sub = open(&place.root.join("sub"), "sub");

    let linked_tree = place.run(|_| of_linked.scan().unwrap()).tree;
    let sub_tree = place.run(|_| of_sub.scan().unwrap()).tree;
    let state = |store: &TreeStore, tree, at: &str| {
        place.run(|_| store.states(tree, [&path(at)].into_iter()).unwrap())[&path(at)]
    };
    assert!(matches!(state(&of_linked, &linked_tree, "sub/a"), State::File { .. }));
    assert!(matches!(state(&of_sub, &sub_tree, "a"), State::File { .. }));
}

#[test]
fn a_repository_inside_is_recorded_and_not_entered() {
    let place = Place::repository();
    place.write("sub/inner.txt", "theirs");
    git(&place.root.join("sub"), &["init", "--quiet"]);
    place.write("empty/.git/HEAD", "ref: refs/heads/main\n");
    git(&place.root.join("sub"), &["add", "."]);
    git(&place.root.join("sub"), &["commit", "--quiet", "-m", "theirs"]);
    let head = git(&place.root.join("sub"), &["rev-parse", "HEAD"]);
    place.write("ours.txt", "ours");

    let first = place.scan();
    place.write("sub/inner.txt", "changed");
    let second = place.scan();
    git(&place.root.join("sub"), &["commit", "--quiet", "-a", "-m", "more"]);
    let third = place.scan();

    assert!(place.listed(&first.tree).contains(&"160000 sub".to_owned()));
    assert!(first.left_out.contains(&LeftOut { path: path("sub"), why: Why::Repository }));
    let mark =
        place.run(|store| store.states(&first.tree, [&path("sub")].into_iter()).unwrap())[&path("sub")];
    assert_eq!(mark, State::Opaque { mark: head.trim().parse().unwrap() });
    assert_eq!(second.tree, first.tree, "what is inside is not looked at");
    assert_ne!(third.tree, first.tree, "another commit is checked out");
}

#[test]
fn a_file_above_the_limit_is_recorded_without_its_content() {
    let options = StoreOptions { file_bytes_max: 10, ..StoreOptions::default() };
    let place = Place::with(options);
    place.write("large", "more than ten bytes");
    place.write("small", "few");

    let first = place.scan();
    let second = place.scan();
    place.write("large", "more than ten bytes, and other ones");
    let third = place.scan();
    place.write("large", "few");
    let fourth = place.scan();

    assert_eq!(first.left_out, [LeftOut { path: path("large"), why: Why::TooLarge }]);
    assert_eq!(place.listed(&first.tree), ["160000 large", "100644 small"]);
    assert_eq!(second.tree, first.tree);
    assert_ne!(third.tree, first.tree);
    assert_eq!(place.listed(&fourth.tree), ["100644 large", "100644 small"]);
    assert_eq!(fourth.left_out, []);
}

#[test]
fn the_home_directory_and_the_whole_file_system_are_not_scanned_unless_told() {
    let place = Place::new();
    place.write("a", "1");
    let home = Some(place.root.clone());
    let options = StoreOptions { home, ..StoreOptions::default() };
    let open = |root: &std::path::Path, any_root| {
        let options = StoreOptions { any_root, ..options.clone() };
        TreeStore::open(&place.dir.join("other"), root, options).unwrap()
    };
    let scan = |root: &std::path::Path, any_root| place.run(|_| open(root, any_root).scan());

    assert!(matches!(scan(&place.root, false), Err(SnapshotError::Refused { .. })));
    assert!(matches!(scan(place.root.parent().unwrap(), false), Err(SnapshotError::Refused { .. })));
    assert!(matches!(scan(std::path::Path::new("/"), false), Err(SnapshotError::Refused { .. })));
    assert!(open(&place.root, false).state_now(&path("a")).unwrap().content().is_some());
    scan(&place.root, true).unwrap();
}

#[test]
fn a_directory_with_too_much_in_it_is_not_scanned_and_says_why() {
    let place = Place::new();
    for number in 0..20 {
        place.write(&format!("{number}.txt"), &"x".repeat(100));
    }
    let scan = |options| {
        let store = TreeStore::open(&place.dir, &place.root, options).unwrap();
        place.run(|_| store.scan())
    };

    let many = scan(StoreOptions { files_max: 19, ..StoreOptions::default() }).unwrap_err();
    let much = scan(StoreOptions { scan_bytes_max: 1_999, ..StoreOptions::default() }).unwrap_err();

    assert!(many.to_string().contains("20 new files, and 19 are allowed"), "{many}");
    assert!(much.to_string().contains("its new files hold 1 MB, and 0 MB are allowed"), "{much}");
    let objects = std::fs::read_dir(place.dir.join("objects")).unwrap().count();
    assert_eq!(objects, 2, "nothing is stored: only `info` and `pack` are there");
    scan(StoreOptions { files_max: 20, scan_bytes_max: 2_000, ..StoreOptions::default() }).unwrap();
}

#[test]
fn without_git_or_with_one_that_does_not_understand_known_paths_are_captured() {
    let place = Place::new();
    place.write("a", "1");
    let bin = place.dir.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let with = |search_path: &std::path::Path| {
        let search_path = Some(search_path.as_os_str().to_owned());
        TreeStore::open(&place.dir, &place.root, StoreOptions { search_path, ..StoreOptions::default() })
            .unwrap()
    };

    let missing = place.run(|_| with(&bin).scan()).unwrap_err();
    program(&bin.join("git"), "#!/bin/sh\necho \"error: unknown switch\" >&2\nexit 129\n");
    let old = with(&bin);
    let refused = place.run(|_| old.scan()).unwrap_err();

    assert_eq!(missing.reason(), "git was not found");
    // Two questions are asked at once; either may be the first to be refused.
    assert!(refused.reason().ends_with("-files` failed; is git too old?"), "{}", refused.reason());
    // Outside of a runtime: a run of git would be a panic.
    let before = old.capture(None, &[path("a")]).unwrap();
    place.write("a", "2");
    let after = old.capture(None, &[path("a")]).unwrap();
    let changed = old.changed(&before, &after).unwrap();
    assert_eq!(changed.len(), 1);
    assert_eq!(old.content(&changed[0].before.content().unwrap()).unwrap(), b"1");
}

#[test]
fn a_file_in_a_repository_inside_is_captured_by_its_path() {
    let place = Place::new();
    place.write("inner/file", "1");
    git(&place.root.join("inner"), &["init", "--quiet"]);
    let whole = place.tree();

    let before = place.store.capture(Some(&whole), &[path("inner/file")]).unwrap();
    place.write("inner/file", "2");
    let after = place.store.capture(Some(&whole), &[path("inner/file")]).unwrap();

    let changed = place.store.changed(&before, &after).unwrap();
    assert_eq!(changed.iter().map(|one| one.path.to_string()).collect::<Vec<_>>(), ["inner/file"]);
    assert_eq!(place.listed(&place.tree()), ["160000 inner"], "a scan does not enter it");
}

#[test]
fn known_paths_make_the_tree_that_a_scan_makes() {
    let place = Place::new();
    place.write("a", "1");
    place.write("deep/er/b", "2");
    place.write("deep/c", "3");
    let before = place.tree();
    place.write("deep/er/b", "two");
    place.remove("deep/c");
    place.write("new/d", "4");

    // Outside of a runtime: a run of git would be a panic.
    let known = [path("deep/er/b"), path("deep/c"), path("new/d")];
    let by_path = place.store.capture(Some(&before), &known).unwrap();

    assert_eq!(by_path, place.tree());
}

#[test]
fn a_file_that_becomes_a_directory_and_back_is_followed() {
    let place = Place::new();
    place.write("a", "file");
    let as_file = place.tree();
    place.remove("a");
    place.write("a/b", "in a directory");
    let known = place.store.capture(Some(&as_file), &[path("a"), path("a/b")]).unwrap();
    let as_directory = place.tree();
    std::fs::remove_dir_all(place.root.join("a")).unwrap();
    place.write("a", "file");

    assert_eq!(place.listed(&as_directory), ["100644 a/b"]);
    assert_eq!(known, as_directory);
    assert_eq!(place.tree(), as_file);
}

#[test]
fn an_ignored_file_that_was_captured_by_its_path_is_watched_from_then_on() {
    let place = Place::new();
    place.write(".gitignore", ".env\n");
    place.write(".env", "KEY=1");
    let without = place.tree();
    let with = place.store.capture(Some(&without), &[path(".env")]).unwrap();

    assert_eq!(place.tree(), with, "a scan does not lose it");
    place.write(".env", "KEY=2 and more");
    assert_ne!(place.tree(), with, "a scan sees that it changed");
}

#[test]
fn a_thousand_ignored_files_that_were_captured_by_their_paths_are_all_watched() {
    let place = Place::repository();
    place.write(".gitignore", "ignored/\n");
    let paths: Vec<_> = (0..1_000).map(|number| path(&format!("ignored/f{number}"))).collect();
    paths.iter().for_each(|one| place.write(&one.to_string(), "1"));
    let base = place.tree();
    let first = place.run(|store| store.capture(Some(&base), &paths).unwrap());

    let place = place.reopened();
    paths.iter().for_each(|one| place.write(&one.to_string(), "changed"));
    let second = place.tree();

    let changed = place.run(|store| store.changed(&first, &second).unwrap());
    assert_eq!(changed.into_iter().map(|one| one.path).collect::<BTreeSet<_>>(), paths.into_iter().collect());
}

#[test]
fn a_file_that_cannot_be_read_is_left_out_and_the_rest_captured() {
    if rustix::process::geteuid().is_root() {
        // Nothing is unreadable for root; a pipe is.
        let place = Place::new();
        place.write("a", "1");
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            place.root.join("pipe"),
            rustix::fs::Mode::from_raw_mode(0o644),
        )
        .unwrap();
        assert_eq!(place.listed(&place.tree()), ["100644 a"]);
        return;
    }
    let place = Place::new();
    place.write("a", "1");
    place.write("locked", "2");
    std::fs::set_permissions(place.root.join("locked"), std::fs::Permissions::from_mode(0o000)).unwrap();

    let captured = place.scan();

    assert_eq!(captured.left_out, [LeftOut { path: path("locked"), why: Why::NotReadable }]);
    assert_eq!(place.listed(&captured.tree), ["100644 a", "160000 locked"]);
}

#[test]
fn paths_that_lead_out_or_into_a_git_directory_cannot_be_said() {
    for bad in
        ["", "/", "/etc/passwd", "..", "a/../b", "a//b", "./a", ".git/config", "a/.GIT/hooks/x", "a\0b", "a/"]
    {
        assert_eq!(TreePath::from_bytes(bad.as_bytes()), None, "{bad:?}");
    }
}
