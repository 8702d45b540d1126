//! Rights of directories, which git does not know at all.
//!
//! A tree of ours has them where a umask would give others. git says nothing when they change, so a scan looks at the
//! directories around everything that has changed, and at all that were there when everything was last looked at
//! (`looks`). A change of them alone is no change of a step: an undo gives them to the directories that it makes, and
//! leaves those that are there as they are.

use super::super::tree::Directories;
use super::super::{SnapshotError, State, TreePath, TreeStore};
use super::{Index, rights_note};
use crate::path::DirectoryRights;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

impl TreeStore {
    /// The rights of these directories now, as far as they are there.
    pub(in super::super) fn directories_now<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a [u8]>,
    ) -> Directories {
        let mut found = Directories::new();
        for path in paths {
            let place = self.root().join(OsStr::from_bytes(path));
            let Ok(seen) = place.symlink_metadata() else { continue };
            if let Some(path) = TreePath::from_bytes(path).filter(|_| seen.is_dir()) {
                found.insert(path, DirectoryRights::of_mode(seen.mode()));
            }
        }
        found
    }

    /// The rights of the directories that a scan has to do with: those around what has changed, and those that were
    /// seen when everything was looked at, because git does not say that the rights of a directory are others now.
    pub(in super::super) fn directories_of_scan(
        &self,
        index: &Index,
        changed: &BTreeSet<TreePath>,
        empty: &BTreeSet<TreePath>,
    ) -> Directories {
        let mut wanted: HashSet<&[u8]> = around(changed.iter().chain(empty));
        wanted.extend(empty.iter().chain(index.directories.keys()).map(TreePath::as_bytes));
        wanted.extend(index.seen_directories.iter().map(TreePath::as_bytes));
        let mut now = self.directories_now(wanted.iter().copied());
        let gone = index.directories.keys().filter(|path| !now.contains_key(*path));
        let gone: Vec<TreePath> = gone.cloned().collect();
        now.extend(gone.into_iter().map(|path| (path, None)));
        now
    }

    /// Notes the rights of directories. Returns those that are others now, with what they are.
    pub(in super::super) fn note_directories(
        &self,
        index: &mut Index,
        now: Directories,
    ) -> Result<Directories, SnapshotError> {
        let is_other = |(path, rights): &(TreePath, Option<DirectoryRights>)| {
            index.directories.get(path).copied() != *rights
        };
        let changed: Directories = now.into_iter().filter(is_other).collect();
        for (path, rights) in &changed {
            match rights {
                Some(rights) => drop(index.directories.insert(path.clone(), *rights)),
                None => drop(index.directories.remove(path)),
            }
        }
        if !changed.is_empty() {
            let lines = index.directories.iter();
            let notes: Vec<u8> = lines.flat_map(|(path, rights)| rights_note(rights.bits(), path)).collect();
            self.note("sturdy-directories", &notes)?;
        }
        Ok(changed)
    }
}

/// The directories around these paths; not the top.
pub(in super::super) fn around<'a>(paths: impl Iterator<Item = &'a TreePath>) -> HashSet<&'a [u8]> {
    let mut found = HashSet::new();
    for path in paths {
        let mut here = path.as_bytes();
        while let Some(end) = here.iter().rposition(|byte| *byte == b'/') {
            here = &here[..end];
            if !found.insert(here) {
                break;
            }
        }
    }
    found
}

/// The directories that are there when these states are on the disk: around what is there, and those that are empty.
pub(in super::super) fn around_states(states: &BTreeMap<TreePath, State>) -> HashSet<&[u8]> {
    let there = states.iter().filter(|(_, state)| **state != State::Absent).map(|(path, _)| path);
    let empty = states.iter().filter(|(_, state)| **state == State::EmptyDirectory);
    let mut found = around(there);
    found.extend(empty.map(|(path, _)| path.as_bytes()));
    found
}
