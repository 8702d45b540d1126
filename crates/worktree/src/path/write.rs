//! Creating, replacing and removing files, without following links.
//!
//! A file is replaced whole: the new text is written beside it and renamed over it, so that a
//! crash leaves the old file or the new one, never half of each. A file with several names is
//! written in place, because a rename would part them.
//!
//! A write waits until the file and its name are on the disk: the log says *done* of it, and a power cut must not
//! take that back.

use super::beside::Beside;
use super::open::{DIRECTORY, kind_of, open_plainly};
use super::{DirectoryRights, FileKind, PathError, WorkPath};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

/// To do something with a directory itself.
const READ_DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Enough of a file's state to notice that somebody wrote to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            inode: stat.st_ino,
            size: stat.st_size as u64,
            modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
        }
    }

    /// As it is stored: inode, size and time of the last change.
    pub(crate) fn to_text(self) -> String {
        let Self { inode, size, modified: (seconds, nanoseconds) } = self;
        format!("{inode}.{size}.{seconds}.{nanoseconds}")
    }

    /// None for what [`Stamp::to_text`] did not make.
    pub(crate) fn of_text(text: &str) -> Option<Self> {
        let mut numbers = text.split('.');
        let inode = numbers.next()?.parse().ok()?;
        let size = numbers.next()?.parse().ok()?;
        let seconds = numbers.next()?.parse().ok()?;
        let nanoseconds = numbers.next()?.parse().ok()?;
        numbers.next().is_none().then_some(Self { inode, size, modified: (seconds, nanoseconds) })
    }
}

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    Created,
    Replaced,
}

impl WorkPath {
    /// The state of the file, if it is one.
    pub fn stamp(&self) -> Result<Stamp, PathError> {
        let fd = open_plainly(&self.real, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty());
        let stat = fd.and_then(|fd| rustix::fs::fstat(&fd));
        stat.map(|stat| Stamp::of(&stat)).map_err(|errno| self.refused(errno))
    }

    /// Writes the whole file, with the directories above it.
    pub fn write(&self, bytes: &[u8]) -> Result<Written, PathError> {
        let before = self.kind()?;
        match before {
            None => self.make_parents()?,
            Some(FileKind::File) => {}
            Some(kind) => return Err(PathError::NotAFile { path: self.shown.clone(), kind }),
        }
        let parent = self.open_parent().map_err(|errno| self.refused(errno))?;
        self.replace(&parent, bytes).map_err(|errno| self.refused(errno))?;
        sync(&parent);
        Ok(if before.is_some() { Written::Replaced } else { Written::Created })
    }

    /// Removes a file. Directories are not removed.
    pub fn remove(&self) -> Result<(), PathError> {
        let name = self.name().map_err(|errno| self.refused(errno))?;
        let parent = self.open_parent().map_err(|errno| self.refused(errno))?;
        rustix::fs::unlinkat(&parent, name, AtFlags::empty()).map_err(|errno| self.refused(errno))?;
        sync(&parent);
        Ok(())
    }

    /// Waits until what another program wrote into the file is on the disk.
    pub(crate) fn sync(&self) -> Result<(), PathError> {
        let synced = self.open_file()?.sync_all();
        synced.map_err(|error| self.refused(Errno::from_io_error(&error).unwrap_or(Errno::IO)))
    }

    fn name(&self) -> Result<&OsStr, Errno> {
        self.real.file_name().ok_or(Errno::ISDIR)
    }

    fn replace(&self, parent: &OwnedFd, bytes: &[u8]) -> Result<(), Errno> {
        let name = self.name()?;
        let before = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(errno),
        };
        if let Some(stat) = &before
            && stat.st_nlink > 1
        {
            return write_in_place(parent, name, bytes);
        }
        let beside = match Beside::open(parent) {
            Ok(beside) => beside,
            // A directory we may not add to can still hold a file we may write.
            Err(Errno::ACCESS | Errno::PERM) if before.is_some() => {
                return write_in_place(parent, name, bytes);
            }
            Err(errno) => return Err(errno),
        };
        match fill(beside.file(), bytes, before.as_ref()) {
            Ok(()) => beside.take_the_place_of(name),
            Err(errno) => {
                beside.discard();
                Err(errno)
            }
        }
    }

    fn make_parents(&self) -> Result<(), PathError> {
        let parent = self.real.parent().unwrap_or(Path::new("/"));
        let made = match open_plainly(parent, DIRECTORY, Mode::empty()) {
            Ok(_) => Ok(()),
            Err(Errno::NOENT) => make_directories(parent, |_| None),
            Err(errno) => Err(errno),
        };
        made.map_err(|errno| self.refused(errno))
    }
}

/// Makes a directory and those above it, as far as they are not there. Those that are made get these rights, or what
/// the umask gives.
pub(super) fn make_directories(
    path: &Path,
    rights: impl Fn(&Path) -> Option<DirectoryRights>,
) -> Result<(), Errno> {
    let mut here = open_plainly(Path::new("/"), DIRECTORY, Mode::empty())?;
    let mut place = PathBuf::from("/");
    for name in path.components().filter(|one| matches!(one, Component::Normal(_))) {
        place.push(name);
        let exact = rights(&place);
        // Nobody looks into it before it has its own rights.
        let mode = if exact.is_some() { 0o700 } else { 0o777 };
        let is_made = match rustix::fs::mkdirat(&here, name.as_os_str(), Mode::from_raw_mode(mode)) {
            Ok(()) => {
                sync(&here);
                true
            }
            Err(Errno::EXIST) => false,
            // Not ours to write in, but perhaps there and ours to pass through.
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => false,
            Err(errno) => return Err(errno),
        };
        let flags = DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        here = rustix::fs::openat(&here, name.as_os_str(), flags, Mode::empty())?;
        if kind_of(&here)? == FileKind::Link {
            return Err(Errno::LOOP);
        }
        if let (true, Some(exact)) = (is_made, exact) {
            let made = rustix::fs::openat(&here, ".", READ_DIRECTORY, Mode::empty())?;
            rustix::fs::fchmod(&made, Mode::from_raw_mode(exact.bits_while_filled()))?;
        }
    }
    Ok(())
}

/// Writes the text and gives it the rights of the file it stands for.
fn fill(made: &File, bytes: &[u8], before: Option<&Stat>) -> Result<(), Errno> {
    if let Some(stat) = before {
        // Owner first: giving a file away drops its set-id bits.
        let user = rustix::fs::Uid::from_raw(stat.st_uid);
        let group = rustix::fs::Gid::from_raw(stat.st_gid);
        let _ = rustix::fs::fchown(made.as_fd(), Some(user), Some(group));
        rustix::fs::fchmod(made.as_fd(), Mode::from_raw_mode(stat.st_mode & 0o7777))?;
    }
    write_all(made, bytes)
}

fn write_in_place(parent: &OwnedFd, name: &OsStr, bytes: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    write_all(&File::from(fd), bytes)
}

fn write_all(mut file: &File, bytes: &[u8]) -> Result<(), Errno> {
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// The names in this directory are on the disk too. A file system that cannot say so has done what it can.
pub(super) fn sync(directory: &OwnedFd) {
    if let Ok(here) = rustix::fs::openat(directory, ".", READ_DIRECTORY, Mode::empty()) {
        let _ = File::from(here).sync_all();
    }
}
