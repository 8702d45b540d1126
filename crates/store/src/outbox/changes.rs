//! What changed in a shared session since it was last sealed.
//!
//! The commit that writes or removes a row of a shared session notes its id in the same transaction
//! (`committer/share_notes.rs`). Whoever seals the row takes the note away, unless the row has changed again
//! meanwhile. So a change costs the reading of what changed, however long the session is.
//!
//! A part that is open grows without its row being written: the few open ones are found by their index.

use super::compare::{Differences, Draft, ROWS_MAX, newest};
use super::shorten::shorten;
use crate::Store;
use crate::error::{Failure, ReadError};
use crate::growth::{Part, add_growth};
use crate::share::{BATCH_BYTES_MAX, Kind};
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::HashSet;
use sturdy_session::id::SessionId;

const SETTLE: &str =
    "DELETE FROM share_unsent WHERE session_id = ?1 AND kind = ?2 AND id = ?3 AND position <= ?4";

const UNSENT: &str =
    "SELECT kind, id FROM share_unsent WHERE session_id = ?1 ORDER BY place, kind, id LIMIT ?2";
const SESSION: &str = "SELECT data, position FROM session WHERE id = ?1";
const MESSAGE: &str = "SELECT data, position FROM message WHERE session_id = ?1 AND id = ?2";
// The columns of growth::PART_COLUMNS first.
const PART: &str = "SELECT id, session_id, is_open, data, position, message_id FROM part
    WHERE session_id = ?1 AND id = ?2";
const OPEN_PARTS: &str = "SELECT id, session_id, is_open, data, position, message_id FROM part
    WHERE session_id = ?1 AND is_open = 1 LIMIT ?2";
const SAID: &str = "SELECT parent, version FROM share_said WHERE session_id = ?1 AND kind = ?2 AND id = ?3";

/// What was noted of a row up to this version is sealed.
pub(super) fn settle(
    connection: &Connection,
    session: &str,
    kind: Kind,
    id: &str,
    version: u64,
) -> Result<(), Failure> {
    connection.prepare_cached(SETTLE)?.execute((session, kind.as_str(), id, version.cast_signed()))?;
    Ok(())
}

impl Store {
    /// The next changes of a session that are to be sealed, oldest first. None: there is no such session.
    pub async fn share_changes(&self, session: &SessionId) -> Result<Option<Differences>, ReadError> {
        let session = session.clone();
        self.read(move |connection| Ok(changes(connection, session.as_str())?)).await
    }
}

fn changes(connection: &Connection, session: &str) -> Result<Option<Differences>, Failure> {
    let Some(record) = row(connection, SESSION, [session])? else { return Ok(None) };
    let newest = newest(connection, session)?.unwrap_or(0);
    let reading = Reading { connection, session, newest };
    let mut drafts = Vec::new();
    let mut bytes = 0;
    let mut has_more = false;
    for (kind, id) in reading.noted()? {
        if drafts.len() >= ROWS_MAX || bytes >= BATCH_BYTES_MAX {
            has_more = true;
            break;
        }
        let draft = match kind {
            Kind::Session => reading.record(&record),
            Kind::Message => reading.message(id)?,
            Kind::Part => reading.part(id)?,
            Kind::SessionDiff
            | Kind::Model
            | Kind::MessageRemove
            | Kind::PartRemove
            | Kind::SnapshotBegin
            | Kind::SnapshotEnd => return Err(reading.unknown(kind.as_str())),
        };
        bytes += draft.bytes();
        drafts.push(draft);
    }
    if !has_more {
        let read: HashSet<String> = drafts.iter().map(|draft| draft.id.clone()).collect();
        drafts.extend(reading.grown(&read)?);
    }
    Ok(Some(Differences { drafts, position: newest, next: has_more.then_some(0) }))
}

/// A row as it is stored, and the position of its last change.
type StoredRow = (String, u64);

fn row(
    connection: &Connection,
    statement: &str,
    key: impl rusqlite::Params,
) -> Result<Option<StoredRow>, Failure> {
    let mut statement = connection.prepare_cached(statement)?;
    let found = statement
        .query_row(key, |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())))
        .optional()?;
    Ok(found)
}

struct Reading<'a> {
    connection: &'a Connection,
    session: &'a str,
    /// The newest entry of the session.
    newest: u64,
}

impl Reading<'_> {
    /// What is noted, one more than is read at once.
    fn noted(&self) -> Result<Vec<(Kind, String)>, Failure> {
        let mut statement = self.connection.prepare_cached(UNSENT)?;
        let mut rows = statement.query((self.session, ROWS_MAX as i64 + 1))?;
        let mut noted = Vec::new();
        while let Some(row) = rows.next()? {
            let kind: String = row.get(0)?;
            let kind = Kind::parse(&kind).ok_or_else(|| self.unknown(&kind))?;
            noted.push((kind, row.get(1)?));
        }
        Ok(noted)
    }

    fn unknown(&self, kind: &str) -> Failure {
        Failure::broken(format!("the share of session {}", self.session), format!("{kind:?} is not known"))
    }

    fn record(&self, (data, position): &StoredRow) -> Draft {
        Draft {
            kind: Kind::Session,
            id: self.session.to_owned(),
            parent: String::new(),
            version: *position,
            payload: Some(shorten(data.clone())),
        }
    }

    fn message(&self, id: String) -> Result<Draft, Failure> {
        Ok(match row(self.connection, MESSAGE, (self.session, &id))? {
            Some((data, version)) => {
                let payload = Some(shorten(data));
                Draft { kind: Kind::Message, id, parent: String::new(), version, payload }
            }
            None => self.removal(Kind::MessageRemove, id, String::new()),
        })
    }

    fn part(&self, id: String) -> Result<Draft, Failure> {
        let mut statement = self.connection.prepare_cached(PART)?;
        let found = statement.query_row((self.session, &id), |row| Ok((Part::from_row(row)?, row.get(5)?)));
        Ok(match found.optional()? {
            Some((part, message)) => self.placed(part, message)?,
            None => {
                let said = self.said(Kind::Part, &id)?;
                let parent = said.map(|(parent, _)| parent).unwrap_or_default();
                self.removal(Kind::PartRemove, id, parent)
            }
        })
    }

    /// Sealing drops it if the row was never said.
    fn removal(&self, kind: Kind, id: String, parent: String) -> Draft {
        Draft { kind, id, parent, version: self.newest, payload: None }
    }

    fn placed(&self, part: Part, message: String) -> Result<Draft, Failure> {
        let version = if part.is_open { self.newest } else { part.position.cast_unsigned() };
        let mut parts = [part];
        add_growth(self.connection, &mut parts)?;
        let [part] = parts;
        Ok(Draft {
            kind: Kind::Part,
            id: part.id,
            parent: message,
            version,
            payload: Some(shorten(part.data)),
        })
    }

    /// Open parts that were not read yet, as far as they may have grown since they were sealed.
    fn grown(&self, read: &HashSet<String>) -> Result<Vec<Draft>, Failure> {
        let mut statement = self.connection.prepare_cached(OPEN_PARTS)?;
        let mut rows = statement.query((self.session, ROWS_MAX as i64))?;
        let mut grown = Vec::new();
        while let Some(row) = rows.next()? {
            let part = Part::from_row(row)?;
            let message: String = row.get(5)?;
            let said = self.said(Kind::Part, &part.id)?;
            let is_said = said.is_some_and(|(_, version)| version >= self.newest);
            if !is_said && !read.contains(&part.id) {
                grown.push(self.placed(part, message)?);
            }
        }
        Ok(grown)
    }

    fn said(&self, kind: Kind, id: &str) -> Result<Option<StoredRow>, Failure> {
        row(self.connection, SAID, (self.session, kind.as_str(), id))
    }
}

#[cfg(test)]
mod tests;
