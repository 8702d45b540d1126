//! The current value of certain rows, and all rows of a session.
//!
//! A reader that catches up wants the first; whoever compares rows with the fold of the log
//! (invariant I10) wants the second, as stored: without the growth of open parts.

use crate::Store;
use crate::error::{Failure, ReadError};
use crate::growth::{Part, add_growth};
use crate::log::{LogEntry, history};
use crate::read::asks::asks_of;
use rusqlite::{Connection, OptionalExtension as _, Row};
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::row::{AskRow, MessageRow, PartRow, SessionRow};

const MESSAGE: &str = "SELECT data FROM message WHERE session_id = ?1 AND id = ?2";
// The columns of growth::PART_COLUMNS.
const PART: &str =
    "SELECT id, session_id, is_open, data, position FROM part WHERE session_id = ?1 AND id = ?2";

const SESSION: &str = "SELECT id, project_id, directory, path, parent_id, title, created, updated, archived,
    data, machine FROM session WHERE id = ?1";
const MESSAGES: &str =
    "SELECT id, session_id, ord, created, data FROM message WHERE session_id = ?1 ORDER BY ord, id";
const PARTS: &str = "SELECT part.id, part.message_id, part.session_id, part.ord, part.is_open, part.data
    FROM message JOIN part ON part.session_id = message.session_id AND part.message_id = message.id
    WHERE message.session_id = ?1
    ORDER BY message.ord, message.id, part.ord, part.id";
const TODOS: &str = "SELECT data FROM todo WHERE session_id = ?1";

const POSITIONS: &str = "SELECT 'session', id, position FROM session WHERE id = ?1
    UNION ALL SELECT 'message', id, position FROM message WHERE session_id = ?1
    UNION ALL SELECT 'part', id, position FROM part WHERE session_id = ?1
    UNION ALL SELECT 'ask', id, position FROM ask WHERE session_id = ?1
    UNION ALL SELECT 'todo', session_id, position FROM todo WHERE session_id = ?1";

/// Which entry a row says that it was written by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPosition {
    pub kind: &'static str,
    pub id: String,
    pub position: u64,
}

/// The kinds of rows, as they are called here.
const KINDS: [&str; 5] = ["session", "message", "part", "ask", "todo"];

/// Rows that still exist, as JSON texts, in the order they were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CurrentRows {
    pub messages: Vec<(MessageId, String)>,
    pub parts: Vec<(PartId, String)>,
}

/// Everything stored about one session besides its log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionRows {
    pub session: Option<SessionRow>,
    /// By place in the conversation.
    pub messages: Vec<MessageRow>,
    /// By message, then by place in it.
    pub parts: Vec<PartRow>,
    pub asks: Vec<AskRow>,
    pub todos: Option<String>,
}

/// A session's log and its rows, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WholeSession {
    pub entries: Vec<LogEntry>,
    pub rows: SessionRows,
    /// Which entries the rows name.
    pub positions: Vec<RowPosition>,
    /// From this position on every entry of the store is still there.
    pub horizon: u64,
}

impl Store {
    /// What these rows are now. Rows that are gone are left out.
    pub async fn rows_of(
        &self,
        session: &SessionId,
        messages: &[MessageId],
        parts: &[PartId],
    ) -> Result<CurrentRows, ReadError> {
        let session = session.clone();
        let messages = messages.to_vec();
        let parts = parts.to_vec();
        self.read(move |connection| {
            let mut current = CurrentRows::default();
            let mut statement = connection.prepare_cached(MESSAGE)?;
            for id in messages {
                let key = (session.as_str(), id.as_str());
                let data: Option<String> = statement.query_row(key, |row| row.get(0)).optional()?;
                current.messages.extend(data.map(|data| (id, data)));
            }

            let mut found = Vec::with_capacity(parts.len());
            let mut ids = Vec::with_capacity(parts.len());
            let mut statement = connection.prepare_cached(PART)?;
            for id in parts {
                let key = (session.as_str(), id.as_str());
                if let Some(part) = statement.query_row(key, Part::from_row).optional()? {
                    found.push(part);
                    ids.push(id);
                }
            }
            add_growth(connection, &mut found)?;
            current.parts = ids.into_iter().zip(found.into_iter().map(|part| part.data)).collect();
            Ok(current)
        })
        .await
    }

    /// Everything that is stored of a session. One read: while a session goes on, its log and its rows fit together at
    /// every moment, and those of two moments do not.
    pub async fn whole_session(&self, session: &SessionId) -> Result<WholeSession, ReadError> {
        let session = session.clone();
        self.read(move |connection| {
            let (entries, horizon) = history(connection, &session)?;
            let rows = session_rows(connection, &session)?;
            let positions = row_positions(connection, &session)?;
            Ok(WholeSession { entries, rows, positions, horizon })
        })
        .await
    }

    /// All rows of a session, as they are stored.
    pub async fn rows_of_session(&self, session: &SessionId) -> Result<SessionRows, ReadError> {
        let session = session.clone();
        self.read(move |connection| session_rows(connection, &session)).await
    }
}

fn session_rows(connection: &Connection, session: &SessionId) -> Result<SessionRows, ReadError> {
    let id = session.as_str();
    let asks = asks_of(connection, session)?.into_iter().map(|ask| AskRow {
        id: ask.id,
        session_id: ask.session,
        kind: ask.kind,
        data: ask.data,
    });
    Ok(SessionRows {
        session: read(connection, SESSION, id, session_row)?.pop(),
        messages: read(connection, MESSAGES, id, message_row)?,
        parts: read(connection, PARTS, id, part_row)?,
        asks: asks.collect(),
        todos: read(connection, TODOS, id, |row| Ok(row.get(0)?))?.pop(),
    })
}

/// Which entries the rows of a session name.
fn row_positions(connection: &Connection, session: &SessionId) -> Result<Vec<RowPosition>, Failure> {
    let shape = |row: &Row<'_>| {
        let named: String = row.get(0)?;
        let kind = KINDS.into_iter().find(|kind| *kind == named).unwrap_or("row");
        Ok(RowPosition { kind, id: row.get(1)?, position: row.get::<_, i64>(2)?.cast_unsigned() })
    };
    read(connection, POSITIONS, session.as_str(), shape)
}

fn read<T>(
    connection: &Connection,
    statement: &str,
    id: &str,
    shape: impl Fn(&Row<'_>) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let mut statement = connection.prepare_cached(statement)?;
    let mut rows = statement.query([id])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(shape(row)?);
    }
    Ok(found)
}

fn session_row(row: &Row<'_>) -> Result<SessionRow, Failure> {
    let parent: Option<String> = row.get(4)?;
    Ok(SessionRow {
        id: known(SessionId::parse(&row.get::<_, String>(0)?))?,
        project_id: row.get(1)?,
        directory: row.get(2)?,
        path: row.get(3)?,
        parent_id: parent.map(|id| known(SessionId::parse(&id))).transpose()?,
        title: row.get(5)?,
        created: row.get::<_, i64>(6)?.cast_unsigned(),
        updated: row.get::<_, i64>(7)?.cast_unsigned(),
        is_archived: row.get::<_, i64>(8)? != 0,
        data: row.get(9)?,
        machine: row.get(10)?,
    })
}

fn message_row(row: &Row<'_>) -> Result<MessageRow, Failure> {
    Ok(MessageRow {
        id: known(MessageId::parse(&row.get::<_, String>(0)?))?,
        session_id: known(SessionId::parse(&row.get::<_, String>(1)?))?,
        ord: row.get::<_, i64>(2)?.cast_unsigned(),
        created: row.get::<_, i64>(3)?.cast_unsigned(),
        data: row.get(4)?,
    })
}

fn part_row(row: &Row<'_>) -> Result<PartRow, Failure> {
    Ok(PartRow {
        id: known(PartId::parse(&row.get::<_, String>(0)?))?,
        message_id: known(MessageId::parse(&row.get::<_, String>(1)?))?,
        session_id: known(SessionId::parse(&row.get::<_, String>(2)?))?,
        ord: row.get::<_, i64>(3)?.cast_unsigned(),
        is_open: row.get::<_, i64>(4)? != 0,
        data: row.get(5)?,
    })
}

fn known<T>(id: Result<T, sturdy_session::id::IdError>) -> Result<T, Failure> {
    id.map_err(|error| Failure::broken("a row", error))
}
