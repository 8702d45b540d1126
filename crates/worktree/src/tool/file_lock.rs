//! One writer of a file at a time, also while its formatter runs.
//!
//! A formatter reads a file and writes it back. Whoever wrote in between would lose their change, and
//! whoever looked in between would find a file that nobody has noted. So a change locks the file,
//! writes, formats, notes, and unlocks it.
//!
//! Files belong to the machine and not to a session, so the locks do as well.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Above this many, files that nobody is at are forgotten.
const FILES_KEPT: usize = 256;

static LOCKS: LazyLock<Mutex<HashMap<PathBuf, Weak<Semaphore>>>> = LazyLock::new(Mutex::default);

/// The right to write a file; given back when dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    _place: OwnedSemaphorePermit,
}

/// Waits until nobody else is at the file. `path` is the real one.
pub(crate) async fn lock_file(path: &Path) -> FileLock {
    let place = place_of(path).acquire_owned().await;
    FileLock { _place: place.expect("BUG: a lock is never closed") }
}

fn place_of(path: &Path) -> Arc<Semaphore> {
    let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(place) = locks.get(path).and_then(Weak::upgrade) {
        return place;
    }
    if locks.len() > FILES_KEPT {
        locks.retain(|_, place| place.strong_count() > 0);
    }
    let place = Arc::new(Semaphore::new(1));
    locks.insert(path.to_owned(), Arc::downgrade(&place));
    place
}
