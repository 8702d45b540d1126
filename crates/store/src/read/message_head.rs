//! The row of a message, without its parts.

use crate::log::text_or_empty;
use crate::read::damaged::DamagedRows;
use crate::read::messages::RawMessage;
use rusqlite::Row;
use sturdy_session::id::{MessageId, SessionId};

/// A message without its parts, as it is stored in its row.
pub(super) struct MessageHead {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) data: String,
    pub(super) ord: i64,
}

impl MessageHead {
    /// A message is left out only if not even its id can be read: nobody could ask for it.
    pub(super) fn with(
        self,
        session: &SessionId,
        parts: Vec<String>,
        damaged: &DamagedRows,
    ) -> Option<RawMessage> {
        let Ok(id) = MessageId::parse(&self.id) else {
            damaged.note(session, "a message without an id");
            return None;
        };
        let created = self.created.cast_unsigned();
        let info = damaged.message_or_placeholder(session, &self.id, created, self.data);
        Some(RawMessage { id, created, info, parts })
    }
}

pub(super) fn message_head(row: &Row<'_>) -> rusqlite::Result<MessageHead> {
    let created = row.get(1).unwrap_or_default();
    Ok(MessageHead {
        id: text_or_empty(row, 0)?,
        created,
        data: text_or_empty(row, 2)?,
        ord: row.get(3).unwrap_or_default(),
    })
}
