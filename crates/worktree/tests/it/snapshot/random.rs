//! Random trees, with edits of an agent and of a person between them: nothing that existed is ever lost.

use super::{Place, path};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use sturdy_worktree::snapshot::{Standing, Step, Verdict};

#[derive(Clone, Debug)]
enum Edit {
    Write(&'static str, u8),
    Remove(&'static str),
    Link(&'static str, u8),
    Mode(&'static str, u32),
    /// An empty directory.
    Make(&'static str),
}

/// Few names, some of which are below others, so that edits meet.
const NAMES: [&str; 6] = ["a", "b", "d/x", "d/y", "d/e/z", "new\nline"];

const MODES: [u32; 4] = [0o644, 0o755, 0o600, 0o700];

fn edit() -> impl Strategy<Value = Edit> {
    let name = || prop::sample::select(&NAMES[..]);
    prop_oneof![
        4 => (name(), 0..5u8).prop_map(|(name, text)| Edit::Write(name, text)),
        2 => name().prop_map(Edit::Remove),
        1 => (name(), 0..3u8).prop_map(|(name, text)| Edit::Link(name, text)),
        1 => (name(), prop::sample::select(&MODES[..])).prop_map(|(name, mode)| Edit::Mode(name, mode)),
        1 => name().prop_map(Edit::Make),
        // A file where a directory was, and the other way round.
        1 => (0..5u8).prop_map(|text| Edit::Write("d", text)),
        1 => (0..5u8).prop_map(|text| Edit::Write("a/below", text)),
    ]
}

impl Place {
    fn edit(&self, edit: &Edit) {
        match edit {
            Edit::Write(name, text) => {
                self.make_room(name);
                std::fs::write(self.root.join(name), format!("text {text}")).unwrap();
            }
            Edit::Remove(name) => drop(std::fs::remove_file(self.root.join(name))),
            Edit::Link(name, text) => {
                self.make_room(name);
                super::link(&format!("target {text}"), &self.root.join(name));
            }
            Edit::Mode(name, mode) => {
                let place = self.root.join(name);
                if place.symlink_metadata().is_ok_and(|found| found.is_file()) {
                    super::chmod(&place, *mode);
                }
            }
            Edit::Make(name) => {
                self.make_room(name);
                std::fs::create_dir(self.root.join(name)).unwrap();
            }
        }
    }

    fn make_room(&self, name: &str) {
        let place = self.root.join(name);
        for above in place.ancestors().skip(1).take_while(|above| **above != *self.root) {
            if above.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                std::fs::remove_file(above).unwrap();
            }
        }
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        match place.symlink_metadata() {
            Ok(found) if found.is_dir() => std::fs::remove_dir_all(&place).unwrap(),
            Ok(_) => std::fs::remove_file(&place).unwrap(),
            Err(_) => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// After an undo every file is as the plan says or a conflict that was reported and left alone; after
    /// taking it back everything is as it was before.
    #[test]
    fn an_undo_does_what_the_plan_says_and_can_be_taken_back(
        start in prop::collection::vec(edit(), 0..8),
        rounds in prop::collection::vec((prop::collection::vec(edit(), 0..4), prop::collection::vec(edit(), 0..3)), 1..4),
        from in 0..3usize,
        then in 0..3usize,
    ) {
        let place = Place::new();
        start.iter().for_each(|one| place.edit(one));
        let mut steps: Vec<Step> = Vec::new();
        for (agent, person) in &rounds {
            steps.push(place.step(|place| agent.iter().for_each(|one| place.edit(one))));
            person.iter().for_each(|one| place.edit(one));
        }
        let before = place.everything();
        let targets = place.targets(&steps[from.min(steps.len())..]);

        let undo = place.prepare(None, &targets, &[]);
        let done = place.run(|store| store.apply(&undo.settings).unwrap());

        let after = place.everything();
        let conflicts: Vec<String> = done.conflicts().map(ToString::to_string).collect();
        for entry in &undo.plan.entries {
            let name = entry.path.to_string();
            let here = after.get(&PathBuf::from(&name));
            match entry.verdict {
                _ if conflicts.contains(&name) => {}
                Verdict::Delete => prop_assert_eq!(here, None, "{} is deleted", &name),
                Verdict::Create | Verdict::Change => prop_assert!(here.is_some(), "{} is back", &name),
                Verdict::Nothing | Verdict::Conflict(_) => prop_assert_eq!(here, before.get(&PathBuf::from(&name))),
            }
        }
        let planned: BTreeMap<PathBuf, ()> = undo.plan.entries.iter().map(|entry| (entry.path.to_path(), ())).collect();
        for (name, text) in &before {
            if !planned.contains_key(name) {
                prop_assert_eq!(after.get(name), Some(text), "{} is not of the session", name.display());
            }
        }

        // Another boundary, and then everything back.
        let other = place.targets(&steps[then.min(steps.len())..]);
        let standing = Standing { snapshot: undo.snapshot, targets: &targets };
        let moved = place.prepare(Some(standing), &other, &[]);
        place.run(|store| store.apply(&moved.settings).unwrap());
        place.redo(moved.snapshot, &other);
        prop_assert_eq!(place.everything(), before);
    }

    /// Known paths and a scan agree about the tree.
    #[test]
    fn known_paths_and_a_scan_make_the_same_tree(
        start in prop::collection::vec(edit(), 0..8),
        later in prop::collection::vec(edit(), 1..6),
    ) {
        let place = Place::new();
        start.iter().for_each(|one| place.edit(one));
        let base = place.tree();
        later.iter().for_each(|one| place.edit(one));
        let all: Vec<_> = NAMES.iter().chain(&["d", "a/below"]).map(|name| path(name)).collect();

        let by_path = place.store.capture(Some(&base), &all).unwrap();

        prop_assert_eq!(by_path, place.tree());
    }
}

// Was: an empty directory that was replaced with everything above it stayed in the tree that was made path by path.
#[test]
fn an_empty_directory_that_is_gone_is_gone_when_a_path_inside_of_it_is_looked_at() {
    let place = Place::new();
    place.edit(&Edit::Write("d/e/z", 0));
    place.edit(&Edit::Remove("d/e/z"));
    let base = place.tree();
    place.edit(&Edit::Write("d", 0));
    place.edit(&Edit::Write("d/x", 0));

    let by_path = place.store.capture(Some(&base), &[path("d/e/z"), path("d/x")]).unwrap();

    assert_eq!(by_path, place.tree());
}

// Was: a file that a person had put into a directory in the place of the agent's file was wanted beside what replaced
// it, and taking everything back left neither.
#[test]
fn a_file_that_stays_leaves_no_room_for_one_inside_of_it() {
    let place = Place::new();
    place.edit(&Edit::Write("a", 1));
    let first = place.step(|place| place.edit(&Edit::Write("a", 0)));
    place.edit(&Edit::Write("a/below", 0));
    let second = place.step(|place| place.edit(&Edit::Link("a", 0)));
    let before = place.everything();
    let last = place.targets(std::slice::from_ref(&second));
    let all = place.targets(&[first, second]);

    let undo = place.prepare(None, &last, &[]);
    place.run(|store| store.apply(&undo.settings).unwrap());
    let moved = place.prepare(Some(Standing { snapshot: undo.snapshot, targets: &last }), &all, &[]);
    place.run(|store| store.apply(&moved.settings).unwrap());
    place.redo(moved.snapshot, &all);

    assert_eq!(place.everything(), before);
}
