//! What one undo needs to know, gathered before it begins.

use super::note::settle_left;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::run::request;
use crate::run::trees::{Worktree, steps};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use sturdy_session::id::SessionId;
use sturdy_session::revert::{Boundary, trees_behind};
use sturdy_session::turn::Refusal;
use sturdy_session::types::message::MessageWithParts;
use sturdy_session::types::session::Session;
use sturdy_worktree::snapshot::{SnapshotError, Standing, Targets, TreeId, TreePath, Undo};

/// What one undo needs to know, gathered before it begins.
pub(super) struct Scene {
    pub(super) session: SessionId,
    pub(super) info: Session,
    pub(super) messages: Vec<MessageWithParts>,
    pub(super) worktree: Option<Arc<Worktree>>,
    pub(super) data_dir: PathBuf,
}

impl Inner {
    pub(super) async fn scene(self: &Arc<Self>, session: &SessionId) -> Result<Scene, EngineError> {
        let handle = self.sessions.session(session).await?;
        if !handle.view().is_idle {
            return Err(Refusal::Busy.into());
        }
        settle_left(self, session).await?;
        self.tell_rest(&handle).await?;
        self.scene_at_any_time(session).await
    }

    pub(super) async fn scene_at_any_time(
        self: &Arc<Self>,
        session: &SessionId,
    ) -> Result<Scene, EngineError> {
        let info = request::session_info(&self.sessions, session).await?;
        let instance = self.directories.instance(&info.directory).await?;
        let worktree = self.sessions.trees_of(&instance).await;
        let messages = self.sessions.conversation(session).await?;
        let data_dir = self.sessions.trees_dir();
        Ok(Scene { session: session.clone(), info, messages, worktree, data_dir })
    }
}

impl Scene {
    pub(super) fn worktree(&self) -> Option<&Worktree> {
        self.worktree.as_deref()
    }

    pub(super) fn targets(&self, worktree: &Worktree, cut: &Boundary) -> Result<Targets, SnapshotError> {
        let trees = trees_behind(&self.messages, cut);
        let mut targets = Targets::of(&worktree.store, &steps(worktree, &trees)?)?;
        let shared: BTreeSet<&String> = trees.iter().flat_map(|step| &step.shared).collect();
        if !shared.is_empty() {
            // By the end of the name: the worktree may have been moved since.
            let is_shared = |path: &TreePath| shared.iter().any(|name| name.ends_with(&format!("/{path}")));
            targets.share(is_shared);
        }
        Ok(targets)
    }

    /// The undo that stands: what was there before it, and what it undid.
    pub(super) fn standing(&self, worktree: &Worktree) -> Result<Option<(TreeId, Targets)>, SnapshotError> {
        let Some(revert) = &self.info.revert else { return Ok(None) };
        let Some(snapshot) = &revert.snapshot else { return Ok(None) };
        let Some(cut) = Boundary::of_files(revert) else { return Ok(None) };
        Ok(Some((snapshot.parse()?, self.targets(worktree, &cut)?)))
    }

    /// What is forced now, and what was by the undo that stands.
    pub(super) fn forced(&self, names: &[String]) -> Vec<String> {
        let standing = self.info.revert.iter().flat_map(|revert| &revert.forced);
        let all: BTreeSet<&String> = standing.chain(names).collect();
        all.into_iter().cloned().collect()
    }

    pub(super) fn prepare(
        &self,
        worktree: &Worktree,
        targets: &Targets,
        forced: &[String],
    ) -> Result<Undo, SnapshotError> {
        let forced = targets.named(forced)?;
        let standing = self.standing(worktree)?;
        let standing = standing.as_ref().map(|(snapshot, targets)| Standing { snapshot: *snapshot, targets });
        worktree.store.prepare_undo(worktree.last().as_ref(), standing, targets, &forced)
    }
}
