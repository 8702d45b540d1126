//! Undo: a conversation is cut, and the files of the steps behind the cut go back.
//!
//! What will happen is worked out first, and can be asked for without happening. Then, in this order: what is
//! there is captured and anchored; a note of what is about to be done is on the disk; the files are
//! set, each only if nobody else has changed it; the session record says so; the note goes. A process that dies in
//! between leaves the note, and the next start makes the files fit the record again.
//!
//! While this goes on nothing else begins in the session: who prompts waits at the gate.
//!
//! Not here: how files are compared and set (`sturdy-worktree`, `snapshot`).

mod changes;
mod cut_off;
mod files;
mod gate;
mod note;
mod plan;
mod scene;

pub(crate) use changes::{changes_of, session_changes, totals};
pub(crate) use cut_off::tell_of_the_dead;
pub(crate) use gate::Gates;
pub(crate) use note::recover;
pub use plan::{PlannedFile, RevertPlan};

use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::run::request;
use files::{Undone, redo, undo};
use note::Note;
use scene::Scene;
use std::collections::BTreeSet;
use std::sync::Arc;
use sturdy_session::fork::usage_of;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::revert::{Boundary, behind, boundary, uncaptured_behind};
use sturdy_session::turn::{Input, NewRevert, RevertTotals};
use sturdy_session::types::diff::FileDiff;
use sturdy_session::types::session::{Revert, Session};
use sturdy_worktree::snapshot::{Plan, SnapshotError, TreePath};

/// What a client wants to go back to.
#[derive(Clone, Debug, Default)]
pub struct RevertRequest {
    pub message: Option<MessageId>,
    pub part: Option<PartId>,
    /// Files that go back although somebody else changed them; from the worktree.
    pub force: Vec<String>,
    /// Only the conversation is cut.
    pub keeps_files: bool,
}

impl Engine {
    /// Cuts the conversation before a message or part and takes the files back. A place that does not exist
    /// changes nothing. Refused while the session is busy.
    pub async fn revert(&self, session: &SessionId, request: RevertRequest) -> Result<Session, EngineError> {
        let _inside = self.inner.gates.enter(session).await?;
        let scene = self.inner.scene(session).await?;
        let Some(cut) = cut_of(&scene, &request) else { return Ok(scene.info) };
        let forced = forced(&request.force)?;
        let uncaptured = uncaptured_behind(&scene.messages, &cut);
        let boundary = cut.clone();
        let keeps_files = request.keeps_files && scene.info.revert.is_none();
        let undone = blocking(move || match keeps_files {
            true => Ok(Undone::default()),
            false => undo(&scene, &boundary, &forced),
        });
        let undone = undone.await?;
        let revert = Revert {
            message_id: cut.message,
            part_id: cut.part,
            snapshot: undone.snapshot.map(|tree| tree.to_string()),
            diff: undone.snapshot.map(|_| undone.diff),
            conflicts: undone.conflicts,
            uncaptured,
        };
        let totals = RevertTotals { summary: totals(&undone.behind), session: undone.behind.files };
        self.inner
            .record(session, NewRevert { revert: Some(revert), totals: Some(totals) }, undone.note)
            .await
    }

    /// Takes the cut and what it did to the files back. Files that somebody has changed since are left alone.
    pub async fn unrevert(&self, session: &SessionId) -> Result<Session, EngineError> {
        let _inside = self.inner.gates.enter(session).await?;
        let scene = self.inner.scene(session).await?;
        if scene.info.revert.is_none() {
            return Ok(scene.info);
        }
        let note = blocking(move || redo(&scene)).await?;
        self.inner.record(session, NewRevert::default(), note).await
    }

    /// What a revert would do. Changes nothing.
    pub async fn revert_plan(
        &self,
        session: &SessionId,
        request: RevertRequest,
    ) -> Result<RevertPlan, EngineError> {
        let scene = self.inner.scene_at_any_time(session).await?;
        let Some(cut) = cut_of(&scene, &request) else { return Ok(RevertPlan::default()) };
        let forced = forced(&request.force)?;
        let uncaptured = uncaptured_behind(&scene.messages, &cut);
        let boundary = cut.clone();
        let plan = blocking(move || {
            let Some(worktree) = scene.worktree() else { return Ok(Plan::default()) };
            let targets = scene.targets(worktree, &boundary)?;
            Ok(scene.prepare(worktree, &targets, &forced)?.plan)
        });
        let files = plan.await?.entries.iter().map(PlannedFile::of).collect();
        Ok(RevertPlan { message_id: Some(cut.message), part_id: cut.part, files, uncaptured })
    }

    /// What a session has changed, all its turns together; what is behind a cut is left out.
    pub async fn session_diff(&self, session: &SessionId) -> Result<Vec<FileDiff>, EngineError> {
        let scene = self.inner.scene_at_any_time(session).await?;
        blocking(move || {
            Ok(session_changes(&scene.messages, &scene.info, scene.worktree.as_deref(), None)?.files)
        })
        .await
    }

    /// Makes the cut final: what lies behind it leaves the conversation. The files stay as they are.
    pub async fn commit_revert(&self, session: &SessionId) -> Result<(), EngineError> {
        let _inside = self.inner.gates.enter(session).await?;
        let inputs = self.inner.clean_up(session).await?;
        if inputs.is_empty() {
            return Ok(());
        }
        self.inner.say(session, inputs).await
    }
}

impl Inner {
    /// Says what was done to the files; then the note of it is not needed any more.
    async fn record(
        self: &Arc<Self>,
        session: &SessionId,
        new: NewRevert,
        note: Option<Note>,
    ) -> Result<Session, EngineError> {
        self.say(session, vec![Input::Revert(Box::new(new))]).await?;
        if let Some(note) = note {
            tokio::task::spawn_blocking(move || note.remove()).await.map_err(|_| EngineError::Closing)?;
        }
        request::session_info(self, session).await
    }

    /// What has to be said before something new is asked in a session whose conversation is cut: what lies behind
    /// the cut is removed.
    pub(crate) async fn clean_up(self: &Arc<Self>, session: &SessionId) -> Result<Vec<Input>, EngineError> {
        let info = request::session_info(self, session).await?;
        let Some(revert) = &info.revert else { return Ok(Vec::new()) };
        let messages = self.conversation(session).await?;
        let behind = behind(&messages, &Boundary::of(revert));
        let mut inputs = Vec::new();
        for part in behind.parts {
            let (cost, tokens) = usage_of([&part.body]);
            let message = part.message_id.clone();
            inputs.push(Input::RemovePart { message, part: part.id.clone(), cost, tokens });
        }
        for one in behind.messages {
            let (cost, tokens) = usage_of(one.parts.iter().map(|part| &part.body));
            inputs.push(Input::RemoveMessage { message: one.info.id().clone(), cost, tokens });
        }
        inputs.push(Input::Revert(Box::default()));
        Ok(inputs)
    }
}

fn cut_of(scene: &Scene, request: &RevertRequest) -> Option<Boundary> {
    boundary(&scene.messages, request.message.as_ref()?, request.part.as_ref())
}

fn forced(names: &[String]) -> Result<BTreeSet<TreePath>, EngineError> {
    let path = |name: &String| {
        let path = TreePath::from_bytes(name.as_bytes());
        path.ok_or_else(|| EngineError::Bad(format!("{name:?} is not the path of a file in the worktree")))
    };
    names.iter().map(path).collect()
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SnapshotError> + Send + 'static,
) -> Result<T, EngineError> {
    Ok(tokio::task::spawn_blocking(work).await.map_err(|_| EngineError::Closing)??)
}
