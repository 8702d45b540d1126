//! The difference between two texts, as clients draw it.

use similar::udiff::UnifiedDiffHunk;
use similar::{ChangeTag, TextDiff};
use std::fmt::Write;
use std::time::Duration;

/// After this, the difference is no longer the smallest one, but still a true one.
const EFFORT: Duration = Duration::from_millis(500);

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// The line under the name of a file, as long as clients expect it.
const RULE_WIDTH: usize = 67;

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
    let mut patch = format!("Index: {name}\n{}\n--- {name}\n+++ {name}\n", "=".repeat(RULE_WIDTH));
    for hunk in diff.unified_diff().context_radius(CONTEXT_LINES).iter_hunks() {
        write_hunk(&hunk, &mut patch);
    }
    Difference { patch, additions: count(ChangeTag::Insert), deletions: count(ChangeTag::Delete) }
}

/// As the library writes it, except that a range always says how many lines it has: the patch
/// reader of the web client wants the number.
fn write_hunk(hunk: &UnifiedDiffHunk<'_, '_, '_, str>, patch: &mut String) {
    let (Some(first), Some(last)) = (hunk.ops().first(), hunk.ops().last()) else { return };
    let range = |from: usize, to: usize| match to - from {
        // An empty range is named by the line before it.
        0 => format!("{from},0"),
        lines => format!("{},{lines}", from + 1),
    };
    let old = range(first.old_range().start, last.old_range().end);
    let new = range(first.new_range().start, last.new_range().end);
    // Writing to a string does not fail.
    let _ = writeln!(patch, "@@ -{old} +{new} @@");
    for change in hunk.iter_changes() {
        let _ = write!(patch, "{}{}", change.tag(), change.value());
        if change.missing_newline() {
            patch.push_str("\n\\ No newline at end of file\n");
        }
    }
}
