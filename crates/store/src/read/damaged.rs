//! Rows that cannot be read: noted, and answered with what stands in their place.
//!
//! Whoever asks for a list or a conversation gets all the rest of it. That something is missing is shown where it
//! stood, is in the log once, and is kept here for those who list what is damaged.
//!
//! Not here: what stands in place of a row (`sturdy_session::placeholder`); comparing rows with the log
//! (`sturdy verify`).

use crate::Store;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use sturdy_session::id::SessionId;
use sturdy_session::placeholder::{self, SessionColumns};

/// Sessions that are remembered. More are damaged only if the whole store is; they are found again when they are read.
const SESSIONS_MAX: usize = 10_000;

/// A row that could not be read: the first one that was met of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedRow {
    pub session: SessionId,
    /// Which row.
    pub place: String,
}

/// What reads have met since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct DamagedRows {
    sessions: Mutex<BTreeMap<SessionId, String>>,
}

impl Store {
    /// Rows that reads have met and could not read, one for each session.
    #[must_use]
    pub fn damaged_rows(&self) -> Vec<DamagedRow> {
        let found = self.inner.damaged.lock();
        let row = |(session, place): (&SessionId, &String)| DamagedRow {
            session: session.clone(),
            place: place.clone(),
        };
        found.iter().map(row).collect()
    }

    /// Notes that something else of a session cannot be read.
    pub fn note_damage(&self, session: &SessionId, place: &str) {
        self.inner.damaged.note(session, place);
    }

    /// Forgets what was noted of a session that is removed.
    pub fn forget_damage(&self, session: &SessionId) {
        self.inner.damaged.lock().remove(session);
    }
}

impl DamagedRows {
    pub(crate) fn note(&self, session: &SessionId, place: &str) {
        let mut sessions = self.lock();
        if sessions.contains_key(session) {
            return;
        }
        tracing::error!(%session, place, "a stored row cannot be read");
        if sessions.len() < SESSIONS_MAX {
            sessions.insert(session.clone(), place.to_owned());
        }
    }

    /// A session's record, or what is known without it. None if not even its id can be read.
    pub(crate) fn session_or_placeholder(
        &self,
        id: &str,
        data: String,
        columns: impl FnOnce() -> rusqlite::Result<SessionColumns>,
    ) -> rusqlite::Result<Option<String>> {
        if placeholder::is_record(&data, id) {
            return Ok(Some(data));
        }
        let Ok(session) = SessionId::parse(id) else {
            tracing::error!("a session with an unreadable id is left out");
            return Ok(None);
        };
        self.note(&session, &format!("session {id}"));
        let known = placeholder::session(&session, columns()?);
        Ok(Some(serde_json::to_string(&known).expect("BUG: a session is always JSON")))
    }

    /// The header of a message, or one that says that it is lost.
    pub(crate) fn message_or_placeholder(
        &self,
        session: &SessionId,
        id: &str,
        created: u64,
        data: String,
    ) -> String {
        if placeholder::is_record(&data, id) {
            return data;
        }
        self.note(session, &format!("message {id}"));
        placeholder::message(session.as_str(), id, created)
    }

    /// A part, or a text that says that it is lost.
    pub(crate) fn part_or_placeholder(
        &self,
        session: &SessionId,
        message: &str,
        id: &str,
        data: String,
    ) -> String {
        if placeholder::is_record(&data, id) {
            return data;
        }
        self.note(session, &format!("part {id}"));
        placeholder::part(session.as_str(), message, id)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, String>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
