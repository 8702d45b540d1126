//! From "undo these steps" to what each file is set to, and back again.
//!
//! The first undo captures what is there: the *snapshot* of the undo. Everything after it is computed from
//! that snapshot and the steps that are undone, and nothing else: going further back, coming forward again,
//! taking the undo back. A file may be replaced when it is as in the snapshot or as the standing undo made it;
//! both are captured, so whatever is replaced can be brought back.

use super::apply::ParentRights;
use super::disk::Keep;
use super::index::around_states;
use super::object::WriteSync;
use super::{
    Conflict, Entry, Plan, Setting, SnapshotError, State, Targets, TreeId, TreePath, TreeStore, Verdict,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::Arc;

/// More files than this are made safe together: many waits for the disk become one.
const SYNCED_ALONE_MAX: usize = if cfg!(target_os = "linux") { 32 } else { usize::MAX };

/// An undo that was done and not taken back.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    pub snapshot: TreeId,
    pub targets: &'a Targets,
}

/// An undo, ready to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    /// The state before it. To be anchored before anything is set.
    pub snapshot: TreeId,
    pub plan: Plan,
    pub settings: Vec<Setting>,
}

impl TreeStore {
    /// Works out an undo of `targets`, in place of the one that stands. Changes nothing in the worktree.
    pub fn prepare_undo(
        &self,
        base: Option<&TreeId>,
        standing: Option<Standing<'_>>,
        targets: &Targets,
        forced: &BTreeSet<TreePath>,
    ) -> Result<Undo, SnapshotError> {
        let old = standing.map(|standing| standing.targets);
        let is_old = |path: &&TreePath| old.is_some_and(|old| old.found(path).is_some());
        // What the standing undo did not touch is captured now; the rest was captured then.
        let new: Vec<&TreePath> = targets.paths().filter(|path| !is_old(path)).collect();
        let hold = if new.len() <= SYNCED_ALONE_MAX { WriteSync::Synced } else { WriteSync::Written };
        let mut now = BTreeMap::new();
        for path in new {
            now.insert(path.clone(), self.look(path, Keep::Content(hold))?.state);
        }
        let base = standing.map(|standing| standing.snapshot).or(base.copied());
        let snapshot = match (base, now.is_empty()) {
            (Some(base), true) => base,
            (base, _) => {
                let directories = self.directories_now(around_states(&now));
                self.inner.objects.graft(base.as_ref(), &now, &directories, hold)?
            }
        };
        if hold == WriteSync::Written {
            self.sync()?;
        }

        let all: BTreeSet<&TreePath> =
            targets.paths().chain(old.into_iter().flat_map(Targets::paths)).collect();
        let before = self.states(&snapshot, all.iter().copied())?;
        let plan = targets.plan(&before, forced);
        let wanted = plan.wanted();
        let there = before.iter().filter(|(_, state)| **state != State::Absent).map(|(path, _)| path);
        let now = self.directories(&snapshot, there)?;
        let mut then = now.clone();
        then.extend(targets.directories().iter().map(|(path, rights)| (path.clone(), *rights)));
        let around = ParentRights { before: Arc::new(now), after: Arc::new(then) };
        let mut settings = Vec::with_capacity(all.len());
        for path in all {
            let to = wanted.get(path).copied().unwrap_or(before[path]);
            let replaceable = [Some(before[path]), old.and_then(|old| old.found(path))];
            push(&mut settings, path, replaceable, to, &around);
        }
        Ok(Undo { snapshot, plan, settings })
    }

    /// Waits until everything that was stored is on the disk.
    fn sync(&self) -> Result<(), SnapshotError> {
        let dir = &self.inner.dir;
        let file = File::open(dir).map_err(SnapshotError::io(dir))?;
        #[cfg(target_os = "linux")]
        rustix::fs::syncfs(&file).map_err(|errno| SnapshotError::io(dir)(errno.into()))?;
        drop(file);
        Ok(())
    }

    /// Works out how the standing undo is taken back.
    pub fn prepare_redo(&self, standing: Standing<'_>) -> Result<Vec<Setting>, SnapshotError> {
        let before = self.states(&standing.snapshot, standing.targets.paths())?;
        let there = before.iter().filter(|(_, state)| **state != State::Absent).map(|(path, _)| path);
        let around = ParentRights {
            before: Arc::new(standing.targets.directories().clone()),
            after: Arc::new(self.directories(&standing.snapshot, there)?),
        };
        let mut settings = Vec::with_capacity(before.len());
        for (path, state) in &before {
            push(&mut settings, path, [Some(*state), standing.targets.found(path)], *state, &around);
        }
        Ok(settings)
    }

    /// What setting these files would do to what is on the disk now. Changes nothing.
    pub fn preview(&self, settings: &[Setting]) -> Result<Plan, SnapshotError> {
        let mut entries = Vec::with_capacity(settings.len());
        for setting in settings {
            let from = self.look(&setting.path, Keep::Nothing)?.state;
            let verdict = match (from, setting.to) {
                (from, to) if from == to => Verdict::Nothing,
                (from, _) if !setting.may_replace(&from) => Verdict::Conflict(Conflict::ChangedSinceUndo),
                (State::Absent, _) => Verdict::Create,
                (_, State::Absent) => Verdict::Delete,
                _ => Verdict::Change,
            };
            entries.push(Entry { path: setting.path.clone(), from, to: setting.to, verdict });
        }
        Ok(Plan { entries })
    }
}

/// What was never captured is neither set nor replaced.
fn push(
    settings: &mut Vec<Setting>,
    path: &TreePath,
    replaceable: [Option<State>; 2],
    to: State,
    around: &ParentRights,
) {
    if to.is_opaque() {
        return;
    }
    let expected = replaceable.into_iter().flatten().filter(|state| !state.is_opaque()).collect();
    settings.push(Setting { path: path.clone(), expected, to, around: around.clone() });
}
