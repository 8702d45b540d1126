//! A transaction as a value: the facts that happened and the rows they change.
//!
//! Not here: how it is written (`committer.rs`), what the facts mean (`sturdy-session`).

use crate::grants::GrantUse;
use std::sync::Arc;
use sturdy_session::id::SessionId;
use sturdy_session::row::RowWrite;

/// Invariant I12: an entry holds at most this much. What is larger stands in a blob, once, and
/// the entry holds its hash; whoever reads the entry gets the text back and does not notice.
pub const ENTRY_BYTES_MAX: usize = 64 * 1024;

/// Something to make durable, whole or not at all.
#[derive(Clone, Debug)]
pub struct Commit {
    pub session: SessionId,
    /// The seq this commit builds on; 0 when the session has no entry yet.
    pub expected: u64,
    /// At least one.
    pub entries: Vec<NewEntry>,
    /// In the order they are to be written.
    pub rows: Vec<RowWrite>,
    /// The parent of the session that it creates; refused inside the transaction if that was removed.
    pub parent: Option<Box<SessionId>>,
    /// The grant it is made with; refused inside the transaction if that does not allow it now.
    pub grant: Option<GrantUse>,
}

/// A fact before it has its place.
#[derive(Clone, Debug)]
pub struct NewEntry {
    pub kind: &'static str,
    /// What it is about, where all that is said of it is wanted at once.
    pub subject: Option<String>,
    /// Milliseconds.
    pub at: u64,
    pub data: String,
    /// On whose behalf; none: the session itself.
    pub actor: Option<Arc<str>>,
    /// How many numbers it takes of those that its session gives to what it tells.
    pub tells: u64,
}

/// A commit's place in the log. It is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The entries of a commit have consecutive positions, starting here.
    pub first_position: u64,
    /// What the session is at now.
    pub seq: u64,
}

impl Commit {
    /// A commit that breaks this is a mistake of the caller and would fail for ever.
    pub(crate) fn check(&self) {
        assert!(!self.entries.is_empty(), "BUG: a commit of {} has no entry", self.session);
        let last = self.entries.len() - 1;
        for row in &self.rows {
            assert!(row.entry <= last, "BUG: a row of {} names entry {} of {last}", self.session, row.entry);
        }
    }
}
