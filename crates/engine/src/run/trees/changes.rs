//! What some steps, or a whole session, changed on the disk.

use super::Worktree;
use crate::error::EngineError;
use crate::run::{Sessions, request};
use std::sync::Arc;
use sturdy_session::id::SessionId;
use sturdy_session::json::Num;
use sturdy_session::revert::{Boundary, StepTrees, trees_behind};
use sturdy_session::turn::RevertTotals;
use sturdy_session::types::diff::FileDiff;
use sturdy_session::types::message::MessageWithParts;
use sturdy_session::types::session::SessionSummary;
use sturdy_worktree::snapshot::{Changes, Extent, SnapshotError, Step, TreeId, differences};
use tracing::{debug, warn};

impl Sessions {
    /// What a session has changed, all its turns together; what is behind a cut is left out.
    pub(crate) async fn session_diff(
        self: &Arc<Self>,
        session: &SessionId,
    ) -> Result<Vec<FileDiff>, EngineError> {
        let info = request::session_info(self, session).await?;
        let instance = self.directories.instance(&info.directory).await?;
        let worktree = self.trees_of(&instance).await;
        let messages = self.conversation(session).await?;
        let session = session.clone();
        let work = move || {
            let cut = info.revert.as_ref().and_then(Boundary::of_files);
            session_changes(&session, &messages, cut.as_ref(), worktree.as_deref())
        };
        let changes = tokio::task::spawn_blocking(work).await.map_err(|_| EngineError::Closing)??;
        Ok(changes.files)
    }
}

/// The trees of some steps as the store of trees wants them. Which files a step changed is read from its trees:
/// the names in its patch are for people.
pub(crate) fn steps(worktree: &Worktree, trees: &[StepTrees]) -> Result<Vec<Step>, SnapshotError> {
    let mut steps = Vec::with_capacity(trees.len());
    for (before, after) in pairs(trees)? {
        let changed = worktree.store.changed(&before, &after)?;
        steps.push(Step { before, after, files: changed.into_iter().map(|one| one.path).collect() });
    }
    Ok(steps)
}

/// The trees before and after each step.
fn pairs(trees: &[StepTrees]) -> Result<Vec<(TreeId, TreeId)>, SnapshotError> {
    let mut pairs = Vec::with_capacity(trees.len());
    for step in trees {
        let unknown = || SnapshotError::Malformed("a step was captured by another program".to_owned());
        let after = step.after.as_ref().ok_or_else(unknown)?;
        pairs.push((step.before.parse()?, after.parse()?));
    }
    Ok(pairs)
}

/// What some steps changed, taken together.
pub(crate) fn changes_of(worktree: &Worktree, trees: &[StepTrees]) -> Result<Changes, SnapshotError> {
    differences(&worktree.store, &worktree.store.changed_by(&pairs(trees)?)?)
}

/// The same for steps of one session. Worked out once for the same steps: whoever asks again, also after a restart, is
/// given what was kept.
pub(crate) fn kept_changes_of(
    session: &SessionId,
    extent: Extent,
    worktree: &Worktree,
    trees: &[StepTrees],
) -> Result<Changes, SnapshotError> {
    if trees.is_empty() {
        return Ok(Changes::default());
    }
    let steps = pairs(trees)?;
    if let Some(known) = worktree.store.kept_changes(session.as_str(), extent, &steps) {
        return Ok(known);
    }
    let changes = changes_of(worktree, trees)?;
    if let Err(cause) = worktree.store.keep_changes(session.as_str(), extent, &steps, &changes) {
        debug!(%session, %cause, "what a session has changed is not kept; whoever asks next works it out again");
    }
    Ok(changes)
}

/// What the steps of a conversation changed, without those that are undone behind `cut`.
pub(crate) fn trees_before(messages: &[MessageWithParts], cut: Option<&Boundary>) -> Vec<StepTrees> {
    let Some(first) = messages.first() else { return Vec::new() };
    let all = Boundary { message: first.info.id().clone(), part: None };
    let mut trees = trees_behind(messages, &all);
    if let Some(cut) = cut {
        let undone = trees_behind(messages, cut).len();
        trees.truncate(trees.len().saturating_sub(undone));
    }
    trees
}

/// What a session has changed, without what is undone behind `cut`.
fn session_changes(
    session: &SessionId,
    messages: &[MessageWithParts],
    cut: Option<&Boundary>,
    worktree: Option<&Worktree>,
) -> Result<Changes, SnapshotError> {
    let Some(worktree) = worktree else { return Ok(Changes::default()) };
    kept_changes_of(session, Extent::Whole, worktree, &trees_before(messages, cut))
}

/// The same for the record of a session. None, with a word in the log, when it cannot be worked out: a step that another
/// program captured must not stand in the way of an undo that does not touch it.
pub(crate) fn remaining(
    session: &SessionId,
    messages: &[MessageWithParts],
    cut: Option<&Boundary>,
    worktree: Option<&Worktree>,
) -> Option<RevertTotals> {
    match session_changes(session, messages, cut, worktree) {
        Ok(changes) => Some(RevertTotals { summary: totals(&changes), session: changes.files }),
        Err(cause) => {
            warn!(%cause, "the diff of a session could not be computed");
            None
        }
    }
}

pub(crate) fn totals(changes: &Changes) -> SessionSummary {
    SessionSummary {
        additions: Num::from(changes.additions),
        deletions: Num::from(changes.deletions),
        files: Num::from(changes.files_total as u64),
        diffs: None,
    }
}
