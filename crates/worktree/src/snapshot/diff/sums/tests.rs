//! Which steps are compared, and what they add up to.

use super::super::super::{Step, StoreOptions, Targets, TreeId, TreePath, TreeStore, lock};
use super::{NAMED_MAX, RecentSums, SUMS_MAX, Sum};
use std::fs;

struct Place {
    _top: tempfile::TempDir,
    root: std::path::PathBuf,
    store: TreeStore,
}

fn place() -> Place {
    let top = tempfile::tempdir().unwrap();
    let root = top.path().join("work");
    fs::create_dir(&root).unwrap();
    let store = TreeStore::open(&top.path().join("trees"), &root, StoreOptions::default()).unwrap();
    Place { _top: top, root, store }
}

impl Place {
    /// Writes a file, or removes it, and captures that.
    fn step(&self, base: &TreeId, name: &str, text: Option<&str>) -> (TreeId, TreeId) {
        match text {
            Some(text) => fs::write(self.root.join(name), text).unwrap(),
            None => fs::remove_file(self.root.join(name)).unwrap(),
        }
        let path = TreePath::from_bytes(name.as_bytes()).unwrap();
        (*base, self.store.capture(Some(base), &[path]).unwrap())
    }

    fn steps(&self) -> Vec<(TreeId, TreeId)> {
        let empty = self.store.capture(None, &[]).unwrap();
        let mut steps = vec![self.step(&empty, "a", Some("1"))];
        for (name, text) in
            [("b", Some("1")), ("a", Some("2")), ("b", None), ("a", Some("4")), ("c", Some("3"))]
        {
            steps.push(self.step(&steps.last().unwrap().1, name, text));
        }
        steps
    }

    /// Worked out from all trees of all steps.
    fn compared(&self, steps: &[(TreeId, TreeId)]) -> Vec<super::Changed> {
        let steps: Vec<Step> = steps
            .iter()
            .map(|(before, after)| {
                let changed = self.store.changed(before, after).unwrap();
                Step {
                    before: *before,
                    after: *after,
                    files: changed.into_iter().map(|one| one.path).collect(),
                }
            })
            .collect();
        Targets::of(&self.store, &steps).unwrap().changes()
    }
}

#[test]
fn steps_add_up_to_what_their_trees_say_in_whatever_order_they_are_asked_for() {
    let place = place();
    let steps = place.steps();

    for (from, to) in [(0, 1), (0, 2), (0, 6), (2, 4), (2, 5), (0, 3), (0, 6), (5, 6), (3, 3)] {
        let some = &steps[from..to];
        assert_eq!(place.store.changed_by(some).unwrap(), place.compared(some), "{from}..{to}");
    }
}

#[test]
fn a_new_step_is_compared_and_those_before_it_are_not() {
    let place = place();
    let steps = place.steps();
    place.store.changed_by(&steps[..5]).unwrap();
    let all = place.compared(&steps);

    // Was: every step was compared again for each new one. Now their trees could as well be gone.
    for (before, _) in &steps[..5] {
        let id = before.to_string();
        fs::remove_file(place.store.dir().join("objects").join(&id[..2]).join(&id[2..])).unwrap();
    }
    *lock(&place.store.inner.objects.recent) = Default::default();

    assert_eq!(place.store.changed_by(&steps).unwrap(), all);
    place.store.changed_by(&steps[..2]).expect_err("these are compared, and are gone");
}

#[test]
fn what_is_remembered_has_a_bound() {
    let place = place();
    let step = place.step(&place.store.capture(None, &[]).unwrap(), "a", Some("1"));
    let mut sums = RecentSums::default();
    for _ in 0..2 * SUMS_MAX {
        sums.put(Sum { steps: vec![step], ..Sum::default() });
    }
    assert_eq!(sums.0.len(), SUMS_MAX);

    sums.put(Sum { steps: vec![step; NAMED_MAX - 1], ..Sum::default() });
    assert_eq!(sums.0.len(), 2);
    sums.put(Sum { steps: vec![step; NAMED_MAX + 1], ..Sum::default() });
    assert_eq!(sums.0.len(), 0);
}
