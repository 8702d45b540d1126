//! Parts without their messages: how much they hold, and what is wanted of them.

use crate::Store;
use crate::error::ReadError;
use crate::growth::add_growth;
use crate::read::messages::read_parts;
use sturdy_session::id::{MessageId, PartId, SessionId};

const BYTES: &str =
    "SELECT COALESCE(SUM(LENGTH(CAST(data AS BLOB))), 0) FROM part WHERE session_id = ?1 AND message_id = ?2";
const SIZES: &str =
    "SELECT id, LENGTH(CAST(data AS BLOB)) FROM part WHERE session_id = ?1 AND message_id = ?2
    ORDER BY ord, id";

// By the place of the message: the newest parts come first without being sorted.
const NEWEST_PARTS: &str = "SELECT part.data FROM message
    JOIN part ON part.session_id = message.session_id AND part.message_id = message.id
    WHERE message.session_id = ?1 ORDER BY message.ord DESC, part.ord DESC";

impl Store {
    /// How much the parts of each of these messages hold, without what open ones have grown by.
    pub async fn parts_bytes(
        &self,
        session: &SessionId,
        messages: &[MessageId],
    ) -> Result<Vec<u64>, ReadError> {
        let session = session.clone();
        let messages = messages.to_vec();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(BYTES)?;
            let mut bytes = Vec::with_capacity(messages.len());
            for message in messages {
                let found: i64 =
                    statement.query_row((session.as_str(), message.as_str()), |row| row.get(0))?;
                bytes.push(found.cast_unsigned());
            }
            Ok(bytes)
        })
        .await
    }

    /// Which parts a message has, in order, and how much each holds without what it has grown by.
    pub async fn part_sizes(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Vec<(PartId, u64)>, ReadError> {
        let session = session.clone();
        let message = message.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(SIZES)?;
            let mut rows = statement.query((session.as_str(), message.as_str()))?;
            let mut sizes = Vec::new();
            while let Some(row) = rows.next()? {
                let id: String = row.get(0)?;
                let id = PartId::parse(&id).map_err(|error| crate::error::Failure::broken("part", error))?;
                sizes.push((id, row.get::<_, i64>(1)?.cast_unsigned()));
            }
            Ok(sizes)
        })
        .await
    }

    /// What is wanted of the parts of a session, the newest first, until there is enough of it. The parts are looked at
    /// one by one where they are read: none of them is held.
    pub async fn newest_parts_that<T: Send + 'static>(
        &self,
        session: &SessionId,
        count_max: usize,
        pick: impl Fn(&str) -> Option<T> + Send + 'static,
    ) -> Result<Vec<T>, ReadError> {
        let session = session.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(NEWEST_PARTS)?;
            let mut rows = statement.query([session.as_str()])?;
            let mut picked = Vec::new();
            while picked.len() < count_max
                && let Some(row) = rows.next()?
            {
                let data = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
                picked.extend(pick(data));
            }
            Ok(picked)
        })
        .await
    }

    /// The parts of one message, in order.
    pub async fn parts_of(&self, session: &SessionId, message: &MessageId) -> Result<Vec<String>, ReadError> {
        let session = session.clone();
        let message = message.clone();
        let parts = self.read(move |connection| {
            let mut parts = Vec::new();
            read_parts(connection, &session, message.as_str(), &mut parts)?;
            add_growth(connection, &mut parts)?;
            Ok(parts.into_iter().map(|part| part.data).collect::<Vec<_>>())
        });
        let parts = parts.await?;
        self.meters().parts.inc_by(parts.len() as u64);
        Ok(parts)
    }
}
