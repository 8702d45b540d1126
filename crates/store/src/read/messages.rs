//! Pages of messages with their parts, oldest first.
//!
//! The order is `ord`, the seq of the fact that created a message: the time inside an id wraps
//! every 795 days, and two messages may carry one time.

use crate::Store;
use crate::error::ReadError;
use crate::growth::{Damage, Part, add_growth, add_growth_or};
use crate::log::{clamp, text_or_empty};
use crate::read::damaged::DamagedRows;
use crate::read::message_head::{MessageHead, message_head};
use crate::read::place::{Before, MessagePlace, PagePlaces};
use crate::read::shape::PartShape;
use rusqlite::{Connection, OptionalExtension as _, Row};
use sturdy_session::id::{MessageId, SessionId};

const NEWEST: &str = "SELECT id, created, data, ord FROM message WHERE session_id = ?1
    ORDER BY ord DESC, id DESC LIMIT ?2";
const BEFORE_PLACE: &str = "SELECT id, created, data, ord FROM message WHERE session_id = ?1
    AND ord <= ?2 AND (ord < ?2 OR id < ?3) ORDER BY ord DESC, id DESC LIMIT ?4";
const BEFORE_TIME: &str = "SELECT id, created, data, ord FROM message WHERE session_id = ?1 AND created < ?2
    ORDER BY ord DESC, id DESC LIMIT ?3";
const PLACE: &str = "SELECT ord FROM message WHERE id = ?1 AND session_id = ?2";
const INFO: &str = "SELECT data FROM message WHERE session_id = ?1 AND id = ?2";
const ONE: &str = "SELECT id, created, data, ord FROM message WHERE id = ?1 AND session_id = ?2";
// The columns of growth::PART_COLUMNS. By `ord` alone, which a fact gives once: so the index has the order, and whole texts
// are not copied to be sorted.
const PARTS: &str = "SELECT id, session_id, is_open, data, position FROM part WHERE session_id = ?1 AND message_id = ?2 ORDER BY ord";

/// Which page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageQuery {
    /// None or 0: all of them.
    pub limit: Option<u32>,
    pub before: Option<Before>,
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

/// As much of a page as may be held at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageWithin {
    /// The oldest messages of the page, as of one moment.
    pub page: MessagePage,
    /// Where the others stand, oldest first.
    pub unread: Vec<MessagePlace>,
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
        let damaged = self.inner.damaged.clone();
        self.read(move |connection| heads(connection, &session, &query, &damaged)).await
    }

    /// Where the messages of a page stand: what it takes to read a long one in slices.
    pub async fn message_places(
        &self,
        session: &SessionId,
        query: MessageQuery,
    ) -> Result<PagePlaces, ReadError> {
        let session = session.clone();
        self.read(move |connection| {
            // The rows are not copied: they are read again when they are sent.
            let place = |row: &Row<'_>| {
                Ok((text_or_empty(row, 0)?, row.get(1).unwrap_or_default(), row.get(3).unwrap_or_default()))
            };
            let (found, more): (Vec<(String, i64, i64)>, bool) = found(connection, &session, &query, place)?;
            let oldest = found.first().filter(|_| more);
            let next = oldest.and_then(|(id, created, _)| {
                Some(Before { id: MessageId::parse(id).ok()?, time: created.cast_unsigned() })
            });
            let places = found.into_iter().filter_map(|(id, _, ord)| MessagePlace::parse(&id, ord));
            Ok(PagePlaces { places: places.collect(), next })
        })
        .await
    }

    pub async fn messages(&self, session: &SessionId, query: MessageQuery) -> Result<MessagePage, ReadError> {
        let session = session.clone();
        let damaged = self.inner.damaged.clone();
        let page =
            move |connection: &Connection| page(connection, &session, &query, PartShape::STORED, &damaged);
        let page = self.read(page).await?;
        self.count_parts(&page.items);
        Ok(page)
    }

    /// A page whose messages are read until they hold more than this: at least one, if there is one.
    pub async fn messages_within(
        &self,
        session: &SessionId,
        query: MessageQuery,
        shape: PartShape,
        bytes_max: usize,
    ) -> Result<PageWithin, ReadError> {
        let session = session.clone();
        let damaged = self.inner.damaged.clone();
        let page = move |connection: &Connection| {
            page_within(connection, &session, &query, shape, &damaged, bytes_max)
        };
        let found = self.read(page).await?;
        self.count_parts(&found.page.items);
        Ok(found)
    }

    pub async fn message(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Option<RawMessage>, ReadError> {
        self.message_in(session, message, PartShape::STORED).await
    }

    /// The same in another shape.
    pub async fn message_in(
        &self,
        session: &SessionId,
        message: &MessageId,
        shape: PartShape,
    ) -> Result<Option<RawMessage>, ReadError> {
        let read = self.messages_of_within(session, vec![message.clone()], shape, usize::MAX);
        Ok(read.await?.0.pop())
    }

    /// A message with its parts, or nothing if any of it is damaged: for those who go on with it.
    pub async fn whole_message(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Option<RawMessage>, ReadError> {
        let session = session.clone();
        let message = message.clone();
        let found = self.read(move |connection| {
            let mut statement = connection.prepare_cached(ONE)?;
            let found = statement.query_row((message.as_str(), session.as_str()), message_head).optional()?;
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
        });
        let found = found.await?;
        self.count_parts(found.as_slice());
        Ok(found)
    }

    pub(super) fn count_parts(&self, messages: &[RawMessage]) {
        let parts: usize = messages.iter().map(|message| message.parts.len()).sum();
        self.meters().parts.inc_by(parts as u64);
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

    /// A message without its parts, and the record of its session, as of one moment.
    pub async fn message_info_and_session(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<(Option<String>, Option<String>), ReadError> {
        let session = session.clone();
        let message = message.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(INFO)?;
            let info =
                statement.query_row((session.as_str(), message.as_str()), |row| row.get(0)).optional()?;
            Ok((info, super::sessions::record(connection, &session)?))
        })
        .await
    }

    /// The first of certain messages with their parts, until they hold more than this, and how many were looked at: at
    /// least one. Those that are gone are left out.
    pub async fn messages_of_within(
        &self,
        session: &SessionId,
        messages: Vec<MessageId>,
        shape: PartShape,
        bytes_max: usize,
    ) -> Result<(Vec<RawMessage>, usize), ReadError> {
        let session = session.clone();
        let damaged = self.inner.damaged.clone();
        let read = self.read(move |connection| {
            messages_by_id(connection, &session, messages, shape, bytes_max, &damaged)
        });
        let (found, looked_at) = read.await?;
        self.count_parts(&found);
        Ok((found, looked_at))
    }

    /// Certain messages with their parts; those that are gone are left out.
    pub async fn messages_of(
        &self,
        session: &SessionId,
        messages: Vec<MessageId>,
    ) -> Result<Vec<RawMessage>, ReadError> {
        let read = self.messages_of_within(session, messages, PartShape::STORED, usize::MAX);
        Ok(read.await?.0)
    }

    /// The newest messages without their parts, and certain messages with them, as of one moment.
    pub async fn newest_heads_and(
        &self,
        session: &SessionId,
        limit: u32,
        messages: Vec<MessageId>,
    ) -> Result<(Vec<RawMessage>, Vec<RawMessage>), ReadError> {
        let session = session.clone();
        let damaged = self.inner.damaged.clone();
        let query = MessageQuery { limit: Some(limit), before: None };
        let read = self.read(move |connection| {
            let heads = heads(connection, &session, &query, &damaged)?.items;
            let (found, _) =
                messages_by_id(connection, &session, messages, PartShape::STORED, usize::MAX, &damaged)?;
            Ok((heads, found))
        });
        let (heads, found) = read.await?;
        self.count_parts(&found);
        Ok((heads, found))
    }
}

/// The first of these messages until they hold more than this, and how many were looked at.
fn messages_by_id(
    connection: &Connection,
    session: &SessionId,
    messages: Vec<MessageId>,
    shape: PartShape,
    bytes_max: usize,
    damaged: &DamagedRows,
) -> Result<(Vec<RawMessage>, usize), ReadError> {
    let mut statement = connection.prepare_cached(ONE)?;
    let mut found = Vec::new();
    let mut parts = Parts::default();
    let mut looked_at = 0;
    for message in messages {
        if parts.bytes > bytes_max {
            break;
        }
        looked_at += 1;
        let row = statement.query_row((message.as_str(), session.as_str()), message_head).optional()?;
        let Some(row) = row else { continue };
        parts.read(connection, session, &row, shape)?;
        found.push(row);
    }
    parts.grow(connection)?;
    Ok((parts.join(session, found, damaged), looked_at))
}

pub(super) fn page(
    connection: &Connection,
    session: &SessionId,
    query: &MessageQuery,
    shape: PartShape,
    damaged: &DamagedRows,
) -> Result<MessagePage, ReadError> {
    Ok(page_within(connection, session, query, shape, damaged, usize::MAX)?.page)
}

fn page_within(
    connection: &Connection,
    session: &SessionId,
    query: &MessageQuery,
    shape: PartShape,
    damaged: &DamagedRows,
    bytes_max: usize,
) -> Result<PageWithin, ReadError> {
    let (mut found, more) = found(connection, session, query, message_head)?;
    let position = super::moment::head(connection)?;
    let read = Parts::of(connection, session, &found, shape, bytes_max)?;
    // One without an id that can be read is left out, as everywhere.
    let unread = found.split_off(read.counts.len());
    let unread =
        unread.into_iter().filter_map(|message| MessagePlace::parse(&message.id, message.ord)).collect();
    let items = read.join(session, found, damaged);
    Ok(PageWithin { page: MessagePage { items, more, position }, unread })
}

fn heads(
    connection: &Connection,
    session: &SessionId,
    query: &MessageQuery,
    damaged: &DamagedRows,
) -> Result<MessagePage, ReadError> {
    let (found, more) = found(connection, session, query, message_head)?;
    let head = |message: MessageHead| message.with(session, Vec::new(), damaged);
    let items = found.into_iter().filter_map(head).collect();
    Ok(MessagePage { items, more, position: super::moment::head(connection)? })
}

/// What is wanted of the messages of a page, oldest first, and whether older ones remain.
fn found<T>(
    connection: &Connection,
    session: &SessionId,
    query: &MessageQuery,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<(Vec<T>, bool), ReadError> {
    let limit = query.limit.filter(|limit| *limit > 0).map(|limit| limit as usize);
    // One more than asked for tells whether older ones remain. Negative is "no limit" in one database only.
    let wanted = limit.map_or(i64::MAX, |limit| clamp(limit as u64 + 1));
    let id = session.as_str();
    let mut found = match &query.before {
        None => collect(connection, NEWEST, (id, wanted), read)?,
        Some(Before { id: before, time }) => {
            let place: Option<i64> = connection
                .prepare_cached(PLACE)?
                .query_row((before.as_str(), id), |row| row.get(0))
                .optional()?;
            match place {
                Some(ord) => collect(connection, BEFORE_PLACE, (id, ord, before.as_str(), wanted), read)?,
                None => collect(connection, BEFORE_TIME, (id, clamp(*time), wanted), read)?,
            }
        }
    };
    let more = limit.is_some_and(|limit| found.len() > limit);
    found.truncate(limit.unwrap_or(usize::MAX));
    found.reverse();
    Ok((found, more))
}

fn collect<T>(
    connection: &Connection,
    statement: &str,
    values: impl rusqlite::Params,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, ReadError> {
    let mut statement = connection.prepare_cached(statement)?;
    let rows = statement.query_map(values, read)?;
    Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
}

/// The parts of several messages, one after the other.
#[derive(Default)]
pub(super) struct Parts {
    all: Vec<Part>,
    /// How many each message has.
    counts: Vec<usize>,
    /// How much they hold together with their messages.
    pub(super) bytes: usize,
}

impl Parts {
    /// The parts of the messages until there are more bytes than these.
    fn of(
        connection: &Connection,
        session: &SessionId,
        found: &[MessageHead],
        shape: PartShape,
        bytes_max: usize,
    ) -> Result<Self, ReadError> {
        let mut parts = Self::default();
        for message in found {
            if parts.bytes > bytes_max {
                break;
            }
            parts.read(connection, session, message, shape)?;
        }
        parts.grow(connection)?;
        Ok(parts)
    }

    pub(super) fn read(
        &mut self,
        connection: &Connection,
        session: &SessionId,
        message: &MessageHead,
        shape: PartShape,
    ) -> Result<(), ReadError> {
        let before = self.all.len();
        read_parts(connection, session, &message.id, &mut self.all)?;
        shape.shape_closed(&mut self.all[before..]);
        self.counts.push(self.all.len() - before);
        self.bytes += message.data.len();
        self.bytes += self.all[before..].iter().map(|part: &Part| part.data.len()).sum::<usize>();
        Ok(())
    }

    /// All of them grow together: one pass over the log, not one for each message.
    pub(super) fn grow(&mut self, connection: &Connection) -> Result<(), ReadError> {
        Ok(add_growth(connection, &mut self.all)?)
    }

    /// The messages with their parts.
    pub(super) fn join(
        self,
        session: &SessionId,
        found: Vec<MessageHead>,
        damaged: &DamagedRows,
    ) -> Vec<RawMessage> {
        let mut parts = self.all.into_iter();
        let whole = found.into_iter().zip(self.counts).filter_map(|(message, count)| {
            let shown = |part: Part| damaged.part_or_placeholder(session, &message.id, &part.id, part.data);
            let parts = parts.by_ref().take(count).map(shown).collect();
            message.with(session, parts, damaged)
        });
        whole.collect()
    }
}

pub(super) fn read_parts(
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
