//! What a session has seen of the files, also from before it slept, before a restart, and before it was copied.
//!
//! Every call stores with its result what it saw of the files (`sturdy.seen` in its metadata), and so does the note of
//! a file that came with a prompt. A session that wakes reads those notes back before its first call: a file that was
//! read and has not changed since may be changed without being read again.
//!
//! Not here: what is checked before a file is changed (`worktree/tool/memory.rs`).

use crate::records::{self, readable};
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use sturdy_session::id::SessionId;
use sturdy_session::json::Map;
use sturdy_store::Store;
use sturdy_worktree::tool::Memory;
use tokio::sync::OnceCell;
use tracing::warn;

/// The key of the notes in a part's metadata.
const SEEN: &str = "sturdy.seen";

/// The key of the instruction files that were shown with a file.
const LOADED: &str = "loaded";

/// Parts with notes that are read back, the newest first. Files that only older ones name have to be read again.
const NOTES_MAX: usize = 2_000;

/// The memory of an awake session.
#[derive(Debug, Default)]
pub(crate) struct SessionMemory {
    memory: Memory,
    /// Set when what is stored was read back.
    recalled: OnceCell<()>,
}

impl SessionMemory {
    /// The memory for one call, with all that the session has seen.
    pub(crate) async fn for_call(&self, store: &Store, session: &SessionId) -> Arc<Memory> {
        let recall = || async {
            let notes = store.newest_parts_that(session, NOTES_MAX, note_of).await?;
            let loaded = notes.iter().flat_map(|note| &note.loaded);
            for path in loaded {
                self.memory.claim_instructions(path);
            }
            self.memory.recall(notes.into_iter().map(|note| note.seen));
            Ok::<_, sturdy_store::ReadError>(())
        };
        if let Err(cause) = self.recalled.get_or_try_init(recall).await {
            // The next call tries again; until then files have to be read before they are changed.
            warn!(%session, %cause, "the list of files that the session has read could not be loaded");
        }
        Arc::new(self.memory.for_call())
    }
}

/// Adds what a call saw of the files to what is stored of it.
pub(crate) fn keep_notes(memory: &Memory, metadata: &mut Map) {
    if let Some(seen) = memory.noted() {
        metadata.insert(SEEN.to_owned(), seen);
    }
}

/// Of a call's metadata, what is read back: for a part that keeps nothing else of the call.
pub(crate) fn notes_of(metadata: Map) -> Option<Map> {
    let mut notes = metadata;
    notes.retain(|key, _| key == SEEN || key == LOADED);
    notes.contains_key(SEEN).then_some(notes)
}

/// What one part says of the files.
#[derive(Debug)]
struct Note {
    seen: Value,
    /// Instruction files that were shown with it.
    loaded: Vec<PathBuf>,
}

/// A stored part, as far as it matters here: a call has a state, a text has its metadata itself.
#[derive(Deserialize)]
struct StoredPart {
    state: Option<StoredState>,
    metadata: Option<StoredMetadata>,
}

#[derive(Deserialize)]
struct StoredState {
    metadata: Option<StoredMetadata>,
}

#[derive(Deserialize)]
struct StoredMetadata {
    #[serde(rename = "sturdy.seen")]
    seen: Option<Value>,
    loaded: Option<Value>,
}

fn note_of(part: &str) -> Option<Note> {
    // Few parts have notes, and most of the others need not be parsed to see that.
    if !part.contains(SEEN) {
        return None;
    }
    let StoredPart { state, metadata } = readable(records::fields("a part", part))?;
    let of_call = state.and_then(|state| state.metadata);
    let StoredMetadata { seen, loaded } = of_call.or(metadata)?;
    let loaded = loaded.and_then(|loaded| serde_json::from_value(loaded).ok()).unwrap_or_default();
    Some(Note { seen: seen?, loaded })
}
