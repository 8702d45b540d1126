//! Sets files to captured states, one at a time, each only where it is in a state that may be replaced.
//!
//! First everything that will be needed is read, so that a missing object is an error before anything is
//! touched. Then files are removed, and directories that nothing is left in; then files are made, several at a
//! time, because each waits for the disk. A file appears whole and is on the disk before it has its name. Should one
//! fail (a full disk, a right that is missing), the others are taken back.
//!
//! Doing it again does no harm: what is as it should be already is left as it is. So a process that dies in
//! the middle is followed by one that does the same again, or the opposite.

use super::disk::Keep;
use super::object::Kind;
use super::{ObjectId, SnapshotError, State, TreePath, TreeStore};
use crate::path::{DirectoryRights, PathError, WorkPath};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Files that are written at the same time.
const AT_ONCE: usize = 8;

/// Files whose content is read together, where it is packed.
const AHEAD: usize = 512;

/// Content that was read before it is needed.
type Ahead = HashMap<ObjectId, Vec<u8>>;

/// What one file should become, and what may be replaced for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub path: TreePath,
    /// The states of which one must be found. Their content is captured, so nothing is lost.
    pub expected: Vec<State>,
    pub to: State,
    pub(super) around: ParentRights,
}

/// Access rights of the parent directories of files that are written, where a umask would give them others. New directories get
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ParentRights {
    pub(super) before: Arc<BTreeMap<TreePath, DirectoryRights>>,
    pub(super) after: Arc<BTreeMap<TreePath, DirectoryRights>>,
}

impl ParentRights {
    fn taken_back(&self) -> Self {
        Self { before: self.after.clone(), after: self.before.clone() }
    }
}

impl Setting {
    /// Whoever changed nothing but who may read a file has put no work into it that could be lost.
    pub(super) fn may_replace(&self, found: &State) -> bool {
        self.expected.iter().any(|expected| expected.is_like(found))
    }
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
pub struct Fault<'a>(pub &'a (dyn Fn(&TreePath) -> Result<(), FaultKind> + Sync));

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

/// What was set so far, and how it is taken back.
#[derive(Default)]
struct Progress {
    outcomes: BTreeMap<TreePath, Outcome>,
    undo: Vec<Setting>,
}

impl Progress {
    fn note(&mut self, one: &Setting, (outcome, found): (Outcome, State)) {
        self.outcomes.insert(one.path.clone(), outcome);
        if outcome == Outcome::Set {
            let around = one.around.taken_back();
            self.undo.push(Setting { path: one.path.clone(), expected: vec![one.to], to: found, around });
        }
    }
}

/// Removals first, the deepest first: a file may stand where a directory has to be, or the other way round.
fn in_order(settings: &[Setting]) -> (Vec<&Setting>, Vec<&Setting>) {
    let (mut removals, mut rest): (Vec<&Setting>, Vec<&Setting>) =
        settings.iter().partition(|one| one.to == State::Absent);
    removals.sort_by(|a, b| b.path.cmp(&a.path));
    rest.sort_by(|a, b| b.path.cmp(&a.path));
    (removals, rest)
}

/// Why a file could not be set.
enum Stop {
    Failed(SnapshotError),
    Died,
}

impl TreeStore {
    /// Sets the files. On an error nothing is changed, or what was changed has been taken back; what could not be is
    /// named.
    pub fn apply(&self, settings: &[Setting]) -> Result<Done, SnapshotError> {
        self.apply_with(settings, Fault(&|_| Ok(())))
    }

    /// The same, with faults.
    pub fn apply_with(&self, settings: &[Setting], fault: Fault<'_>) -> Result<Done, SnapshotError> {
        self.refuse_missing(settings)?;
        let (removals, rest) = in_order(settings);
        let mut set = Progress::default();
        let removed = self.set_all(&removals, fault, &mut set);
        let all = removed
            .and_then(|()| rest.chunks(AHEAD).try_for_each(|files| self.set_at_once(files, fault, &mut set)));
        if all.is_ok() {
            self.close_directories(settings);
        }
        match all {
            Ok(()) => Ok(Done { files: set.outcomes.into_iter().collect() }),
            Err(Stop::Failed(cause)) => match self.take_back(set.undo, fault) {
                left if left.is_empty() => Err(cause),
                files => Err(SnapshotError::HalfDone { cause: Box::new(cause), files }),
            },
            Err(Stop::Died) => Err(SnapshotError::Malformed("died, as a test wished".to_owned())),
        }
    }

    fn set_all(&self, order: &[&Setting], fault: Fault<'_>, set: &mut Progress) -> Result<(), Stop> {
        for one in order {
            let outcome = self.set(one, &Ahead::new(), fault)?;
            set.note(one, outcome);
        }
        Ok(())
    }

    /// No two of these have to do with each other: what has to make room is gone.
    fn set_at_once(&self, files: &[&Setting], fault: Fault<'_>, set: &mut Progress) -> Result<(), Stop> {
        let ids: Vec<ObjectId> = files.iter().filter_map(|one| one.to.content()).collect();
        let ahead = self.inner.objects.read_ahead(&ids).map_err(Stop::Failed)?;
        let next = AtomicUsize::new(0);
        let shared = Mutex::new((set, Ok(())));
        let work = || {
            // Once one has failed, none is begun.
            while let Some(one) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                let outcome = self.set(one, &ahead, fault);
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                match outcome {
                    Ok(outcome) => shared.0.note(one, outcome),
                    Err(stop) => {
                        next.store(files.len(), Ordering::Relaxed);
                        shared.1 = Err(stop);
                    }
                }
            }
        };
        // Objects that are packed are read through git, which needs the runtime of the caller.
        let runtime = tokio::runtime::Handle::try_current().ok();
        std::thread::scope(|scope| {
            for _ in 1..AT_ONCE.min(files.len()) {
                let runtime = runtime.clone();
                let work = &work;
                scope.spawn(move || {
                    let _inside = runtime.as_ref().map(tokio::runtime::Handle::enter);
                    work();
                });
            }
            work();
        });
        shared.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }

    /// Invariant I14: a missing object is an error before any file is touched.
    fn refuse_missing(&self, settings: &[Setting]) -> Result<(), SnapshotError> {
        if let Some(one) = settings.iter().find(|one| one.to.is_opaque()) {
            let what = format!("the content of {} was not captured", one.path);
            return Err(SnapshotError::Malformed(what));
        }
        let ids: Vec<ObjectId> = settings.iter().filter_map(|one| one.to.content()).collect();
        match self.inner.objects.missing(Kind::Blob, &ids)? {
            Some(id) => Err(SnapshotError::Missing(id)),
            None => Ok(()),
        }
    }

    fn set(&self, one: &Setting, ahead: &Ahead, fault: Fault<'_>) -> Result<(Outcome, State), Stop> {
        let found = self.look(&one.path, Keep::Nothing).map_err(Stop::Failed)?;
        if found.state == one.to {
            return Ok((Outcome::AsItWas, found.state));
        }
        if found.state.is_opaque() || !one.may_replace(&found.state) {
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
        if found.is_directory() && one.to == State::Absent {
            self.remove_empty_above(&one.path);
            return Ok((Outcome::Set, found.state));
        }
        // A moment before it gets its name: still what was compared.
        let is_due = || {
            let sight = if found.is_directory() { None } else { found.sight };
            Ok(place.sight()? == sight)
        };
        let is_set = self.put(one, ahead, &place, is_due);
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
        ahead: &Ahead,
        place: &WorkPath,
        is_due: impl FnOnce() -> Result<bool, PathError>,
    ) -> Result<bool, SnapshotError> {
        let rights_there = |place: &Path| one.around.after.get(&self.path_of(place)?).copied();
        if !one.around.after.is_empty() && one.to.content().is_some() {
            place.make_above(rights_there)?;
        }
        match one.to {
            State::Absent => {
                if !is_due()? {
                    return Ok(false);
                }
                place.remove()?;
                self.remove_empty_above(&one.path);
                Ok(true)
            }
            State::EmptyDirectory => {
                if !is_due()? {
                    return Ok(false);
                }
                if place.sight()?.is_some() {
                    place.remove()?;
                }
                place.make_directory(rights_there)?;
                Ok(true)
            }
            State::File { content, rights } => match ahead.get(&content) {
                Some(content) => Ok(place.put(content, rights, is_due)?),
                None => Ok(place.put(&self.content(&content)?, rights, is_due)?),
            },
            State::Link { content } => Ok(place.put_link(&self.content(&content)?, is_due)?),
            State::Opaque { .. } => Ok(false),
        }
    }

    /// Directories in which their owner may not write were open to us as long as they were filled. One that cannot be
    /// closed stays as it is; no file is lost by it.
    fn close_directories(&self, settings: &[Setting]) {
        let mut last: Option<&ParentRights> = None;
        for one in settings {
            // Nearly always all of them have the same.
            if last.is_some_and(|last| Arc::ptr_eq(&last.after, &one.around.after)) {
                continue;
            }
            last = Some(&one.around);
            for (path, rights) in one.around.after.iter().rev().filter(|(_, rights)| rights.is_closed()) {
                let closed = self.at(path).and_then(|place| Ok(place.close_directory(*rights)?));
                if let Err(cause) = closed {
                    tracing::debug!(%cause, "a directory that an undo has filled keeps the rights it had meanwhile");
                }
            }
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

    /// Returns the files for which it failed. Their content is in the store.
    fn take_back(&self, mut undo: Vec<Setting>, fault: Fault<'_>) -> Vec<TreePath> {
        undo.sort_by_key(|one| (one.to != State::Absent, std::cmp::Reverse(one.path.clone())));
        let left = undo.iter().filter(|one| self.set(one, &Ahead::new(), fault).is_err());
        let left = left.map(|one| one.path.clone()).collect();
        self.close_directories(&undo);
        left
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stop")
    }
}
