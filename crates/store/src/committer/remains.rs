//! What is left of long sessions that were removed.
//!
//! A removal takes the session with its messages, and a slice of its log and of its parts, which is all there is of
//! most sessions. What is left of a long one is removed slice by slice between two groups of commits, so that nobody
//! waits for it. Nobody finds it, either: parts are found by their message.
//!
//! What is not done yet is listed in a table by the commit that removes the session, so that opening the store ends it
//! after a crash. Parts without a session that is listed there are damage, and are left alone.

use crate::error::Failure;
use rusqlite::Connection;

/// Rows of each kind that one slice removes.
const SLICE: usize = 1_000;

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

/// Ends the removals that the last process did not.
pub(crate) fn end_removals(connection: &Connection) -> Result<(), Failure> {
    let listed: Vec<String> =
        connection.prepare(LISTED)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for session in listed {
        remove_all(connection, &session)?;
    }
    Ok(())
}
