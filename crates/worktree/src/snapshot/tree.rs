//! Trees: what stands under a path, what differs between two, and a tree with some paths changed.
//!
//! Changing a few paths reads and writes only the directories above them, so it costs the same in a
//! worktree of ten files and of a million.

use super::object::{Kind, Objects, WriteSync};
use super::state::{DIRECTORY, KIND, LINK, OPAQUE, State};
use super::{ObjectId, SnapshotError, TreeId, lock};
use crate::path::{DirectoryRights, Rights};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Deeper than any file system lets a path be.
const DEPTH_MAX: usize = 2_048;

/// A path from the top of the worktree, byte by byte as the file system has it. Never empty, never `..`, never
/// inside a `.git`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TreePath(Vec<u8>);

impl TreePath {
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let is_plain = |name: &[u8]| {
            !name.is_empty() && name != b"." && name != b".." && !name.eq_ignore_ascii_case(b".git")
        };
        let names = bytes.split(|byte| *byte == b'/');
        let fits = !bytes.contains(&0) && names.clone().all(is_plain) && names.count() <= DEPTH_MAX;
        fits.then(|| Self(bytes.to_vec()))
    }

    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        let is_plain = path.components().all(|one| matches!(one, Component::Normal(_)));
        is_plain.then(|| Self::from_bytes(path.as_os_str().as_bytes())).flatten()
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    #[must_use]
    pub fn to_path(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(&self.0))
    }

    fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/')
    }

    /// The directories it stands in, the nearest first; not the top.
    pub(super) fn parents(&self) -> impl Iterator<Item = Self> + '_ {
        let ends = self.0.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
        ends.map(|(end, _)| Self(self.0[..end].to_vec()))
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), f)
    }
}

/// A path that is not the same in two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub path: TreePath,
    pub before: State,
    pub after: State,
}

/// One name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Directory(ObjectId),
    Leaf(State),
}

/// Directories with the rights that they have where a umask would give others. None: the usual ones.
pub(super) type Directories = BTreeMap<TreePath, Option<DirectoryRights>>;

/// What a directory holds.
#[derive(Default)]
struct Names {
    nodes: BTreeMap<Vec<u8>, Node>,
    /// Of the directories among them, where they are not the usual ones.
    rights: BTreeMap<Vec<u8>, DirectoryRights>,
}

impl Names {
    fn get(&self, name: &[u8]) -> Option<&Node> {
        self.nodes.get(name)
    }

    /// Gives a name another meaning. A directory that is still one keeps its rights, unless there are new ones.
    fn set(&mut self, name: &[u8], node: Option<Node>, rights: Option<Option<DirectoryRights>>) {
        let is_directory = matches!(node, Some(Node::Directory(_) | Node::Leaf(State::EmptyDirectory)));
        match rights {
            Some(Some(rights)) if is_directory => drop(self.rights.insert(name.to_vec(), rights)),
            None if is_directory => {}
            Some(_) | None => drop(self.rights.remove(name)),
        }
        match node {
            Some(node) => drop(self.nodes.insert(name.to_vec(), node)),
            None => drop(self.nodes.remove(name)),
        }
    }
}

impl Objects {
    fn names(&self, tree: &TreeId) -> Result<Names, SnapshotError> {
        parse(tree, &self.tree(tree)?)
    }

    /// Remembers the directories above these paths, a level at a time.
    fn recall_above<'a>(
        &self,
        tree: &TreeId,
        paths: impl Iterator<Item = &'a [&'a [u8]]>,
    ) -> Result<(), SnapshotError> {
        let mut here: Vec<(ObjectId, &[&[u8]])> = paths.map(|names| (*tree, names)).collect();
        while !here.is_empty() {
            self.recall_trees(&here.iter().map(|(tree, _)| *tree).collect())?;
            let mut known: HashMap<ObjectId, Names> = HashMap::new();
            let mut below = Vec::new();
            for (tree, names) in here {
                let [name, rest @ ..] = names else { continue };
                if rest.is_empty() {
                    continue;
                }
                if let Entry::Vacant(slot) = known.entry(tree) {
                    slot.insert(self.names(&tree)?);
                }
                if let Some(Node::Directory(next)) = known[&tree].get(name) {
                    below.push((*next, rest));
                }
            }
            here = below;
        }
        Ok(())
    }

    /// What a tree has under each of these paths. Directories are read once.
    pub(super) fn states<'a>(
        &self,
        tree: &TreeId,
        paths: impl Iterator<Item = &'a TreePath>,
    ) -> Result<BTreeMap<TreePath, State>, SnapshotError> {
        let paths: Vec<&TreePath> = paths.collect();
        let names: Vec<Vec<&[u8]>> = paths.iter().map(|path| path.names().collect()).collect();
        self.recall_above(tree, names.iter().map(Vec::as_slice))?;
        let mut known: HashMap<ObjectId, Names> = HashMap::new();
        let mut found = BTreeMap::new();
        for path in paths {
            let state = self.find(tree, path, &mut known)?;
            found.insert(path.clone(), state);
        }
        Ok(found)
    }

    fn find(
        &self,
        tree: &TreeId,
        path: &TreePath,
        known: &mut HashMap<ObjectId, Names>,
    ) -> Result<State, SnapshotError> {
        let mut here = *tree;
        let mut names = path.names().peekable();
        while let Some(name) = names.next() {
            let is_last = names.peek().is_none();
            if let Entry::Vacant(slot) = known.entry(here) {
                slot.insert(self.names(&here)?);
            }
            match known[&here].get(name) {
                Some(Node::Directory(below)) if !is_last => here = *below,
                Some(Node::Leaf(state)) if is_last => return Ok(*state),
                Some(Node::Directory(_) | Node::Leaf(_)) | None => return Ok(State::Absent),
            }
        }
        Ok(State::Absent)
    }

    /// The directories above these paths that have rights of their own, and the paths themselves where they are
    /// empty directories.
    pub(super) fn directories<'a>(
        &self,
        tree: &TreeId,
        paths: impl Iterator<Item = &'a TreePath>,
    ) -> Result<BTreeMap<TreePath, DirectoryRights>, SnapshotError> {
        let paths: Vec<&TreePath> = paths.collect();
        let names: Vec<Vec<&[u8]>> = paths.iter().map(|path| path.names().collect()).collect();
        self.recall_above(tree, names.iter().map(Vec::as_slice))?;
        let mut known: HashMap<ObjectId, Names> = HashMap::new();
        let mut found = BTreeMap::new();
        for names in names {
            let mut here = *tree;
            for (depth, name) in names.iter().enumerate() {
                if let Entry::Vacant(slot) = known.entry(here) {
                    slot.insert(self.names(&here)?);
                }
                if let Some(rights) = known[&here].rights.get(*name) {
                    found.insert(TreePath(names[..=depth].join(&b'/')), *rights);
                }
                match known[&here].get(name) {
                    Some(Node::Directory(below)) => here = *below,
                    Some(Node::Leaf(_)) | None => break,
                }
            }
        }
        Ok(found)
    }

    /// A tree in which the given paths are as given, directories that are in it have the given rights, and everything
    /// else is as it was.
    pub(super) fn graft(
        &self,
        tree: Option<&TreeId>,
        changes: &BTreeMap<TreePath, State>,
        directories: &Directories,
        hold: WriteSync,
    ) -> Result<TreeId, SnapshotError> {
        if changes.values().any(|state| *state == State::EmptyDirectory) {
            self.write(Kind::Tree, &[], hold)?;
        }
        let states = changes.iter().map(|(path, state)| (path, Change::State(*state)));
        let rights = directories.iter().map(|(path, rights)| (path, Change::Rights(*rights)));
        let changes: Vec<(Vec<&[u8]>, Change)> =
            states.chain(rights).map(|(path, change)| (path.names().collect(), change)).collect();
        let list: Vec<(&[&[u8]], Change)> =
            changes.iter().map(|(names, change)| (names.as_slice(), *change)).collect();
        if let Some(tree) = tree {
            self.recall_above(tree, changes.iter().map(|(names, _)| names.as_slice()))?;
        }
        match self.graft_below(tree, &list, hold)? {
            Some(tree) => Ok(tree),
            None => self.write(Kind::Tree, &[], hold),
        }
    }

    /// None: nothing is left in the directory.
    fn graft_below(
        &self,
        tree: Option<&TreeId>,
        changes: &[(&[&[u8]], Change)],
        hold: WriteSync,
    ) -> Result<Option<TreeId>, SnapshotError> {
        let mut names = match tree {
            Some(tree) => self.names(tree)?,
            None => Names::default(),
        };
        let mut by_name: BTreeMap<&[u8], Here<'_>> = BTreeMap::new();
        for (path, change) in changes {
            let [name, below @ ..] = path else { continue };
            let here = by_name.entry(name).or_default();
            match change {
                _ if !below.is_empty() => here.below.push((below, *change)),
                Change::State(state) => here.itself = Some(*state),
                Change::Rights(rights) => here.rights = Some(*rights),
            }
        }
        for (name, here) in by_name {
            let node = self.graft_node(names.get(name).copied(), &here, hold)?;
            names.set(name, node, here.rights);
        }
        if names.nodes.is_empty() {
            return Ok(None);
        }
        let content = serialise(&names);
        let id = self.write(Kind::Tree, &content, hold)?;
        lock(&self.recent).remember(id, content.into());
        Ok(Some(id))
    }

    fn graft_node(
        &self,
        before: Option<Node>,
        here: &Here<'_>,
        hold: WriteSync,
    ) -> Result<Option<Node>, SnapshotError> {
        let mut node = before;
        match here.itself {
            // No file there; a directory stays.
            Some(State::Absent) if matches!(node, Some(Node::Leaf(_))) => node = None,
            Some(State::Absent) | None => {}
            // Whatever was in it is gone.
            Some(State::EmptyDirectory) => node = Some(Node::Leaf(State::EmptyDirectory)),
            Some(state) => node = Some(Node::Leaf(state)),
        }
        if here.below.is_empty() {
            return Ok(node);
        }
        let base = match node {
            Some(Node::Directory(tree)) => Some(tree),
            Some(Node::Leaf(_)) | None => None,
        };
        match self.graft_below(base.as_ref(), &here.below, hold)? {
            Some(tree) => Ok(Some(Node::Directory(tree))),
            None if base.is_some() => Ok(None),
            None => Ok(node),
        }
    }

    /// Every path that differs, in the order of their bytes.
    pub(super) fn changed(&self, before: &TreeId, after: &TreeId) -> Result<Vec<Changed>, SnapshotError> {
        let mut found = Vec::new();
        let mut pairs = vec![(Vec::new(), Some(*before), Some(*after))];
        for _ in 0..DEPTH_MAX {
            if pairs.is_empty() {
                break;
            }
            pairs = self.compare_level(pairs, &mut found)?;
        }
        found.sort_by(|a: &Changed, b: &Changed| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Compares one level of directories and returns the pairs of the next: all of a level are read at once.
    fn compare_level(&self, pairs: Vec<Pair>, found: &mut Vec<Changed>) -> Result<Vec<Pair>, SnapshotError> {
        let differing: Vec<Pair> = pairs.into_iter().filter(|(_, a, b)| a != b).collect();
        let wanted: HashSet<ObjectId> = differing.iter().flat_map(|(_, a, b)| [*a, *b]).flatten().collect();
        let contents = self.trees(&wanted)?;
        let names = |tree: &Option<ObjectId>| match tree {
            Some(tree) => parse(tree, &contents[tree]),
            None => Ok(Names::default()),
        };
        let mut next = Vec::new();
        for (above, a, b) in &differing {
            let before = names(a)?;
            let after = names(b)?;
            let all: BTreeSet<&Vec<u8>> = before.nodes.keys().chain(after.nodes.keys()).collect();
            for name in all {
                let old = before.get(name);
                let new = after.get(name);
                if old == new {
                    continue;
                }
                let mut path = above.clone();
                if !path.is_empty() {
                    path.push(b'/');
                }
                path.extend_from_slice(name);
                let directory = |node: Option<&Node>| match node {
                    Some(Node::Directory(tree)) => Some(*tree),
                    Some(Node::Leaf(_)) | None => None,
                };
                let leaf = |node: Option<&Node>| match node {
                    Some(Node::Leaf(state)) => *state,
                    Some(Node::Directory(_)) | None => State::Absent,
                };
                let below = (directory(old), directory(new));
                if below != (None, None) {
                    next.push((path.clone(), below.0, below.1));
                }
                let states = (leaf(old), leaf(new));
                if states.0 != states.1
                    && let Some(path) = TreePath::from_bytes(&path)
                {
                    found.push(Changed { path, before: states.0, after: states.1 });
                }
            }
        }
        Ok(next)
    }
}

type Pair = (Vec<u8>, Option<ObjectId>, Option<ObjectId>);

/// What becomes of a path.
#[derive(Clone, Copy)]
enum Change {
    State(State),
    Rights(Option<DirectoryRights>),
}

#[derive(Default)]
struct Here<'a> {
    itself: Option<State>,
    rights: Option<Option<DirectoryRights>>,
    below: Vec<(&'a [&'a [u8]], Change)>,
}

fn parse(id: &ObjectId, mut rest: &[u8]) -> Result<Names, SnapshotError> {
    let damaged = |what| SnapshotError::Damaged { id: *id, what };
    let mut names = Names::default();
    while !rest.is_empty() {
        let space = rest.iter().position(|byte| *byte == b' ').ok_or_else(|| damaged("no mode"))?;
        let mode =
            std::str::from_utf8(&rest[..space]).ok().and_then(|text| u32::from_str_radix(text, 8).ok());
        let mode = mode.ok_or_else(|| damaged("a mode that is no number"))?;
        rest = &rest[space + 1..];
        let zero = rest.iter().position(|byte| *byte == 0).ok_or_else(|| damaged("no name"))?;
        let name = rest[..zero].to_vec();
        rest = &rest[zero + 1..];
        let (id, after) = rest.split_first_chunk::<{ ObjectId::BYTES }>().ok_or_else(|| damaged("no id"))?;
        let id = ObjectId::from_bytes(*id);
        rest = after;
        // git writes no rights of directories, and reads ours as its own.
        let is_directory = mode & KIND == DIRECTORY;
        if let Some(rights) = DirectoryRights::of_mode(mode).filter(|_| is_directory) {
            names.rights.insert(name.clone(), rights);
        }
        let node = match mode {
            _ if is_directory && id == ObjectId::EMPTY_TREE => Node::Leaf(State::EmptyDirectory),
            _ if is_directory => Node::Directory(id),
            LINK => Node::Leaf(State::Link { content: id }),
            OPAQUE => Node::Leaf(State::Opaque { mark: id }),
            file => Node::Leaf(State::File { content: id, rights: Rights::of_mode(file) }),
        };
        names.nodes.insert(name, node);
    }
    Ok(names)
}

fn serialise(names: &Names) -> Vec<u8> {
    let mut entries: Vec<(Vec<u8>, u32, &[u8], ObjectId)> = Vec::with_capacity(names.nodes.len());
    for (name, node) in &names.nodes {
        let (mode, id) = match node {
            Node::Directory(id) => (DIRECTORY, *id),
            Node::Leaf(state) => match state.entry() {
                Some(entry) => entry,
                None => continue,
            },
        };
        // git sorts a directory as if its name ended in a slash.
        let mut key = name.clone();
        let mut mode = mode;
        if mode == DIRECTORY {
            key.push(b'/');
            mode |= names.rights.get(name).map_or(0, |rights| rights.bits());
        }
        entries.push((key, mode, name, id));
    }
    entries.sort();
    let mut bytes = Vec::new();
    for (_, mode, name, id) in entries {
        bytes.extend_from_slice(format!("{mode:o} ").as_bytes());
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(id.bytes());
    }
    bytes
}
