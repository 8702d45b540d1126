//! What a session's calls are about to change, on the disk before they do.
//!
//! One note per session, removed when the session has heard what its calls changed. One that is found at the start
//! was left by a process that died while a call acted; `requests/revert/cut_off.rs` tells what became of its files.
//!
//! Not synced: it has to survive the end of the process, and after a loss of power the files are older than it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_worktree::snapshot::{State, TreeId, TreePath};
use tracing::warn;

#[derive(Debug)]
pub(super) struct Journal {
    session: SessionId,
    place: PathBuf,
}

/// What was about to be changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Acting {
    pub(crate) session: SessionId,
    pub(crate) step: MessageId,
    /// The tree before a call that may have changed anything.
    scanned: Option<String>,
    /// Files as the calls found them: the bytes of the path, and the state.
    files: Vec<(Vec<u8>, String)>,
    /// Why what a call changes is not known, or not all of it.
    #[serde(default)]
    pub(crate) uncaptured: Option<String>,
}

impl Acting {
    pub(crate) fn scanned(&self) -> Option<TreeId> {
        self.scanned.as_ref()?.parse().ok()
    }

    pub(crate) fn files(&self) -> BTreeMap<TreePath, State> {
        let file =
            |(path, state): &(Vec<u8>, String)| Some((TreePath::from_bytes(path)?, State::from_text(state)?));
        self.files.iter().filter_map(file).collect()
    }
}

fn directory(trees: &Path) -> PathBuf {
    trees.join("acting")
}

impl Journal {
    pub(super) fn new(trees: &Path, session: &SessionId) -> Self {
        let place = directory(trees).join(format!("{session}.json"));
        Self { session: session.clone(), place }
    }

    pub(super) fn write(
        &self,
        step: &MessageId,
        scanned: Option<TreeId>,
        files: &BTreeMap<TreePath, State>,
        uncaptured: Option<&str>,
    ) {
        let file = |(path, state): (&TreePath, &State)| (path.as_bytes().to_vec(), state.to_text());
        let acting = Acting {
            session: self.session.clone(),
            step: step.clone(),
            scanned: scanned.map(|tree| tree.to_string()),
            files: files.iter().map(file).collect(),
            uncaptured: uncaptured.map(str::to_owned),
        };
        let text = serde_json::to_vec(&acting).expect("BUG: a note is always JSON");
        if let Err(error) = store(&self.place, &text) {
            warn!(%error, "the note of what a call is about to change could not be written");
        }
    }

    pub(super) fn remove(&self) {
        match std::fs::remove_file(&self.place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                warn!(%error, "the note of what a call changed could not be removed");
            }
            _ => {}
        }
    }
}

fn store(place: &Path, text: &[u8]) -> io::Result<()> {
    std::fs::create_dir_all(place.parent().unwrap_or(Path::new(".")))?;
    let beside = place.with_extension("new");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, place)
}

/// The notes that a dead process has left, each with its place. Half a note is removed: nothing had acted on it.
pub(crate) fn acting_notes(trees: &Path) -> Vec<(PathBuf, Acting)> {
    let Ok(notes) = directory(trees).read_dir() else { return Vec::new() };
    let mut found = Vec::new();
    for place in notes.filter_map(|entry| Some(entry.ok()?.path())) {
        let is_whole = place.extension().is_some_and(|end| end == "json");
        let text = std::fs::read(&place).ok().filter(|_| is_whole);
        match text.and_then(|text| serde_json::from_slice(&text).ok()) {
            Some(acting) => found.push((place, acting)),
            None => drop(std::fs::remove_file(&place)),
        }
    }
    found
}
