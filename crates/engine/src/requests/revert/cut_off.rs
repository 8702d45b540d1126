//! What calls changed that were cut off, by a person or by the end of the process: written behind their steps. Where that
//! is not known, the calls say so.

use super::blocking;
use super::note::AT_ONCE;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::run::handle::Handle;
use crate::run::trees::{Acting, Worktree, absolute, acting_notes, are_related, can_write};
use futures_util::{StreamExt as _, stream};
use std::collections::BTreeSet;
use std::sync::Arc;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::revert::{StepTrees, UNCAPTURED, trees_of_step};
use sturdy_session::turn::{Input, StepFiles};
use sturdy_session::types::part::{Part, PartBody, PatchPart, SnapshotPart};
use sturdy_session::types::tool::ToolState;
use sturdy_worktree::snapshot::{SnapshotError, TreeId, TreePath};
use tracing::{info, warn};

impl Inner {
    /// What a call had changed when it was cut off, and nobody has heard of yet, is written behind its step.
    pub(super) async fn tell_rest(self: &Arc<Self>, handle: &Handle) -> Result<(), EngineError> {
        let session = handle.id().clone();
        handle.ledger.settled().await;
        if let Some((step, why)) = handle.ledger.uncaptured() {
            self.say_uncaptured(&session, &step, &why).await?;
            handle.ledger.uncaptured_is_said();
        }
        let Some(step) = handle.ledger.news_of() else { return Ok(()) };
        if self.store.message(&session, &step).await?.is_none() {
            return Ok(());
        }
        let files = match handle.ledger.left() {
            Some(files) => Some(files),
            None => {
                let instance = self.directories.instance_of(&session).await?;
                let Some(worktree) = self.sessions.trees_of(&instance).await else { return Ok(()) };
                let ledger = handle.ledger.clone();
                let name = session.clone();
                blocking(move || ledger.account(&worktree, worktree.last(), &name)).await?
            }
        };
        if let Some(files) = files {
            self.write_behind(&session, &step, files).await?;
        }
        handle.ledger.told();
        handle.ledger.close();
        Ok(())
    }

    async fn write_behind(
        self: &Arc<Self>,
        session: &SessionId,
        step: &MessageId,
        files: StepFiles,
    ) -> Result<(), EngineError> {
        let StepFiles { before, after, files, shared } = files;
        let mut stamp = self.clock.stamp();
        let bodies = [
            PartBody::Snapshot(SnapshotPart { snapshot: after }),
            PartBody::Patch(PatchPart { hash: before, files, shared }),
        ];
        let parts = bodies.map(|body| Part {
            id: stamp.part_id(),
            session_id: session.clone(),
            message_id: step.clone(),
            body,
        });
        let inputs = parts.into_iter().map(|part| Input::WritePart { part: Box::new(part) });
        self.sessions.say(session, inputs.collect()).await
    }

    /// Says in the calls of a step that did not end why an undo does not know what they changed.
    async fn say_uncaptured(
        self: &Arc<Self>,
        session: &SessionId,
        step: &MessageId,
        why: &str,
    ) -> Result<(), EngineError> {
        let messages = self.sessions.conversation(session).await?;
        let Some(message) = messages.into_iter().find(|one| one.info.id() == step) else { return Ok(()) };
        let mut inputs = Vec::new();
        for mut part in message.parts {
            let PartBody::Tool(call) = &mut part.body else { continue };
            let ToolState::Error { metadata, .. } = &mut call.state else { continue };
            if !can_write(&call.tool) || metadata.as_ref().is_some_and(|known| known.contains_key(UNCAPTURED))
            {
                continue;
            }
            metadata.get_or_insert_default().insert(UNCAPTURED.to_owned(), why.into());
            inputs.push(Input::WritePart { part: Box::new(part) });
        }
        if inputs.is_empty() {
            return Ok(());
        }
        self.sessions.say(session, inputs).await
    }
}

/// Tells what calls changed that died with the last process. What cannot be told is said to be unknown; nothing else
/// waits for it.
pub(crate) async fn tell_of_the_dead(engine: &Engine) {
    let inner = &engine.inner;
    let notes = acting_notes(&inner.sessions.trees_dir());
    let mut acted = Vec::with_capacity(notes.len());
    for (_, one) in &notes {
        let who = inner.sessions.family_above(&one.session).await;
        acted.push(Acted { who, files: one.files().into_keys().collect(), found: one.scanned() });
    }
    let acted = &acted;
    let all = stream::iter(notes.iter().enumerate());
    let telling = all.for_each_concurrent(AT_ONCE, |(at, (place, acting))| async move {
        let session = &acting.session;
        let others = acted.iter().filter(|other| !are_related(&acted[at].who, &other.who));
        let rivals = Rivals {
            files: others.clone().flat_map(|other| &other.files).cloned().collect(),
            found: others.filter_map(|other| other.found).collect(),
        };
        let told = match tell(inner, acting, rivals).await {
            Err(EngineError::NoSession(_)) => Ok(0),
            Err(cause) => {
                warn!(%session, %cause, "the file changes of a call could not be recorded");
                inner.say_uncaptured(session, &acting.step, &cause.to_string()).await.map(|()| 0)
            }
            told => told,
        };
        match told {
            Ok(files) => {
                info!(%session, files, "recorded the file changes of a call that the last process did not finish");
                let _ = std::fs::remove_file(place);
            }
            Err(EngineError::NoSession(_)) => drop(std::fs::remove_file(place)),
            // Its note stays, for the next start.
            Err(cause) => warn!(%session, %cause, "could not record that the file changes of a call are unknown"),
        }
    });
    telling.await;
}

/// What a session's calls were about when the process died.
struct Acted {
    /// The session, and those that it works for.
    who: Vec<SessionId>,
    files: BTreeSet<TreePath>,
    /// The tree that a command found.
    found: Option<TreeId>,
}

/// What calls of unrelated sessions were about at the same time.
struct Rivals {
    /// Files that tools of ours were changing: theirs.
    files: BTreeSet<TreePath>,
    /// Trees that commands found: what has changed since may be theirs.
    found: Vec<TreeId>,
}

async fn tell(inner: &Arc<Inner>, acting: &Acting, rivals: Rivals) -> Result<usize, EngineError> {
    let session = &acting.session;
    let _inside = inner.gates.enter(session).await?;
    let instance = inner.directories.instance_of(session).await?;
    let messages = inner.sessions.conversation(session).await?;
    let Some(message) = messages.iter().find(|one| *one.info.id() == acting.step) else { return Ok(0) };
    if !instance.settings.snapshot() {
        return Ok(0);
    }
    if let Some(why) = &acting.uncaptured {
        inner.say_uncaptured(session, &acting.step, why).await?;
    }
    let told = trees_of_step(&message.parts);
    let Some(worktree) = inner.sessions.trees_of(&instance).await else {
        let why = "captured trees could not be opened";
        return Err(SnapshotError::Malformed(why.to_owned()).into());
    };
    let note = acting.clone();
    let Some(files) = blocking(move || account(&worktree, &note, &told, &rivals)).await? else {
        return Ok(0);
    };
    let count = files.files.len();
    inner.write_behind(session, &acting.step, files).await?;
    Ok(count)
}

/// What has changed since the calls began, without what the step has told already.
fn account(
    worktree: &Worktree,
    acting: &Acting,
    told: &[StepTrees],
    rivals: &Rivals,
) -> Result<Option<StepFiles>, SnapshotError> {
    let store = &worktree.store;
    let mut before = acting.files();
    let mut base = None;
    if let Some(scanned) = acting.scanned() {
        let now = store.scan()?.tree;
        for one in store.changed(&scanned, &now)? {
            if !rivals.files.contains(&one.path) {
                before.entry(one.path).or_insert(one.before);
            }
        }
        base = Some(now);
    }
    for step in told {
        let Ok(first) = step.before.parse::<TreeId>() else { continue };
        let Some(Ok(last)) = step.after.as_ref().map(|id| id.parse::<TreeId>()) else { continue };
        for one in store.changed(&first, &last)? {
            before.entry(one.path).and_modify(|state| *state = one.after);
        }
    }
    let mut after = store.states_now(before.keys())?;
    before.retain(|path, state| after[path] != *state);
    after.retain(|path, _| before.contains_key(path));
    if before.is_empty() {
        return Ok(None);
    }
    let mut shared = BTreeSet::new();
    if acting.scanned().is_some() {
        for found in &rivals.found {
            // One that is not there is of another worktree.
            let Ok(found) = store.states(found, after.keys()) else { continue };
            shared.extend(after.keys().filter(|path| found[*path] != after[*path]).cloned());
        }
    }
    let files = before.keys().map(|path| absolute(store.root(), path)).collect();
    let shared = shared.iter().map(|path| absolute(store.root(), path)).collect();
    store.add_emptied(&mut after);
    let before = store.with_states(base.as_ref(), &before)?;
    let after = store.with_states_now(base.as_ref(), &after)?;
    store.anchor(acting.session.as_str(), &[before, after])?;
    Ok(Some(StepFiles { before: before.to_string(), after: after.to_string(), files, shared }))
}
