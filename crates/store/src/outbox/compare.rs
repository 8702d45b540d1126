//! What a session shows now and its share was not told yet, found by a look at all of it: when it is first shared, and
//! when everything is sent anew.
//!
//! Rows know the position of their last change, and `share_said` knows which position was said. A part that is still
//! open grows without its row being written; it is read with its growth and counts as of the newest entry.
//!
//! A pass goes through the conversation in order, a batch at a time, so that a long session is read once and never
//! held in memory.

use super::shorten::shorten;
use crate::Store;
use crate::error::{Failure, ReadError};
use crate::growth::{Part, add_growth};
use crate::share::{BATCH_BYTES_MAX, Kind};
use rusqlite::{Connection, OptionalExtension as _};
use sturdy_session::id::SessionId;

/// Rows of one kind in one read. With the marks of a snapshot they fit into a batch.
pub(super) const ROWS_MAX: usize = 120;

/// One thing to be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub kind: Kind,
    pub id: String,
    /// A part's message.
    pub parent: String,
    pub version: u64,
    /// None for removals.
    pub payload: Option<String>,
}

impl Draft {
    /// Something of a session that is not a row.
    #[must_use]
    pub fn of(kind: Kind, id: impl Into<String>, version: u64, payload: String) -> Self {
        Self { kind, id: id.into(), parent: String::new(), version, payload: Some(shorten(payload)) }
    }

    pub(super) fn key(&self) -> String {
        let Self { kind, id, parent, .. } = self;
        match kind {
            Kind::Session => "session".to_owned(),
            Kind::SessionDiff => "session_diff".to_owned(),
            Kind::Message | Kind::MessageRemove => format!("message/{id}"),
            Kind::Part | Kind::PartRemove => format!("part/{parent}/{id}"),
            Kind::Model => format!("model/{id}"),
            Kind::SnapshotBegin | Kind::SnapshotEnd => format!("snapshot/{id}"),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.payload.as_ref().map_or(0, String::len)
    }
}

/// What one read found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differences {
    pub drafts: Vec<Draft>,
    /// The newest entry of the session.
    pub position: u64,
    /// Where the pass goes on; none: nothing else is to be said.
    pub next: Option<u64>,
}

impl Store {
    /// The next things to be said of a session, from a place in the conversation on. None: there is no such session.
    pub async fn share_differences(
        &self,
        session: &SessionId,
        from: u64,
    ) -> Result<Option<Differences>, ReadError> {
        let session = session.clone();
        self.read(move |connection| Ok(differences(connection, session.as_str(), from)?)).await
    }

    /// The newest entry of a session, if it has any.
    pub async fn newest_entry(&self, session: &SessionId) -> Result<Option<u64>, ReadError> {
        let session = session.clone();
        self.read(move |connection| Ok(newest(connection, session.as_str())?)).await
    }
}

pub(super) fn newest(connection: &Connection, session: &str) -> Result<Option<u64>, Failure> {
    const NEWEST: &str = "SELECT position FROM log WHERE session_id = ?1 ORDER BY seq DESC LIMIT 1";
    let mut statement = connection.prepare_cached(NEWEST)?;
    let found: Option<i64> = statement.query_row([session], |row| row.get(0)).optional()?;
    Ok(found.map(i64::cast_unsigned))
}

fn differences(connection: &Connection, session: &str, from: u64) -> Result<Option<Differences>, Failure> {
    const SESSION: &str = "SELECT session.data, session.position, share_said.version FROM session
        LEFT JOIN share_said ON share_said.session_id = session.id AND share_said.kind = 'session'
        WHERE session.id = ?1";
    let mut statement = connection.prepare_cached(SESSION)?;
    let found = statement.query_row([session], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, Option<i64>>(2)?))
    });
    let Some((data, position, said)) = found.optional()? else { return Ok(None) };
    let newest = newest(connection, session)?.unwrap_or(0);
    let mut drafts = Vec::new();
    let mut bound = u64::MAX;
    if from == 0 {
        if said.is_none_or(|said| said < position) {
            drafts.push(Draft {
                kind: Kind::Session,
                id: session.to_owned(),
                parent: String::new(),
                version: position.cast_unsigned(),
                payload: Some(shorten(data)),
            });
        }
        let removed = removed(connection, session, newest)?;
        if removed.len() >= ROWS_MAX {
            bound = 0;
        }
        drafts.extend(removed);
    }
    if bound > 0 {
        let (messages, messages_end) = messages(connection, session, from)?;
        let (parts, parts_end) = parts(connection, session, from, newest)?;
        bound = messages_end.min(parts_end);
        let mut rows: Vec<Placed> =
            messages.into_iter().chain(parts).filter(|row| row.ord <= bound).collect();
        // Stable, and messages stand before parts.
        rows.sort_by_key(|row| row.ord);
        drafts.extend(rows.into_iter().map(|row| row.draft));
    }
    let next = (bound != u64::MAX).then_some(bound);
    // An open part that has not grown since is no reason to send everything again.
    let next = next.filter(|next| *next != from || !drafts.is_empty());
    Ok(Some(Differences { drafts, position: newest, next }))
}

/// A row and the place of its message.
struct Placed {
    ord: u64,
    draft: Draft,
}

/// What was said and is gone. The parts of a message that is gone go with it.
fn removed(connection: &Connection, session: &str, version: u64) -> Result<Vec<Draft>, Failure> {
    const MESSAGES: &str = "SELECT id, parent FROM share_said WHERE session_id = ?1 AND kind = 'message'
        AND NOT EXISTS (SELECT 1 FROM message WHERE message.session_id = share_said.session_id
        AND message.id = share_said.id) LIMIT ?2";
    const PARTS: &str = "SELECT id, parent FROM share_said WHERE session_id = ?1 AND kind = 'part'
        AND NOT EXISTS (SELECT 1 FROM part WHERE part.session_id = share_said.session_id
        AND part.id = share_said.id)
        AND EXISTS (SELECT 1 FROM message WHERE message.session_id = share_said.session_id
        AND message.id = share_said.parent) LIMIT ?2";
    let mut all = Vec::new();
    for (text, kind) in [(MESSAGES, Kind::MessageRemove), (PARTS, Kind::PartRemove)] {
        let left = ROWS_MAX - all.len();
        let mut statement = connection.prepare_cached(text)?;
        let mut rows = statement.query((session, left as i64))?;
        while let Some(row) = rows.next()? {
            all.push(Draft { kind, id: row.get(0)?, parent: row.get(1)?, version, payload: None });
        }
    }
    Ok(all)
}

/// Messages that changed, and the place up to which they were read.
fn messages(connection: &Connection, session: &str, from: u64) -> Result<(Vec<Placed>, u64), Failure> {
    const MESSAGES: &str = "SELECT message.id, message.position, message.data, message.ord FROM message
        LEFT JOIN share_said ON share_said.session_id = message.session_id AND share_said.kind = 'message'
        AND share_said.id = message.id
        WHERE message.session_id = ?1 AND message.ord >= ?2
        AND (share_said.version IS NULL OR share_said.version < message.position)
        ORDER BY message.ord, message.id";
    let mut statement = connection.prepare_cached(MESSAGES)?;
    let mut rows = statement.query((session, from.cast_signed()))?;
    let mut found = Vec::new();
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let ord = row.get::<_, i64>(3)?.cast_unsigned();
        let draft = Draft {
            kind: Kind::Message,
            id: row.get(0)?,
            parent: String::new(),
            version: row.get::<_, i64>(1)?.cast_unsigned(),
            payload: Some(shorten(row.get(2)?)),
        };
        bytes += draft.bytes();
        found.push(Placed { ord, draft });
        if found.len() >= ROWS_MAX || bytes >= BATCH_BYTES_MAX {
            return Ok((found, ord));
        }
    }
    Ok((found, u64::MAX))
}

/// Parts that changed or are open, and the place up to which they were read.
fn parts(
    connection: &Connection,
    session: &str,
    from: u64,
    newest: u64,
) -> Result<(Vec<Placed>, u64), Failure> {
    // The columns of growth::PART_COLUMNS first.
    const PARTS: &str = "SELECT part.id, part.session_id, part.is_open, part.data, part.position,
        part.message_id, message.ord FROM message
        JOIN part ON part.session_id = message.session_id AND part.message_id = message.id
        LEFT JOIN share_said ON share_said.session_id = part.session_id AND share_said.kind = 'part'
        AND share_said.id = part.id
        WHERE message.session_id = ?1 AND message.ord >= ?2
        AND (share_said.version IS NULL OR share_said.version < part.position
        OR (part.is_open = 1 AND share_said.version < ?3))
        ORDER BY message.ord, message.id, part.ord, part.id";
    let mut statement = connection.prepare_cached(PARTS)?;
    let mut rows = statement.query((session, from.cast_signed(), newest.cast_signed()))?;
    let mut found = Vec::new();
    let mut places = Vec::new();
    let mut bytes = 0;
    let mut end = u64::MAX;
    while let Some(row) = rows.next()? {
        let part = Part::from_row(row)?;
        let message: String = row.get(5)?;
        let ord = row.get::<_, i64>(6)?.cast_unsigned();
        bytes += part.data.len();
        found.push(part);
        places.push((message, ord));
        if found.len() >= ROWS_MAX || bytes >= BATCH_BYTES_MAX {
            end = ord;
            break;
        }
    }
    add_growth(connection, &mut found)?;
    let placed = found.into_iter().zip(places).map(|(part, (parent, ord))| {
        let version = if part.is_open { newest } else { part.position.cast_unsigned() };
        let payload = Some(shorten(part.data));
        Placed { ord, draft: Draft { kind: Kind::Part, id: part.id, parent, version, payload } }
    });
    Ok((placed.collect(), end))
}
