//! Watches a call: what it could write is known before it acts, and what it wrote when it has ended.

use super::ledger::{Ledger, absolute};
use super::{CALL_PATIENCE, Worktree, lock};
use crate::directory::instance::Instance;
use crate::run::Sessions;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::turn::StepFiles;
use sturdy_session::types::event::FileChange;
use sturdy_worktree::path::WorkPath;
use sturdy_worktree::snapshot::{Changed, SnapshotError, State, TreeId};
use tokio::sync::OwnedSemaphorePermit;
use tracing::warn;

/// Tools that write nothing below the worktree.
const READERS: [&str; 11] = [
    "read",
    "grep",
    "glob",
    "todowrite",
    "webfetch",
    "websearch",
    "codesearch",
    "skill",
    "question",
    "lsp",
    "invalid",
];

/// Tools of ours that name every file before they change it.
const WRITERS: [&str; 5] = ["write", "edit", "multiedit", "patch", "apply_patch"];

/// Files of one call that are told of. Whoever changes more is not followed file by file.
const TOLD_MAX: usize = 500;

/// What a call can do to the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Nothing,
    KnownFiles,
    Anything,
}

impl Reach {
    fn of(tool: &str) -> Self {
        if READERS.contains(&tool) || tool == sturdy_session::turn::STRUCTURED_TOOL {
            Self::Nothing
        } else if WRITERS.contains(&tool) {
            Self::KnownFiles
        } else {
            Self::Anything
        }
    }
}

/// Whether a call of this tool can change files of the worktree.
pub(crate) fn can_write(tool: &str) -> bool {
    Reach::of(tool) != Reach::Nothing
}

/// A call that is being watched.
#[derive(Debug)]
pub(crate) struct Watch {
    worktree: Arc<Worktree>,
    ledger: Arc<Ledger>,
    session: SessionId,
    /// The session, and those that it works for.
    who: Vec<SessionId>,
    reach: Reach,
    base: Option<TreeId>,
    /// The tree before a call that may write anything, and how many changes were noted then.
    before: Mutex<Option<(TreeId, u64)>>,
    /// Why what it changed is not known, or not all of it.
    uncaptured: Mutex<Option<String>>,
    /// When it began to act, as the worktree counts.
    began: Mutex<Option<u64>>,
    /// Files that it changed and that no tool has told of.
    untold: Mutex<Vec<(String, FileChange)>>,
    _acting: OwnedSemaphorePermit,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(began) = *lock(&self.began) {
            self.worktree.command_is_gone(began);
        }
    }
}

impl Watch {
    /// Begins to watch a call. None when it can write nothing, or nothing is captured here.
    pub(crate) async fn begin(
        sessions: &Sessions,
        instance: &Instance,
        ledger: &Arc<Ledger>,
        who: Vec<SessionId>,
        step: &MessageId,
        tool: &str,
        memory: &sturdy_worktree::tool::Memory,
    ) -> Option<Self> {
        let reach = Reach::of(tool);
        if reach == Reach::Nothing {
            return None;
        }
        let worktree = sessions.trees_of(instance).await?;
        let session = who.first()?.clone();
        ledger.open(step, &sessions.trees_dir(), &session);
        let witness = witness(worktree.clone(), ledger.clone(), who.clone());
        memory.set_witness(witness);
        let _acting = ledger.acting.clone().acquire_owned().await.ok()?;
        let watch = Self {
            base: worktree.last_for(&session).await,
            worktree,
            ledger: ledger.clone(),
            session,
            who,
            reach,
            before: Mutex::default(),
            uncaptured: Mutex::default(),
            began: Mutex::default(),
            untold: Mutex::default(),
            _acting,
        };
        watch.look().await;
        Some(watch)
    }

    /// The call is about to act. Said again when it had to ask a person: what the person did meanwhile is not the
    /// call's.
    pub(crate) async fn look(&self) {
        if self.reach != Reach::Anything {
            return;
        }
        let tree = self.scan().await;
        if let Some((tree, _)) = &tree {
            self.ledger.scanned(*tree);
        }
        *lock(&self.before) = tree;
    }

    /// The call acts from now on: what changes may be its work.
    pub(crate) fn acts(&self) {
        if self.reach != Reach::Anything {
            return;
        }
        // Before it does, so that it is said even if the process dies.
        if let Some(why) = self.uncaptured() {
            self.ledger.note_uncaptured(&why);
        }
        let before = *lock(&self.before);
        let mut began = lock(&self.began);
        if let (Some((before, _)), None) = (before, *began) {
            *began = Some(self.worktree.command_begins(&self.who, before));
        }
    }

    async fn scan(&self) -> Option<(TreeId, u64)> {
        let count = self.worktree.count();
        let scanned = self.worktree.scan(&self.session, CALL_PATIENCE).await;
        *lock(&self.uncaptured) = scanned.as_ref().err().cloned();
        Some((scanned.ok()?, count))
    }

    /// Why an undo would not know what the call changed.
    pub(crate) fn uncaptured(&self) -> Option<String> {
        lock(&self.uncaptured).clone()
    }

    /// The call is over and the session has heard what it changed, or that it changed nothing.
    pub(crate) fn heard(&self) {
        self.ledger.heard();
    }

    /// The call is over: what the step has changed so far. None when that is nothing.
    pub(crate) async fn end(self: &Arc<Self>) -> Option<StepFiles> {
        let after = match self.reach {
            Reach::Anything if lock(&self.before).is_none() => None,
            Reach::Anything => self.scan().await,
            Reach::Nothing | Reach::KnownFiles => None,
        };
        let after = after.map(|(tree, _)| tree);
        if self.has_changed_nothing(after) {
            if let Some(began) = *lock(&self.began) {
                self.worktree.command_is_gone(began);
            }
            return None;
        }
        let watch = self.clone();
        let work = move || watch.account(after);
        match tokio::task::spawn_blocking(work).await.ok()? {
            Ok(files) => files,
            Err(cause) => {
                warn!(%cause, "the file changes of a call could not be determined");
                *lock(&self.uncaptured) = Some(cause.reason());
                None
            }
        }
    }

    /// Whether there is nothing to account for, which most commands leave: the tree is the one before, and no other call of
    /// the step has changed anything. Then no disk is asked.
    fn has_changed_nothing(&self, after: Option<TreeId>) -> bool {
        let before = lock(&self.before).map(|(tree, _)| tree);
        after.is_some() && after == before && self.ledger.is_empty()
    }

    fn account(&self, after: Option<TreeId>) -> Result<Option<StepFiles>, SnapshotError> {
        let before = *lock(&self.before);
        if let (Some((before, since)), Some(after)) = (before, after) {
            let mut changed = self.worktree.store.changed(&before, &after)?;
            changed.retain(|one| !self.worktree.is_anothers(&self.session, since, &one.path));
            let began = *lock(&self.began);
            let shared = match began {
                Some(began) => self.worktree.command_ends(began, &changed)?,
                None => BTreeSet::new(),
            };
            *lock(&self.untold) = self.untold(&changed, since);
            self.ledger.note_changes(changed, shared);
        }
        self.ledger.account(&self.worktree, self.base, &self.session)
    }

    fn untold(&self, changed: &[Changed], since: u64) -> Vec<(String, FileChange)> {
        let root = self.worktree.store.root();
        let untold = changed.iter().filter(|one| !self.worktree.is_by_a_tool(since, &one.path));
        let files = untold.filter_map(|one| Some((absolute(root, &one.path), change_of(one)?)));
        files.take(TOLD_MAX).collect()
    }

    /// The files that the call changed, without those that a tool of ours has told of; at most a few hundred.
    pub(crate) fn take_untold(&self) -> Vec<(String, FileChange)> {
        std::mem::take(&mut *lock(&self.untold))
    }
}

/// What happened to a file; `None` if it is no regular file, before and after.
fn change_of(one: &Changed) -> Option<FileChange> {
    match (one.before.is_no_file(), one.after.is_no_file()) {
        (true, true) => None,
        (true, false) => Some(FileChange::Add),
        (false, true) => Some(FileChange::Unlink),
        (false, false) => Some(FileChange::Change),
    }
}

/// Captures a file before a tool of ours changes it.
fn witness(
    worktree: Arc<Worktree>,
    ledger: Arc<Ledger>,
    who: Vec<SessionId>,
) -> Arc<sturdy_worktree::tool::Witness> {
    Arc::new(move |path: &WorkPath| {
        // Outside of the worktree nothing is captured, and nothing is undone.
        let Some(path) = worktree.store.path_of(path.real()) else { return };
        match worktree.store.state_now(&path) {
            Ok(state) => {
                ledger.note(path.clone(), state);
                worktree.note_change(&who, path);
            }
            Err(cause) => {
                warn!(%cause, "a file was not captured before it was changed");
                // So that an undo says that it cannot bring it back.
                ledger.note(path, State::unknown());
            }
        }
    })
}
