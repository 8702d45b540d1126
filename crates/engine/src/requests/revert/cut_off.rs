//! What calls changed that were cut off, by a person or by the end of the process: written behind their steps.

use super::blocking;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::run::handle::Handle;
use crate::run::trees::{Acting, Worktree, absolute, acting_notes};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::revert::{StepTrees, trees_of_step};
use sturdy_session::turn::{Input, StepFiles};
use sturdy_session::types::part::{Part, PartBody, PatchPart, SnapshotPart};
use sturdy_worktree::snapshot::{SnapshotError, State, TreeId, TreePath};
use tracing::{info, warn};

impl Inner {
    /// What a call had changed when it was cut off, and nobody has heard of yet, is written behind its step.
    pub(super) async fn tell_rest(self: &Arc<Self>, handle: &Handle) -> Result<(), EngineError> {
        let session = handle.id().clone();
        handle.ledger.settled().await;
        let Some(step) = handle.ledger.news_of() else { return Ok(()) };
        if self.store.message(&session, &step).await?.is_none() {
            return Ok(());
        }
        let files = match handle.ledger.left() {
            Some(files) => Some(files),
            None => {
                let instance = self.instance_of(&session).await?;
                let Some(worktree) = self.trees_of(&instance).await else { return Ok(()) };
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
        let StepFiles { before, after, files } = files;
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
        self.say(session, inputs.collect()).await
    }
}

/// Tells what calls changed that died with the last process. What cannot be told keeps its note; nothing else waits
/// for it.
pub(crate) async fn tell_of_the_dead(engine: &Engine) {
    let notes = acting_notes(&engine.inner.trees_dir());
    let claimed: BTreeMap<SessionId, BTreeSet<TreePath>> =
        notes.iter().map(|(_, one)| (one.session.clone(), one.files().into_keys().collect())).collect();
    for (place, acting) in notes {
        let session = acting.session.clone();
        let others = claimed.iter().filter(|(who, _)| **who != session);
        let others = others.flat_map(|(_, paths)| paths).cloned().collect();
        match tell(&engine.inner, acting, others).await {
            Ok(files) => {
                info!(%session, files, "told what a call changed that died with the last process");
                let _ = std::fs::remove_file(&place);
            }
            Err(EngineError::NoSession(_)) => drop(std::fs::remove_file(&place)),
            Err(cause) => warn!(%session, %cause, "what a call changed could not be told"),
        }
    }
}

async fn tell(inner: &Arc<Inner>, acting: Acting, others: BTreeSet<TreePath>) -> Result<usize, EngineError> {
    let session = acting.session.clone();
    let step = acting.step.clone();
    let _inside = inner.gates.enter(&session).await?;
    let messages = inner.conversation(&session).await?;
    let Some(message) = messages.iter().find(|one| *one.info.id() == step) else { return Ok(0) };
    let told = trees_of_step(&message.parts);
    let instance = inner.instance_of(&session).await?;
    let Some(worktree) = inner.trees_of(&instance).await else { return Ok(0) };
    let Some(files) = blocking(move || account(&worktree, &acting, &told, &others)).await? else {
        return Ok(0);
    };
    let count = files.files.len();
    inner.write_behind(&session, &step, files).await?;
    Ok(count)
}

/// What has changed since the calls began, without what the step has told already.
fn account(
    worktree: &Worktree,
    acting: &Acting,
    told: &[StepTrees],
    others: &BTreeSet<TreePath>,
) -> Result<Option<StepFiles>, SnapshotError> {
    let store = &worktree.store;
    let mut before = acting.files();
    let mut base = None;
    if let Some(scanned) = acting.scanned() {
        let now = store.scan()?.tree;
        for one in store.changed(&scanned, &now)? {
            if !others.contains(&one.path) {
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
    let mut after: BTreeMap<TreePath, State> = BTreeMap::new();
    for path in before.keys() {
        after.insert(path.clone(), store.state_now(path)?);
    }
    before.retain(|path, state| after[path] != *state);
    after.retain(|path, _| before.contains_key(path));
    if before.is_empty() {
        return Ok(None);
    }
    let files = before.keys().map(|path| absolute(store.root(), path)).collect();
    let before = store.with_states(base.as_ref(), &before)?;
    let after = store.with_states(base.as_ref(), &after)?;
    store.anchor(acting.session.as_str(), &[before, after])?;
    Ok(Some(StepFiles { before: before.to_string(), after: after.to_string(), files }))
}
