//! Works out what a turn and a session have changed on the disk, for summaries and clients that show it.

use crate::error::EngineError;
use crate::run::Sessions;
use crate::run::kept::KeptHistory;
use crate::run::request;
use crate::run::trees::{changes_of, kept_changes_of, totals, trees_before};
use std::sync::Arc;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::revert::{Boundary, StepTrees, trees_of_step, trees_of_turn};
use sturdy_session::turn::{Diffed, StepFiles};
use sturdy_session::types::message::{Message, MessageWithParts, TurnSummary};
use sturdy_worktree::snapshot::Extent;
use tracing::warn;

/// What the turn of a step has changed, up to and with these files of the step. None, with a word in the log, when
/// it cannot be worked out: the turn goes on without.
pub(super) async fn diffed(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    step: &MessageId,
    files: &StepFiles,
    kept: &KeptHistory,
) -> Option<Diffed> {
    let StepFiles { before, after, shared, .. } = files.clone();
    let newest = StepTrees { before, after: Some(after), shared };
    match work_out(sessions, session, step, newest, kept).await {
        Ok(diffed) => diffed,
        Err(cause) => {
            warn!(%session, %cause, "the diff of a turn could not be computed");
            None
        }
    }
}

async fn work_out(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    step: &MessageId,
    newest: StepTrees,
    kept: &KeptHistory,
) -> Result<Option<Diffed>, EngineError> {
    let info = request::session_info(sessions, session).await?;
    let prompt = request::assistant_message(sessions, session, step).await?.parent_id;
    let mut prompt = request::user_message(sessions, session, &prompt).await?;
    let instance = sessions.directories.instance(&info.directory).await?;
    let Some(worktree) = sessions.trees_of(&instance).await else { return Ok(None) };
    let cut = info.revert.as_ref().and_then(Boundary::of_files);
    let (mut turn, mut all) = match kept.whole(step).filter(|_| cut.is_none()) {
        // What stands in memory is not read again: a conversation may be long.
        Some(messages) => named_in(&messages, &prompt.id),
        None => {
            let messages = sessions.conversation(session).await?;
            (trees_of_turn(&messages, &prompt.id), trees_before(&messages, cut.as_ref()))
        }
    };
    turn.push(newest.clone());
    all.push(newest);
    let session = session.clone();
    let work = move || {
        let turn = changes_of(&worktree, &turn)?;
        let all = kept_changes_of(&session, Extent::Whole, &worktree, &all)?;
        prompt.summary = Some(TurnSummary { title: None, body: None, diffs: turn.files });
        Ok::<_, EngineError>(Diffed { prompt, summary: totals(&all), session: all.files })
    };
    tokio::task::spawn_blocking(work).await.map_err(|_| EngineError::Closing)?.map(Some)
}

/// What the steps of a turn changed, and those of the whole conversation.
fn named_in(messages: &[Arc<MessageWithParts>], prompt: &MessageId) -> (Vec<StepTrees>, Vec<StepTrees>) {
    let mut turn = Vec::new();
    let mut all = Vec::new();
    for message in messages {
        let found = trees_of_step(&message.parts);
        if matches!(&message.info, Message::Assistant(info) if info.parent_id == *prompt) {
            turn.extend(found.iter().cloned());
        }
        all.extend(found);
    }
    (turn, all)
}
