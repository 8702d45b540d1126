//! Notes of what a commit changes in a shared session, in the same transaction.
//!
//! A row that is written many times before it is sealed is one note, which keeps its place.
//!
//! Not here: who reads the notes, and takes them away (`outbox/changes.rs`).

use crate::error::Failure;
use rusqlite::{Connection, OptionalExtension as _};
use sturdy_session::row::RowChange;

/// Kinds of rows, as shares call them.
const SESSION: &str = "session";
const MESSAGE: &str = "message";
const PART: &str = "part";

const IS_SHARED: &str = "SELECT 1 FROM share_link WHERE session_id = ?1";
const NOTE: &str =
    "INSERT INTO share_unsent (session_id, kind, id, place, position) VALUES (?1, ?2, ?3, ?4, ?4)
    ON CONFLICT (session_id, kind, id) DO UPDATE SET position = excluded.position";
const NOTE_PARTS: &str = "INSERT INTO share_unsent (session_id, kind, id, place, position)
    SELECT session_id, 'part', id, ?3, ?3 FROM part WHERE session_id = ?1 AND message_id = ?2
    ON CONFLICT (session_id, kind, id) DO UPDATE SET position = excluded.position";

/// Whether changes of this session are noted.
pub(super) fn is_shared(connection: &Connection, session: &str) -> Result<bool, Failure> {
    let found: Option<i64> =
        connection.prepare_cached(IS_SHARED)?.query_row([session], |row| row.get(0)).optional()?;
    Ok(found.is_some())
}

/// Notes a change of a shared session, right before it is made: what a removal takes along can still be found.
pub(crate) fn note_change(
    connection: &Connection,
    session: &str,
    change: &RowChange,
    position: i64,
) -> Result<(), Failure> {
    let note = |kind: &str, id: &str| -> Result<(), Failure> {
        connection.prepare_cached(NOTE)?.execute((session, kind, id, position))?;
        tracing::trace!("point enqueue.mid");
        Ok(())
    };
    match change {
        RowChange::Session(row) => note(SESSION, row.id.as_str()),
        RowChange::Message(row) => note(MESSAGE, row.id.as_str()),
        RowChange::RemoveMessage(id) => {
            note(MESSAGE, id.as_str())?;
            connection.prepare_cached(NOTE_PARTS)?.execute((session, id.as_str(), position))?;
            Ok(())
        }
        RowChange::Part(row) => note(PART, row.id.as_str()),
        RowChange::RemovePart(id) => note(PART, id.as_str()),
        // A share is ordered by what its messages say. Asks, todos and what a machine has open are not in it, and of a
        // session that is removed nothing is sealed any more.
        RowChange::PlaceMessage { .. }
        | RowChange::Machine { .. }
        | RowChange::RemoveSession(_)
        | RowChange::Ask(_)
        | RowChange::RemoveAsk { .. }
        | RowChange::Approval(_)
        | RowChange::Keyframe { .. }
        | RowChange::Todos { .. } => Ok(()),
    }
}
