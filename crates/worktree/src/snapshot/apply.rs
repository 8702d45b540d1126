//! Sets files to captured states, one at a time, each only where it is in a state that may be replaced.
//!
//! First everything that will be needed is read, so that a missing object is an error before anything is
//! touched. Then files are removed, and directories that nothing is left in; then files are made. A file
//! appears whole and is on the disk before it has its name. Should one fail (a full disk, a right that is
//! missing), the ones before it are taken back.
//!
//! Doing it again does no harm: what is as it should be already is left as it is. So a process that dies in
//! the middle is followed by one that does the same again, or the opposite.

use super::disk::Keep;
use super::object::Kind;
use super::{SnapshotError, State, TreePath, TreeStore};
use crate::path::{PathError, WorkPath};
use std::collections::BTreeMap;
use std::fmt;

/// What one file should become, and what may be replaced for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub path: TreePath,
    /// The states of which one must be found. Their content is captured, so nothing is lost.
    pub expected: Vec<State>,
    pub to: State,
}

/// What became of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Set,
    /// It was as it should be already.
    AsItWas,
    /// It is something else by now, and was left alone.
    Conflict,
}

/// All files, with what became of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub files: Vec<(TreePath, Outcome)>,
}

impl Done {
    pub fn conflicts(&self) -> impl Iterator<Item = &TreePath> {
        self.files.iter().filter(|(_, outcome)| *outcome == Outcome::Conflict).map(|(path, _)| path)
    }
}

/// Tests let a file fail, or the process die, before it is touched.
#[derive(Clone, Copy)]
pub struct Fault<'a>(pub &'a dyn Fn(&TreePath) -> Result<(), FaultKind>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// As a full disk does.
    Fails,
    /// Nothing more is done, nothing is taken back.
    Dies,
}

impl fmt::Debug for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fault")
    }
}

/// Why a file could not be set.
enum Stop {
    Failed(SnapshotError),
    Died,
}

impl TreeStore {
    /// Sets the files. On an error nothing is changed, or what was changed has been taken back.
    pub fn apply(&self, settings: &[Setting]) -> Result<Done, SnapshotError> {
        self.apply_with(settings, Fault(&|_| Ok(())))
    }

    /// The same, with faults.
    pub fn apply_with(&self, settings: &[Setting], fault: Fault<'_>) -> Result<Done, SnapshotError> {
        self.refuse_missing(settings)?;
        let mut order: Vec<&Setting> = settings.iter().collect();
        // Removals first, the deepest first: a file may stand where a directory has to be, or the other
        // way round.
        order.sort_by_key(|one| (one.to != State::Absent, std::cmp::Reverse(one.path.clone())));
        let mut outcomes: BTreeMap<TreePath, Outcome> = BTreeMap::new();
        let mut undo: Vec<Setting> = Vec::new();
        for one in order {
            match self.set(one, fault) {
                Ok((outcome, found)) => {
                    outcomes.insert(one.path.clone(), outcome);
                    if outcome == Outcome::Set {
                        undo.push(Setting { path: one.path.clone(), expected: vec![one.to], to: found });
                    }
                }
                Err(Stop::Failed(error)) => {
                    self.take_back(undo);
                    return Err(error);
                }
                Err(Stop::Died) => return Err(SnapshotError::Malformed("died, as a test wished".to_owned())),
            }
        }
        Ok(Done { files: outcomes.into_iter().collect() })
    }

    /// Invariant I14: a missing object is an error before any file is touched.
    fn refuse_missing(&self, settings: &[Setting]) -> Result<(), SnapshotError> {
        for one in settings {
            if one.to.is_opaque() {
                return Err(SnapshotError::Malformed(format!(
                    "the content of {} was not captured",
                    one.path
                )));
            }
            if let Some(id) = one.to.content()
                && !self.inner.objects.has(Kind::Blob, &id)?
            {
                return Err(SnapshotError::Missing(id));
            }
        }
        Ok(())
    }

    fn set(&self, one: &Setting, fault: Fault<'_>) -> Result<(Outcome, State), Stop> {
        let found = self.look(&one.path, Keep::Nothing).map_err(Stop::Failed)?;
        if found.state == one.to {
            return Ok((Outcome::AsItWas, found.state));
        }
        if found.state.is_opaque() || !one.expected.contains(&found.state) {
            return Ok((Outcome::Conflict, found.state));
        }
        (fault.0)(&one.path).map_err(|kind| match kind {
            FaultKind::Dies => Stop::Died,
            FaultKind::Fails => {
                let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
                Stop::Failed(SnapshotError::Io { path: one.path.to_path(), source })
            }
        })?;
        let place = self.at(&one.path).map_err(Stop::Failed)?;
        if found.is_directory() && !self.clear(&place)? {
            return Ok((Outcome::Conflict, found.state));
        }
        // A moment before it gets its name: still what was compared.
        let is_due = || {
            let sight = if found.is_directory() { None } else { found.sight };
            Ok(place.sight()? == sight)
        };
        let is_set = self.put(one, &place, is_due);
        match is_set {
            Ok(true) => Ok((Outcome::Set, found.state)),
            Ok(false) => Ok((Outcome::Conflict, found.state)),
            // What stands above it is a file or a link of somebody else.
            Err(SnapshotError::Path(PathError::NotADirectory(_) | PathError::Link(_))) => {
                Ok((Outcome::Conflict, found.state))
            }
            Err(error) => Err(Stop::Failed(error)),
        }
    }

    fn put(
        &self,
        one: &Setting,
        place: &WorkPath,
        is_due: impl FnOnce() -> Result<bool, PathError>,
    ) -> Result<bool, SnapshotError> {
        match one.to {
            State::Absent => {
                if !is_due()? {
                    return Ok(false);
                }
                place.remove()?;
                self.remove_empty_above(&one.path);
                Ok(true)
            }
            State::File { content, executable } => {
                let content = self.content(&content)?;
                Ok(place.put(&content, executable, is_due)?)
            }
            State::Link { content } => Ok(place.put_link(&self.content(&content)?, is_due)?),
            State::Opaque { .. } => Ok(false),
        }
    }

    /// Makes room where a directory stands: only if nothing is in it.
    fn clear(&self, place: &WorkPath) -> Result<bool, Stop> {
        place.remove_empty().map_err(|error| Stop::Failed(error.into()))
    }

    /// Directories that nothing is left in. One that cannot be removed stays; no file is lost by it.
    fn remove_empty_above(&self, path: &TreePath) {
        for above in path.parents() {
            let removed = self.at(&above).ok().and_then(|place| place.remove_empty().ok());
            if removed != Some(true) {
                break;
            }
        }
    }

    fn take_back(&self, mut undo: Vec<Setting>) {
        undo.sort_by_key(|one| (one.to != State::Absent, std::cmp::Reverse(one.path.clone())));
        for one in &undo {
            if self.set(one, Fault(&|_| Ok(()))).is_err() {
                tracing::warn!(
                    "a file could not be taken back; its content is in the store of captured trees"
                );
            }
        }
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stop")
    }
}
