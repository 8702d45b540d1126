//! Captured states of a worktree: taken, compared, and brought back file by file.
//!
//! A [`TreeStore`] is a git repository of our own in the server's data directory, one per worktree. It
//! never needs the user's repository: it has its own objects, its own index and its own settings, under
//! which no hook, filter or line-ending rule applies. What a session can still go back to is anchored by
//! a ref, so that no collection of garbage removes it.
//!
//! `capture` makes a tree of the whole worktree (a scan, by git) or of a few known paths (by ourselves,
//! without git); `empty` knows the directories that git does not; `looks` knows that nothing has changed since the last scan; `tree` reads and changes trees; `diff` shows what differs; `plan` says what an undo
//! would do, `undo` what each file is set to for it, and `apply` sets it, one file at a time and only where the file is what it is expected to be;
//! `keep` anchors and releases; `collect` packs, and removes what nothing keeps.
//!
//! Everything here waits for the disk: call it on a thread that may.
//!
//! Not here: which trees belong to which step of a session (the engine knows).

mod apply;
mod capture;
mod collect;
mod diff;
mod disk;
mod empty;
mod in_use;
mod index;
mod keep;
mod object;
mod packed;
mod plan;
mod point;
mod recent;
mod setup;
mod stat_cache;
mod state;
mod touched;
mod tree;
mod undo;

pub use apply::{Done, Fault, FaultKind, Outcome, Setting};
pub use capture::{Captured, LeftOut, Why};
pub use collect::{Collected, RECENT, collect_in};
pub use diff::{Changes, Extent, differences, unified};
pub use keep::{StoreUsage, Usage, kept_in, missing_in, release_in, stores_below, stores_of};
pub use object::ObjectId;
pub use plan::{Conflict, Entry, Plan, Step, Targets, Verdict};
pub use point::{AtPoint, tell_of_points};
pub use state::State;
pub use tree::{Changed, TreePath};
pub use undo::{Standing, Undo};

use crate::git::GitError;
use crate::path::{PathError, Roots, WorkPath};
use object::Objects;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A file above this is recorded as being there, but its content is not kept.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

const MEGABYTE: u64 = 1024 * 1024;

/// What the trees of one project may take on the disk before captures are refused.
const STORE_BYTES_MAX: u64 = 4096 * MEGABYTE;

/// No checkout that people work in has more files.
const FILES_MAX: usize = 1_000_000;

/// The first scan of a large worktree stores every file of it.
const SCAN_TIMEOUT: Duration = Duration::from_secs(600);

/// The id of a captured tree.
pub type TreeId = ObjectId;

/// Why a tree could not be captured, read or brought back.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Too much is below this directory, and too little of it belongs to one piece of work.
    #[error("{} is not captured as a whole: it is {what}", root.display())]
    Refused { root: PathBuf, what: &'static str },

    /// Capturing it would take too long, or too much of the disk.
    #[error("{} is not captured as a whole: {what}", root.display())]
    TooMuch { root: PathBuf, what: String },

    /// Invariant I14: what cannot be found is an error; nothing is deleted because of it.
    #[error("object {0} is not in the store of captured trees")]
    Missing(ObjectId),

    #[error("object {id} in the store of captured trees is damaged: {what}")]
    Damaged { id: ObjectId, what: &'static str },

    #[error(
        "captured trees of this project take {} MB of the {} MB they may take; remove sessions and run `sturdy gc`",
        used.div_ceil(MEGABYTE),
        max / MEGABYTE
    )]
    Full { used: u64, max: u64 },

    /// What was set before is not all taken back. Its content is captured, so doing the same or the opposite again
    /// loses nothing.
    #[error("{cause}; {} could not be restored and will be at the next attempt", shown(files))]
    HalfDone {
        #[source]
        cause: Box<SnapshotError>,
        files: Vec<TreePath>,
    },

    #[error("captured trees in {} are locked by another process that collects garbage and does not finish", .0.display())]
    Busy(PathBuf),

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

    /// Trying again soon would cost much and end the same way.
    #[must_use]
    pub fn is_too_much(&self) -> bool {
        matches!(self, Self::TooMuch { .. })
    }

    /// No space is left for a file or for what was captured of it.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        let is_full = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        };
        match self {
            Self::Io { source, .. } | Self::Path(PathError::Io { source, .. }) => is_full(source),
            Self::HalfDone { cause, .. } => cause.is_disk_full(),
            Self::Refused { .. }
            | Self::TooMuch { .. }
            | Self::Missing(_)
            | Self::Damaged { .. }
            | Self::Full { .. }
            | Self::Busy(_)
            | Self::Git(_)
            | Self::Path(_)
            | Self::Malformed(_) => false,
        }
    }

    /// Files were set and not taken back.
    #[must_use]
    pub fn is_half_done(&self) -> bool {
        matches!(self, Self::HalfDone { .. })
    }

    /// Why something was not captured, for a person.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Git(GitError::Missing(_)) => "git was not found".to_owned(),
            Self::Git(GitError::Refused { command, .. }) => {
                format!("`git {command}` failed; is git too old?")
            }
            Self::Refused { .. }
            | Self::TooMuch { .. }
            | Self::Missing(_)
            | Self::Damaged { .. }
            | Self::Full { .. }
            | Self::Busy(_)
            | Self::HalfDone { .. }
            | Self::Git(GitError::TooLong { .. } | GitError::TimedOut { .. } | GitError::Pipe { .. })
            | Self::Path(_)
            | Self::Io { .. }
            | Self::Malformed(_) => self.to_string(),
        }
    }
}

/// The names of a few files.
fn shown(files: &[TreePath]) -> String {
    const NAMED: usize = 5;
    let names: Vec<String> = files.iter().take(NAMED).map(ToString::to_string).collect();
    match files.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// What a store of trees is told when it is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Scanned also when it is `/` or the home directory.
    pub any_root: bool,
    pub file_bytes_max: u64,
    /// What everything in `budget_dir` may take.
    pub store_bytes_max: u64,
    /// The directory with the stores of the project; the store itself if there is none.
    pub budget_dir: Option<PathBuf>,
    /// New files that one scan may find.
    pub files_max: usize,
    /// What the new files of one scan may hold together.
    pub scan_bytes_max: u64,
    /// How long git may take to look at the worktree.
    pub scan_timeout: Duration,
    /// Where the git program is looked for, instead of the `PATH` of this process.
    pub search_path: Option<OsString>,
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
            budget_dir: None,
            files_max: FILES_MAX,
            scan_bytes_max: STORE_BYTES_MAX,
            scan_timeout: SCAN_TIMEOUT,
            search_path: None,
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
    /// Why the worktree is not scanned, if it is not.
    refusal: Option<&'static str>,
    /// Held while a scan goes on. A large one takes minutes, so nothing else waits for it.
    scanning: Mutex<index::Index>,
    was_scanned: AtomicBool,
    /// What the last scan did not capture.
    left_out: Mutex<Vec<LeftOut>>,
    /// Scans that wait for it.
    waiting: AtomicUsize,
    /// Held for a moment.
    touched: Mutex<touched::Touched>,
    diffs: Mutex<diff::RecentDiffs>,
    sums: Mutex<diff::RecentSums>,
    /// Held while a ref is written.
    anchoring: Mutex<()>,
    /// Held by the one collection that goes on.
    collecting: Mutex<()>,
    _in_use: in_use::InUse,
}

impl TreeStore {
    /// Opens the store of the worktree `root` in the directory `dir`, and makes it if there is none.
    pub fn open(dir: &Path, root: &Path, options: StoreOptions) -> Result<Self, SnapshotError> {
        let real = root.canonicalize().map_err(SnapshotError::io(root))?;
        let refusal = match options.any_root {
            true => None,
            false => reason_against(&real, options.home.as_deref()),
        };
        let root = root_path(&real)?;
        std::fs::create_dir_all(dir).map_err(SnapshotError::io(dir))?;
        let in_use = in_use::InUse::take(dir)?;
        setup::make(dir, &real)?;
        let objects = Objects::new(dir, options.search_path.clone());
        let index = index::Index::load(dir);
        let inner = Inner {
            root,
            objects,
            options,
            refusal,
            was_scanned: AtomicBool::new(index.tree.is_some()),
            left_out: Mutex::new(index.left_out()),
            scanning: Mutex::new(index),
            waiting: AtomicUsize::new(0),
            touched: Mutex::new(touched::Touched::load(dir)),
            diffs: Mutex::default(),
            sums: Mutex::default(),
            anchoring: Mutex::default(),
            collecting: Mutex::default(),
            _in_use: in_use,
            dir: dir.to_owned(),
        };
        Ok(Self { inner: Arc::new(inner) })
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

    /// Whether the worktree was ever captured as a whole.
    #[must_use]
    pub fn was_scanned(&self) -> bool {
        self.inner.was_scanned.load(Ordering::Acquire)
    }

    /// Where the store is.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }

    fn at(&self, path: &TreePath) -> Result<WorkPath, SnapshotError> {
        let below = self.inner.root.below(&path.to_path());
        below.ok_or_else(|| SnapshotError::Malformed(format!("{path} cannot be a path below the worktree")))
    }
}

/// What a panic leaves behind is found on the disk again.
fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a directory is not scanned: nobody works on all of it.
fn reason_against(real: &Path, home: Option<&Path>) -> Option<&'static str> {
    if real.parent().is_none() {
        return Some("the whole file system");
    }
    let home = home.and_then(|home| home.canonicalize().ok());
    home.is_some_and(|home| home.starts_with(real)).then_some("the home directory, or holds it")
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
