//! Our index: which files the last scan saw, in git's own form, and a few notes of ours beside it.
//!
//! git finds out what changed by comparing the worktree with the index. What it cannot hold (a file above the
//! limit, a repository inside) is in it as an entry without content, and noted. So are rights (`directories` knows those
//! of directories).

mod directories;

pub(super) use directories::{around, around_states};

use super::capture::{Captured, LeftOut, Opaques, Why};
use super::disk::mark_of;
use super::object::WriteSync;
use super::setup::{self, remove};
use super::stat_cache::StatCache;
use super::tree::Directories;
use super::{SnapshotError, State, TreeId, TreePath, TreeStore};
use crate::git::GitError;
use crate::path::{DirectoryRights, FileKind, Rights};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// The digits of rights in our notes.
const RIGHTS_DIGITS: usize = 3;

/// Longer than the tick of git's clock.
const YOUNG: Duration = Duration::from_secs(2);

/// Files that are looked at once more. Beyond it, rights that were changed twice within a second may be missed.
const YOUNG_MAX: usize = 2_000;

const NO_OBJECT: &str = "0000000000000000000000000000000000000000";

/// What is known of the index without reading it. On the disk beside it, so that a restart costs no scan more.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The tree that the index makes; none while it is being changed.
    pub(super) tree: Option<TreeId>,
    pub(super) opaque: Opaques,
    /// Files whose rights git cannot hold.
    pub(super) rights: BTreeMap<TreePath, Rights>,
    pub(super) empty: BTreeSet<TreePath>,
    /// Directories whose rights git cannot hold either.
    pub(super) directories: BTreeMap<TreePath, DirectoryRights>,
    /// Every directory that was there when everything was looked at. Not on the disk.
    pub(super) seen_directories: Vec<TreePath>,
    /// Files that the last scans looked at. git tells times in seconds: new rights that are given within the second of
    /// another change look the same to it.
    young: BTreeSet<TreePath>,
    looked_at: Option<Instant>,
    /// What git made of the index when `tree` was right. Not on the disk.
    made_by_git: Option<TreeId>,
    /// How everything looked when that tree was right. Not on the disk.
    pub(super) stats: StatCache,
}

impl Index {
    /// A tree, with what is not in it.
    pub(super) fn captured(&self, tree: TreeId) -> Captured {
        Captured { tree, left_out: self.left_out() }
    }

    pub(super) fn left_out(&self) -> Vec<LeftOut> {
        let left_out = |(path, (why, _)): (&TreePath, &(Why, _))| LeftOut { path: path.clone(), why: *why };
        self.opaque.iter().map(left_out).collect()
    }

    /// A scan has looked at these.
    pub(super) fn note_stats(&mut self, looked_at: &BTreeSet<TreePath>) {
        if self.looked_at.is_some_and(|at| at.elapsed() > YOUNG) {
            self.young.clear();
        }
        if !looked_at.is_empty() {
            self.looked_at = Some(Instant::now());
            let room = YOUNG_MAX.saturating_sub(self.young.len());
            self.young.extend(looked_at.iter().take(room).cloned());
        }
    }

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
        let notes = std::fs::read(dir.join("sturdy-rights")).unwrap_or_default();
        index.rights.extend(rights_in(&notes).map(|(bits, path)| (path, Rights::of_mode(bits))));
        let notes = std::fs::read(dir.join("sturdy-directories")).unwrap_or_default();
        let directories = rights_in(&notes);
        index
            .directories
            .extend(directories.filter_map(|(bits, path)| Some((path, DirectoryRights::of_mode(bits)?))));
        let notes = std::fs::read(dir.join("sturdy-empty")).unwrap_or_default();
        index.empty.extend(notes.split(|byte| *byte == 0).filter_map(TreePath::from_bytes));
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

    /// Before something is collected: git keeps the trees that it made of the index, but not what stands in ours beside
    /// that. The next scan makes them anew and marks them as used.
    pub(super) fn forget_tree(&self, index: &mut Index) -> Result<(), SnapshotError> {
        index.tree = None;
        forget_tree_in(&self.inner.dir)
    }

    pub(super) fn forget_index(&self, index: &mut Index) -> Result<(), SnapshotError> {
        index.tree = None;
        index.stats = StatCache::Nothing;
        index.opaque = Opaques::new();
        index.rights.clear();
        index.young.clear();
        index.empty.clear();
        index.directories.clear();
        index.made_by_git = None;
        let dir = &self.inner.dir;
        let forgot = || {
            remove(&dir.join("sturdy-tree"))?;
            remove(&dir.join("sturdy-opaque"))?;
            remove(&dir.join("sturdy-rights"))?;
            remove(&dir.join("sturdy-empty"))?;
            remove(&dir.join("sturdy-directories"))?;
            remove(&dir.join("index"))?;
            setup::tidy(dir)
        };
        forgot().map_err(SnapshotError::io(dir))
    }

    /// Files that were looked at a moment ago and have other rights now.
    pub(super) fn find_other_rights(&self, index: &Index) -> Result<Vec<TreePath>, SnapshotError> {
        let mut found = Vec::new();
        for path in &index.young {
            let Ok(Some(sight)) = self.at(path)?.sight() else { continue };
            let exact = Some(sight.rights).filter(|rights| matches!(rights, Rights::Exact(_)));
            if sight.kind == FileKind::File && exact != index.rights.get(path).copied() {
                found.push(path.clone());
            }
        }
        Ok(found)
    }

    /// Notes the rights of files that a scan found changed. On the disk before git knows these files, so that they are
    /// not lost with the process. Returns the files whose rights are others now.
    pub(super) fn note_rights(
        &self,
        index: &mut Index,
        seen: BTreeMap<TreePath, Option<Rights>>,
    ) -> Result<Vec<TreePath>, SnapshotError> {
        let mut changed = Vec::new();
        for (path, rights) in seen {
            let before = index.rights.get(&path).copied();
            let after = rights.filter(|rights| matches!(rights, Rights::Exact(_)));
            if before == after {
                continue;
            }
            match after {
                Some(rights) => drop(index.rights.insert(path.clone(), rights)),
                None => drop(index.rights.remove(&path)),
            }
            changed.push(path);
        }
        if !changed.is_empty() {
            let mut notes = Vec::new();
            for (path, rights) in &index.rights {
                if let Rights::Exact(bits) = rights {
                    notes.extend(rights_note(*bits, path));
                }
            }
            self.note("sturdy-rights", &notes)?;
        }
        Ok(changed)
    }

    /// Notes the empty directories of a scan. Returns those that have come or gone.
    pub(super) fn note_empty(
        &self,
        index: &mut Index,
        empty: BTreeSet<TreePath>,
    ) -> Result<Vec<TreePath>, SnapshotError> {
        let differing: Vec<TreePath> = index.empty.symmetric_difference(&empty).cloned().collect();
        index.empty = empty;
        if !differing.is_empty() {
            let notes: Vec<u8> =
                index.empty.iter().flat_map(|path| [path.as_bytes(), &[0]].concat()).collect();
            self.note("sturdy-empty", &notes)?;
        }
        Ok(differing)
    }

    /// The tree that git made of the index, with what git cannot hold: exact rights and empty directories. What was
    /// worked out for the tree before is used again: only what has changed since is written.
    pub(super) fn beyond_git(
        &self,
        index: &mut Index,
        before: Option<TreeId>,
        made: TreeId,
        changed: Vec<TreePath>,
        mut directories: Directories,
    ) -> Result<TreeId, SnapshotError> {
        let known = before.zip(index.made_by_git.replace(made));
        if index.rights.is_empty() && index.empty.is_empty() && index.directories.is_empty() {
            return Ok(made);
        }
        let exact_around = |path: &[u8]| {
            let path = TreePath::from_bytes(path)?;
            let rights = *index.directories.get(&path)?;
            Some((path, Some(rights)))
        };
        let (base, states) = match known {
            Some((before, made_before)) => {
                let mut states = self.states(&made, changed.iter())?;
                let differing = self.changed(&made_before, &made)?;
                states.extend(differing.into_iter().map(|one| (one.path, one.after)));
                // One that went and came again stands in the tree like a new one.
                directories.extend(around(states.keys()).into_iter().filter_map(exact_around));
                directories.extend(states.keys().map(TreePath::as_bytes).filter_map(exact_around));
                (before, states)
            }
            None => {
                let all = index.directories.iter();
                directories.extend(all.map(|(path, rights)| (path.clone(), Some(*rights))));
                (made, self.states(&made, index.rights.keys().chain(&index.empty))?)
            }
        };
        let mut exact: BTreeMap<TreePath, State> = BTreeMap::new();
        for (path, state) in states {
            let state = match index.rights.get(&path) {
                Some(rights) => state.with_rights(*rights),
                None if index.empty.contains(&path) && state == State::Absent => State::EmptyDirectory,
                None => state,
            };
            exact.insert(path, state);
        }
        self.inner.objects.graft(Some(&base), &exact, &directories, WriteSync::Written)
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

pub(super) fn forget_tree_in(dir: &Path) -> Result<(), SnapshotError> {
    let note = dir.join("sturdy-tree");
    remove(&note).map_err(SnapshotError::io(&note))
}

/// A note of nine bits, as [`rights_in`] reads it.
fn rights_note(bits: u32, path: &TreePath) -> Vec<u8> {
    let mut note = format!("{bits:03o}").into_bytes();
    note.extend_from_slice(path.as_bytes());
    note.push(0);
    note
}

fn rights_in(notes: &[u8]) -> impl Iterator<Item = (u32, TreePath)> {
    let notes = notes.split(|byte| *byte == 0).filter(|note| note.len() > RIGHTS_DIGITS);
    notes.filter_map(|note| {
        let (bits, path) = note.split_at(RIGHTS_DIGITS);
        let bits = u32::from_str_radix(std::str::from_utf8(bits).ok()?, 8).ok()?;
        Some((bits, TreePath::from_bytes(path)?))
    })
}

fn index_line(mode: &str, id: &str, path: &TreePath) -> Vec<u8> {
    let mut line = format!("{mode} {id} 0\t").into_bytes();
    line.extend_from_slice(path.as_bytes());
    line.push(0);
    line
}
