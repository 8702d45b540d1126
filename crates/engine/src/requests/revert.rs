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

mod cut_off;
mod files;
mod note;
mod plan;
mod scene;

pub(crate) use cut_off::tell_of_the_dead;
pub(crate) use note::{recover, settle_left};
pub use plan::{LeftOutFile, PlannedFile, RevertPlan};

use crate::behalf;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::records;
use crate::run::request;
use crate::run::trees::{kept_changes_of, remaining};
use files::{redo, redo_plan, undo};
use note::Note;
use scene::Scene;
use std::future::Future;
use std::sync::Arc;
use sturdy_session::fork::usage_of;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::revert::{Boundary, behind, boundary, trees_between, trees_of_step, uncaptured_behind};
use sturdy_session::turn::{CommittedCut, Input, NewRevert};
use sturdy_session::types::diff::FileDiff;
use sturdy_session::types::part::Part;
use sturdy_session::types::session::{FilesFrom, Revert, RevertConflict, RevertUncaptured, Session};
use sturdy_worktree::snapshot::{Extent, Plan, SnapshotError, TreePath};
use tracing::warn;

/// More uncaptured files than anybody reads.
const LEFT_OUT_MAX: usize = 200;

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

/// A cut that was taken back.
#[derive(Clone, Debug, PartialEq)]
pub struct Unreverted {
    pub session: Session,
    /// Files that somebody has changed since the undo; they were left alone.
    pub conflicts: Vec<RevertConflict>,
}

impl Engine {
    /// Cuts the conversation before a message or part and takes the files back. A place that does not exist
    /// changes nothing. Refused while the session is busy.
    pub async fn revert(&self, session: &SessionId, request: RevertRequest) -> Result<Session, EngineError> {
        let inner = self.inner.clone();
        let session = session.clone();
        self.to_the_end(async move { inner.revert(&session, request).await }).await
    }

    /// Takes the cut and what it did to the files back. Files that somebody has changed since are left alone, and named.
    pub async fn unrevert(&self, session: &SessionId) -> Result<Unreverted, EngineError> {
        let inner = self.inner.clone();
        let session = session.clone();
        self.to_the_end(async move { inner.unrevert(&session).await }).await
    }

    /// Goes on when whoever asked has gone away: what is done to files is recorded all the same.
    async fn to_the_end<T: Send + 'static>(
        &self,
        task: impl Future<Output = Result<T, EngineError>> + Send + 'static,
    ) -> Result<T, EngineError> {
        let running = self.tasks().spawn("undo", behalf::as_now(task));
        running.await.map_err(|_| EngineError::Closing)?
    }

    /// What a revert would do. Changes nothing.
    pub async fn revert_plan(
        &self,
        session: &SessionId,
        request: RevertRequest,
    ) -> Result<RevertPlan, EngineError> {
        let scene = self.inner.scene_at_any_time(session).await?;
        let Some(cut) = cut_of(&scene, &request) else { return Ok(RevertPlan::default()) };
        refuse_bad_names(&request.force)?;
        let forced = scene.forced(&request.force);
        let uncaptured = uncaptured_behind(&scene.messages, &cut);
        let boundary = cut.clone();
        let plan = blocking(move || {
            let Some(worktree) = scene.worktree() else { return Ok((Plan::default(), Vec::new())) };
            let targets = scene.targets(worktree, &boundary)?;
            let plan = scene.prepare(worktree, &targets, &forced)?.plan;
            Ok((plan, worktree.store.left_out(LEFT_OUT_MAX)))
        });
        let (plan, left_out) = plan.await?;
        let files = plan.entries.iter().map(PlannedFile::of).collect();
        let left_out = left_out.iter().map(LeftOutFile::of).collect();
        Ok(RevertPlan { message_id: Some(cut.message), part_id: cut.part, files, uncaptured, left_out })
    }

    /// What taking the cut back would do, or moving it to a later message. Changes nothing.
    pub async fn unrevert_plan(
        &self,
        session: &SessionId,
        to: Option<MessageId>,
    ) -> Result<RevertPlan, EngineError> {
        let scene = self.inner.scene_at_any_time(session).await?;
        let request = RevertRequest { message: to, ..RevertRequest::default() };
        let cut = cut_of(&scene, &request);
        if scene.info.revert.is_none() || (request.message.is_some() && cut.is_none()) {
            return Ok(RevertPlan::default());
        }
        let message_id = cut.as_ref().map(|cut| cut.message.clone());
        let plan = blocking(move || redo_plan(&scene, cut.as_ref()));
        let files = plan.await?.entries.iter().map(PlannedFile::of).collect();
        Ok(RevertPlan { message_id, files, ..RevertPlan::default() })
    }

    /// What a session has changed, all its turns together; what is behind a cut is left out.
    pub async fn session_diff(&self, session: &SessionId) -> Result<Vec<FileDiff>, EngineError> {
        self.inner.sessions.session_diff(session).await
    }

    /// What the turns of these two prompts and those between them have changed, taken together. What is unknown, or
    /// stands in the wrong order, has changed nothing.
    pub async fn range_diff(
        &self,
        session: &SessionId,
        first: &MessageId,
        last: &MessageId,
    ) -> Result<Vec<FileDiff>, EngineError> {
        let scene = self.inner.scene_at_any_time(session).await?;
        let trees = trees_between(&scene.messages, first, last);
        blocking(move || match scene.worktree() {
            Some(worktree) => Ok(kept_changes_of(&scene.session, Extent::Range, worktree, &trees)?.files),
            None => Ok(Vec::new()),
        })
        .await
    }

    /// What one step has changed: worked out from the trees before and after it, as long as they are kept. None if there
    /// is no such message; a message that changed nothing has no differences.
    pub async fn step_diff(
        &self,
        session: &SessionId,
        step: &MessageId,
    ) -> Result<Option<Vec<FileDiff>>, EngineError> {
        let info = request::session_info(&self.inner.sessions, session).await?;
        let Some(message) = self.inner.store.message(session, step).await? else { return Ok(None) };
        let parts: Vec<Part> = records::parts(step, &message.parts).collect();
        let trees = trees_of_step(&parts);
        if trees.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let instance = self.inner.directories.instance(&info.directory).await?;
        let worktree = self.inner.sessions.trees_of(&instance).await;
        let session = session.clone();
        let differences = move || match worktree {
            Some(worktree) => Ok(kept_changes_of(&session, Extent::Range, &worktree, &trees)?.files),
            None => Ok(Vec::new()),
        };
        blocking(differences).await.map(Some)
    }

    /// Makes the cut final: what lies behind it leaves the conversation. The files stay as they are.
    pub async fn commit_revert(&self, session: &SessionId) -> Result<(), EngineError> {
        let _inside = self.inner.gates.enter(session).await?;
        let inputs = self.inner.clean_up(session).await?;
        if inputs.is_empty() {
            return Ok(());
        }
        self.inner.sessions.say(session, inputs).await
    }
}

impl Inner {
    async fn revert(
        self: &Arc<Self>,
        session: &SessionId,
        request: RevertRequest,
    ) -> Result<Session, EngineError> {
        let _inside = self.gates.enter(session).await?;
        let scene = self.scene(session).await?;
        let Some(cut) = cut_of(&scene, &request) else { return Ok(scene.info) };
        refuse_bad_names(&request.force)?;
        let uncaptured = uncaptured_behind(&scene.messages, &cut);
        if request.keeps_files {
            let revert = cut_without_files(scene.info.revert, cut, uncaptured);
            return self
                .record(session, NewRevert { revert: Some(revert), ..NewRevert::default() }, None)
                .await;
        }
        let forced = scene.forced(&request.force);
        let boundary = cut.clone();
        let undone = blocking(move || undo(&scene, &boundary, &forced)).await?;
        let revert = Revert {
            message_id: cut.message,
            part_id: cut.part,
            snapshot: undone.snapshot.map(|tree| tree.to_string()),
            diff: undone.snapshot.map(|_| undone.diff),
            conflicts: undone.conflicts,
            uncaptured,
            forced: undone.forced,
            files_from: None,
        };
        let new = NewRevert { revert: Some(revert), totals: undone.totals, committed: None };
        self.record(session, new, undone.note).await
    }

    async fn unrevert(self: &Arc<Self>, session: &SessionId) -> Result<Unreverted, EngineError> {
        let _inside = self.gates.enter(session).await?;
        let scene = self.scene(session).await?;
        if scene.info.revert.is_none() {
            return Ok(Unreverted { session: scene.info, conflicts: Vec::new() });
        }
        let redone = blocking(move || redo(&scene)).await?;
        let new = NewRevert { totals: redone.totals, ..NewRevert::default() };
        let session = self.record(session, new, redone.note).await?;
        Ok(Unreverted { session, conflicts: redone.conflicts })
    }

    /// Says what was done to the files; then the note of it is not needed any more.
    async fn record(
        self: &Arc<Self>,
        session: &SessionId,
        new: NewRevert,
        note: Option<Note>,
    ) -> Result<Session, EngineError> {
        if let Err(cause) = self.sessions.say(session, vec![Input::Revert(Box::new(new))]).await {
            // What cannot be settled now is settled before anything else is done in the session.
            if let Err(cause) = settle_left(self, session).await {
                warn!(%session, %cause, "an undo that could not be recorded is not taken back yet");
            }
            return Err(cause);
        }
        if let Some(note) = note {
            tokio::task::spawn_blocking(move || note.remove()).await.map_err(|_| EngineError::Closing)?;
        }
        request::session_info(&self.sessions, session).await
    }

    /// What has to be said before something new is asked in a session whose conversation is cut: what lies behind
    /// the cut is removed. An undo that was left half done is settled first: what follows would make it final.
    pub(crate) async fn clean_up(self: &Arc<Self>, session: &SessionId) -> Result<Vec<Input>, EngineError> {
        settle_left(self, session).await?;
        let info = request::session_info(&self.sessions, session).await?;
        let Some(revert) = &info.revert else { return Ok(Vec::new()) };
        let messages = self.sessions.conversation(session).await?;
        let cut = Boundary::of(revert);
        let behind = behind(&messages, &cut);
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
        let switches = self.reads.switches_behind(session, &cut).await?;
        let committed = Some(CommittedCut { message: cut.message.clone(), switches });
        let mut totals = None;
        // Where the files were cut with the conversation, the record says already what remains.
        if Boundary::of_files(revert).as_ref() != Some(&cut) {
            let instance = self.directories.instance(&info.directory).await?;
            let worktree = self.sessions.trees_of(&instance).await;
            let session = session.clone();
            let work = move || Ok(remaining(&session, &messages, Some(&cut), worktree.as_deref()));
            totals = blocking(work).await?;
        }
        inputs.push(Input::Revert(Box::new(NewRevert { revert: None, totals, committed })));
        Ok(inputs)
    }
}

/// Only the conversation is cut. An undo of files that stands stays as it is, and can still be taken back.
fn cut_without_files(standing: Option<Revert>, cut: Boundary, uncaptured: Vec<RevertUncaptured>) -> Revert {
    let files = standing.as_ref().and_then(Boundary::of_files).filter(|files| *files != cut);
    let files_from = files.map(|files| FilesFrom { message_id: files.message, part_id: files.part });
    let new = Revert {
        message_id: cut.message,
        part_id: cut.part,
        snapshot: None,
        diff: None,
        conflicts: Vec::new(),
        uncaptured,
        forced: Vec::new(),
        files_from,
    };
    match standing {
        Some(Revert { snapshot, diff, conflicts, forced, .. }) => {
            Revert { snapshot, diff, conflicts, forced, ..new }
        }
        None => new,
    }
}

fn cut_of(scene: &Scene, request: &RevertRequest) -> Option<Boundary> {
    boundary(&scene.messages, request.message.as_ref()?, request.part.as_ref())
}

fn refuse_bad_names(names: &[String]) -> Result<(), EngineError> {
    match names.iter().find(|name| TreePath::from_bytes(name.as_bytes()).is_none()) {
        Some(name) => Err(EngineError::Bad(format!("{name:?} is not the path of a file in the worktree"))),
        None => Ok(()),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SnapshotError> + Send + 'static,
) -> Result<T, EngineError> {
    Ok(tokio::task::spawn_blocking(work).await.map_err(|_| EngineError::Closing)??)
}
