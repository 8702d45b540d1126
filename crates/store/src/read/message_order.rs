//! Messages from the oldest on, and where one stands: for readers that go forward.
//!
//! Not here: pages backwards from the newest (`messages.rs`), which is how most clients read.

use super::message_head::message_head;
use super::messages::{Parts, RawMessage};
use super::place::MessagePlace;
use super::shape::PartShape;
use crate::Store;
use crate::error::ReadError;
use crate::log::clamp;
use rusqlite::OptionalExtension as _;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::row::seq_of_place;

const PLACE: &str = "SELECT ord FROM message WHERE id = ?1 AND session_id = ?2";
// The parts of a prompt that waited keep the place at which it was admitted; its message was moved since.
const FIRST_PLACE: &str = "SELECT min(ord) FROM (SELECT ord FROM message WHERE id = ?1 AND session_id = ?2
    UNION ALL SELECT ord FROM part WHERE message_id = ?1 AND session_id = ?2) AS places";
const AFTER_PLACE: &str = "SELECT id FROM message WHERE session_id = ?1
    AND ord >= ?2 AND (ord > ?2 OR id > ?3) ORDER BY ord, id LIMIT ?4";

const NEWER: &str = "SELECT id, ord FROM message WHERE session_id = ?1
    AND ord >= ?2 AND (ord > ?2 OR id > ?3) ORDER BY ord, id LIMIT ?4";
const OLDER: &str = "SELECT id, ord FROM message WHERE session_id = ?1
    AND ord <= ?2 AND (ord < ?2 OR id < ?3) ORDER BY ord DESC, id DESC LIMIT ?4";

const BETWEEN: &str = "SELECT id, created, data, ord FROM message WHERE session_id = ?1
    AND ord >= ?2 AND (ord > ?2 OR id >= ?3) AND ord <= ?4 AND (ord < ?4 OR id <= ?5) ORDER BY ord, id";

/// A range of a conversation's messages, and how far it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    pub messages: Vec<RawMessage>,
    /// Everything up to here was read.
    pub reached: MessagePlace,
}

/// In which direction a conversation is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadDirection {
    Newer,
    Older,
}

/// A message and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedMessage {
    pub place: MessagePlace,
    pub message: RawMessage,
}

impl Store {
    /// Where a message stands; None if the session has no such message.
    pub async fn message_place(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Option<MessagePlace>, ReadError> {
        let ord = self.place(PLACE, session, message).await?;
        Ok(ord.map(|ord| MessagePlace { ord, id: message.clone() }))
    }

    /// Up to `limit` messages beyond a place, or from the end, in the order in which they are met.
    pub async fn messages_beyond(
        &self,
        session: &SessionId,
        from: Option<&MessagePlace>,
        toward: ReadDirection,
        limit: usize,
    ) -> Result<Vec<PlacedMessage>, ReadError> {
        let (statement, end) = match toward {
            ReadDirection::Newer => (NEWER, 0),
            ReadDirection::Older => (OLDER, u64::MAX),
        };
        let place = (session.clone(), from.map(|from| from.id.to_string()).unwrap_or_default());
        let ord = from.map_or(end, |from| from.ord);
        let places: Vec<(String, i64)> = self
            .read(move |connection| {
                let mut statement = connection.prepare_cached(statement)?;
                let values = (place.0.as_str(), clamp(ord), place.1.as_str(), clamp(limit as u64));
                let rows = statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
            .await?;
        // One without an id that can be read is left out, as everywhere.
        let places = places.into_iter().filter_map(|(id, ord)| {
            Some(MessagePlace { ord: ord.cast_unsigned(), id: MessageId::parse(&id).ok()? })
        });
        let places: Vec<MessagePlace> = places.collect();
        let found = self.messages_of(session, places.iter().map(|place| place.id.clone()).collect()).await?;
        let mut found = found.into_iter().peekable();
        // One that was removed meanwhile is left out.
        let placed = places.into_iter().filter_map(|place| {
            let message = found.next_if(|message| message.id == place.id)?;
            Some(PlacedMessage { place, message })
        });
        Ok(placed.collect())
    }

    /// The messages that stand from one place to another, with their parts, until they hold more than this: at least
    /// one. One pass over their rows, in order; those that were removed meanwhile are not there.
    pub async fn slice_of_messages(
        &self,
        session: &SessionId,
        first: &MessagePlace,
        last: &MessagePlace,
        shape: PartShape,
        bytes_max: usize,
    ) -> Result<Slice, ReadError> {
        let session = session.clone();
        let first = first.clone();
        let last = last.clone();
        let damaged = self.inner.damaged.clone();
        let slice = self.read(move |connection| {
            let mut statement = connection.prepare_cached(BETWEEN)?;
            let from = (clamp(first.ord), first.id.as_str());
            let to = (clamp(last.ord), last.id.as_str());
            let mut rows = statement.query((session.as_str(), from.0, from.1, to.0, to.1))?;
            let mut found = Vec::new();
            let mut parts = Parts::default();
            let mut cut_short_at = None;
            while let Some(row) = rows.next()? {
                let message = message_head(row)?;
                parts.read(connection, &session, &message, shape)?;
                // Where one stands whose id cannot be read is not known: it is not the last.
                cut_short_at =
                    MessagePlace::parse(&message.id, message.ord).filter(|_| parts.bytes > bytes_max);
                found.push(message);
                if cut_short_at.is_some() {
                    break;
                }
            }
            parts.grow(connection)?;
            let reached = cut_short_at.unwrap_or(last);
            Ok(Slice { messages: parts.join(&session, found, &damaged), reached })
        });
        let slice = slice.await?;
        self.count_parts(&slice.messages);
        Ok(slice)
    }

    /// The seq of the fact that created a message; None if the session has no such message.
    pub async fn message_seq(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Option<u64>, ReadError> {
        Ok(self.place(FIRST_PLACE, session, message).await?.map(seq_of_place))
    }

    async fn place(
        &self,
        statement: &'static str,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Option<u64>, ReadError> {
        let session = session.clone();
        let message = message.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(statement)?;
            let place: Option<Option<i64>> =
                statement.query_row((message.as_str(), session.as_str()), |row| row.get(0)).optional()?;
            Ok(place.flatten().map(i64::cast_unsigned))
        })
        .await
    }

    /// Which messages are behind one, oldest first; none if there is no such message.
    pub async fn message_ids_after(
        &self,
        session: &SessionId,
        after: Option<&MessageId>,
        limit: usize,
    ) -> Result<Option<Vec<MessageId>>, ReadError> {
        let seq = match after {
            Some(after) => match self.place(PLACE, session, after).await? {
                Some(seq) => seq,
                None => return Ok(None),
            },
            None => 0,
        };
        let place = (session.clone(), after.map(ToString::to_string).unwrap_or_default());
        let ids: Vec<String> = self
            .read(move |connection| {
                let mut statement = connection.prepare_cached(AFTER_PLACE)?;
                let values = (place.0.as_str(), clamp(seq), place.1.as_str(), clamp(limit as u64));
                let rows = statement.query_map(values, |row| row.get(0))?;
                Ok(rows.collect::<rusqlite::Result<Vec<String>>>()?)
            })
            .await?;
        // One without an id that can be read is left out, as everywhere.
        Ok(Some(ids.iter().filter_map(|id| MessageId::parse(id).ok()).collect()))
    }
}
