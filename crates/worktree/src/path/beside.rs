//! A file that is written beside another, to take its place whole.
//!
//! Where the file system can, it has no name while it is written: a process that dies in the middle
//! leaves nothing behind in the user's directory. It gets its name at the end, and a file that was not
//! there before gets no other name than its own.

use rustix::fd::{AsRawFd as _, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};

const RIGHTS: Mode = Mode::from_raw_mode(0o666);

pub(super) struct Beside<'a> {
    parent: &'a OwnedFd,
    file: File,
    /// None: it has none yet.
    name: Option<String>,
}

impl<'a> Beside<'a> {
    pub(super) fn open(parent: &'a OwnedFd) -> Result<Self, Errno> {
        if let Ok(fd) = nameless(parent) {
            return Ok(Self { parent, file: File::from(fd), name: None });
        }
        Self::open_named(parent)
    }

    fn open_named(parent: &'a OwnedFd) -> Result<Self, Errno> {
        let name = new_name();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(parent, &name, flags, RIGHTS)?;
        Ok(Self { parent, file: File::from(fd), name: Some(name) })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Appears under this name, in place of what has it.
    pub(super) fn take_the_place_of(self, name: &OsStr) -> Result<(), Errno> {
        let beside = match &self.name {
            Some(beside) => beside.clone(),
            None => match self.appear_as(name) {
                Err(Errno::EXIST) => {
                    let beside = new_name();
                    self.appear_as(OsStr::new(&beside))?;
                    beside
                }
                done => return done,
            },
        };
        let done = rustix::fs::renameat(self.parent, &beside, self.parent, name);
        if done.is_err() {
            forget(self.parent, &beside);
        }
        done
    }

    /// Away with it.
    pub(super) fn discard(self) {
        if let Some(name) = &self.name {
            forget(self.parent, name);
        }
    }

    fn appear_as(&self, name: &OsStr) -> Result<(), Errno> {
        let us = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        rustix::fs::linkat(CWD, us, self.parent, name, AtFlags::SYMLINK_FOLLOW)
    }
}

#[cfg(target_os = "linux")]
fn nameless(parent: &OwnedFd) -> Result<OwnedFd, Errno> {
    let fd = rustix::fs::openat(parent, ".", OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC, RIGHTS)?;
    // A name is given by way of this directory.
    rustix::fs::access(format!("/proc/self/fd/{}", fd.as_raw_fd()), rustix::fs::Access::EXISTS)?;
    Ok(fd)
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &OwnedFd) -> Result<OwnedFd, Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Something failed already; what is left is all we can tidy.
fn forget(parent: &OwnedFd, name: &str) {
    let _ = rustix::fs::unlinkat(parent, name, AtFlags::empty());
}

/// Differs between the threads of one process.
fn new_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!(".sturdy-{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::path::Path;

    fn directory(path: &Path) -> OwnedFd {
        rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
    }

    fn open(parent: &OwnedFd, is_named: bool) -> Beside<'_> {
        if is_named { Beside::open_named(parent).unwrap() } else { Beside::open(parent).unwrap() }
    }

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            path.read_dir().unwrap().map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_no_name_while_it_is_written_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let parent = directory(dir.path());
        let beside = Beside::open(&parent).unwrap();
        beside.file().write_all(b"half of it").unwrap();
        assert_eq!(names(dir.path()), [""; 0]);
        drop(beside); // As when the process dies: nobody tidies.
        assert_eq!(names(dir.path()), [""; 0]);
    }

    #[test]
    fn a_file_is_replaced_atomically_whether_or_not_it_exists() {
        let dir = tempfile::tempdir().unwrap();
        let parent = directory(dir.path());
        for (is_named, text) in [(false, "first"), (false, "second"), (true, "third")] {
            let beside = open(&parent, is_named);
            beside.file().write_all(text.as_bytes()).unwrap();
            beside.take_the_place_of(OsStr::new("a.txt")).unwrap();
            assert_eq!(std::fs::read_to_string(dir.path().join("a.txt")).unwrap(), text);
            assert_eq!(names(dir.path()), ["a.txt"]);
        }
    }

    #[test]
    fn a_file_that_cannot_be_renamed_into_place_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("taken")).unwrap();
        let parent = directory(dir.path());
        for is_named in [false, true] {
            open(&parent, is_named).take_the_place_of(OsStr::new("taken")).unwrap_err();
            open(&parent, is_named).discard();
            assert_eq!(names(dir.path()), ["taken"]);
        }
    }
}
