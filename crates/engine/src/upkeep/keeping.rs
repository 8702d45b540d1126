//! The disk space of captured trees, and freeing it.
//!
//! A session that is removed leaves its trees anchored under its name. The upkeep releases such names, and packs a
//! store that has grown many small files; `sturdy gc` does the same when it is asked, and can say first what it would
//! do. Nothing that a session can still go back to is ever removed here.

use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use serde::Serialize;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use sturdy_session::id::SessionId;
use sturdy_worktree::snapshot::{
    Collected, RECENT, SnapshotError, StoreUsage, collect_in, release_in, stores_below,
};
use tracing::{debug, info, warn};

/// A store with more small files than this is packed.
const LOOSE_MAX: usize = 6_000;

/// What one worktree's captured trees take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TreesUsage {
    pub worktree: PathBuf,
    pub bytes: u64,
    pub sessions: usize,
    /// Of sessions that were removed: released by the next upkeep, or by `sturdy gc`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
}

/// What was given back, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GarbageReport {
    pub stores: Vec<TreesUsage>,
    /// Names of removed sessions whose trees are released.
    pub released: usize,
    pub bytes_before: u64,
    /// None: nothing was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_after: Option<u64>,
}

/// Whether to do it or only to say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Garbage {
    Show,
    /// Recent objects too: somebody waits for the space.
    Remove,
}

/// What the trees below a data directory take. Reads the disk and needs no server.
pub fn trees_usage(data_dir: &Path) -> io::Result<Vec<TreesUsage>> {
    let usage = |store: StoreUsage| TreesUsage {
        worktree: store.root,
        bytes: store.usage.bytes,
        sessions: store.usage.names.len(),
        removed: Vec::new(),
    };
    Ok(stores_below(&data_dir.join("trees"))?.into_iter().map(usage).collect())
}

impl Engine {
    /// Releases the trees of removed sessions and removes what nothing keeps, or says what that would be.
    pub async fn collect_garbage(&self, garbage: Garbage) -> Result<GarbageReport, EngineError> {
        let stores = self.inner.stores().await?;
        let mut report = GarbageReport::default();
        let mut bytes_after = 0;
        for store in stores {
            let removed = self.inner.removed_of(&store).await?;
            report.released += removed.len();
            report.bytes_before += store.usage.bytes;
            if garbage == Garbage::Remove {
                self.inner.release(&store, &removed).await?;
                bytes_after += self.inner.pack(&store, Duration::ZERO).await?.bytes_after;
            }
            report.stores.push(TreesUsage {
                worktree: store.root,
                bytes: store.usage.bytes,
                sessions: store.usage.names.len() - removed.len(),
                removed,
            });
        }
        report.bytes_after = (garbage == Garbage::Remove).then_some(bytes_after);
        Ok(report)
    }
}

impl Engine {
    /// One round of the upkeep of captured trees, now.
    pub async fn tidy_trees(&self) {
        tidy(&self.inner).await;
    }
}

impl Inner {
    async fn stores(&self) -> Result<Vec<StoreUsage>, EngineError> {
        let trees = self.sessions.trees_dir();
        let place = trees.clone();
        let found = tokio::task::spawn_blocking(move || stores_below(&trees));
        let found = found.await.map_err(|_| EngineError::Closing)?;
        Ok(found.map_err(|source| SnapshotError::Io { path: place, source })?)
    }

    /// Names in a store that are those of no session.
    async fn removed_of(&self, store: &StoreUsage) -> Result<Vec<String>, EngineError> {
        let mut removed = Vec::new();
        for name in &store.usage.names {
            let Ok(session) = SessionId::parse(name) else { continue };
            // Asked first: whoever is not being made any more exists.
            if self.sessions.is_in_creation(&session) {
                continue;
            }
            if self.store.session(&session).await?.is_none() {
                removed.push(name.clone());
            }
        }
        Ok(removed)
    }

    async fn release(&self, store: &StoreUsage, names: &[String]) -> Result<(), EngineError> {
        let open = self.sessions.open_trees().into_iter().find(|one| one.store.dir() == store.dir);
        let dir = store.dir.clone();
        let names = names.to_vec();
        let work = move || {
            names.iter().try_for_each(|name| match &open {
                Some(worktree) => worktree.release(name),
                None => release_in(&dir, name),
            })
        };
        Ok(tokio::task::spawn_blocking(work).await.map_err(|_| EngineError::Closing)??)
    }

    async fn pack(&self, store: &StoreUsage, recent: Duration) -> Result<Collected, EngineError> {
        let open = self.sessions.open_trees().into_iter().find(|one| one.store.dir() == store.dir);
        let dir = store.dir.clone();
        let search_path = self.options.environment.filled("PATH").map(OsString::from);
        // Who has it open may be about to anchor what was just stored. One that is opened now is waited for
        // (`collect_in`).
        let recent = if open.is_some() { RECENT } else { recent };
        let work = move || match &open {
            Some(worktree) => worktree.store.collect_older_than(recent),
            None => collect_in(&dir, search_path.as_deref(), recent),
        };
        Ok(tokio::task::spawn_blocking(work).await.map_err(|_| EngineError::Closing)??)
    }
}

/// One round of the upkeep: removed sessions are released, what has grown is packed.
pub(crate) async fn tidy(inner: &Arc<Inner>) {
    let stores = match inner.stores().await {
        Ok(stores) => stores,
        Err(cause) => return warn!(%cause, "captured trees could not be looked at"),
    };
    for store in stores {
        if let Err(cause) = tidy_one(inner, &store).await {
            warn!(%cause, "a store of captured trees could not be cleaned up");
        }
    }
}

async fn tidy_one(inner: &Arc<Inner>, store: &StoreUsage) -> Result<(), EngineError> {
    let removed = inner.removed_of(store).await?;
    inner.release(store, &removed).await?;
    if removed.is_empty() && store.loose <= LOOSE_MAX {
        return Ok(());
    }
    let collected = inner.pack(store, RECENT).await?;
    info!(released = removed.len(), "captured trees of removed sessions are released and the rest is packed");
    debug!(
        bytes_before = collected.bytes_before,
        bytes_after = collected.bytes_after,
        "captured trees packed"
    );
    Ok(())
}
