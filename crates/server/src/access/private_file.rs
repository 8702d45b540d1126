//! A small file beside the store that only its owner may read.
//!
//! It is written beside and renamed, and both are on disk before anybody is told: a crash leaves the old file or the
//! new one. Disks hang, so nothing here is called on a thread that serves requests (`App::on_a_thread`).

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(super) struct PrivateFile {
    path: PathBuf,
    /// One change at a time: what is written last is what was decided last.
    changing: Mutex<()>,
}

/// The right to change a file, until it is dropped.
pub(super) struct Changing<'f> {
    path: &'f Path,
    _turn: MutexGuard<'f, ()>,
}

impl PrivateFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, changing: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until nobody else changes the file.
    pub(super) fn change(&self) -> Changing<'_> {
        let turn = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        Changing { path: &self.path, _turn: turn }
    }
}

impl Changing<'_> {
    pub(super) fn write(&self, text: &[u8]) -> io::Result<()> {
        let beside = self.path.with_extension("new");
        let mut file =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&beside, self.path)?;
        let directory = self.path.parent().unwrap_or(Path::new("."));
        fs::File::open(directory)?.sync_all()
    }
}
