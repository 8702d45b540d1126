//! Our index: which files the last scan saw, in git's own form, and a few notes of ours beside it.
//!
//! git finds out what changed by comparing the worktree with the index. What it cannot hold (a file above the
//! limit, a repository inside) is in it as an entry without content, and noted.

use super::capture::{Opaques, Why};
use super::disk::mark_of;
use super::setup::{self, remove};
use super::{SnapshotError, TreeId, TreePath, TreeStore};
use crate::git::GitError;
use crate::path::FileKind;
use std::collections::BTreeSet;
use std::path::Path;

const NO_OBJECT: &str = "0000000000000000000000000000000000000000";

/// What is known of the index without reading it. On the disk beside it, so that a restart costs no scan more.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The tree that the index makes; none while it is being changed.
    pub(super) tree: Option<TreeId>,
    pub(super) opaque: Opaques,
}

impl Index {
    pub(super) fn load(dir: &Path) -> Self {
        let mut index = Self::default();
        let notes = std::fs::read(dir.join("sturdy-opaque")).unwrap_or_default();
        for note in notes.split(|byte| *byte == 0).filter(|note| !note.is_empty()) {
            let mut fields = note.splitn(3, |byte| *byte == b' ');
            let mut text = || fields.next().map(|field| String::from_utf8_lossy(field).into_owned());
            let why = text().and_then(|letter| Why::from_letter(&letter));
            let mark = text().and_then(|id| id.parse().ok());
            let path = fields.next().and_then(TreePath::from_bytes);
            if let (Some(why), Some(mark), Some(path)) = (why, mark, path) {
                index.opaque.insert(path, (why, mark));
            }
        }
        let tree = std::fs::read_to_string(dir.join("sturdy-tree")).ok();
        index.tree = tree.and_then(|text| text.trim().parse().ok());
        index
    }
}

impl TreeStore {
    pub(super) fn update_index(
        &self,
        plain: &BTreeSet<TreePath>,
        opaque: &mut Opaques,
    ) -> Result<(), SnapshotError> {
        let list: Vec<TreePath> = plain.iter().cloned().collect();
        let mut refused = Vec::new();
        self.add_to_index(&list, &mut refused)?;
        for path in refused {
            // Gone, or a directory by now: the next scan sees what it became.
            if let Ok(Some(sight)) = self.at(&path)?.sight()
                && sight.kind != FileKind::Directory
            {
                opaque.insert(path, (Why::NotReadable, mark_of(&sight)));
            }
        }
        let lines = opaque.iter().flat_map(|(path, (_, mark))| index_line("160000", &mark.to_string(), path));
        self.index_info(lines.collect())
    }

    /// Adds, changes or removes these paths in the index. When git refuses them together, the half with the
    /// one that it refuses is looked for: a file may vanish or close itself at any moment.
    fn add_to_index(&self, paths: &[TreePath], refused: &mut Vec<TreePath>) -> Result<(), SnapshotError> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path.as_bytes());
            input.push(0);
        }
        let asked = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
        match self.run(self.git().args(asked).input(input)) {
            Ok(_) => Ok(()),
            Err(SnapshotError::Git(GitError::Refused { .. })) => {
                setup::tidy(&self.inner.dir).map_err(SnapshotError::io(&self.inner.dir))?;
                if let [path] = paths {
                    refused.push(path.clone());
                    return Ok(());
                }
                let (first, second) = paths.split_at(paths.len() / 2);
                self.add_to_index(first, refused)?;
                self.add_to_index(second, refused)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn remove_from_index<'a>(
        &self,
        paths: impl Iterator<Item = &'a TreePath>,
    ) -> Result<(), SnapshotError> {
        self.index_info(paths.flat_map(|path| index_line("0", NO_OBJECT, path)).collect())
    }

    fn index_info(&self, lines: Vec<u8>) -> Result<(), SnapshotError> {
        if lines.is_empty() {
            return Ok(());
        }
        self.run(self.git().args(["update-index", "--replace", "-z", "--index-info"]).input(lines))?;
        Ok(())
    }

    pub(super) fn forget_index(&self, index: &mut Index) -> Result<(), SnapshotError> {
        index.tree = None;
        index.opaque = Opaques::new();
        let dir = &self.inner.dir;
        let forgot = || {
            remove(&dir.join("sturdy-tree"))?;
            remove(&dir.join("sturdy-opaque"))?;
            remove(&dir.join("index"))?;
            setup::tidy(dir)
        };
        forgot().map_err(SnapshotError::io(dir))
    }

    pub(super) fn write_opaque(&self, opaque: &Opaques) -> Result<(), SnapshotError> {
        let mut notes = Vec::new();
        for (path, (why, mark)) in opaque {
            notes.extend_from_slice(format!("{} {mark} ", why.letter()).as_bytes());
            notes.extend_from_slice(path.as_bytes());
            notes.push(0);
        }
        self.note("sturdy-opaque", &notes)
    }
}

fn index_line(mode: &str, id: &str, path: &TreePath) -> Vec<u8> {
    let mut line = format!("{mode} {id} 0\t").into_bytes();
    line.extend_from_slice(path.as_bytes());
    line.push(0);
    line
}
