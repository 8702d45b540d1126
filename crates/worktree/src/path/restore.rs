//! Putting a file back as it was: content, rights, links. Follows no link on the way.
//!
//! A file appears whole under its name, and is on the disk before it does. Unlike `write.rs`, a file with
//! several names is parted from the others: half of an old text in place would be worse.

use super::beside::Beside;
use super::rights::{DirectoryRights, Rights};
use super::write::{Stamp, make_directories, sync};
use super::{FileKind, Opened, PathError, WorkPath};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a path named when it was last looked at: enough to notice that it was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    pub(crate) kind: FileKind,
    pub(crate) stamp: Stamp,
    pub(crate) bytes: u64,
    pub(crate) rights: Rights,
}

impl WorkPath {
    /// What the path names now, without following links; `None` if there is nothing.
    pub(crate) fn sight(&self) -> Result<Option<FileIdentity>, PathError> {
        let name = self.last_name()?;
        let parent = match self.open_parent() {
            Ok(parent) => parent,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(self.refused(errno)),
        };
        match rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileIdentity {
                kind: rustix::fs::FileType::from_raw_mode(stat.st_mode).into(),
                stamp: Stamp::of(&stat),
                bytes: stat.st_size as u64,
                rights: Rights::of_mode(stat.st_mode),
            })),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(self.refused(errno)),
        }
    }

    /// The target of a link, unresolved.
    pub(crate) fn link_text(&self) -> Result<Vec<u8>, PathError> {
        let name = self.last_name()?;
        let read = self.open_parent().and_then(|parent| rustix::fs::readlinkat(&parent, name, Vec::new()));
        read.map(std::ffi::CString::into_bytes).map_err(|errno| self.refused(errno))
    }

    /// Makes the whole file, or takes the place of the one that is there. `is_due` is asked last, when
    /// nothing is left to do but to give the new file its name.
    pub(crate) fn put(
        &self,
        bytes: &[u8],
        rights: Rights,
        is_due: impl FnOnce() -> Result<bool, PathError>,
    ) -> Result<bool, PathError> {
        let name = self.last_name()?;
        let parent = self.parent_to_write_in()?;
        let beside = Beside::open(&parent).map_err(|errno| self.refused(errno))?;
        if let Err(errno) = fill(&parent, name, beside.file(), bytes, rights) {
            beside.discard();
            return Err(self.refused(errno));
        }
        match is_due() {
            Ok(true) => {}
            Ok(false) => {
                beside.discard();
                return Ok(false);
            }
            Err(error) => {
                beside.discard();
                return Err(error);
            }
        }
        beside.take_the_place_of(name).map_err(|errno| self.refused(errno))?;
        sync(&parent);
        Ok(true)
    }

    /// Makes a link, or takes the place of what is there.
    pub(crate) fn put_link(
        &self,
        text: &[u8],
        is_due: impl FnOnce() -> Result<bool, PathError>,
    ) -> Result<bool, PathError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = self.last_name()?;
        let parent = self.parent_to_write_in()?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let beside = OsString::from(format!(".sturdy-{}-link-{number}.tmp", std::process::id()));
        let made = rustix::fs::symlinkat(OsStr::from_bytes(text), &parent, &beside);
        made.map_err(|errno| self.refused(errno))?;
        let forget = || rustix::fs::unlinkat(&parent, &beside, AtFlags::empty());
        match is_due() {
            Ok(true) => {}
            Ok(false) => {
                let _ = forget();
                return Ok(false);
            }
            Err(error) => {
                let _ = forget();
                return Err(error);
            }
        }
        if let Err(errno) = rustix::fs::renameat(&parent, &beside, &parent, name) {
            let _ = forget();
            return Err(self.refused(errno));
        }
        sync(&parent);
        Ok(true)
    }

    /// Removes a directory if nothing is in it. False when something is, or it is no directory.
    pub(crate) fn remove_empty(&self) -> Result<bool, PathError> {
        let name = self.last_name()?;
        let removed =
            self.open_parent().and_then(|parent| rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR));
        match removed {
            Ok(()) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::NOENT | Errno::LOOP) => Ok(false),
            Err(errno) => Err(self.refused(errno)),
        }
    }

    /// Makes a directory, with those above it. The rights are asked for by path.
    pub(crate) fn make_directory(
        &self,
        rights: impl Fn(&Path) -> Option<DirectoryRights>,
    ) -> Result<(), PathError> {
        make_directories(&self.real, rights).map_err(|errno| self.refused(errno))
    }

    /// Makes the directories above, as far as they are missing.
    pub(crate) fn make_above(
        &self,
        rights: impl Fn(&Path) -> Option<DirectoryRights>,
    ) -> Result<(), PathError> {
        match self.open_parent() {
            Err(Errno::NOENT) => {
                let parent = self.real.parent().unwrap_or(Path::new("/"));
                make_directories(parent, rights).map_err(|errno| self.refused(errno))
            }
            Ok(_) => Ok(()),
            Err(errno) => Err(self.refused(errno)),
        }
    }

    /// Takes from the owner of a directory what was only needed to fill it. Other rights than those are somebody
    /// else's doing, and stay.
    pub(crate) fn close_directory(&self, rights: DirectoryRights) -> Result<(), PathError> {
        let Opened::Directory(here) = self.open()? else { return Ok(()) };
        let closed = rustix::fs::fstat(&here).and_then(|found| {
            if found.st_mode & 0o777 != rights.bits_while_filled() {
                return Ok(());
            }
            rustix::fs::fchmod(&here, Mode::from_raw_mode(rights.bits()))
        });
        closed.map_err(|errno| self.refused(errno))
    }

    fn last_name(&self) -> Result<&OsStr, PathError> {
        self.real.file_name().ok_or(PathError::Malformed)
    }

    fn parent_to_write_in(&self) -> Result<OwnedFd, PathError> {
        match self.open_parent() {
            Ok(parent) => Ok(parent),
            Err(Errno::NOENT) => {
                let parent = self.real.parent().unwrap_or(Path::new("/"));
                let made = make_directories(parent, |_| None).and_then(|()| self.open_parent());
                made.map_err(|errno| self.refused(errno))
            }
            Err(errno) => Err(self.refused(errno)),
        }
    }
}

/// Writes the content and waits until it is on the disk. The rights are given first, so that nobody reads what is
/// private meanwhile.
fn fill(parent: &OwnedFd, name: &OsStr, made: &File, bytes: &[u8], rights: Rights) -> Result<(), Errno> {
    let found = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok();
    let found = found
        .filter(|stat| FileKind::from(rustix::fs::FileType::from_raw_mode(stat.st_mode)) == FileKind::File);
    let by_umask = rustix::fs::fstat(made)?.st_mode;
    let mode = rights.mode(found.as_ref().map(|stat| stat.st_mode), by_umask);
    if let Some(stat) = &found {
        let user = rustix::fs::Uid::from_raw(stat.st_uid);
        let group = rustix::fs::Gid::from_raw(stat.st_gid);
        // Only the owner of the machine may give files away; ours stay ours.
        let _ = rustix::fs::fchown(made.as_fd(), Some(user), Some(group));
    }
    rustix::fs::fchmod(made.as_fd(), Mode::from_raw_mode(mode))?;
    let mut file = made;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}
