//! Pages of messages with their parts, oldest first.
//!
//! The order is `ord`, the seq of the fact that created a message: the time inside an id wraps
//! every 795 days, and two messages may carry one time.

use crate::Store;
use crate::error::ReadError;
use crate::growth::{Damage, Part, add_growth, add_growth_or};
use crate::log::clamp;
use rusqlite::{Connection, OptionalExtension as _, Row};
use sturdy_session::id::{MessageId, SessionId};

const NEWEST: &str = "SELECT id, created, data FROM message WHERE session_id = ?1
    ORDER BY ord DESC, id DESC LIMIT ?2";
const BEFORE_PLACE: &str = "SELECT id, created, data FROM message WHERE session_id = ?1
    AND ord <= ?2 AND (ord < ?2 OR id < ?3) ORDER BY ord DESC, id DESC LIMIT ?4";
const BEFORE_TIME: &str = "SELECT id, created, data FROM message WHERE session_id = ?1 AND created < ?2
    ORDER BY ord DESC, id DESC LIMIT ?3";
const PLACE: &str = "SELECT ord FROM message WHERE id = ?1 AND session_id = ?2";
const INFO: &str = "SELECT data FROM message WHERE session_id = ?1 AND id = ?2";
const BYTES: &str =
    "SELECT COALESCE(SUM(LENGTH(data)), 0) FROM part WHERE session_id = ?1 AND message_id = ?2";
const ONE: &str = "SELECT id, created, data FROM message WHERE id = ?1 AND session_id = ?2";
// The columns of growth::PART_COLUMNS.
const PARTS: &str = "SELECT id, session_id, is_open, data, position FROM part WHERE session_id = ?1 AND message_id = ?2 ORDER BY ord, id";

/// Which page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageQuery {
    /// None or 0: all of them.
    pub limit: Option<u32>,
    pub before: Option<Before>,
}

/// A cursor: the oldest message of the page before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    pub id: MessageId,
    /// Counts when there is no message of that id any more.
    pub time: u64,
}

/// The newest messages before the cursor, oldest of them first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagePage {
    pub items: Vec<RawMessage>,
    /// Older ones remain.
    pub more: bool,
    /// Where the log ended when they were read.
    pub position: u64,
}

/// A message and its parts as JSON texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawMessage {
    pub id: MessageId,
    pub created: u64,
    pub info: String,
    pub parts: Vec<String>,
}

impl Store {
    /// A page without the parts: what it takes to read one message after the other.
    pub async fn message_heads(
        &self,
        session: &SessionId,
        query: MessageQuery,
    ) -> Result<MessagePage, ReadError> {
        let session = session.clone();
        self.read(move |connection| heads(connection, &session, &query)).await
    }

    pub async fn messages(&self, session: &SessionId, query: MessageQuery) -> Result<MessagePage, ReadError> {
        let session = session.clone();
        self.read(move |connection| page(connection, &session, &query)).await
    }

    pub async fn message(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Option<RawMessage>, ReadError> {
        let session = session.clone();
        let message = message.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(ONE)?;
            let found = statement.query_row((message.as_str(), session.as_str()), bare).optional()?;
            let Some(found) = found else { return Ok(None) };
            Ok(with_parts(connection, &session, vec![found])?.pop())
        })
        .await
    }

    /// A message with its parts, or nothing if any of it is damaged: for those who go on with it.
    pub async fn whole_message(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Option<RawMessage>, ReadError> {
        let session = session.clone();
        let message = message.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(ONE)?;
            let found = statement.query_row((message.as_str(), session.as_str()), bare).optional()?;
            let Some(found) = found else { return Ok(None) };
            let mut parts = Vec::new();
            read_parts(connection, &session, &found.id, &mut parts)?;
            add_growth_or(connection, &mut parts, Damage::Refused)?;
            Ok(Some(RawMessage {
                id: message_id(&found.id)?,
                created: found.created.cast_unsigned(),
                info: found.data,
                parts: parts.into_iter().map(|part| part.data).collect(),
            }))
        })
        .await
    }

    /// A message without its parts: for those who want to know whose it is.
    pub async fn message_info(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Option<String>, ReadError> {
        let session = session.clone();
        let message = message.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(INFO)?;
            Ok(statement.query_row((session.as_str(), message.as_str()), |row| row.get(0)).optional()?)
        })
        .await
    }

    /// How much the parts of these messages hold.
    pub async fn parts_bytes(&self, session: &SessionId, messages: &[MessageId]) -> Result<u64, ReadError> {
        let session = session.clone();
        let messages = messages.to_vec();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(BYTES)?;
            let mut bytes = 0;
            for message in messages {
                let found: i64 =
                    statement.query_row((session.as_str(), message.as_str()), |row| row.get(0))?;
                bytes += found.cast_unsigned();
            }
            Ok(bytes)
        })
        .await
    }

    /// The parts of one message, in order.
    pub async fn parts_of(&self, session: &SessionId, message: &MessageId) -> Result<Vec<String>, ReadError> {
        let session = session.clone();
        let message = message.clone();
        self.read(move |connection| {
            let mut parts = Vec::new();
            read_parts(connection, &session, message.as_str(), &mut parts)?;
            add_growth(connection, &mut parts)?;
            Ok(parts.into_iter().map(|part| part.data).collect())
        })
        .await
    }
}

pub(super) fn page(
    connection: &Connection,
    session: &SessionId,
    query: &MessageQuery,
) -> Result<MessagePage, ReadError> {
    let (found, more) = found(connection, session, query)?;
    let position = super::moment::head(connection)?;
    Ok(MessagePage { items: with_parts(connection, session, found)?, more, position })
}

fn heads(
    connection: &Connection,
    session: &SessionId,
    query: &MessageQuery,
) -> Result<MessagePage, ReadError> {
    let (found, more) = found(connection, session, query)?;
    let head = |message: Bare| {
        let id = message_id(&message.id)?;
        Ok(RawMessage { id, created: message.created.cast_unsigned(), info: message.data, parts: Vec::new() })
    };
    let items = found.into_iter().map(head).collect::<Result<_, ReadError>>()?;
    Ok(MessagePage { items, more, position: super::moment::head(connection)? })
}

/// The messages of a page, oldest first, and whether older ones remain.
fn found(
    connection: &Connection,
    session: &SessionId,
    query: &MessageQuery,
) -> Result<(Vec<Bare>, bool), ReadError> {
    let limit = query.limit.filter(|limit| *limit > 0).map(|limit| limit as usize);
    // One more than asked for tells whether older ones remain. Negative is "no limit" in one database only.
    let wanted = limit.map_or(i64::MAX, |limit| clamp(limit as u64 + 1));
    let id = session.as_str();
    let mut found = match &query.before {
        None => collect(connection, NEWEST, (id, wanted))?,
        Some(Before { id: before, time }) => {
            let place: Option<i64> = connection
                .prepare_cached(PLACE)?
                .query_row((before.as_str(), id), |row| row.get(0))
                .optional()?;
            match place {
                Some(ord) => collect(connection, BEFORE_PLACE, (id, ord, before.as_str(), wanted))?,
                None => collect(connection, BEFORE_TIME, (id, clamp(*time), wanted))?,
            }
        }
    };
    let more = limit.is_some_and(|limit| found.len() > limit);
    found.truncate(limit.unwrap_or(usize::MAX));
    found.reverse();
    Ok((found, more))
}

struct Bare {
    id: String,
    created: i64,
    data: String,
}

fn bare(row: &Row<'_>) -> rusqlite::Result<Bare> {
    Ok(Bare { id: row.get(0)?, created: row.get(1)?, data: row.get(2)? })
}

fn collect(
    connection: &Connection,
    statement: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<Bare>, ReadError> {
    let mut statement = connection.prepare_cached(statement)?;
    let rows = statement.query_map(values, bare)?;
    Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
}

/// All parts of a page grow together: one pass over the log, not one for each message.
fn with_parts(
    connection: &Connection,
    session: &SessionId,
    found: Vec<Bare>,
) -> Result<Vec<RawMessage>, ReadError> {
    let mut parts = Vec::new();
    let mut counts = Vec::with_capacity(found.len());
    for message in &found {
        let before = parts.len();
        read_parts(connection, session, &message.id, &mut parts)?;
        counts.push(parts.len() - before);
    }
    add_growth(connection, &mut parts)?;

    let mut parts = parts.into_iter().map(|part| part.data);
    let whole = found.into_iter().zip(counts).map(|(message, count)| {
        Ok(RawMessage {
            id: message_id(&message.id)?,
            created: message.created.cast_unsigned(),
            info: message.data,
            parts: parts.by_ref().take(count).collect(),
        })
    });
    whole.collect()
}

fn read_parts(
    connection: &Connection,
    session: &SessionId,
    message: &str,
    parts: &mut Vec<Part>,
) -> Result<(), ReadError> {
    let mut statement = connection.prepare_cached(PARTS)?;
    let rows = statement.query_map((session.as_str(), message), Part::from_row)?;
    for part in rows {
        parts.push(part?);
    }
    Ok(())
}

fn message_id(text: &str) -> Result<MessageId, ReadError> {
    MessageId::parse(text).map_err(|error| crate::error::Failure::broken("message", error).into())
}
