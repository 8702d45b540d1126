//! Who has a store in hand: everybody who has it open, or the one collection that removes what nothing keeps.
//!
//! Whoever opens a store holds a shared lock on a file in it for as long as it is open. A collection of a store that
//! nobody has open needs the lock for itself: otherwise what somebody has just stored, and is about to anchor, would
//! go. A prompt must not wait for a collection, so whoever finds the lock taken says that the store is wanted, and the
//! collection ends before the next object.

use super::SnapshotError;
use super::setup::remove;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const LOCK: &str = "sturdy-use";
const WANTED: &str = "sturdy-wanted";

/// A collection looks this often whether the store is wanted, and whoever wants it whether it is free.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A collection gives way within moments. One that does not is a process that was stopped.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Keeps the store from being collected as one that nobody has open.
#[derive(Debug)]
pub(super) struct InUse {
    _lock: File,
}

/// Exclusive use: nobody else has the store open, and nobody can open it until this is dropped.
#[derive(Debug)]
pub(super) struct ExclusiveUse {
    dir: PathBuf,
    _lock: File,
}

impl InUse {
    pub(super) fn take(dir: &Path) -> Result<Self, SnapshotError> {
        let lock = lock_file(dir)?;
        let begun = Instant::now();
        loop {
            match lock.try_lock_shared() {
                Ok(()) => return Ok(Self { _lock: lock }),
                Err(TryLockError::WouldBlock) if begun.elapsed() > WAIT_MAX => {
                    return Err(SnapshotError::Busy(dir.to_owned()));
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => return Err(SnapshotError::io(dir)(source)),
            }
            // Said again each time: a collection that has just begun removes what was said to the one before.
            std::fs::write(dir.join(WANTED), b"").map_err(SnapshotError::io(dir))?;
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl ExclusiveUse {
    /// None: somebody has the store open.
    pub(super) fn take(dir: &Path) -> Result<Option<Self>, SnapshotError> {
        let lock = lock_file(dir)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(source)) => return Err(SnapshotError::io(dir)(source)),
        }
        remove(&dir.join(WANTED)).map_err(SnapshotError::io(dir))?;
        Ok(Some(Self { dir: dir.to_owned(), _lock: lock }))
    }

    /// Somebody waits to open the store.
    pub(super) fn is_wanted(&self) -> bool {
        self.dir.join(WANTED).exists()
    }

    pub(super) async fn wanted(&self) {
        while !self.is_wanted() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

fn lock_file(dir: &Path) -> Result<File, SnapshotError> {
    let open = || -> io::Result<File> {
        File::options().read(true).write(true).create(true).truncate(false).open(dir.join(LOCK))
    };
    open().map_err(SnapshotError::io(dir))
}
