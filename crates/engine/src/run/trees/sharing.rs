//! Commands that run at the same time in one worktree: whose a change is that several of them saw.
//!
//! The scans before and after a command say what has changed meanwhile, and not who changed it. When commands of sessions
//! that do not work for each other run at the same time, a change by one of them shows in both. Such a file is *shared*:
//! both sessions name it, and an undo leaves it alone until somebody asks for it by its name.
//!
//! A change shows in both when the one that ended first left the file in another state than that in which the other
//! found it.

use super::{Worktree, lock};
use crate::records::{self, readable};
use crate::run::Sessions;
use std::collections::{BTreeMap, BTreeSet};
use sturdy_session::id::SessionId;
use sturdy_worktree::snapshot::{Changed, SnapshotError, State, TreeId, TreePath};

/// Sub-agents are nested a few deep; a ring of parents would be damage.
const ABOVE_MAX: usize = 64;

/// Commands of one worktree that are remembered.
const COMMANDS_MAX: usize = 1_024;

/// The commands that act in one worktree, and those that ended while one of these acted.
#[derive(Debug, Default)]
pub(super) struct Commands {
    known: Vec<Command>,
    /// Counts beginnings and ends.
    clock: u64,
}

#[derive(Debug)]
struct Command {
    began: u64,
    /// Its session, and those that this one works for.
    who: Vec<SessionId>,
    before: TreeId,
    ended: Option<Ended>,
}

#[derive(Debug)]
struct Ended {
    at: u64,
    /// What it claims, as it left it.
    left: BTreeMap<TreePath, State>,
}

/// What another command that acted at the same time has to do with a change.
enum Rival {
    /// It still acts; this is what it found.
    Acts(TreeId),
    /// It left these files so.
    Left(BTreeMap<TreePath, State>),
}

impl Commands {
    fn begin(&mut self, who: &[SessionId], before: TreeId) -> u64 {
        self.clock += 1;
        if self.known.len() >= COMMANDS_MAX {
            self.known.remove(0);
        }
        self.known.push(Command { began: self.clock, who: who.to_vec(), before, ended: None });
        self.clock
    }

    fn end(&mut self, began: u64, changed: &[Changed]) -> Vec<Rival> {
        self.clock += 1;
        let Some(at) = self.known.iter().position(|one| one.began == began) else { return Vec::new() };
        let left = changed.iter().map(|one| (one.path.clone(), one.after)).collect();
        self.known[at].ended = Some(Ended { at: self.clock, left });
        let mine = &self.known[at];
        let rivals = self.known.iter().filter(|other| !are_related(&mine.who, &other.who));
        let rivals = rivals.filter_map(|other| match &other.ended {
            None => Some(Rival::Acts(other.before)),
            Some(ended) if ended.at > began => {
                let same = changed.iter().filter_map(|one| ended.left.get_key_value(&one.path));
                Some(Rival::Left(same.map(|(path, state)| (path.clone(), *state)).collect()))
            }
            Some(_) => None,
        });
        let rivals = rivals.collect();
        self.forget_past();
        rivals
    }

    fn forget(&mut self, began: u64) {
        self.known.retain(|one| one.began != began || one.ended.is_some());
        self.forget_past();
    }

    /// Forgets calls that ended before all running ones began: they can no longer overlap with one.
    fn forget_past(&mut self) {
        let acting = self.known.iter().filter(|one| one.ended.is_none()).map(|one| one.began);
        let oldest = acting.min().unwrap_or(u64::MAX);
        self.known.retain(|one| one.ended.as_ref().is_none_or(|ended| ended.at > oldest));
    }
}

/// Whether one works for the other. What a sub-agent does is done for the sessions above it.
pub(crate) fn are_related(one: &[SessionId], other: &[SessionId]) -> bool {
    let is_of = |who: &[SessionId], family: &[SessionId]| who.first().is_some_and(|own| family.contains(own));
    is_of(one, other) || is_of(other, one)
}

impl Worktree {
    /// A command that found this tree is about to act.
    pub(super) fn command_begins(&self, who: &[SessionId], before: TreeId) -> u64 {
        lock(&self.known).commands.begin(who, before)
    }

    /// A command is over, and claims these changes. Those that a command of an unrelated session may have made.
    pub(super) fn command_ends(
        &self,
        began: u64,
        changed: &[Changed],
    ) -> Result<BTreeSet<TreePath>, SnapshotError> {
        let rivals = lock(&self.known).commands.end(began, changed);
        let mut shared = BTreeSet::new();
        for rival in rivals {
            match rival {
                Rival::Left(left) => {
                    let differs =
                        |one: &&Changed| left.get(&one.path).is_some_and(|state| *state != one.before);
                    shared.extend(changed.iter().filter(differs).map(|one| one.path.clone()));
                }
                Rival::Acts(found) => shared.extend(self.changed_since(&found, changed)?),
            }
        }
        Ok(shared)
    }

    /// It never said what it changed.
    pub(super) fn command_is_gone(&self, began: u64) {
        lock(&self.known).commands.forget(began);
    }

    /// Those of these files that are not left as they are in a tree.
    fn changed_since(&self, tree: &TreeId, changed: &[Changed]) -> Result<Vec<TreePath>, SnapshotError> {
        let found = self.store.states(tree, changed.iter().map(|one| &one.path))?;
        let differing = changed.iter().filter(|one| found[&one.path] != one.after);
        Ok(differing.map(|one| one.path.clone()).collect())
    }
}

impl Sessions {
    /// A session and those above it: each works for the next.
    pub(crate) async fn family_above(&self, session: &SessionId) -> Vec<SessionId> {
        let mut family = vec![session.clone()];
        while let Some(last) = family.last().filter(|_| family.len() <= ABOVE_MAX) {
            let record = self.store.session(last).await.ok().flatten();
            let above = record.and_then(|text| readable(records::session(last, &text))?.parent_id);
            let Some(above) = above.filter(|above| !family.contains(above)) else { break };
            family.push(above);
        }
        family
    }
}
