//! Empty directories: git has no place for them, an undo must leave them as they were.
//!
//! In our trees an empty directory is an entry with the tree that holds nothing. git writes no such entry, and reads it
//! like any other. A scan learns of empty directories from git, which lists the topmost directories that hold none of
//! the files it knows; those are looked into. What holds nothing but ignored files is not empty, and not ours to make
//! or remove.

use super::{SnapshotError, State, TreeId, TreePath, TreeStore};
use crate::git::Answer;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Directories inside of one that holds no file; one with more is left alone.
const INSIDE_MAX: usize = 1_000;

/// Directories that git is asked about by name. Of more it is asked for everything.
const NAMED_MAX: usize = 200;

/// What git does not know yet.
#[derive(Debug, Default)]
pub(super) struct Unknown {
    pub(super) files: Vec<TreePath>,
    /// Repositories inside this one.
    pub(super) repositories: Vec<TreePath>,
    pub(super) empty: BTreeSet<TreePath>,
    /// There may be empty directories beside the files of a new directory.
    pub(super) is_deep: bool,
}

impl TreeStore {
    /// Sorts what `ls-files --others --directory` has listed. A directory in the place of a file is not listed; such a
    /// one is found among what has changed.
    pub(super) fn sort_unknown(&self, listed: &Answer, changed: &Answer) -> Result<Unknown, SnapshotError> {
        let mut unknown = Unknown::default();
        let is_directory = |name: &&[u8]| {
            self.root().join(OsStr::from_bytes(name)).symlink_metadata().is_ok_and(|found| found.is_dir())
        };
        let mut directories: Vec<&[u8]> = names(&changed.stdout).filter(is_directory).collect();
        for name in names(&listed.stdout) {
            match name.strip_suffix(b"/") {
                Some(directory) => directories.push(directory),
                None => unknown.files.extend(TreePath::from_bytes(name)),
            }
        }
        let mut filled = Vec::new();
        for directory in directories {
            match self.empty_inside(directory) {
                Some(empty) => unknown.empty.extend(empty),
                None => filled.push(directory),
            }
        }
        if filled.is_empty() {
            return Ok(unknown);
        }
        let mut git = self.git().args(["ls-files", "-z", "--others", "--exclude-standard", "--"]);
        if filled.len() <= NAMED_MAX {
            git = git.env("GIT_LITERAL_PATHSPECS", "1").args(filled.into_iter().map(OsStr::from_bytes));
        } else {
            // Everything is listed anew.
            unknown.files.clear();
        }
        let inside = self.run(git)?;
        for name in names(&inside.stdout) {
            match name.strip_suffix(b"/") {
                Some(directory) => unknown.repositories.extend(TreePath::from_bytes(directory)),
                None => unknown.files.extend(TreePath::from_bytes(name)),
            }
            unknown.is_deep = true;
        }
        Ok(unknown)
    }

    /// The empty directories, once git knows every file.
    pub(super) fn find_empty(&self) -> Result<BTreeSet<TreePath>, SnapshotError> {
        let listed = self.run(self.list_unknown())?;
        let directories = names(&listed.stdout).filter_map(|name| name.strip_suffix(b"/"));
        Ok(directories.filter_map(|directory| self.empty_inside(directory)).flatten().collect())
    }

    /// Directories in which these files were the last: they are empty now. Adds them to the states.
    pub fn add_emptied(&self, states: &mut BTreeMap<TreePath, State>) {
        let gone = states.iter().filter(|(_, state)| **state == State::Absent).map(|(path, _)| path);
        let emptied = self.emptied(gone);
        for path in emptied {
            states.insert(path, State::EmptyDirectory);
        }
    }

    /// Those directories above these paths that are there and hold nothing.
    pub(super) fn emptied<'a>(&self, gone: impl Iterator<Item = &'a TreePath>) -> BTreeSet<TreePath> {
        let mut looked_at = BTreeSet::new();
        let mut emptied = BTreeSet::new();
        for above in gone.filter_map(|path| path.parents().next()) {
            // The nearest one that is still there.
            for above in std::iter::once(above.clone()).chain(above.parents()) {
                if !looked_at.insert(above.clone()) {
                    break;
                }
                match is_empty(&self.root().join(above.to_path())) {
                    Some(true) => drop(emptied.insert(above)),
                    Some(false) => {}
                    None => continue,
                }
                break;
            }
        }
        emptied
    }

    /// Directories above paths that are not there, which a tree has as empty ones and which are not there either.
    pub(super) fn vanished(
        &self,
        tree: Option<&TreeId>,
        states: &BTreeMap<TreePath, State>,
    ) -> Result<Vec<TreePath>, SnapshotError> {
        let Some(tree) = tree else { return Ok(Vec::new()) };
        let gone = states.iter().filter(|(_, state)| **state == State::Absent);
        let above: BTreeSet<TreePath> =
            gone.flat_map(|(path, _)| path.parents()).filter(|above| !states.contains_key(above)).collect();
        let is_there = |path: &TreePath| {
            let found = self.root().join(path.to_path()).symlink_metadata();
            // Who may not look is not told that it is gone.
            let is_told = |cause: &io::Error| {
                matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            };
            found.map_or_else(|cause| !is_told(&cause), |found| found.is_dir())
        };
        let vanished: BTreeSet<TreePath> = above.into_iter().filter(|path| !is_there(path)).collect();
        if vanished.is_empty() {
            return Ok(Vec::new());
        }
        let known = self.states(tree, vanished.iter())?;
        let empty = known.into_iter().filter(|(_, state)| *state == State::EmptyDirectory);
        Ok(empty.map(|(path, _)| path).collect())
    }

    /// The empty directories in this one, or itself. None when there is anything else in it.
    fn empty_inside(&self, directory: &[u8]) -> Option<Vec<TreePath>> {
        let mut open = vec![directory.to_vec()];
        let mut found = Vec::new();
        let mut count = 0;
        while let Some(here) = open.pop() {
            count += 1;
            if count > INSIDE_MAX {
                return None;
            }
            let place = self.root().join(OsStr::from_bytes(&here));
            if !place.symlink_metadata().ok()?.is_dir() {
                return None;
            }
            let mut is_empty = true;
            for entry in place.read_dir().ok()? {
                let entry = entry.ok()?;
                let name = entry.file_name();
                if name == ".git" || !entry.file_type().ok()?.is_dir() {
                    return None;
                }
                is_empty = false;
                open.push([here.as_slice(), b"/", name.as_bytes()].concat());
            }
            if is_empty {
                found.push(TreePath::from_bytes(&here)?);
            }
        }
        Some(found)
    }
}

/// None when no directory is there, or it cannot be read.
pub(super) fn is_empty(place: &Path) -> Option<bool> {
    if !place.symlink_metadata().ok()?.is_dir() {
        return None;
    }
    Some(place.read_dir().ok()?.next().is_none())
}

fn names(stdout: &[u8]) -> impl Iterator<Item = &[u8]> {
    stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty())
}
