//! What waits for a person, and what a session means to do.

use crate::Store;
use crate::error::{Failure, ReadError};
use crate::log::text_or_empty;
use crate::read::damaged::DamagedRows;
use crate::read::moment::readable_todos;
use crate::read::session_id;
use rusqlite::{Connection, OptionalExtension as _, Params, Row};
use sturdy_session::id::SessionId;
use sturdy_session::placeholder;
use sturdy_session::row::AskKind;

// Asks are few: a person has to answer every one of them.
const ALL: &str = "SELECT ask.id, ask.session_id, ask.kind, ask.data, session.directory
    FROM ask LEFT JOIN session ON session.id = ask.session_id ORDER BY ask.position, ask.id";
const OF_SESSION: &str = "SELECT ask.id, ask.session_id, ask.kind, ask.data, session.directory
    FROM ask LEFT JOIN session ON session.id = ask.session_id WHERE ask.session_id = ?1
    ORDER BY ask.position, ask.id";
const TODOS: &str = "SELECT data FROM todo WHERE session_id = ?1";

/// Which asks; what is not set does not filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskQuery {
    pub kind: Option<AskKind>,
    pub session: Option<SessionId>,
    pub directory: Option<String>,
}

/// An open permission or question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawAsk {
    pub id: String,
    pub session: SessionId,
    pub kind: AskKind,
    pub data: String,
    /// Where its session works.
    pub directory: Option<String>,
}

impl Store {
    /// Open asks, in the order they were asked, without those that cannot be read.
    pub async fn asks(&self, query: AskQuery) -> Result<Vec<RawAsk>, ReadError> {
        let damaged = self.inner.damaged.clone();
        self.read(move |connection| {
            let mut asks = match &query.session {
                Some(session) => readable_asks_of(connection, session, &damaged)?,
                None => all_readable_asks(connection, &damaged)?,
            };
            asks.retain(|ask| {
                query.kind.is_none_or(|kind| ask.kind == kind)
                    && query
                        .directory
                        .as_ref()
                        .is_none_or(|directory| ask.directory.as_ref() == Some(directory))
            });
            Ok(asks)
        })
        .await
    }

    /// The list as one JSON array; none when it was never set.
    pub async fn todos(&self, session: &SessionId) -> Result<Option<String>, ReadError> {
        let session = session.clone();
        let damaged = self.inner.damaged.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(TODOS)?;
            let todos = statement.query_row([session.as_str()], |row| text_or_empty(row, 0)).optional()?;
            Ok(readable_todos(&session, todos, &damaged))
        })
        .await
    }
}

/// Those of every session, without those that cannot be read: nobody could answer them.
pub(crate) fn all_readable_asks(
    connection: &Connection,
    damaged: &DamagedRows,
) -> Result<Vec<RawAsk>, ReadError> {
    readable(connection, ALL, (), damaged)
}

/// The same of one session.
pub(crate) fn readable_asks_of(
    connection: &Connection,
    session: &SessionId,
    damaged: &DamagedRows,
) -> Result<Vec<RawAsk>, ReadError> {
    readable(connection, OF_SESSION, [session.as_str()], damaged)
}

/// Those of one session, or that one of them is damaged.
pub(crate) fn asks_of(connection: &Connection, session: &SessionId) -> Result<Vec<RawAsk>, ReadError> {
    let mut statement = connection.prepare_cached(OF_SESSION)?;
    let mut rows = statement.query([session.as_str()])?;
    let mut asks = Vec::new();
    while let Some(row) = rows.next()? {
        asks.push(ask_of(row)?);
    }
    Ok(asks)
}

fn readable(
    connection: &Connection,
    statement: &str,
    values: impl Params,
    damaged: &DamagedRows,
) -> Result<Vec<RawAsk>, ReadError> {
    let mut statement = connection.prepare_cached(statement)?;
    let mut rows = statement.query(values)?;
    let mut asks = Vec::new();
    while let Some(row) = rows.next()? {
        match ask_of(row) {
            Ok(ask) if placeholder::is_json(&ask.data) => asks.push(ask),
            Ok(_) | Err(_) => note(row, damaged),
        }
    }
    Ok(asks)
}

fn note(row: &Row<'_>, damaged: &DamagedRows) {
    let id = text_or_empty(row, 0).unwrap_or_default();
    let session = text_or_empty(row, 1).ok().and_then(|session| SessionId::parse(&session).ok());
    match session {
        Some(session) => damaged.note(&session, &format!("ask {id}")),
        None => tracing::error!("an ask of a session with an unreadable id is left out"),
    }
}

fn ask_of(row: &Row<'_>) -> Result<RawAsk, ReadError> {
    let id: String = row.get(0)?;
    let kind: String = row.get(2)?;
    let kind = [AskKind::Permission, AskKind::Question].into_iter().find(|known| known.as_str() == kind);
    let Some(kind) = kind else {
        return Err(Failure::broken(format!("ask {id}"), "unknown kind").into());
    };
    let session = session_id(&row.get::<_, String>(1)?)?;
    Ok(RawAsk { id, session, kind, data: text_or_empty(row, 3)?, directory: row.get(4)? })
}
