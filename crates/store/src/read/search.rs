//! Parts that contain some words, newest first.
//!
//! A scan and not an index: what is written stays as cheap as it is, and a search costs at most a stretch of rows
//! before it says how far it came and can be asked to go on. Upper and lower case are the same for letters of ASCII.
//!
//! A row is found when its text contains the words anywhere, names of fields included; whoever asks looks closer.
//! Text that still grows is found when its part is closed.

use crate::Store;
use crate::error::ReadError;
use rusqlite::Row;
use sturdy_session::id::SessionId;

const END: &str = "SELECT coalesce(max(rowid), 0) + 1 FROM part";
const EVERYWHERE: &str = "SELECT rowid, session_id, message_id, id, data FROM part
    WHERE rowid < ?1 AND rowid >= ?2 AND data LIKE ?3 ESCAPE '\\' ORDER BY rowid DESC LIMIT ?4";
const IN_SESSION: &str = "SELECT rowid, session_id, message_id, id, data FROM part
    WHERE rowid < ?1 AND rowid >= ?2 AND data LIKE ?3 ESCAPE '\\' AND session_id = ?5 ORDER BY rowid DESC LIMIT ?4";

/// Rows that one search looks at.
const SCANNED_MAX: i64 = 50_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    pub text: String,
    pub session: Option<SessionId>,
    /// Where the search before stopped.
    pub before: Option<i64>,
    pub limit: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPart {
    pub session: String,
    pub message: String,
    pub part: String,
    /// The wire record.
    pub data: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub parts: Vec<FoundPart>,
    /// Older ones may follow from here; none when everything was looked at.
    pub before: Option<i64>,
}

impl Store {
    pub async fn search(&self, query: SearchQuery) -> Result<Found, ReadError> {
        self.read(move |connection| {
            let end: i64 = connection.prepare_cached(END)?.query_row((), |row| row.get(0))?;
            let before = query.before.unwrap_or(end).min(end);
            let first = (before - SCANNED_MAX).max(0);
            let pattern = pattern(&query.text);
            let limit = i64::from(query.limit);
            let found = |row: &Row<'_>| {
                let part = FoundPart {
                    session: row.get(1)?,
                    message: row.get(2)?,
                    part: row.get(3)?,
                    data: crate::log::text_or_empty(row, 4)?,
                };
                Ok((row.get::<_, i64>(0)?, part))
            };
            let rows: Vec<(i64, FoundPart)> = match &query.session {
                None => connection
                    .prepare_cached(EVERYWHERE)?
                    .query_map((before, first, pattern, limit), found)?
                    .collect::<Result<_, _>>()?,
                Some(session) => connection
                    .prepare_cached(IN_SESSION)?
                    .query_map((before, first, pattern, limit, session.as_str()), found)?
                    .collect::<Result<_, _>>()?,
            };
            let is_full = rows.len() as i64 >= limit;
            let stopped = match rows.last() {
                Some((row, _)) if is_full => *row,
                _ => first,
            };
            let parts = rows.into_iter().map(|(_, part)| part).collect();
            Ok(Found { parts, before: (stopped > 1).then_some(stopped) })
        })
        .await
    }
}

/// The words as they stand inside JSON, with nothing in them that means something to the database.
fn pattern(text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("BUG: a text is always JSON");
    let mut pattern = "%".to_owned();
    for letter in quoted[1..quoted.len() - 1].chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}
