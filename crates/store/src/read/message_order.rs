//! Messages from the oldest on, and where one stands: for readers that go forward.
//!
//! Not here: pages backwards from the newest (`messages.rs`), which is how most clients read.

use super::messages::RawMessage;
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

impl Store {
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

    /// Up to `limit` messages behind this one, or from the first on, oldest first. None if there is no such message.
    pub async fn messages_after(
        &self,
        session: &SessionId,
        after: Option<&MessageId>,
        limit: usize,
    ) -> Result<Option<Vec<RawMessage>>, ReadError> {
        let Some(ids) = self.message_ids_after(session, after, limit).await? else { return Ok(None) };
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            // One that was removed meanwhile is left out.
            found.extend(self.message(session, &id).await?);
        }
        Ok(Some(found))
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
