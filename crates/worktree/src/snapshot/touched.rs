//! Paths that were captured by themselves since the last scan, and what the store has grown by.
//!
//! A scan has to look at such a path even if it is ignored. Noted on the disk, so that a restart knows them.

use super::setup::write_if_other;
use super::{SnapshotError, TreePath, TreeStore, lock};
use std::collections::BTreeSet;
use std::path::Path;

const NOTES: &str = "sturdy-touched";

/// Where no scan ever happens, the list has an end all the same.
const PATHS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Touched {
    paths: BTreeSet<TreePath>,
    /// What was stored since the size of the store was measured.
    pub(super) grown: u64,
    pub(super) measured: Option<u64>,
}

impl Touched {
    pub(super) fn load(dir: &Path) -> Self {
        let notes = std::fs::read(dir.join(NOTES)).unwrap_or_default();
        let paths = notes.split(|byte| *byte == 0).filter_map(TreePath::from_bytes).collect();
        Self { paths, ..Self::default() }
    }

    fn write(&self, dir: &Path) -> Result<(), SnapshotError> {
        let mut notes = Vec::new();
        for path in &self.paths {
            notes.extend_from_slice(path.as_bytes());
            notes.push(0);
        }
        let place = dir.join(NOTES);
        write_if_other(&place, &notes).map_err(SnapshotError::io(&place))
    }
}

impl TreeStore {
    pub(super) fn touched(&self) -> BTreeSet<TreePath> {
        lock(&self.inner.touched).paths.clone()
    }

    /// Paths were captured, and so many bytes stored.
    pub(super) fn touch<'a>(
        &self,
        paths: impl Iterator<Item = &'a TreePath>,
        bytes: u64,
    ) -> Result<(), SnapshotError> {
        let mut touched = lock(&self.inner.touched);
        touched.grown += bytes;
        let count = touched.paths.len();
        touched.paths.extend(paths.take(PATHS_MAX.saturating_sub(count)).cloned());
        if touched.paths.len() == count {
            return Ok(());
        }
        touched.write(&self.inner.dir)
    }

    /// A scan has looked at these.
    pub(super) fn untouch(&self, seen: &BTreeSet<TreePath>) -> Result<(), SnapshotError> {
        if seen.is_empty() {
            return Ok(());
        }
        let mut touched = lock(&self.inner.touched);
        touched.paths.retain(|path| !seen.contains(path));
        touched.write(&self.inner.dir)
    }
}
