//! What is left of long sessions that were removed.
//!
//! A removal takes the session with its messages, and a slice of its log and of its parts, which is all there is of
//! most sessions. What is left of a long one is removed slice by slice between two groups of commits, so that nobody
//! waits for it. Nobody finds it, either: parts are found by their message.
//!
//! What is not done yet is listed in a table by the commit that removes the session, so that opening the store ends it
//! after a crash. Parts without a session that is listed there are damage, and are left alone.
//!
//! A slice that the disk refuses, or that meets damage, is tried again later. It is not forgotten before: a session
//! that is created again under the same id would be taken for what is left of the old one at the next start.

use crate::error::Failure;
use rusqlite::Connection;
use std::time::{Duration, Instant};
use sturdy_session::id::SessionId;

/// Rows of each kind that one slice removes.
const SLICE: usize = 1_000;
/// A slice that was refused is tried again after this.
const PAUSE: Duration = Duration::from_secs(60);

// All but the last entry, which records the removal.
const LOG: &str =
    "DELETE FROM log WHERE session_id = ?1 AND seq IN (SELECT seq FROM log WHERE session_id = ?1
    AND seq < (SELECT seq FROM log WHERE session_id = ?1 ORDER BY seq DESC LIMIT 1) ORDER BY seq LIMIT ?2)";
const PARTS: &str = "DELETE FROM part WHERE session_id = ?1
    AND id IN (SELECT id FROM part WHERE session_id = ?1 ORDER BY id LIMIT ?2)";
const LIST: &str = "INSERT INTO removal (session_id) VALUES (?1) ON CONFLICT (session_id) DO NOTHING";
const LISTED: &str = "SELECT session_id FROM removal ORDER BY session_id";
const DONE: &str = "DELETE FROM removal WHERE session_id = ?1";

/// Whether rows remain to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remaining {
    Nothing,
    Something,
}

/// Sessions that were removed, and of which something is left.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    sessions: Vec<SessionId>,
    /// The last slice was refused; the next is tried then.
    not_before: Option<Instant>,
}

impl Remains {
    /// What opening the store could not remove.
    pub(crate) fn refused(sessions: Vec<SessionId>) -> Self {
        let not_before = (!sessions.is_empty()).then(|| Instant::now() + PAUSE);
        Self { sessions, not_before }
    }

    pub(super) fn has(&self, session: &SessionId) -> bool {
        self.sessions.contains(session)
    }

    /// Those that were just removed do not wait for those that were refused.
    pub(super) fn add(&mut self, sessions: Vec<SessionId>) {
        if !sessions.is_empty() {
            self.not_before = None;
        }
        self.sessions.extend(sessions);
    }

    /// Of these, nothing is left.
    pub(super) fn forget(&mut self, is_done: impl Fn(&SessionId) -> bool) {
        self.sessions.retain(|session| !is_done(session));
    }

    /// Whether a slice can be removed now.
    pub(super) fn is_due(&self) -> bool {
        self.pause().is_some_and(|pause| pause.is_zero())
    }

    /// How long to wait before the next slice; none when nothing is left.
    pub(super) fn pause(&self) -> Option<Duration> {
        let wait =
            || self.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
        (!self.sessions.is_empty()).then(wait)
    }

    pub(super) fn remove_slice(&mut self, connection: &Connection) {
        self.not_before = None;
        let Some(session) = self.sessions.last() else { return };
        match remove_slice(connection, session.as_str()) {
            Ok(Remaining::Something) => {}
            Ok(Remaining::Nothing) => drop(self.sessions.pop()),
            Err(failure) => {
                tracing::warn!(%session, ?failure, "leftovers of a removed session are not removed yet; trying again later");
                self.not_before = Some(Instant::now() + PAUSE);
                // Damage of one holds up no other.
                self.sessions.rotate_right(1);
            }
        }
    }
}

/// Removes the first slice of a session, and lists what is left. Part of the commit that removes the session.
pub(super) fn begin(connection: &Connection, session: &str) -> Result<Remaining, Failure> {
    let left = remove_slice(connection, session)?;
    if left == Remaining::Something {
        connection.prepare_cached(LIST)?.execute([session])?;
    }
    Ok(left)
}

/// Removes a slice of what a removed session left.
pub(crate) fn remove_slice(connection: &Connection, session: &str) -> Result<Remaining, Failure> {
    for statement in [LOG, PARTS] {
        let removed = connection.prepare_cached(statement)?.execute((session, SLICE as i64))?;
        if removed == SLICE {
            return Ok(Remaining::Something);
        }
    }
    connection.prepare_cached(DONE)?.execute([session])?;
    Ok(Remaining::Nothing)
}

/// Removes all of it.
pub(crate) fn remove_all(connection: &Connection, session: &str) -> Result<(), Failure> {
    while remove_slice(connection, session)? == Remaining::Something {}
    Ok(())
}

/// Ends the removals that the last process did not. What cannot be removed because something else than the disk is
/// wrong keeps nobody from opening the store, and is tried again.
pub(crate) fn end_removals(connection: &Connection) -> Result<Remains, Failure> {
    let listed: Vec<String> =
        connection.prepare(LISTED)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut refused = Vec::new();
    for session in listed {
        match remove_all(connection, &session) {
            Ok(()) => {}
            Err(failure) if failure.is_the_disks() => return Err(failure),
            Err(failure) => {
                tracing::warn!(
                    session,
                    ?failure,
                    "leftovers of a removed session are not removed yet; trying again later"
                );
                refused.extend(SessionId::parse(&session));
            }
        }
    }
    Ok(Remains::refused(refused))
}
