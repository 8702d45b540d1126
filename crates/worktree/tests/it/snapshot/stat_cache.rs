//! A scan that need not ask git, and every change that makes it ask.

use super::{Place, git, link, path, program};
use std::path::Path;
use sturdy_worktree::snapshot::StoreOptions;

/// A repository whose captures are made by a git that writes down each of its runs.
pub(super) fn counted() -> Place {
    let place = Place::new();
    let bin = place.root.with_file_name("bin");
    std::fs::create_dir(&bin).unwrap();
    let runs = place.root.with_file_name("runs");
    std::fs::write(&runs, "").unwrap();
    let path = std::env::var("PATH").unwrap();
    let text = format!("#!/bin/sh\necho run >> {}\nPATH={path} exec git \"$@\"\n", runs.display());
    program(&bin.join("git"), &text);
    git(&place.root, &["init", "--quiet"]);
    let options = counting(&place);
    place.reopened_with(options)
}

/// With that git.
pub(super) fn counting(place: &Place) -> StoreOptions {
    let search_path = Some(place.root.with_file_name("bin").into_os_string());
    StoreOptions { search_path, ..StoreOptions::default() }
}

pub(super) fn runs(place: &Place) -> usize {
    std::fs::read_to_string(place.root.with_file_name("runs")).unwrap().lines().count()
}

/// Looks until everything has settled.
pub(super) fn remember(place: &Place) {
    while !place.run(sturdy_worktree::snapshot::TreeStore::knows_stats) {
        place.run(|store| store.remember_stats().unwrap());
    }
}

/// A worktree with something of everything in it, whose looks are remembered.
fn remembered() -> Place {
    let place = counted();
    place.write("a.txt", "a");
    place.write("deep/er/b.txt", "b");
    place.write("runs.sh", "true");
    place.write("logs/old.log", "only ignored files are in here");
    place.write("target/debug/out", "ignored");
    place.write(".gitignore", "*.log\n/target\n");
    place.write("hidden/.gitignore", "*\n");
    place.write("hidden/secret", "ignored by a list that is ignored itself");
    std::fs::create_dir(place.root.join("empty")).unwrap();
    link("a.txt", &place.root.join("link"));
    std::fs::create_dir(place.root.join("inner")).unwrap();
    git(&place.root.join("inner"), &["init", "--quiet"]);
    git(&place.root.join("inner"), &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    place.tree();
    remember(&place);
    place
}

#[test]
fn a_worktree_that_looks_the_same_is_scanned_without_git() {
    let place = remembered();
    let tree = place.tree();
    let before = runs(&place);

    let again: Vec<_> = (0..3).map(|_| place.tree()).collect();

    assert_eq!(again, [tree; 3]);
    assert_eq!(runs(&place), before, "git was asked");
}

#[test]
fn what_is_ignored_may_change_without_git_being_asked() {
    let place = remembered();
    let tree = place.tree();
    let before = runs(&place);

    place.write("target/debug/more/out", "new");

    assert_eq!((place.tree(), runs(&place)), (tree, before));
}

#[test]
fn every_change_is_seen_although_stats_are_cached() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 12] = [
        ("another text of the same size", |root| std::fs::write(root.join("a.txt"), "A").unwrap()),
        ("a file taken away", |root| std::fs::remove_file(root.join("deep/er/b.txt")).unwrap()),
        ("a file renamed", |root| std::fs::rename(root.join("a.txt"), root.join("deep/a.txt")).unwrap()),
        ("a file in a directory that was empty", |root| std::fs::write(root.join("empty/new"), "n").unwrap()),
        ("a file beside ignored ones", |root| std::fs::write(root.join("logs/new.txt"), "n").unwrap()),
        ("a file in a new directory", |root| {
            std::fs::create_dir_all(root.join("x/y")).unwrap();
            std::fs::write(root.join("x/y/z"), "z").unwrap();
        }),
        ("a file that may be run now", |root| program(&root.join("runs.sh"), "true")),
        ("a link that leads elsewhere", |root| {
            std::fs::remove_file(root.join("link")).unwrap();
            link("b.txt", &root.join("link"));
        }),
        ("a file in place of a directory", |root| {
            std::fs::remove_dir_all(root.join("deep")).unwrap();
            std::fs::write(root.join("deep"), "file").unwrap();
        }),
        ("less ignored", |root| std::fs::write(root.join(".gitignore"), "*.log\n").unwrap()),
        ("less ignored by a list that was ignored", |root| {
            std::fs::write(root.join("hidden/.gitignore"), "q\n").unwrap();
        }),
        ("another commit of a repository inside", |root| {
            git(&root.join("inner"), &["commit", "--quiet", "--allow-empty", "-m", "second"]);
        }),
    ];
    for (what, change) in changes {
        let place = remembered();
        let before = place.tree();

        change(&place.root);

        let after = place.tree();
        assert_ne!(after, before, "{what}");
        let place = place.reopened();
        assert_eq!(place.tree(), after, "{what}: a scan that remembers nothing sees something else");
    }
}

#[test]
fn a_change_that_does_not_change_the_tree_refreshes_the_stat_cache() {
    let place = remembered();
    let tree = place.tree();
    place.write("logs/new.log", "ignored, but its directory looks different now");
    assert_eq!(place.tree(), tree);
    assert!(!place.run(sturdy_worktree::snapshot::TreeStore::knows_stats));
    remember(&place);
    let before = runs(&place);

    assert_eq!((place.tree(), runs(&place)), (tree, before));
}

#[test]
fn a_path_that_was_captured_by_itself_is_seen_by_the_next_scan() {
    let place = remembered();
    let before = place.tree();

    place.write("target/debug/out", "changed by a tool");
    place.run(|store| store.capture(Some(&before), &[path("target/debug/out")]).unwrap());

    assert_ne!(place.tree(), before);
}
