//! The places at which a process that captures could die: before each change of the store and each run of git.
//!
//! Nothing happens there but in a test that wants to see what is left.

use std::path::Path;
use std::sync::OnceLock;

/// What a test does at such a place.
pub type AtPoint = Box<dyn Fn(&Path) + Send + Sync>;

static TOLD: OnceLock<AtPoint> = OnceLock::new();

/// Calls this before every change of a store in this process. Once per process.
pub fn tell_of_points(at: AtPoint) {
    let is_first = TOLD.set(at).is_ok();
    assert!(is_first, "BUG: somebody is told of the points already");
}

pub(super) fn point(place: &Path) {
    if let Some(told) = TOLD.get() {
        told(place);
    }
}
