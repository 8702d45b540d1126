//! What the calls of the step that is open have changed: each file with the state in which the step found it.

use super::journal::Journal;
use super::{Worktree, lock};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::turn::StepFiles;
use sturdy_worktree::snapshot::{Changed, SnapshotError, State, TreeId, TreePath};
use tokio::sync::Semaphore;

/// Calls of one session that act at once; more wait.
const CALLS_MAX: u32 = 256;

/// What the calls of the step that is open have changed. One per session.
#[derive(Debug)]
pub(crate) struct Ledger {
    inner: Mutex<Pages>,
    /// A call that is watched has one of these.
    pub(super) acting: Arc<Semaphore>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { inner: Mutex::default(), acting: Arc::new(Semaphore::new(CALLS_MAX as usize)) }
    }
}

#[derive(Debug, Default)]
struct Pages {
    step: Option<MessageId>,
    before: BTreeMap<TreePath, State>,
    /// Those of them that a command of another session may have changed.
    shared: BTreeSet<TreePath>,
    /// The step of a call of which not everything is in it, and why. Kept until it was said.
    uncaptured: Option<(MessageId, String)>,
    /// The last account was heard by the session.
    is_told: bool,
    /// What was worked out when a call was cut off, and could not be told.
    rest: Option<StepFiles>,
    /// The tree before a call that may change anything.
    scanned: Option<TreeId>,
    journal: Option<Journal>,
}

impl Ledger {
    /// A new step begins a new page, unless the last one was never heard: then its files are added to this step's.
    pub(super) fn open(&self, step: &MessageId, trees: &Path, session: &SessionId) {
        let mut pages = lock(&self.inner);
        pages.journal.get_or_insert_with(|| Journal::new(trees, session));
        if pages.step.as_ref() == Some(step) {
            return;
        }
        if pages.is_told {
            pages.before.clear();
            pages.shared.clear();
            pages.scanned = None;
            pages.rest = None;
        }
        pages.step = Some(step.clone());
        pages.is_told = false;
    }

    /// Waits until no call of the session is watched any more: what was cut off is in the ledger then.
    pub(crate) async fn settled(&self) {
        // Nobody closes it.
        drop(self.acting.acquire_many(CALLS_MAX).await);
    }

    /// The first state counts.
    pub(super) fn note(&self, path: TreePath, before: State) {
        let mut pages = lock(&self.inner);
        pages.is_told = false;
        pages.rest = None;
        pages.before.entry(path).or_insert(before);
        pages.write();
    }

    /// What a command changed, and which of it is shared with another session.
    pub(super) fn note_changes(&self, changed: Vec<Changed>, shared: BTreeSet<TreePath>) {
        if changed.is_empty() {
            return;
        }
        let mut pages = lock(&self.inner);
        pages.is_told = false;
        pages.rest = None;
        for one in changed {
            pages.before.entry(one.path).or_insert(one.before);
        }
        pages.shared.extend(shared);
        pages.write();
    }

    /// A call is about to act, and what it changes will not be known.
    pub(super) fn note_uncaptured(&self, why: &str) {
        let mut pages = lock(&self.inner);
        if pages.uncaptured.is_none() {
            pages.uncaptured = pages.step.clone().map(|step| (step, why.to_owned()));
        }
        pages.write();
    }

    /// A call that may change anything is about to act on this.
    pub(super) fn scanned(&self, tree: TreeId) {
        let mut pages = lock(&self.inner);
        pages.scanned.get_or_insert(tree);
        pages.write();
    }

    /// A call is over, and the session has heard of it. The last one removes the note.
    pub(super) fn heard(&self) {
        let mut pages = lock(&self.inner);
        let is_last = self.acting.available_permits() + 1 >= CALLS_MAX as usize;
        if is_last {
            pages.scanned = None;
            // The call has said it itself, unless it is one of an earlier step that was cut off.
            let step = pages.step.clone();
            pages.uncaptured.take_if(|(of, _)| Some(&*of) == step.as_ref());
            pages.journal.as_ref().map(Journal::remove);
        }
    }

    /// The step of a call that was cut off, and why what it changed is not known.
    pub(crate) fn uncaptured(&self) -> Option<(MessageId, String)> {
        lock(&self.inner).uncaptured.clone()
    }

    /// Whoever reads the call can see it now.
    pub(crate) fn uncaptured_is_said(&self) {
        let mut pages = lock(&self.inner);
        pages.uncaptured = None;
        if pages.before.is_empty() && pages.scanned.is_none() {
            pages.journal.as_ref().map(Journal::remove);
        }
    }

    /// Whether no call of the step that is open has changed anything.
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.inner).before.is_empty()
    }

    /// What stands in the ledger, as two trees and the files that differ.
    pub(crate) fn account(
        &self,
        worktree: &Worktree,
        base: Option<TreeId>,
        session: &SessionId,
    ) -> Result<Option<StepFiles>, SnapshotError> {
        let (before, shared) = {
            let pages = lock(&self.inner);
            (pages.before.clone(), pages.shared.clone())
        };
        if before.is_empty() {
            return Ok(None);
        }
        let store = &worktree.store;
        let mut after = store.states_now(before.keys())?;
        let files: Vec<&TreePath> = before.keys().filter(|path| before[*path] != after[*path]).collect();
        if files.is_empty() {
            return Ok(None);
        }
        let shared = files.iter().filter(|path| shared.contains(**path));
        let shared = shared.map(|path| absolute(store.root(), path)).collect();
        let files = files.into_iter().map(|path| absolute(store.root(), path)).collect();
        // Beside what the calls said: a directory whose last file is gone is still there.
        store.add_emptied(&mut after);
        let before = store.with_states(base.as_ref(), &before)?;
        let after = store.with_states_now(base.as_ref(), &after)?;
        worktree.keep(session, &[before, after])?;
        lock(&worktree.known).tree = Some(after);
        Ok(Some(StepFiles { before: before.to_string(), after: after.to_string(), files, shared }))
    }

    /// The session has heard of everything in it.
    pub(crate) fn told(&self) {
        let mut pages = lock(&self.inner);
        pages.is_told = true;
        pages.rest = None;
    }

    /// A call was cut off: this is what its step has changed, for whoever tells it.
    pub(crate) fn leave(&self, files: Option<StepFiles>) {
        lock(&self.inner).rest = files;
    }

    pub(crate) fn left(&self) -> Option<StepFiles> {
        lock(&self.inner).rest.clone()
    }

    /// Nothing acts any more, and everything was told.
    pub(crate) fn close(&self) {
        let mut pages = lock(&self.inner);
        pages.scanned = None;
        pages.journal.as_ref().map(Journal::remove);
    }

    /// The step of which something stands in it that the session has not heard.
    pub(crate) fn news_of(&self) -> Option<MessageId> {
        let pages = lock(&self.inner);
        pages.step.clone().filter(|_| !pages.is_told && !pages.before.is_empty())
    }
}

impl Pages {
    /// Before a call acts: what it may change is on the disk.
    fn write(&self) {
        let (Some(journal), Some(step)) = (&self.journal, &self.step) else { return };
        let uncaptured = self.uncaptured.as_ref().filter(|(of, _)| of == step);
        journal.write(step, self.scanned, &self.before, uncaptured.map(|(_, why)| why.as_str()));
    }
}

/// As the wire names files: absolute, with `/` between names.
pub(crate) fn absolute(root: &Path, path: &TreePath) -> String {
    root.join(path.to_path()).to_string_lossy().into_owned()
}
