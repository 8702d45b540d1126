//! Opening without following links.
//!
//! On Linux one system call does it (`openat2`); elsewhere, and where a sandbox forbids that
//! call, the path is walked name by name. Every open is non-blocking and is looked at before it
//! is used, so that a pipe or a device can neither hang nor act.

use super::{PathError, WorkPath};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    File,
    Directory,
    Link,
    Pipe,
    Socket,
    Device,
    Other,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Link => "a link",
            Self::Pipe => "a pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Other => "a part of the operating system",
        })
    }
}

impl From<FileType> for FileKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            FileType::Unknown => Self::Other,
        }
    }
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: OsString,
    pub kind: FileKind,
}

/// A file that is open, or a directory that is there.
#[derive(Debug)]
pub enum Opened {
    File(File),
    Directory(OwnedFd),
}

impl WorkPath {
    /// Opens a file for reading, or a directory for listing. Nothing else is opened.
    pub fn open(&self) -> Result<Opened, PathError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = open_plainly(&self.real, flags, Mode::empty());
        let fd = opened.map_err(|errno| self.refused(errno))?;
        match kind_of(&fd).map_err(|errno| self.refused(errno))? {
            FileKind::File => Ok(Opened::File(File::from(fd))),
            FileKind::Directory => Ok(Opened::Directory(fd)),
            kind => Err(PathError::NotAFile { path: self.shown.clone(), kind }),
        }
    }

    pub fn open_file(&self) -> Result<File, PathError> {
        match self.open()? {
            Opened::File(file) => Ok(file),
            Opened::Directory(_) => {
                Err(PathError::NotAFile { path: self.shown.clone(), kind: FileKind::Directory })
            }
        }
    }

    /// What the path names now, without following links; `None` if there is nothing.
    pub fn kind(&self) -> Result<Option<FileKind>, PathError> {
        let Some(name) = self.real.file_name() else { return Ok(Some(FileKind::Directory)) };
        let stat = self
            .open_parent()
            .and_then(|parent| rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW));
        match stat {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode).into())),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(self.refused(errno)),
        }
    }

    /// The names in a directory, sorted, at most `entries_max` and one.
    pub fn list(&self, entries_max: usize) -> Result<Vec<Entry>, PathError> {
        let Opened::Directory(fd) = self.open()? else {
            return Err(PathError::NotADirectory(self.shown.clone()));
        };
        let mut entries = Vec::new();
        for entry in Dir::new(fd).map_err(|errno| self.refused(errno))? {
            let entry = entry.map_err(|errno| self.refused(errno))?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            entries.push(Entry { name: name.to_owned(), kind: entry.file_type().into() });
            if entries.len() > entries_max {
                break;
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    pub(super) fn open_parent(&self) -> Result<OwnedFd, Errno> {
        let parent = self.real.parent().unwrap_or(Path::new("/"));
        open_plainly(parent, DIRECTORY, Mode::empty())
    }

    pub(super) fn refused(&self, errno: Errno) -> PathError {
        PathError::from_io(&self.shown, errno.into())
    }
}

/// For walking through: on Linux without the right to read what is in it.
#[cfg(target_os = "linux")]
pub(super) const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
#[cfg(not(target_os = "linux"))]
pub(super) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

pub(super) fn kind_of(fd: &OwnedFd) -> Result<FileKind, Errno> {
    rustix::fs::fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode).into())
}

/// Opens an absolute path in which no name may be a link.
pub(super) fn open_plainly(path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    if let Some(answer) = one_call::open(path, flags, mode) {
        return answer;
    }
    let mut names = path.components().filter(|one| matches!(one, Component::Normal(_))).peekable();
    let mut here = rustix::fs::openat(CWD, "/", DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    while let Some(name) = names.next() {
        let last = names.peek().is_none();
        let wanted = if last { flags } else { DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC };
        let mode = if last { mode } else { Mode::empty() };
        here = rustix::fs::openat(&here, name.as_os_str(), wanted, mode)?;
        // With O_PATH alone, Linux opens a link itself instead of refusing it.
        if kind_of(&here)? == FileKind::Link {
            return Err(Errno::LOOP);
        }
    }
    Ok(here)
}

#[cfg(target_os = "linux")]
mod one_call {
    use rustix::fd::OwnedFd;
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
    use rustix::io::Errno;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Old kernels and some sandboxes do not have the call; asked once.
    static IS_MISSING: AtomicBool = AtomicBool::new(false);

    pub(super) fn open(path: &Path, flags: OFlags, mode: Mode) -> Option<Result<OwnedFd, Errno>> {
        if IS_MISSING.load(Ordering::Relaxed) {
            return None;
        }
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(CWD, path, flags, mode, resolve) {
            Err(Errno::NOSYS | Errno::PERM) => {
                IS_MISSING.store(true, Ordering::Relaxed);
                None
            }
            answer => Some(answer),
        }
    }
}
