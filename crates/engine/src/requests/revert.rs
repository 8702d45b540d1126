//! Undo: a conversation is cut, and the files of the steps behind the cut go back (spec: engine §7.7).
//!
//! What will happen is worked out first, and can be asked for without happening. Then, in this order: what is
//! there is captured and anchored; a note of what is about to be done is on the disk; the files are
//! set, each only if nobody else has changed it; the session record says so; the note goes. A process that dies in
//! between leaves the note, and the next start makes the files fit the record again.
//!
//! While this goes on nothing else begins in the session: who prompts waits at the gate.
//!
//! One file although it is long: asking, doing and settling share what they gather.
//!
//! Not here: how files are compared and set (`sturdy-worktree`, `snapshot`).

mod note;

pub(crate) use note::recover;

use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::run::handle::Handle;
use crate::run::registry::parse_message;
use crate::run::request;
use crate::run::trees::Worktree;
use note::Note;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use sturdy_session::fork::usage_of;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::json::Num;
use sturdy_session::revert::{Boundary, StepTrees, behind, boundary, trees_behind};
use sturdy_session::turn::{Input, NewRevert, Refusal, RevertTotals, StepFiles};
use sturdy_session::types::diff::FileDiff;
use sturdy_session::types::message::MessageWithParts;
use sturdy_session::types::part::{Part, PartBody, PatchPart, SnapshotPart};
use sturdy_session::types::session::{Revert, RevertConflict, Session, SessionSummary};
use sturdy_store::MessageQuery;
use sturdy_worktree::snapshot::{
    Changed, Changes, Conflict, Plan, SnapshotError, Standing, State, Step, Targets, TreeId, TreePath, Undo,
    Verdict, differences, unified,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Gates that nobody stands at are forgotten beyond this.
const GATES_MAX: usize = 256;

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

/// What would happen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RevertPlan {
    #[serde(rename = "messageID", skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    #[serde(rename = "partID", skip_serializing_if = "Option::is_none")]
    pub part_id: Option<PartId>,
    pub files: Vec<PlannedFile>,
}

/// What would happen to one file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedFile {
    /// From the worktree.
    pub file: String,
    /// `create`, `change`, `delete`, `nothing` or `conflict`.
    pub action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
    /// Hashes of the content that is there and of the content it goes back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// One at a time changes a session's past.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    by_session: Mutex<HashMap<SessionId, Arc<Semaphore>>>,
}

impl Gates {
    /// Waits until nobody else is inside.
    pub(crate) async fn enter(&self, session: &SessionId) -> Result<OwnedSemaphorePermit, EngineError> {
        let gate = {
            let mut gates = self.by_session.lock().unwrap_or_else(PoisonError::into_inner);
            if gates.len() >= GATES_MAX {
                gates.retain(|_, gate| Arc::strong_count(gate) > 1);
            }
            gates.entry(session.clone()).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
        };
        gate.acquire_owned().await.map_err(|_| EngineError::Closing)
    }
}

/// What one undo needs to know, gathered before it begins.
struct Scene {
    session: SessionId,
    info: Session,
    messages: Vec<MessageWithParts>,
    worktree: Option<Arc<Worktree>>,
    data_dir: PathBuf,
}

/// What the files of an undo came to.
#[derive(Default)]
struct Undone {
    snapshot: Option<TreeId>,
    diff: String,
    behind: Changes,
    conflicts: Vec<RevertConflict>,
    note: Option<Note>,
}

impl Engine {
    /// Cuts the conversation before a message or part and takes the files back. A place that does not exist
    /// changes nothing. Refused while the session is busy.
    pub async fn revert(&self, session: &SessionId, request: RevertRequest) -> Result<Session, EngineError> {
        let _inside = self.inner.gates.enter(session).await?;
        let scene = self.inner.scene(session).await?;
        let Some(cut) = cut_of(&scene, &request) else { return Ok(scene.info) };
        let forced = forced(&request.force)?;
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
        let boundary = cut.clone();
        let plan = blocking(move || {
            let Some(worktree) = scene.worktree() else { return Ok(Plan::default()) };
            let targets = scene.targets(worktree, &boundary)?;
            Ok(scene.prepare(worktree, &targets, &forced)?.plan)
        });
        let files = plan.await?.entries.iter().map(PlannedFile::of).collect();
        Ok(RevertPlan { message_id: Some(cut.message), part_id: cut.part, files })
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
    async fn scene(self: &Arc<Self>, session: &SessionId) -> Result<Scene, EngineError> {
        let handle = self.session(session).await?;
        if !handle.view().is_idle {
            return Err(Refusal::Busy.into());
        }
        self.tell_rest(&handle).await?;
        self.scene_at_any_time(session).await
    }

    /// What a call had changed when it was cut off, and nobody has heard of yet, is written behind its step.
    async fn tell_rest(self: &Arc<Self>, handle: &Handle) -> Result<(), EngineError> {
        let session = handle.id().clone();
        handle.ledger.settled().await;
        let Some(step) = handle.ledger.news_of() else { return Ok(()) };
        if self.store.message(&session, &step).await?.is_none() {
            return Ok(());
        }
        let instance = self.instance_of(&session).await?;
        let Some(worktree) = self.trees_of(&instance).await else { return Ok(()) };
        let ledger = handle.ledger.clone();
        let name = session.clone();
        let files = blocking(move || ledger.account(&worktree, worktree.last(), &name)).await?;
        if let Some(StepFiles { before, after, files }) = files {
            let mut stamp = self.clock.stamp();
            let bodies = [
                PartBody::Snapshot(SnapshotPart { snapshot: after }),
                PartBody::Patch(PatchPart { hash: before, files }),
            ];
            let parts = bodies.map(|body| Part {
                id: stamp.part_id(),
                session_id: session.clone(),
                message_id: step.clone(),
                body,
            });
            let inputs = parts.into_iter().map(|part| Input::WritePart { part: Box::new(part) });
            self.say(&session, inputs.collect()).await?;
        }
        handle.ledger.told();
        Ok(())
    }

    async fn scene_at_any_time(self: &Arc<Self>, session: &SessionId) -> Result<Scene, EngineError> {
        let info = request::session_info(self, session).await?;
        let instance = self.instance(&info.directory).await?;
        let worktree = self.trees_of(&instance).await;
        let messages = self.conversation(session).await?;
        let data_dir = self.trees_dir();
        Ok(Scene { session: session.clone(), info, messages, worktree, data_dir })
    }

    /// The whole conversation, oldest first.
    pub(crate) async fn conversation(
        &self,
        session: &SessionId,
    ) -> Result<Vec<MessageWithParts>, EngineError> {
        let page = self.store.messages(session, MessageQuery::default()).await?;
        let read = move || {
            let parse = |raw| {
                parse_message(raw).map_err(|cause| {
                    let what = cause.to_string();
                    let place = format!("message {}", raw.id);
                    sturdy_store::ReadError::Broken { what, place }
                })
            };
            page.items.iter().map(parse).collect::<Result<Vec<_>, _>>()
        };
        Ok(tokio::task::spawn_blocking(read).await.map_err(|_| EngineError::Closing)??)
    }

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

/// The trees of some steps as the store of trees wants them. Which files a step changed is read from its trees:
/// the names in its patch are for people.
fn steps(worktree: &Worktree, trees: &[StepTrees]) -> Result<Vec<Step>, SnapshotError> {
    let mut steps = Vec::with_capacity(trees.len());
    for step in trees {
        let before: TreeId = step.before.parse()?;
        let unknown = || SnapshotError::Malformed("a step was captured by another program".to_owned());
        let after: TreeId = step.after.as_ref().ok_or_else(unknown)?.parse()?;
        let changed = worktree.store.changed(&before, &after)?;
        steps.push(Step { before, after, files: changed.into_iter().map(|one| one.path).collect() });
    }
    Ok(steps)
}

impl Scene {
    fn worktree(&self) -> Option<&Worktree> {
        self.worktree.as_deref()
    }

    fn targets(&self, worktree: &Worktree, cut: &Boundary) -> Result<Targets, SnapshotError> {
        Targets::of(&worktree.store, &steps(worktree, &trees_behind(&self.messages, cut))?)
    }

    /// The undo that stands: what was there before it, and what it undid.
    fn standing(&self, worktree: &Worktree) -> Result<Option<(TreeId, Targets)>, SnapshotError> {
        let Some(revert) = &self.info.revert else { return Ok(None) };
        let Some(snapshot) = &revert.snapshot else { return Ok(None) };
        Ok(Some((snapshot.parse()?, self.targets(worktree, &Boundary::of(revert))?)))
    }

    fn prepare(
        &self,
        worktree: &Worktree,
        targets: &Targets,
        forced: &BTreeSet<TreePath>,
    ) -> Result<Undo, SnapshotError> {
        let standing = self.standing(worktree)?;
        let standing = standing.as_ref().map(|(snapshot, targets)| Standing { snapshot: *snapshot, targets });
        worktree.store.prepare_undo(worktree.last().as_ref(), standing, targets, forced)
    }
}

fn undo(scene: &Scene, cut: &Boundary, forced: &BTreeSet<TreePath>) -> Result<Undone, SnapshotError> {
    let Some(worktree) = scene.worktree() else {
        // Saying "undone" would be a lie.
        if !trees_behind(&scene.messages, cut).is_empty() {
            let why = "captured trees are switched off here, so the files of this session cannot go back";
            return Err(SnapshotError::Malformed(why.to_owned()));
        }
        return Ok(Undone::default());
    };
    let store = &worktree.store;
    let targets = scene.targets(worktree, cut)?;
    let undo = scene.prepare(worktree, &targets, forced)?;
    store.anchor(scene.session.as_str(), &[undo.snapshot])?;
    let wanted = Revert {
        message_id: cut.message.clone(),
        part_id: cut.part.clone(),
        snapshot: Some(undo.snapshot.to_string()),
        diff: None,
        conflicts: Vec::new(),
    };
    let note = Note::write(&scene.data_dir, &scene.session, Some(wanted))?;
    let done = match store.apply(&undo.settings) {
        Ok(done) => done,
        Err(cause) => {
            // Everything was taken back.
            note.remove();
            return Err(cause);
        }
    };

    let mut conflicts: BTreeMap<String, &'static str> = BTreeMap::new();
    conflicts.extend(undo.plan.conflicts().map(|(entry, why)| (entry.path.to_string(), why.text())));
    for path in done.conflicts() {
        conflicts.entry(path.to_string()).or_insert(Conflict::ChangedSince.text());
    }
    let before = store.states(&undo.snapshot, targets.paths())?;
    let set: Vec<Changed> = undo
        .plan
        .wanted()
        .into_iter()
        .filter(|(path, state)| before[path] != *state && !conflicts.contains_key(&path.to_string()))
        .map(|(path, after)| Changed { before: before[&path], path, after })
        .collect();
    Ok(Undone {
        snapshot: Some(undo.snapshot),
        diff: unified(store, &set)?,
        behind: differences(store, &targets.changes())?,
        conflicts: conflicts
            .into_iter()
            .map(|(file, why)| RevertConflict { file, why: why.to_owned() })
            .collect(),
        note: Some(note),
    })
}

fn redo(scene: &Scene) -> Result<Option<Note>, SnapshotError> {
    let Some(worktree) = scene.worktree() else { return Ok(None) };
    let Some((snapshot, targets)) = scene.standing(worktree)? else { return Ok(None) };
    let settings = worktree.store.prepare_redo(Standing { snapshot, targets: &targets })?;
    let note = Note::write(&scene.data_dir, &scene.session, None)?;
    match worktree.store.apply(&settings) {
        Ok(_) => Ok(Some(note)),
        Err(cause) => {
            note.remove();
            Err(cause)
        }
    }
}

/// Makes the files fit what the session record says, after a process died while it changed them. `wanted` is what
/// it was about to record.
fn settle(scene: &Scene, wanted: Option<&Revert>) -> Result<(), SnapshotError> {
    let Some(worktree) = scene.worktree() else { return Ok(()) };
    let store = &worktree.store;
    let recorded = scene.info.revert.as_ref();
    // The newer snapshot knows the files of both.
    let Some(standing) = wanted.or(recorded) else { return Ok(()) };
    let Some(snapshot) = &standing.snapshot else { return Ok(()) };
    let snapshot: TreeId = snapshot.parse()?;
    let targets = scene.targets(worktree, &Boundary::of(standing))?;
    let standing = Standing { snapshot, targets: &targets };
    let settings = match recorded {
        None => store.prepare_redo(standing)?,
        Some(recorded) => {
            let targets = scene.targets(worktree, &Boundary::of(recorded))?;
            store.prepare_undo(None, Some(standing), &targets, &BTreeSet::new())?.settings
        }
    };
    store.apply(&settings)?;
    Ok(())
}

/// What some steps changed, taken together.
pub(crate) fn changes_of(worktree: &Worktree, trees: &[StepTrees]) -> Result<Changes, SnapshotError> {
    let targets = Targets::of(&worktree.store, &steps(worktree, trees)?)?;
    differences(&worktree.store, &targets.changes())
}

/// What a session has changed, without what is behind a cut.
pub(crate) fn session_changes(
    messages: &[MessageWithParts],
    info: &Session,
    worktree: Option<&Worktree>,
    newest: Option<StepTrees>,
) -> Result<Changes, SnapshotError> {
    let (Some(worktree), Some(first)) = (worktree, messages.first()) else { return Ok(Changes::default()) };
    let all = Boundary { message: first.info.id().clone(), part: None };
    let mut trees = trees_behind(messages, &all);
    if let Some(revert) = &info.revert {
        let undone = trees_behind(messages, &Boundary::of(revert)).len();
        trees.truncate(trees.len().saturating_sub(undone));
    }
    trees.extend(newest);
    changes_of(worktree, &trees)
}

pub(crate) fn totals(changes: &Changes) -> SessionSummary {
    SessionSummary {
        additions: Num::from(changes.additions),
        deletions: Num::from(changes.deletions),
        files: Num::from(changes.files_total as u64),
        diffs: None,
    }
}

impl PlannedFile {
    fn of(entry: &sturdy_worktree::snapshot::Entry) -> Self {
        let (action, why) = match entry.verdict {
            Verdict::Nothing => ("nothing", None),
            Verdict::Create => ("create", None),
            Verdict::Change => ("change", None),
            Verdict::Delete => ("delete", None),
            Verdict::Conflict(why) => ("conflict", Some(why.text())),
        };
        let id = |state: &State| state.content().map(|id| id.to_string());
        Self { file: entry.path.to_string(), action, why, from: id(&entry.from), to: id(&entry.to) }
    }
}
