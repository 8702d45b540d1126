//! A checked path: the only way to a file.
//!
//! A tool is given text. [`Roots::locate`] makes it absolute, removes `.` and `..` as written,
//! follows every link that exists and says where the result lies: inside the session directory
//! or the worktree, or outside, in which case a person has to be asked before the path can be
//! used ([`OutsidePath::permitted`]).
//!
//! What is opened later is the path *after* all links, and it is opened without following any
//! (`path/open.rs`). So a directory that is exchanged for a link between the check and the use
//! makes the use fail; it never leads it elsewhere.
//!
//! Not here: which outside directories are allowed (the permission rules).

mod beside;
mod open;
mod owner;
mod restore;
mod rights;
mod write;

pub use open::{Entry, FileKind, Opened};
pub use owner::foreign_writer;
pub(crate) use restore::FileIdentity;
pub use rights::{DirectoryRights, Rights};
pub use write::{Stamp, Written};

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Trees that hold no files but the kernel's and the devices' doors; among them the server's
/// own memory and environment.
const NOT_FILES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Why a path leads to nothing that can be used.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    #[error("the path is empty or holds a NUL character")]
    Malformed,

    #[error("no such file or directory: {}", .0.display())]
    Missing(PathBuf),

    #[error("{} is {kind}, not a file", path.display())]
    NotAFile { path: PathBuf, kind: FileKind },

    #[error("{} is not a directory", .0.display())]
    NotADirectory(PathBuf),

    /// A link that leads nowhere, or a link where the check had seen none.
    #[error("{} is a link that cannot be followed", .0.display())]
    Link(PathBuf),

    #[error("the operating system does not permit access to {}", .0.display())]
    Forbidden(PathBuf),

    #[error("{}: {source}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl PathError {
    pub(crate) fn from_io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing(path),
            io::ErrorKind::PermissionDenied => Self::Forbidden(path),
            io::ErrorKind::NotADirectory => Self::NotADirectory(path),
            _ if source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => Self::Link(path),
            _ => Self::Io { path, source },
        }
    }

    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing(_))
    }
}

/// Where a session works: its directory, and the worktree around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    directory: PathBuf,
    worktree: PathBuf,
    /// The two above after all links; `None` for a worktree of `/`, which encloses nothing.
    real_directory: PathBuf,
    real_worktree: Option<PathBuf>,
    /// Where the system keeps temporary files, after all links, if that is known.
    temporary: Option<PathBuf>,
}

impl Roots {
    /// `worktree` is `/` without version control.
    pub fn new(directory: &Path, worktree: &Path) -> Result<Self, PathError> {
        let real = |path: &Path| path.canonicalize().map_err(|error| PathError::from_io(path, error));
        Ok(Self {
            directory: directory.to_owned(),
            worktree: worktree.to_owned(),
            real_directory: real(directory)?,
            real_worktree: if worktree == Path::new("/") { None } else { Some(real(worktree)?) },
            temporary: None,
        })
    }

    /// The same, with the directory of the system for temporary files.
    #[must_use]
    pub fn with_temporary(self, directory: &Path) -> Self {
        Self { temporary: directory.canonicalize().ok(), ..self }
    }

    /// Whether a path really lies in the directory for temporary files.
    #[must_use]
    pub fn is_temporary(&self, path: &OutsidePath) -> bool {
        self.temporary.as_ref().is_some_and(|temporary| path.0.real.starts_with(temporary))
    }

    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    #[must_use]
    pub fn worktree(&self) -> &Path {
        &self.worktree
    }

    /// Finds out where a path leads, relative to the session directory.
    pub fn locate(&self, text: impl AsRef<OsStr>) -> Result<Located, PathError> {
        let text = text.as_ref();
        if text.is_empty() || text.as_encoded_bytes().contains(&0) {
            return Err(PathError::Malformed);
        }
        let shown = plain(&self.directory.join(text));
        let real = follow(&shown)?;
        if NOT_FILES.iter().any(|tree| real.starts_with(tree)) {
            return Err(PathError::NotAFile { path: shown, kind: FileKind::Other });
        }
        let relative = self.relative(&real);
        let path = WorkPath { shown, real, relative };
        Ok(if self.encloses(&path.real) {
            Located::Inside(path)
        } else {
            Located::Outside(OutsidePath(path))
        })
    }

    /// Invariant I13: inside means inside after all links.
    fn encloses(&self, real: &Path) -> bool {
        real.starts_with(&self.real_directory)
            || self.real_worktree.as_ref().is_some_and(|worktree| real.starts_with(worktree))
    }

    /// As rules and titles name it: from the worktree, by the place it really leads to, so that a
    /// rule about `.env` holds for a link to it too.
    fn relative(&self, real: &Path) -> String {
        let below = match (&self.real_worktree, real.strip_prefix(&self.real_directory)) {
            (Some(worktree), _) if real.starts_with(worktree) => relative(worktree, real),
            (Some(_), Ok(below)) => below.to_owned(),
            (Some(worktree), Err(_)) => relative(worktree, real),
            (None, Ok(below)) => relative(Path::new("/"), &self.directory.join(below)),
            (None, Err(_)) => relative(Path::new("/"), real),
        };
        below.to_string_lossy().into_owned()
    }
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Located {
    Inside(WorkPath),
    Outside(OutsidePath),
}

impl Located {
    /// For callers who were given the path by the user himself, not by a model.
    #[must_use]
    pub fn trusted(self) -> WorkPath {
        match self {
            Self::Inside(path) | Self::Outside(OutsidePath(path)) => path,
        }
    }

    pub fn inside(self) -> Option<WorkPath> {
        match self {
            Self::Inside(path) => Some(path),
            Self::Outside(_) => None,
        }
    }
}

/// A path that leads out of the session's directories and cannot be opened as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsidePath(WorkPath);

impl OutsidePath {
    /// The directory to ask permission for: the target itself, or the one that holds it.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        let real = &self.0.real;
        if real.is_dir() {
            return real.clone();
        }
        real.parent().unwrap_or(real).to_owned()
    }

    #[must_use]
    pub fn shown(&self) -> &Path {
        &self.0.shown
    }

    /// After a person, or a rule, has said yes.
    #[must_use]
    pub fn permitted(self) -> WorkPath {
        self.0
    }
}

/// A path that was checked. Opening it follows no link.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkPath {
    shown: PathBuf,
    real: PathBuf,
    relative: String,
}

impl WorkPath {
    /// The absolute path as it was written, for people and models.
    #[must_use]
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// The absolute path after all links; what is opened.
    #[must_use]
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// From the worktree, `/` between names; `../…` outside.
    #[must_use]
    pub fn relative(&self) -> &str {
        &self.relative
    }

    /// The directory it stands in.
    pub(crate) fn parent(&self) -> Option<Self> {
        let relative = Path::new(&self.relative).parent().unwrap_or(Path::new(""));
        Some(Self {
            shown: self.shown.parent()?.to_owned(),
            real: self.real.parent()?.to_owned(),
            relative: relative.to_string_lossy().into_owned(),
        })
    }

    /// Something below this directory, found by walking it: plain names, no links followed.
    pub(crate) fn below(&self, names: &Path) -> Option<Self> {
        let is_plain = names.components().all(|one| matches!(one, Component::Normal(_)));
        is_plain.then(|| Self {
            shown: self.shown.join(names),
            real: self.real.join(names),
            relative: match self.relative.as_str() {
                "" => names.to_string_lossy().into_owned(),
                above => format!("{above}/{}", names.to_string_lossy()),
            },
        })
    }
}

/// Removes `.` and `..` as written, without asking the disk.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(component),
        }
    }
    plain
}

/// Follows all links of the part that exists; the rest is names to be created.
fn follow(path: &Path) -> Result<PathBuf, PathError> {
    let mut missing: Vec<&OsStr> = Vec::new();
    let mut existing = path;
    loop {
        match existing.canonicalize() {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return Ok(real);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // It is there and yet leads nowhere: creating "it" would create its target.
                if existing.symlink_metadata().is_ok() {
                    return Err(PathError::Link(existing.to_owned()));
                }
            }
            Err(error) => return Err(PathError::from_io(existing, error)),
        }
        let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
            return Err(PathError::Missing(path.to_owned()));
        };
        missing.push(name);
        existing = parent;
    }
}

/// The way from one absolute path to another.
#[must_use]
pub fn relative(from: &Path, to: &Path) -> PathBuf {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().count() - common;
    let mut way = PathBuf::new();
    way.extend(std::iter::repeat_n("..", up));
    way.extend(to.components().skip(common));
    way
}
