//! What a session has seen of the files: the guards against blind and stale writes.
//!
//! A file that exists is changed only after it was read, and only as it was read. The check, the
//! write and the note of the new state are one step under a lock, so that two calls of one answer
//! cannot lose each other's change.

use super::ToolFailure;
use crate::path::{PathError, Stamp, WorkPath, Written};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Beyond this, the files read first are forgotten and have to be read again.
const FILES_MAX: usize = 10_000;

/// One per session; kept by the engine as long as the session is open.
#[derive(Default)]
pub struct Memory {
    seen: Mutex<Seen>,
    /// Told of a file before it is changed, so that what is in it can be captured.
    witness: Mutex<Option<Arc<Witness>>>,
}

/// Looks at a file that is about to be changed.
pub type Witness = dyn Fn(&WorkPath) + Send + Sync;

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("seen", &self.seen).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Seen {
    files: HashMap<PathBuf, Stamp>,
    order: Vec<PathBuf>,
    instructions: HashSet<PathBuf>,
}

/// How a guarded write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guarded {
    Done(Written),
    /// Somebody else was faster; look again.
    Changed,
}

/// Whether a file may be changed as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    AsRead,
    LookAgain,
}

impl Memory {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        // A panic elsewhere leaves at worst a stamp too few, which asks for another read.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this is told of every file before it is changed; in place of who was told before.
    pub fn set_witness(&self, witness: Arc<Witness>) {
        *self.witness.lock().unwrap_or_else(PoisonError::into_inner) = Some(witness);
    }

    fn show_to_witness(&self, path: &WorkPath) {
        let witness = self.witness.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(witness) = witness {
            witness(path);
        }
    }

    /// The file was shown to the model as it is now.
    pub fn saw(&self, path: &WorkPath, stamp: Stamp) {
        self.seen().note(path.real(), stamp);
    }

    /// The file was seen, and nobody but us has written to it since. `loaded` is the state the
    /// caller has found; when that is no longer the state on the disk, the caller looks again
    /// (another call of the same answer may be writing).
    pub(crate) fn check(&self, path: &WorkPath, loaded: Stamp) -> Result<Checked, ToolFailure> {
        let seen = self.seen();
        if current(path)? != Some(loaded) {
            return Ok(Checked::LookAgain);
        }
        match seen.files.get(path.real()) {
            Some(then) if *then == loaded => Ok(Checked::AsRead),
            Some(_) => Err(ToolFailure::failed(format!(
                "{} has changed since you read it. Read it again before changing it.",
                path.shown().display()
            ))),
            None => Err(ToolFailure::failed(format!(
                "You have not read {} in this session. Read it before changing it.",
                path.shown().display()
            ))),
        }
    }

    /// Writes only if the file is still as `expected` (`None`: still absent).
    pub(crate) fn write(
        &self,
        path: &WorkPath,
        expected: Option<Stamp>,
        bytes: &[u8],
    ) -> Result<Guarded, PathError> {
        let mut seen = self.seen();
        if current(path)? != expected {
            return Ok(Guarded::Changed);
        }
        self.show_to_witness(path);
        let written = path.write(bytes)?;
        seen.note(path.real(), path.stamp()?);
        Ok(Guarded::Done(written))
    }

    pub(crate) fn remove(&self, path: &WorkPath, expected: Option<Stamp>) -> Result<Guarded, PathError> {
        let mut seen = self.seen();
        if current(path)? != expected {
            return Ok(Guarded::Changed);
        }
        self.show_to_witness(path);
        path.remove()?;
        seen.files.remove(path.real());
        Ok(Guarded::Done(Written::Replaced))
    }

    /// An instruction file is shown once in a session; true the first time.
    pub fn claim_instructions(&self, path: &Path) -> bool {
        self.seen().instructions.insert(path.to_owned())
    }
}

impl Seen {
    fn note(&mut self, path: &Path, stamp: Stamp) {
        if self.files.insert(path.to_owned(), stamp).is_some() {
            return;
        }
        self.order.push(path.to_owned());
        if self.order.len() > FILES_MAX {
            for oldest in self.order.drain(..FILES_MAX / 2) {
                self.files.remove(&oldest);
            }
        }
    }
}

/// The state of the file now; `None` when there is none.
pub(crate) fn current(path: &WorkPath) -> Result<Option<Stamp>, PathError> {
    match path.stamp() {
        Ok(stamp) => Ok(Some(stamp)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}
