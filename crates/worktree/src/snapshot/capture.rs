//! Makes trees: of everything, by a scan, or of known paths.
//!
//! A scan asks git two things at once: which captured files look different, and which files it has not
//! seen. What is too large, cannot be read or is a repository of its own is recorded as opaque; the rest
//! goes into our index, and the index becomes a tree. When nothing is new, the tree of the last scan is
//! still right and nothing is written; when everything looks as it did (`stat_cache`), git is not even asked.
//!
//! Known paths do not go through the index: their content is stored and the trees above them are written
//! anew. They are noted, so that the next scan watches them too, even if they are ignored.

use super::disk::{Found, Keep, mark_of};
use super::empty::Unknown;
use super::index::{Index, around, around_states};
use super::object::{Kind, WriteSync};
use super::point::point;
use super::setup::{self, write_if_other};
use super::tree::Directories;
use super::{MEGABYTE, ObjectId, SnapshotError, State, TreeId, TreePath, TreeStore, lock};
use crate::git::{Answer, Git, GitError, read_file};
use crate::path::{DirectoryRights, FileIdentity, FileKind, Rights, WorkPath};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The names of half a million files.
const NAMES_BYTES_MAX: usize = 96 * 1024 * 1024;

/// The files in which a repository says what is checked out.
const NOTE_BYTES_MAX: u64 = 64 * 1024;
const REFS_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A list of what to ignore.
const RULES_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Known paths that are noted at once: the whole list is written each time.
const NOTED_TOGETHER: usize = 256;

/// The index is made anew when it cannot be used, once.
const TRIES: usize = 2;

/// A tree of the worktree, and what is not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    pub tree: TreeId,
    pub left_out: Vec<LeftOut>,
}

/// Something that is there and was not captured. It is neither changed nor removed by an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub path: TreePath,
    pub why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    TooLarge,
    /// A submodule, or another repository.
    Repository,
    /// It cannot be read, or is no file.
    NotReadable,
}

impl Why {
    pub(super) fn letter(self) -> char {
        match self {
            Self::TooLarge => 'L',
            Self::Repository => 'R',
            Self::NotReadable => 'U',
        }
    }

    /// For people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::TooLarge => "too large to be captured",
            Self::Repository => "a repository of its own",
            Self::NotReadable => "not a file that can be read",
        }
    }

    pub(super) fn from_letter(letter: &str) -> Option<Self> {
        match letter {
            "L" => Some(Self::TooLarge),
            "R" => Some(Self::Repository),
            "U" => Some(Self::NotReadable),
            _ => None,
        }
    }
}

/// What a scan found besides plain files.
struct Sorted {
    /// What is a directory now: the files in it are listed by themselves.
    directories: Vec<TreePath>,
    /// What the plain files hold.
    bytes: u64,
    /// The rights of everything that was looked at; none of what is no file.
    rights: BTreeMap<TreePath, Option<Rights>>,
}

pub(super) type Opaques = BTreeMap<TreePath, (Why, ObjectId)>;

impl TreeStore {
    /// The tree of the whole worktree as it is now.
    pub fn scan(&self) -> Result<Captured, SnapshotError> {
        if let Some(what) = self.inner.refusal {
            return Err(SnapshotError::Refused { root: self.root().to_owned(), what });
        }
        self.inner.waiting.fetch_add(1, Ordering::AcqRel);
        let mut index = lock(&self.inner.scanning);
        self.inner.waiting.fetch_sub(1, Ordering::AcqRel);
        self.refuse_when_full()?;
        let excludes = self.write_excludes()?;
        if let Some(tree) = self.unchanged(&index, &excludes) {
            return Ok(index.captured(tree));
        }
        index.forget_stats();
        let mut last = None;
        for _ in 0..TRIES {
            match self.scan_once(&mut index) {
                Ok(tree) => return Ok(index.captured(tree)),
                Err(error) if error.is_git_missing() || error.is_too_much() => return Err(error),
                // An index that a killed git has spoilt, or one whose objects somebody has removed.
                Err(error) => {
                    tracing::debug!(%error, "the index of captured files is made anew");
                    self.forget_index(&mut index)?;
                    last = Some(error);
                }
            }
        }
        Err(last.unwrap_or_else(|| unreachable!("BUG: a scan ends in a tree or an error")))
    }

    /// What the last scan found and did not capture, up to a number. Waits for no scan.
    #[must_use]
    pub fn left_out(&self, count_max: usize) -> Vec<LeftOut> {
        lock(&self.inner.left_out).iter().take(count_max).cloned().collect()
    }

    /// The tree `base` in which these paths are as they are on the disk now. Only they are looked at.
    pub fn capture(&self, base: Option<&TreeId>, paths: &[TreePath]) -> Result<TreeId, SnapshotError> {
        let mut states = self.states_now(paths)?;
        self.add_emptied(&mut states);
        self.with_states_now(base, &states)
    }

    /// What these paths are now; their content is stored.
    pub fn states_now<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a TreePath>,
    ) -> Result<BTreeMap<TreePath, State>, SnapshotError> {
        let paths: Vec<&TreePath> = paths.into_iter().collect();
        let mut states = BTreeMap::new();
        for some in paths.chunks(NOTED_TOGETHER) {
            self.refuse_when_full()?;
            let mut bytes = 0;
            for path in some {
                let Found { state, sight } = self.look(path, Keep::Content(WriteSync::Written))?;
                bytes += sight.map_or(0, |sight| sight.bytes).min(self.inner.options.file_bytes_max);
                states.insert((*path).clone(), state);
            }
            self.touch(some.iter().copied(), bytes)?;
        }
        Ok(states)
    }

    /// What a path is now; its content is stored.
    pub fn state_now(&self, path: &TreePath) -> Result<State, SnapshotError> {
        let states = self.states_now([path])?;
        Ok(states.get(path).copied().unwrap_or(State::Absent))
    }

    /// The tree `base` with these states in it.
    pub fn with_states(
        &self,
        base: Option<&TreeId>,
        states: &BTreeMap<TreePath, State>,
    ) -> Result<TreeId, SnapshotError> {
        self.inner.objects.graft(base, states, &Directories::new(), WriteSync::Written)
    }

    /// The same with states that are those on the disk: the directories around them are as they are there.
    pub fn with_states_now(
        &self,
        base: Option<&TreeId>,
        states: &BTreeMap<TreePath, State>,
    ) -> Result<TreeId, SnapshotError> {
        let mut states = Cow::Borrowed(states);
        let vanished = self.vanished(base, &states)?;
        if !vanished.is_empty() {
            states.to_mut().extend(vanished.into_iter().map(|path| (path, State::Absent)));
        }
        let directories = self.directories_now(around_states(&states));
        self.inner.objects.graft(base, &states, &directories, WriteSync::Written)
    }

    /// What a tree has under these paths.
    pub fn states<'a>(
        &self,
        tree: &TreeId,
        paths: impl Iterator<Item = &'a TreePath>,
    ) -> Result<BTreeMap<TreePath, State>, SnapshotError> {
        self.inner.objects.states(tree, paths)
    }

    /// The directories around these paths to which a tree gives rights of their own.
    pub(super) fn directories<'a>(
        &self,
        tree: &TreeId,
        paths: impl Iterator<Item = &'a TreePath>,
    ) -> Result<BTreeMap<TreePath, DirectoryRights>, SnapshotError> {
        self.inner.objects.directories(tree, paths)
    }

    /// Every path that differs between two trees.
    pub fn changed(&self, before: &TreeId, after: &TreeId) -> Result<Vec<super::Changed>, SnapshotError> {
        self.inner.objects.changed(before, after)
    }

    /// The content of a captured file or link.
    pub fn content(&self, id: &ObjectId) -> Result<Vec<u8>, SnapshotError> {
        self.inner.objects.read(Kind::Blob, id)
    }

    /// The content of those that are packed, as far as it is not much together.
    pub(super) fn read_ahead(&self, ids: &[ObjectId]) -> Result<HashMap<ObjectId, Vec<u8>>, SnapshotError> {
        self.inner.objects.read_ahead(ids)
    }

    pub(super) fn scan_once(&self, index: &mut Index) -> Result<TreeId, SnapshotError> {
        setup::tidy(&self.inner.dir).map_err(SnapshotError::io(&self.inner.dir))?;
        let (changed, listed) = self.ask_git()?;
        let Unknown { files, repositories, mut empty, is_deep } = self.sort_unknown(&listed, &changed)?;
        let touched = self.touched();
        let mut plain = touched.clone();
        let mut opaque = self.opaque_now(&index.opaque, &mut plain)?;
        plain.extend(names(&changed.stdout).filter_map(TreePath::from_bytes));
        plain.extend(files);
        plain.extend(self.find_other_rights(index)?);
        for path in repositories {
            let head = self.head_of(&path)?;
            opaque.insert(path, (Why::Repository, head));
        }
        self.refuse_too_many(plain.len())?;
        let directories_now = self.directories_of_scan(index, &plain, &empty);
        let Sorted { directories, bytes, rights } = self.sort_out(&mut plain, &mut opaque)?;
        if plain.is_empty()
            && directories.is_empty()
            && opaque == index.opaque
            && empty == index.empty
            && directories_now.iter().all(|(path, rights)| index.directories.get(path) == rights.as_ref())
            && let Some(tree) = index.tree
        {
            index.note_stats(&plain);
            return Ok(tree);
        }
        self.refuse_too_much(bytes)?;

        self.note("sturdy-tree", b"")?;
        let before = index.tree.take();
        let gone = rights.iter().filter(|(_, rights)| rights.is_none()).map(|(path, _)| path);
        empty.extend(self.emptied(gone));
        let mut other = self.note_rights(index, rights)?;
        let mut directories_changed = self.note_directories(index, directories_now)?;
        let gone = index.opaque.keys().filter(|path| !opaque.contains_key(*path)).chain(&directories);
        self.remove_from_index(gone)?;
        self.update_index(&plain, &mut opaque)?;
        let answer = self.run(self.git().args(["write-tree"]))?;
        let made: TreeId = String::from_utf8_lossy(&answer.stdout).trim().parse()?;
        if is_deep {
            empty = self.find_empty()?;
            let mut found = around(empty.iter());
            found.extend(empty.iter().map(TreePath::as_bytes));
            let now = self.directories_now(found);
            directories_changed.extend(self.note_directories(index, now)?);
        }
        other.extend(self.note_empty(index, empty)?);
        let tree = self.beyond_git(index, before, made, other, directories_changed)?;
        index.note_stats(&plain);
        index.opaque = opaque;
        *lock(&self.inner.left_out) = index.left_out();
        self.write_opaque(&index.opaque)?;
        self.untouch(&touched)?;
        index.tree = Some(tree);
        self.inner.was_scanned.store(true, Ordering::Release);
        self.note("sturdy-tree", tree.to_string().as_bytes())?;
        Ok(tree)
    }

    fn ask_git(&self) -> Result<(Answer, Answer), SnapshotError> {
        let changed = self.git().args(["diff-files", "--name-only", "-z", "--ignore-submodules=all"]);
        let unknown = self.list_unknown();
        point(&self.inner.dir);
        let both = async { tokio::try_join!(changed.run(), unknown.run()) };
        tokio::runtime::Handle::current().block_on(both).map_err(|error| match error {
            GitError::TooLong { .. } => self.too_much("it has too many files"),
            GitError::TimedOut { limit, .. } => {
                self.too_much(&format!("looking at all of it takes more than {} s", limit.as_secs()))
            }
            other @ (GitError::Missing(_) | GitError::Refused { .. } | GitError::Pipe { .. }) => other.into(),
        })
    }

    /// Files that git does not know, and the topmost directories with nothing in them that it knows.
    pub(super) fn list_unknown(&self) -> Git {
        self.git().args(["ls-files", "-z", "--others", "--exclude-standard", "--directory"])
    }

    fn too_much(&self, what: &str) -> SnapshotError {
        SnapshotError::TooMuch { root: self.root().to_owned(), what: what.to_owned() }
    }

    fn refuse_too_many(&self, files: usize) -> Result<(), SnapshotError> {
        let max = self.inner.options.files_max;
        if files > max {
            return Err(self.too_much(&format!("it has {files} new files, and {max} are allowed")));
        }
        Ok(())
    }

    /// Before anything is stored: what a scan found must be little enough to be stored.
    fn refuse_too_much(&self, bytes: u64) -> Result<(), SnapshotError> {
        let max = self.inner.options.scan_bytes_max;
        if bytes > max {
            let found = bytes.div_ceil(MEGABYTE);
            let max = max / MEGABYTE;
            return Err(self.too_much(&format!("its new files hold {found} MB, and {max} MB are allowed")));
        }
        lock(&self.inner.touched).grown += bytes;
        Ok(())
    }

    /// What was opaque at the last scan and still is; the rest is looked at like any changed file.
    fn opaque_now(&self, before: &Opaques, plain: &mut BTreeSet<TreePath>) -> Result<Opaques, SnapshotError> {
        let mut opaque = Opaques::new();
        for (path, (why, _)) in before {
            let place = self.at(path)?;
            let is_repository =
                *why == Why::Repository && place.real().join(".git").symlink_metadata().is_ok();
            if is_repository {
                opaque.insert(path.clone(), (Why::Repository, self.head_of(path)?));
            } else {
                plain.insert(path.clone());
            }
        }
        Ok(opaque)
    }

    /// Moves what cannot be captured from the one list to the other.
    fn sort_out(
        &self,
        plain: &mut BTreeSet<TreePath>,
        opaque: &mut Opaques,
    ) -> Result<Sorted, SnapshotError> {
        let mut not_plain = Vec::new();
        let mut directories = Vec::new();
        let mut bytes = 0;
        let mut rights = BTreeMap::new();
        for path in plain.iter() {
            let place = self.at(path)?;
            let sight = place.sight();
            let file =
                sight.as_ref().ok().and_then(Option::as_ref).filter(|sight| sight.kind == FileKind::File);
            rights.insert(path.clone(), file.map(|sight| sight.rights));
            match sight {
                Ok(Some(sight)) if sight.kind == FileKind::Directory => directories.push(path.clone()),
                Ok(Some(sight)) => {
                    if let Some(why) = self.reason_against(&place, &sight) {
                        not_plain.push((path.clone(), why, mark_of(&sight)));
                    } else {
                        bytes += sight.bytes;
                    }
                }
                // Gone, or behind a link: no longer a file of this worktree.
                Ok(None) | Err(_) => {}
            }
        }
        for (path, why, mark) in not_plain {
            plain.remove(&path);
            opaque.insert(path, (why, mark));
        }
        for path in &directories {
            plain.remove(path);
        }
        Ok(Sorted { directories, bytes, rights })
    }

    fn reason_against(&self, place: &WorkPath, sight: &FileIdentity) -> Option<Why> {
        match sight.kind {
            FileKind::File if sight.bytes > self.inner.options.file_bytes_max => Some(Why::TooLarge),
            FileKind::File => {
                let readable = rustix::fs::access(place.real(), rustix::fs::Access::READ_OK).is_ok();
                (!readable).then_some(Why::NotReadable)
            }
            FileKind::Link | FileKind::Directory => None,
            FileKind::Pipe | FileKind::Socket | FileKind::Device | FileKind::Other => Some(Why::NotReadable),
        }
    }

    /// What a repository inside this one has checked out; only its own files are read, nothing is run.
    pub(super) fn head_of(&self, path: &TreePath) -> Result<ObjectId, SnapshotError> {
        let place = self.at(path)?;
        let dot_git = place.real().join(".git");
        let is_file = dot_git.symlink_metadata().is_ok_and(|found| found.is_file());
        let dir = match read_text(&dot_git, NOTE_BYTES_MAX).filter(|_| is_file) {
            Some(text) => place.real().join(text.trim().strip_prefix("gitdir: ").unwrap_or_default()),
            None => dot_git,
        };
        let head = read_text(&dir.join("HEAD"), NOTE_BYTES_MAX).unwrap_or_default();
        let named = head.trim().strip_prefix("ref: ");
        let id = match named {
            Some(name) => {
                let loose = read_text(&dir.join(name), NOTE_BYTES_MAX).filter(|text| !text.is_empty());
                loose.or_else(|| packed_ref(&dir, name))
            }
            None => Some(head.clone()),
        };
        let id = id.and_then(|id| id.trim().parse().ok());
        Ok(id.unwrap_or_else(|| ObjectId::of(Kind::Blob, head.as_bytes())))
    }

    /// What the user's repository ignores in its own way, and our own files if they lie in the worktree.
    pub(super) fn write_excludes(&self) -> Result<Vec<u8>, SnapshotError> {
        let mut lines = Vec::new();
        let options = &self.inner.options;
        for file in [&options.excludes_file, &options.repository_excludes].into_iter().flatten() {
            if let Some(text) = read_rules(file) {
                lines.extend_from_slice(&text);
                lines.push(b'\n');
            }
        }
        if let Some(own) = self.own_directory() {
            lines.push(b'/');
            lines.extend_from_slice(own.as_bytes());
            lines.extend_from_slice(b"/\n");
        }
        let path = self.inner.dir.join("info/exclude");
        write_if_other(&path, &lines).map_err(SnapshotError::io(&path))?;
        Ok(lines)
    }

    fn own_directory(&self) -> Option<TreePath> {
        let real = self.inner.dir.canonicalize().ok()?;
        self.path_of(&real)
    }

    pub(super) fn note(&self, name: &str, content: &[u8]) -> Result<(), SnapshotError> {
        let path = self.inner.dir.join(name);
        write_if_other(&path, content).map_err(SnapshotError::io(&path))
    }

    pub(super) fn git(&self) -> Git {
        Git::at(self.root())
            .without_user_config()
            .env("GIT_DIR", &self.inner.dir)
            .env("GIT_WORK_TREE", self.root())
            .searched_in(self.inner.options.search_path.as_deref())
            .stdout_bytes_max(NAMES_BYTES_MAX)
            .timeout(self.inner.options.scan_timeout)
    }

    pub(super) fn run(&self, git: Git) -> Result<Answer, SnapshotError> {
        point(&self.inner.dir);
        Ok(setup::wait(git.run())?)
    }
}

fn names(stdout: &[u8]) -> impl Iterator<Item = &[u8]> {
    stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty())
}

fn packed_ref(dir: &Path, name: &str) -> Option<String> {
    let common: PathBuf = match read_text(&dir.join("commondir"), NOTE_BYTES_MAX) {
        Some(text) if !text.is_empty() => dir.join(text.trim()),
        Some(_) | None => dir.to_owned(),
    };
    let packed = read_text(&common.join("packed-refs"), REFS_BYTES_MAX)?;
    let line = packed.lines().find(|line| line.ends_with(&format!(" {name}")))?;
    line.split(' ').next().map(str::to_owned)
}

/// A small file of somebody else's repository. It may be a pipe, a device or a link to anywhere: only plain files are
/// read, and not more of them than such a file has.
fn read_text(path: &Path, bytes_max: u64) -> Option<String> {
    let bytes = read_file(path, bytes_max).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A list of what to ignore, which may well be a link.
fn read_rules(path: &Path) -> Option<Vec<u8>> {
    read_file(&path.canonicalize().ok()?, RULES_BYTES_MAX).ok()
}
