//! What a session has seen of the files: the guards against blind and stale writes.
//!
//! A file that exists is changed only after it was read, and only as it was read. The check, the
//! write and the note of the new state are one step under a lock, so that two calls of one answer
//! cannot lose each other's change.
//!
//! A call works with a memory of its own ([`Memory::for_call`]), which shares what the session knows and notes what
//! this call has added. Whoever runs the call stores the notes with its result; read back ([`Memory::recall`]), they
//! make the same memory again after a restart, and in a copy of the session.

use super::{Acting, ToolFailure};
use crate::path::{PathError, Stamp, WorkPath, Written};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sturdy_session::json::Map;

/// Beyond this, the files read first are forgotten and have to be read again.
const FILES_MAX: usize = 10_000;

/// Files that one call notes. What a larger patch wrote besides has to be read again after a restart.
const NOTED_MAX: usize = 256;

/// One per session, and one per call that shares it; kept by the engine as long as the session is open.
#[derive(Default)]
pub struct Memory {
    shared: Arc<Shared>,
    /// What this call has seen, and `None` for what it has removed.
    noted: Mutex<BTreeMap<PathBuf, Option<Stamp>>>,
}

#[derive(Default)]
struct Shared {
    seen: Mutex<Seen>,
    /// Told of a file before it is changed, so that what is in it can be captured.
    witness: Mutex<Option<Arc<Witness>>>,
}

/// Looks at a file that is about to be changed.
pub type Witness = dyn Fn(&WorkPath) + Send + Sync;

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("seen", &self.shared.seen).finish_non_exhaustive()
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
        self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same memory for one call, with notes of its own.
    #[must_use]
    pub fn for_call(&self) -> Self {
        Self { shared: self.shared.clone(), noted: Mutex::default() }
    }

    /// What this call has seen of the files, to be stored with its result; nothing if it has seen none.
    #[must_use]
    pub fn noted(&self) -> Option<Value> {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = |(path, stamp): (&PathBuf, &Option<Stamp>)| {
            Some((path.to_str()?.to_owned(), stamp.map_or(Value::Null, |stamp| stamp.to_text().into())))
        };
        let map: Map = noted.iter().filter_map(entry).collect();
        (!map.is_empty()).then_some(Value::Object(map))
    }

    /// Learns what calls have noted, the newest first. What is known already counts more: it is newer still.
    pub fn recall(&self, notes: impl IntoIterator<Item = Value>) {
        let mut told = HashSet::new();
        let mut found = Vec::new();
        for (path, stamp) in notes.into_iter().flat_map(entries_of) {
            if found.len() == FILES_MAX {
                break;
            }
            if !told.insert(path.clone()) {
                continue;
            }
            found.extend(stamp.map(|stamp| (path, stamp)));
        }
        let mut seen = self.seen();
        found.retain(|(path, _)| !seen.files.contains_key(path));
        // The oldest first, as they were seen: those are forgotten first.
        for (path, stamp) in found.into_iter().rev() {
            seen.note(&path, stamp);
        }
    }

    fn note(&self, path: &Path, stamp: Option<Stamp>) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.len() < NOTED_MAX || noted.contains_key(path) {
            noted.insert(path.to_owned(), stamp);
        }
    }

    /// From now on this is told of every file before it is changed; in place of who was told before.
    pub fn set_witness(&self, witness: Arc<Witness>) {
        *self.shared.witness.lock().unwrap_or_else(PoisonError::into_inner) = Some(witness);
    }

    fn show_to_witness(&self, path: &WorkPath) {
        let witness = self.shared.witness.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(witness) = witness {
            witness(path);
        }
    }

    /// The file was shown to the model as it is now.
    pub fn saw(&self, path: &WorkPath, stamp: Stamp) {
        self.seen().note(path.real(), stamp);
        self.note(path.real(), Some(stamp));
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
                "{} has to be read in this session before it is changed. Read it, then try again.",
                path.shown().display()
            ))),
        }
    }

    /// Writes only if the file is still as `expected` (`None`: still absent).
    pub(crate) fn write(
        &self,
        _acting: Acting,
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
        let stamp = path.stamp()?;
        seen.note(path.real(), stamp);
        self.note(path.real(), Some(stamp));
        Ok(Guarded::Done(written))
    }

    pub(crate) fn remove(
        &self,
        _acting: Acting,
        path: &WorkPath,
        expected: Option<Stamp>,
    ) -> Result<Guarded, PathError> {
        let mut seen = self.seen();
        if current(path)? != expected {
            return Ok(Guarded::Changed);
        }
        self.show_to_witness(path);
        path.remove()?;
        seen.files.remove(path.real());
        self.note(path.real(), None);
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

/// The files of one note. What is not of our making says nothing, and the file has to be read again.
fn entries_of(note: Value) -> Vec<(PathBuf, Option<Stamp>)> {
    let Value::Object(map) = note else { return Vec::new() };
    let entry = |(path, stamp): (String, Value)| match stamp {
        Value::Null => Some((PathBuf::from(path), None)),
        Value::String(text) => Some((PathBuf::from(path), Some(Stamp::of_text(&text)?))),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    };
    map.into_iter().take(NOTED_MAX).filter_map(entry).collect()
}

/// The state of the file now; `None` when there is none.
pub(crate) fn current(path: &WorkPath) -> Result<Option<Stamp>, PathError> {
    match path.stamp() {
        Ok(stamp) => Ok(Some(stamp)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}
