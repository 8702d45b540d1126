//! The difference between two texts, as clients draw it.

use similar::{ChangeTag, TextDiff};
use std::time::Duration;

/// After this, the difference is no longer the smallest one, but still a true one.
const EFFORT: Duration = Duration::from_millis(500);

/// A unified diff and its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    pub patch: String,
    pub additions: usize,
    pub deletions: usize,
}

#[must_use]
pub fn difference(name: &str, before: &str, after: &str) -> Difference {
    let diff = TextDiff::configure().timeout(EFFORT).diff_lines(before, after);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    Difference {
        patch: diff.unified_diff().context_radius(3).header(name, name).to_string(),
        additions: count(ChangeTag::Insert),
        deletions: count(ChangeTag::Delete),
    }
}
