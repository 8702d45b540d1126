//! Anchors trees, releases them, and says and limits what they cost.
//!
//! A name (a session) has one ref; every tree it can still go back to is in the chain of commits behind
//! it. Invariant I15: a tree is anchored before anybody is told of it, and stays so until its name is
//! released. Then, and only then, a collection may remove what no other name needs.

use super::diff::forget;
use super::object::{Kind, WriteSync};
use super::point::point;
use super::setup::{ROOT_NOTE, remove, wait};
use super::{ObjectId, SnapshotError, TreeId, TreeStore, lock};
use crate::git::{Git, GitError};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The size of a store is measured again after this much was added.
const MEASURE_AFTER_BYTES: u64 = 64 * 1024 * 1024;

/// The names of half a million trees.
const NAMES_BYTES_MAX: usize = 24 * 1024 * 1024;

/// Walking through everything that a large store keeps.
const WALK_TIMEOUT: Duration = Duration::from_secs(1800);

/// What a store holds and takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub bytes: u64,
    pub files: u64,
    pub names: Vec<String>,
}

/// A store on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreUsage {
    pub dir: PathBuf,
    /// The worktree; it may be gone.
    pub root: PathBuf,
    pub usage: Usage,
    /// Objects that are not packed, about.
    pub loose: usize,
}

impl TreeStore {
    /// Keeps these trees until `name` is released. Safe on the disk when it returns.
    pub fn anchor(&self, name: &str, trees: &[TreeId]) -> Result<(), SnapshotError> {
        let place = ref_of(&self.inner.dir, name)?;
        let _held = lock(&self.inner.anchoring);
        let mut last = self.read_ref(&place, name)?;
        let mut is_new = false;
        for tree in trees {
            if last.is_some() && last == self.anchored_by(last.as_ref(), tree)? {
                continue;
            }
            let parent = last.map(|parent| format!("parent {parent}\n")).unwrap_or_default();
            let who = "sturdy <> 0 +0000";
            let text = format!("tree {tree}\n{parent}author {who}\ncommitter {who}\n\n");
            last = Some(self.inner.objects.write(Kind::Commit, text.as_bytes(), WriteSync::Synced)?);
            is_new = true;
        }
        let Some(last) = last.filter(|_| is_new) else { return Ok(()) };
        write_ref(&place, &last).map_err(SnapshotError::io(&place))
    }

    /// Keeps everything that `name` keeps for `other` too: a copy of a session can go back to the same trees.
    pub fn keep_also(&self, name: &str, other: &str) -> Result<(), SnapshotError> {
        let _held = lock(&self.inner.anchoring);
        let from = ref_of(&self.inner.dir, name)?;
        let Some(last) = self.read_ref(&from, name)? else { return Ok(()) };
        let to = ref_of(&self.inner.dir, other)?;
        write_ref(&to, &last).map_err(SnapshotError::io(&to))
    }

    /// Lets go of every tree of `name`. Nothing is removed before the next collection.
    pub fn release(&self, name: &str) -> Result<(), SnapshotError> {
        let _held = lock(&self.inner.anchoring);
        release_in(&self.inner.dir, name)
    }

    /// The names that keep something.
    pub fn names(&self) -> Result<Vec<String>, SnapshotError> {
        names_in(&self.inner.dir).map_err(SnapshotError::io(&self.inner.dir))
    }

    /// What the store takes.
    pub fn usage(&self) -> Result<Usage, SnapshotError> {
        usage_of(&self.inner.dir).map_err(SnapshotError::io(&self.inner.dir))
    }

    pub(super) fn refuse_when_full(&self) -> Result<(), SnapshotError> {
        let known = {
            let touched = lock(&self.inner.touched);
            touched
                .measured
                .filter(|_| touched.grown < MEASURE_AFTER_BYTES)
                .map(|bytes| bytes + touched.grown)
        };
        let used = match known {
            Some(used) => used,
            None => {
                let place = self.inner.options.budget_dir.as_ref().unwrap_or(&self.inner.dir);
                let measured = usage_of(place).map_err(SnapshotError::io(place))?.bytes;
                let mut touched = lock(&self.inner.touched);
                touched.measured = Some(measured);
                touched.grown = 0;
                measured
            }
        };
        let max = self.inner.options.store_bytes_max;
        if used > max { Err(SnapshotError::Full { used, max }) } else { Ok(()) }
    }

    /// The newest commit, when it keeps this very tree: the same state twice needs no second anchor.
    fn anchored_by(
        &self,
        commit: Option<&ObjectId>,
        tree: &TreeId,
    ) -> Result<Option<ObjectId>, SnapshotError> {
        let Some(commit) = commit else { return Ok(None) };
        let text = self.inner.objects.read(Kind::Commit, commit)?;
        Ok(text.starts_with(format!("tree {tree}\n").as_bytes()).then_some(*commit))
    }

    pub(super) fn keeps_something(&self, name: &str) -> Result<bool, SnapshotError> {
        Ok(self.read_ref(&ref_of(&self.inner.dir, name)?, name)?.is_some())
    }

    fn read_ref(&self, place: &Path, name: &str) -> Result<Option<ObjectId>, SnapshotError> {
        match std::fs::read_to_string(place) {
            // Not as if there were none: what it kept would be collected.
            Ok(text) => return text.trim().parse().map(Some).map_err(|_| damaged_ref(place)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(SnapshotError::Io { path: place.to_owned(), source }),
        }
        let packed = std::fs::read_to_string(self.inner.dir.join("packed-refs")).unwrap_or_default();
        let end = format!(" refs/sturdy/{name}");
        let line = packed.lines().find(|line| line.ends_with(&end));
        Ok(line.and_then(|line| line.split(' ').next()).and_then(|id| id.parse().ok()))
    }
}

fn damaged_ref(place: &Path) -> SnapshotError {
    let place = place.display();
    SnapshotError::Malformed(format!(
        "{place} should name what a session keeps, and does not; `sturdy verify` says more"
    ))
}

/// Before anything is removed: every name must say what it keeps. git would pass over one that does not.
pub(super) fn refuse_damaged_refs(dir: &Path) -> Result<(), SnapshotError> {
    let refs = dir.join("refs/sturdy");
    for entry in refs.read_dir().map_err(SnapshotError::io(&refs))? {
        let place = entry.map_err(SnapshotError::io(&refs))?.path();
        if place.extension().is_some_and(|end| end == "lock") {
            continue;
        }
        let text = match std::fs::read_to_string(&place) {
            Ok(text) => text,
            // Released meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(SnapshotError::Io { path: place, source }),
        };
        text.trim().parse::<ObjectId>().map_err(|_| damaged_ref(&place))?;
    }
    Ok(())
}

fn ref_of(dir: &Path, name: &str) -> Result<PathBuf, SnapshotError> {
    file_of(&dir.join("refs/sturdy"), name)
}

/// The file of a name in this directory.
pub(super) fn file_of(dir: &Path, name: &str) -> Result<PathBuf, SnapshotError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if name.is_empty() || name.len() > 100 || !name.chars().all(is_plain) {
        return Err(SnapshotError::Malformed("a name of letters, digits, - and _ is needed".to_owned()));
    }
    Ok(dir.join(name))
}

/// Lets go of every tree of `name`, and of what was kept beside them, in a store that nobody has open.
pub fn release_in(dir: &Path, name: &str) -> Result<(), SnapshotError> {
    let place = ref_of(dir, name)?;
    // First what only this name leads to.
    forget(dir, name)?;
    remove(&place).map_err(SnapshotError::io(&place))?;
    let packed = dir.join("packed-refs");
    let Ok(text) = std::fs::read_to_string(&packed) else { return Ok(()) };
    let end = format!(" refs/sturdy/{name}");
    let kept: String =
        text.lines().filter(|line| !line.ends_with(&end)).flat_map(|line| [line, "\n"]).collect();
    super::setup::write_if_other(&packed, kept.as_bytes()).map_err(SnapshotError::io(&packed))
}

/// The trees that a name keeps in this store.
pub fn kept_in(dir: &Path, name: &str) -> Result<BTreeSet<TreeId>, SnapshotError> {
    ref_of(dir, name)?;
    let kept = format!("refs/sturdy/{name}");
    let git = Git::at(dir).without_user_config().env("GIT_DIR", dir).stdout_bytes_max(NAMES_BYTES_MAX);
    let answer = wait(git.args(["log", "--format=%T", &kept, "--"]).run())?;
    answer.lines().map(|line| String::from_utf8_lossy(line).parse()).collect()
}

/// What is missing of what this store keeps, in git's words.
pub fn missing_in(dir: &Path) -> Result<Option<String>, SnapshotError> {
    let git = Git::at(dir).without_user_config().env("GIT_DIR", dir).timeout(WALK_TIMEOUT);
    match wait(git.args(["rev-list", "--objects", "--quiet", "--all"]).run()) {
        Ok(_) => Ok(None),
        Err(GitError::Refused { stderr, .. }) => Ok(Some(stderr)),
        Err(other) => Err(other.into()),
    }
}

/// The stores below a directory, each with the worktree it belongs to and what it takes.
pub fn stores_below(trees: &Path) -> io::Result<Vec<StoreUsage>> {
    let mut found = Vec::new();
    for (root, dir) in roots_below(trees)? {
        found.push(StoreUsage { root, usage: usage_of(&dir)?, loose: loose_in(&dir), dir });
    }
    found.sort_by_key(|one| std::cmp::Reverse(one.usage.bytes));
    Ok(found)
}

/// The stores of one worktree, whichever project they are of.
pub fn stores_of(trees: &Path, root: &Path) -> io::Result<Vec<PathBuf>> {
    let of_root = |(of, dir): (PathBuf, PathBuf)| (of == root).then_some(dir);
    Ok(roots_below(trees)?.into_iter().filter_map(of_root).collect())
}

/// Every store below a directory, behind the worktree it belongs to.
fn roots_below(trees: &Path) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    let mut found = Vec::new();
    let projects = match trees.read_dir() {
        Ok(projects) => projects,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error),
    };
    for project in projects {
        let Ok(stores) = project?.path().read_dir() else { continue };
        for dir in stores.filter_map(|store| Some(store.ok()?.path())) {
            if let Ok(root) = std::fs::read(dir.join(ROOT_NOTE)) {
                found.push((PathBuf::from(OsString::from_vec(root)), dir));
            }
        }
    }
    Ok(found)
}

/// About how many objects are not packed: one directory of the 256 is counted.
fn loose_in(dir: &Path) -> usize {
    dir.join("objects/17").read_dir().map_or(0, |objects| objects.count() * 256)
}

fn write_ref(place: &Path, id: &ObjectId) -> io::Result<()> {
    let beside = place.with_extension("lock");
    point(&beside);
    let mut file = File::create(&beside)?;
    file.write_all(format!("{id}\n").as_bytes())?;
    // A name without content would keep nothing, and not even what was kept before.
    file.sync_all()?;
    point(place);
    std::fs::rename(&beside, place)?;
    match place.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

pub(super) fn names_in(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = BTreeSet::new();
    for entry in dir.join("refs/sturdy").read_dir()? {
        names.insert(entry?.file_name().to_string_lossy().into_owned());
    }
    let packed = std::fs::read_to_string(dir.join("packed-refs")).unwrap_or_default();
    names.extend(
        packed.lines().filter_map(|line| line.split_once(" refs/sturdy/")).map(|(_, name)| name.to_owned()),
    );
    Ok(names.into_iter().filter(|name| !name.ends_with(".lock")).collect())
}

/// What a store in this directory takes and keeps, without opening it.
pub(super) fn usage_of(dir: &Path) -> io::Result<Usage> {
    let mut usage = Usage { names: names_in(dir).unwrap_or_default(), ..Usage::default() };
    let mut open = vec![dir.to_owned()];
    while let Some(here) = open.pop() {
        let entries = match here.read_dir() {
            Ok(entries) => entries,
            // Removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() {
                open.push(entry.path());
            } else {
                use std::os::unix::fs::MetadataExt as _;
                usage.bytes += found.blocks() * 512;
                usage.files += 1;
            }
        }
    }
    Ok(usage)
}
