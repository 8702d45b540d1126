//! What clients are shown of a change.

use super::{Place, path};
use serde_json::json;
use sturdy_worktree::snapshot::{Changes, Extent, differences, unified};

#[test]
fn a_change_is_shown_as_clients_read_it() {
    let place = Place::new();
    place.write("changed.txt", "one\ntwo\n");
    place.write("gone.txt", "another file");
    let before = place.tree();
    place.write("changed.txt", "one\n2\n");
    place.remove("gone.txt");
    place.write("made.txt", "first line\nsecond line\n");
    place.write("picture.bin", "a\0b");
    let after = place.tree();

    let changed = place.run(|store| store.changed(&before, &after).unwrap());
    let shown = place.run(|store| differences(store, &changed).unwrap());
    let text = place.run(|store| unified(store, &changed).unwrap());

    let rule = "=".repeat(67);
    let head = |name: &str| format!("Index: {name}\n{rule}\n--- {name}\t\n+++ {name}\t\n");
    assert_eq!(
        serde_json::to_value(&shown.files).unwrap(),
        json!([
            { "file": "changed.txt", "patch": format!("{}@@ -1,2 +1,2 @@\n one\n-two\n+2\n", head("changed.txt")),
              "additions": 1, "deletions": 1, "status": "modified" },
            { "file": "gone.txt", "patch": format!("{}@@ -1,1 +0,0 @@\n-another file\n\\ No newline at end of file\n", head("gone.txt")),
              "additions": 0, "deletions": 1, "status": "deleted" },
            { "file": "made.txt", "patch": format!("{}@@ -0,0 +1,2 @@\n+first line\n+second line\n", head("made.txt")),
              "additions": 2, "deletions": 0, "status": "added" },
            { "file": "picture.bin", "patch": "", "additions": 0, "deletions": 0, "status": "added" },
        ])
    );
    assert_eq!((shown.additions, shown.deletions, shown.files_total), (3, 2, 4));
    // As git prints the same two trees.
    let theirs = std::process::Command::new("git")
        .args(["diff", "--abbrev=7", "--no-color", &before.to_string(), &after.to_string(), "--", "*.txt"])
        .env("GIT_DIR", &place.dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    let ours = text.split("diff --git a/picture.bin").next().unwrap();
    assert_eq!(ours, String::from_utf8(theirs.stdout).unwrap());
}

#[test]
fn names_that_would_break_a_patch_are_quoted() {
    let place = Place::new();
    let before = place.tree();
    place.write("a\nb\"c", "text\n");
    let after = place.tree();

    let changed = place.run(|store| store.changed(&before, &after).unwrap());
    let text = place.run(|store| unified(store, &changed).unwrap());

    assert_eq!(changed[0].path, path("a\nb\"c"));
    assert!(
        text.starts_with("diff --git \"a/a\\nb\\\"c\" \"b/a\\nb\\\"c\"\nnew file mode 100644\n"),
        "{text}"
    );
}

#[test]
fn a_change_too_large_to_show_is_named() {
    let place = Place::new();
    let before = place.tree();
    place.write("large.txt", &"a line of text\n".repeat(100_000));
    let after = place.tree();

    let changed = place.run(|store| store.changed(&before, &after).unwrap());
    let shown = place.run(|store| differences(store, &changed).unwrap());

    assert_eq!(shown.files.len(), 1);
    assert_eq!(shown.files[0].patch.as_deref(), Some(""));
}

#[test]
fn a_kept_difference_is_given_for_the_same_steps_alone_and_goes_with_its_name() {
    let place = Place::new();
    let before = place.tree();
    place.write("a.txt", "1\n");
    let after = place.tree();
    let changed = place.run(|store| store.changed(&before, &after).unwrap());
    let shown = place.run(|store| differences(store, &changed).unwrap());
    let store = &place.store;
    let steps = [(before, after)];
    store.keep_changes("ses_1", Extent::Whole, &steps, &shown).unwrap();
    assert_eq!(
        store.kept_changes("ses_1", Extent::Whole, &steps),
        None,
        "who keeps no tree is never released"
    );

    store.anchor("ses_1", &[after]).unwrap();
    store.keep_changes("ses_1", Extent::Whole, &steps, &shown).unwrap();
    assert_eq!(store.kept_changes("ses_1", Extent::Whole, &steps), Some(shown.clone()));
    assert_eq!(store.kept_changes("ses_1", Extent::Whole, &[(after, before)]), None);
    assert_eq!(store.kept_changes("ses_1", Extent::Whole, &[]), None);
    assert_eq!(store.kept_changes("ses_2", Extent::Whole, &steps), None);

    store.release("ses_1").unwrap();
    assert_eq!(store.kept_changes("ses_1", Extent::Whole, &steps), None);
    assert_eq!(place.dir.join("sturdy-diffs").read_dir().unwrap().count(), 0);
}

#[test]
fn a_kept_difference_that_is_damaged_or_unfinished_is_not_given() {
    let place = Place::new();
    let before = place.tree();
    place.write("a.txt", "1\n");
    let after = place.tree();
    let changed = place.run(|store| store.changed(&before, &after).unwrap());
    let shown = place.run(|store| differences(store, &changed).unwrap());
    let store = &place.store;
    let steps = [(before, after)];
    store.anchor("ses_1", &[after]).unwrap();

    store
        .keep_changes("ses_1", Extent::Whole, &steps, &Changes { is_whole: false, ..shown.clone() })
        .unwrap();
    assert_eq!(store.kept_changes("ses_1", Extent::Whole, &steps), None);

    store.keep_changes("ses_1", Extent::Whole, &steps, &shown).unwrap();
    let kept = place.dir.join("sturdy-diffs/ses_1");
    let bytes = std::fs::read(&kept).unwrap();
    std::fs::write(&kept, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(store.kept_changes("ses_1", Extent::Whole, &steps), None);
}

#[test]
fn the_last_few_differences_of_some_steps_are_kept_and_go_with_their_name() {
    let place = Place::new();
    let store = &place.store;
    let mut trees = vec![place.tree()];
    for number in 0..20 {
        place.write("a.txt", &format!("{number}\n"));
        trees.push(place.tree());
    }
    store.anchor("ses_1", &trees).unwrap();
    let kept = |number: usize| {
        let steps = [(trees[number], trees[number + 1])];
        store.kept_changes("ses_1", Extent::Range, &steps).map(|changes| changes.additions)
    };

    for number in 0..20 {
        let changes = Changes { additions: number, ..Changes::default() };
        let at = usize::try_from(number).unwrap();
        store.keep_changes("ses_1", Extent::Range, &[(trees[at], trees[at + 1])], &changes).unwrap();
        assert_eq!(kept(at), Some(number), "the newest one is always there");
    }

    assert_eq!((0..20).filter(|number| kept(*number).is_some()).count(), 16);
    assert_eq!(store.kept_changes("ses_1", Extent::Whole, &[(trees[19], trees[20])]), None);
    store.release("ses_1").unwrap();
    assert_eq!(place.dir.join("sturdy-diffs").read_dir().unwrap().count(), 0);
}
