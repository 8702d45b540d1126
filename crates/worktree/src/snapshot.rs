//! Captured states of a worktree: taken, compared, and brought back file by file.
//!
//! A [`TreeStore`] is a git repository of our own in the server's data directory, one per worktree. It
//! never needs the user's repository: it has its own objects, its own index and its own settings, under
//! which no hook, filter or line-ending rule applies. What a session can still go back to is anchored by
//! a ref, so that no collection of garbage removes it.
//!
//! `capture` makes a tree of the whole worktree (a scan, by git) or of a few known paths (by ourselves,
//! without git); `tree` reads and changes trees; `diff` shows what differs; `plan` says what an undo
//! would do, `undo` what each file is set to for it, and `apply` sets it, one file at a time and only where the file is what it is expected to be;
//! `keep` anchors, releases and packs.
//!
//! Everything here waits for the disk: call it on a thread that may.
//!
//! Not here: which trees belong to which step of a session (the engine knows).

mod apply;
mod capture;
mod diff;
mod disk;
mod index;
mod keep;
mod object;
mod plan;
mod setup;
mod tree;
mod undo;

pub use apply::{Done, Fault, FaultKind, Outcome, Setting};
pub use capture::{Captured, LeftOut, Why};
pub use diff::{Changes, differences, unified};
pub use keep::{Collected, Usage};
pub use object::ObjectId;
pub use plan::{Conflict, Entry, Plan, Step, Targets, Verdict};
pub use tree::{Changed, State, TreePath};
pub use undo::{Standing, Undo};

use crate::git::GitError;
use crate::path::{PathError, Roots, WorkPath};
use object::Objects;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file above this is recorded as being there, but its content is not kept.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// What one worktree may take on the disk before captures are refused.
const STORE_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// The id of a captured tree.
pub type TreeId = ObjectId;

/// Why a tree could not be captured, read or brought back.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Too much is below this directory, and too little of it belongs to one piece of work.
    #[error("{} is not captured: it is {what}", root.display())]
    Refused { root: PathBuf, what: &'static str },

    /// Invariant I14: what cannot be found is an error; nothing is deleted because of it.
    #[error("object {0} is not in the store of captured trees")]
    Missing(ObjectId),

    #[error("object {id} in the store of captured trees is damaged: {what}")]
    Damaged { id: ObjectId, what: &'static str },

    #[error(
        "captured trees take {used} bytes of the {max} that are allowed; remove sessions or run `sturdy gc`"
    )]
    Full { used: u64, max: u64 },

    #[error(transparent)]
    Git(#[from] GitError),

    #[error(transparent)]
    Path(#[from] PathError),

    #[error("{}: {source}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },

    #[error("{0}")]
    Malformed(String),
}

impl SnapshotError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    /// There is no git program, so nothing but known paths can be captured.
    #[must_use]
    pub fn is_git_missing(&self) -> bool {
        matches!(self, Self::Git(GitError::Missing(_)))
    }
}

/// What a store of trees is told when it is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Captured also when it is `/` or the home directory.
    pub any_root: bool,
    pub file_bytes_max: u64,
    pub store_bytes_max: u64,
    /// The user's own list of what git ignores everywhere.
    pub excludes_file: Option<PathBuf>,
    /// The `info/exclude` of the user's repository.
    pub repository_excludes: Option<PathBuf>,
    pub home: Option<PathBuf>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            any_root: false,
            file_bytes_max: FILE_BYTES_MAX,
            store_bytes_max: STORE_BYTES_MAX,
            excludes_file: None,
            repository_excludes: None,
            home: None,
        }
    }
}

/// The captured trees of one worktree. Cheap to clone; all clones are one store.
#[derive(Clone, Debug)]
pub struct TreeStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: WorkPath,
    /// The git directory.
    dir: PathBuf,
    objects: Objects,
    options: StoreOptions,
    /// Held while the index or a ref is written.
    writing: Mutex<index::Index>,
}

impl TreeStore {
    /// Opens the store of the worktree `root` in the directory `dir`, and makes it if there is none.
    pub fn open(dir: &Path, root: &Path, options: StoreOptions) -> Result<Self, SnapshotError> {
        let real = root.canonicalize().map_err(SnapshotError::io(root))?;
        if !options.any_root {
            refuse_too_much(&real, options.home.as_deref())?;
        }
        let root = root_path(&real)?;
        setup::make(dir)?;
        let index = index::Index::load(dir);
        let objects = Objects::new(dir);
        let dir = dir.to_owned();
        let writing = Mutex::new(index);
        Ok(Self { inner: Arc::new(Inner { root, dir, objects, options, writing }) })
    }

    /// The worktree, after all links.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.inner.root.real()
    }

    /// The path from the root, when it lies in the worktree and has a name that can be captured.
    #[must_use]
    pub fn path_of(&self, real: &Path) -> Option<TreePath> {
        TreePath::from_path(real.strip_prefix(self.root()).ok()?)
    }

    fn lock(&self) -> MutexGuard<'_, index::Index> {
        // What a panic leaves behind is found on the disk again.
        self.inner.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&self, path: &TreePath) -> Result<WorkPath, SnapshotError> {
        let below = self.inner.root.below(&path.to_path());
        below.ok_or_else(|| SnapshotError::Malformed(format!("{path} cannot be a path below the worktree")))
    }
}

fn refuse_too_much(real: &Path, home: Option<&Path>) -> Result<(), SnapshotError> {
    let root = real.to_owned();
    if real.parent().is_none() {
        return Err(SnapshotError::Refused { root, what: "the whole file system" });
    }
    let home = home.and_then(|home| home.canonicalize().ok());
    if home.is_some_and(|home| home.starts_with(real)) {
        return Err(SnapshotError::Refused { root, what: "the home directory, or holds it" });
    }
    Ok(())
}

fn root_path(real: &Path) -> Result<WorkPath, SnapshotError> {
    let located = Roots::new(real, real)?.locate(real)?;
    Ok(located.trusted())
}

/// The name of the directory that a store of this worktree has: the same for the same place.
#[must_use]
pub fn store_name(root: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    ObjectId::of(object::Kind::Blob, root.as_os_str().as_bytes()).to_string()
}

/// What the store in a directory takes, without opening it.
pub fn usage_of(dir: &Path) -> Result<Usage, SnapshotError> {
    keep::usage_of(dir).map_err(SnapshotError::io(dir))
}
