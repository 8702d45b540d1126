//! Captured trees follow their worktree when it is moved, or becomes another project.
//!
//! A store of trees stands under the project's id and the path of the worktree. Its content knows neither, so it is
//! renamed, before the sessions are brought along: whatever dies in between, the next opening finds it at its new place.

use super::lock;
use crate::directory::instance::Instance;
use crate::error::EngineError;
use crate::run::Sessions;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use sturdy_worktree::snapshot::{store_name, stores_of};
use tracing::{info, warn};

impl Sessions {
    /// The worktree of a directory, and where its captured trees are kept.
    pub(super) fn store_place(&self, instance: &Instance) -> (PathBuf, PathBuf) {
        let root = match instance.worktree.as_str() {
            "/" => PathBuf::from(&instance.directory),
            worktree => PathBuf::from(worktree),
        };
        let dir = self.trees_dir().join(&instance.project.id).join(store_name(&root));
        (root, dir)
    }

    /// The worktree of this directory was at `old` before. Trees that cannot be brought stay where they are, and keep
    /// nobody from working here.
    pub(crate) async fn bring_trees(&self, instance: &Instance, old: &Path) -> Result<(), EngineError> {
        lock(&self.trees.open).retain(|_, worktree| worktree.store.root() != old);
        let (_, place) = self.store_place(instance);
        let trees = self.trees_dir();
        let old = old.to_owned();
        let work = move || follow(&trees, &old, &place, From::Anywhere);
        let brought = tokio::task::spawn_blocking(work).await.map_err(|_| EngineError::Closing)?;
        if let Err(cause) = brought {
            warn!(%cause, "captured trees could not be moved with their worktree; earlier changes cannot be undone");
        }
        Ok(())
    }
}

/// Whose store is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    Anywhere,
    /// Within a project, a worktree that is reached by two names has a store for each, and both may be open.
    AnotherProject,
}

/// Renames the store of the worktree `root`. One that is there already stays.
pub(super) fn follow(trees: &Path, root: &Path, place: &Path, from: From) -> io::Result<()> {
    if place.exists() {
        return Ok(());
    }
    let project = place.parent().unwrap_or(trees);
    let is_meant = |store: &PathBuf| from == From::Anywhere || store.parent() != Some(project);
    let Some(found) = stores_of(trees, root)?.into_iter().find(is_meant) else { return Ok(()) };
    std::fs::create_dir_all(project)?;
    std::fs::rename(&found, place)?;
    File::open(project)?.sync_all()?;
    info!("captured trees were moved with their worktree");
    Ok(())
}
