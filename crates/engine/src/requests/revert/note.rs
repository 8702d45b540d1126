//! A note that files are being set, on the disk before the first of them is touched.
//!
//! One per session, removed when the session record says what was done. One that is found at the start was
//! left by a process that died in the middle; then the files are made to fit the record again.

use super::files::settle;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sturdy_session::id::SessionId;
use sturdy_session::types::session::Revert;
use sturdy_worktree::snapshot::SnapshotError;
use tracing::{info, warn};

/// Notes that a start looks at together, so that one whose files hang holds up no other.
pub(super) const AT_ONCE: usize = 8;

#[derive(Debug)]
pub(super) struct Note {
    place: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct Written {
    session: SessionId,
    wanted: Option<Revert>,
}

fn directory(trees: &Path) -> PathBuf {
    trees.join("pending")
}

impl Note {
    pub(super) fn write(
        trees: &Path,
        session: &SessionId,
        wanted: Option<Revert>,
    ) -> Result<Self, SnapshotError> {
        let place = directory(trees).join(format!("{session}.json"));
        let written = Written { session: session.clone(), wanted };
        let text = serde_json::to_vec(&written).expect("BUG: a note is always JSON");
        store(&place, &text).map_err(|source| SnapshotError::Io { path: place.clone(), source })?;
        Ok(Self { place })
    }

    pub(super) fn remove(self) {
        if let Err(error) = std::fs::remove_file(&self.place) {
            // The next start finds it, and that everything is as the record says.
            warn!(%error, "the note of an undo could not be removed");
        }
    }
}

fn store(place: &Path, text: &[u8]) -> io::Result<()> {
    let directory = place.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let beside = place.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(text)?;
    file.sync_all()?;
    std::fs::rename(&beside, place)?;
    File::open(directory)?.sync_all()
}

/// Ends what a dead process began. One that cannot be ended keeps its note; nothing else waits for it.
pub(crate) async fn recover(engine: &Engine) {
    let trees = engine.inner.sessions.trees_dir();
    let Ok(notes) = directory(&trees).read_dir() else { return };
    let places: Vec<PathBuf> = notes.filter_map(|entry| Some(entry.ok()?.path())).collect();
    stream::iter(places).for_each_concurrent(AT_ONCE, |place| recover_one(&engine.inner, place)).await;
}

async fn recover_one(inner: &Arc<Inner>, place: PathBuf) {
    let is_whole = place.extension().is_some_and(|end| end == "json");
    let written = std::fs::read(&place).ok().filter(|_| is_whole);
    let written = written.and_then(|text| serde_json::from_slice::<Written>(&text).ok());
    let Some(Written { session, .. }) = written else {
        // Half a note: nothing was touched yet.
        let _ = std::fs::remove_file(&place);
        return;
    };
    // Whoever is served while files hang finds the note, settles it, or waits here for it.
    let settled = async {
        let _inside = inner.gates.enter(&session).await?;
        settle_left(inner, &session).await
    };
    match settled.await {
        Ok(()) => {}
        Err(EngineError::NoSession(_)) => drop(std::fs::remove_file(&place)),
        Err(cause) => warn!(%session, %cause, "an undo that was left half done could not be settled"),
    }
}

/// Settles an undo that was left half done, by this process or by one that died. Before anything else is done in the
/// session: a prompt would make the files final as they are.
pub(crate) async fn settle_left(inner: &Arc<Inner>, session: &SessionId) -> Result<(), EngineError> {
    let place = directory(&inner.sessions.trees_dir()).join(format!("{session}.json"));
    let Ok(text) = std::fs::read(&place) else { return Ok(()) };
    if let Ok(written) = serde_json::from_slice::<Written>(&text) {
        end(inner, written).await?;
        info!(%session, "an undo that was left half done was settled");
    }
    // A note that stays would be believed again when the record says something else.
    std::fs::remove_file(&place).map_err(|source| SnapshotError::Io { path: place, source })?;
    Ok(())
}

async fn end(inner: &Arc<Inner>, written: Written) -> Result<(), EngineError> {
    let scene = inner.scene_at_any_time(&written.session).await?;
    super::blocking(move || settle(&scene, written.wanted.as_ref())).await
}
