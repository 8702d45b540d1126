//! What steps in a row changed, taken together, remembered for the step after them.
//!
//! After every call that writes, a session asks what its turn and all its turns have changed. That is what was answered
//! before and the newest step, so only that step is compared: a session of a thousand steps makes a thousand comparisons
//! and not half a million.

use super::super::{Changed, SnapshotError, State, TreeId, TreePath, TreeStore, lock};
use std::collections::{BTreeMap, VecDeque};

/// A turn and a whole session each for a few sessions that work at once.
const SUMS_MAX: usize = 16;

/// Steps and files that all of them may name together: some ten megabytes.
const NAMED_MAX: usize = 50_000;

/// What some steps changed: each file as the first of them found it and as the last left it.
#[derive(Debug, Default)]
struct Sum {
    steps: Vec<(TreeId, TreeId)>,
    files: BTreeMap<TreePath, (State, State)>,
}

impl Sum {
    fn add(&mut self, step: (TreeId, TreeId), changed: Vec<Changed>) {
        self.steps.push(step);
        for Changed { path, before, after } in changed {
            self.files.entry(path).or_insert((before, before)).1 = after;
        }
    }

    fn changed(&self) -> Vec<Changed> {
        let differs = self.files.iter().filter(|(_, (before, after))| before != after);
        differs
            .map(|(path, (before, after))| Changed { path: path.clone(), before: *before, after: *after })
            .collect()
    }

    fn named(&self) -> usize {
        self.steps.len() + self.files.len()
    }
}

/// Sums that were asked for lately, the newest first.
#[derive(Debug, Default)]
pub(in super::super) struct RecentSums(VecDeque<Sum>);

impl RecentSums {
    /// Takes out the sum of most of these steps, from the first on.
    fn take(&mut self, steps: &[(TreeId, TreeId)]) -> Option<Sum> {
        let begins = self.0.iter().enumerate().filter(|(_, sum)| steps.starts_with(&sum.steps));
        let (at, _) = begins.max_by_key(|(_, sum)| sum.steps.len())?;
        self.0.remove(at)
    }

    fn put(&mut self, sum: Sum) {
        self.0.push_front(sum);
        self.0.truncate(SUMS_MAX);
        while self.0.iter().map(Sum::named).sum::<usize>() > NAMED_MAX {
            self.0.pop_back();
        }
    }
}

impl TreeStore {
    /// What these steps changed, taken together: each file as the first of them found it and as the last left it. The
    /// steps are in the order in which they happened.
    pub fn changed_by(&self, steps: &[(TreeId, TreeId)]) -> Result<Vec<Changed>, SnapshotError> {
        let mut sum = lock(&self.inner.sums).take(steps).unwrap_or_default();
        for step in &steps[sum.steps.len()..] {
            sum.add(*step, self.changed(&step.0, &step.1)?);
        }
        let changed = sum.changed();
        lock(&self.inner.sums).put(sum);
        Ok(changed)
    }
}

#[cfg(test)]
mod tests;
