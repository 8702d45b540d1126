//! Where checkouts were when they were last opened, so that one that was moved is known again.
//!
//! An entry is the path of a checkout and which directory of the disk its git directory is. Moving a checkout within
//! a file system keeps that; a copy, a clone, and a repository that claims to be another one are other directories.
//! One that is moved to another file system is not known again.
//!
//! The file is of use for nothing else: without it, or when it cannot be read, nothing follows a checkout.

use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

/// More than anybody uses in years. Beyond this, those that were not opened for the longest are removed.
const ENTRIES_MAX: usize = 1_000;

/// A checkout as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CheckoutPlace {
    path: PathBuf,
    device: u64,
    inode: u64,
    /// When the directory was made, in milliseconds, where the system knows: the number of one that was removed is
    /// given to another.
    made: Option<u64>,
}

/// The list in one data directory.
#[derive(Debug)]
pub(crate) struct Checkouts {
    file: PathBuf,
    /// Held by who changes the file.
    writing: Mutex<()>,
}

impl CheckoutPlace {
    /// A checkout and its own git directory.
    pub(crate) fn look(top: &Path, git_dir: &Path) -> io::Result<Self> {
        let found = fs::metadata(git_dir)?;
        let made = found.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
        let made = made.map(|made| made.as_millis() as u64);
        Ok(Self { path: top.canonicalize()?, device: found.dev(), inode: found.ino(), made })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.device, self.inode, self.made) == (other.device, other.inode, other.made)
    }
}

impl Checkouts {
    pub(crate) fn in_directory(data_dir: &Path) -> Self {
        Self { file: data_dir.join("checkouts.json"), writing: Mutex::default() }
    }

    /// Where this checkout was before, if nothing is there any more.
    pub(crate) fn moved_from(&self, place: &CheckoutPlace) -> io::Result<Vec<PathBuf>> {
        let was_here =
            self.all()?.into_iter().filter(|known| known.is_same(place) && known.path != place.path);
        Ok(was_here.map(|known| known.path).filter(|path| is_gone(path)).collect())
    }

    /// It is here now, and what followed it is here too.
    pub(crate) fn note(&self, place: CheckoutPlace) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.all()?;
        if all.contains(&place) {
            return Ok(());
        }
        all.retain(|known| !known.is_same(&place) && known.path != place.path);
        all.push(place);
        all.drain(..all.len().saturating_sub(ENTRIES_MAX));
        self.write(&all)
    }

    fn all(&self) -> io::Result<Vec<CheckoutPlace>> {
        match fs::read(&self.file) {
            Ok(text) => Ok(serde_json::from_slice(&text)?),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(cause) => Err(cause),
        }
    }

    /// Beside the old file, then in its place.
    fn write(&self, all: &[CheckoutPlace]) -> io::Result<()> {
        let beside = self.file.with_extension("tmp");
        let mut file =
            OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&beside)?;
        file.write_all(&serde_json::to_vec_pretty(all)?)?;
        file.sync_all()?;
        fs::rename(&beside, &self.file)?;
        File::open(self.file.parent().unwrap_or(Path::new("/")))?.sync_all()
    }
}

/// Surely: a mount that does not answer is not gone.
fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound)
}
