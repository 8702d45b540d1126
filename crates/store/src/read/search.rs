//! Parts that contain some words, newest first.
//!
//! A scan and not an index: what is written stays as cheap as it is, and a search costs at most a stretch of rows
//! before it says how far it came and can be asked to go on. Upper and lower case are the same for letters of ASCII.
//!
//! A row is found when its text contains the words anywhere, names of fields included; whoever asks looks closer.
//! Of a file only its name counts: two letters stand in every image. Text that still grows is found when its part is
//! closed.

use crate::Store;
use crate::error::ReadError;
use crate::log::clamp;
use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};
use sturdy_session::id::SessionId;

const END: &str = "SELECT coalesce(max(rowid), 0) + 1 FROM part";
// One case behind the other: only what has the words is looked at closer, and damaged JSON would end the statement.
const FIND: &str = "SELECT rowid, session_id, message_id, id, data FROM part
    WHERE rowid < ? AND rowid >= ? AND CASE WHEN data NOT LIKE ? ESCAPE '\\' THEN 0 WHEN NOT json_valid(data) THEN 1
    WHEN data ->> 'type' = 'file' THEN coalesce(data ->> 'filename', '') LIKE ? ESCAPE '\\' ELSE 1 END";
const IN_SESSION: &str = " AND session_id = ?";
// Damaged JSON would end the whole statement, so it is asked about first.
const OF_TYPE: &str = " AND CASE WHEN json_valid(data) THEN data ->> 'type' END = ?";
const OF_TOOL: &str = " AND CASE WHEN json_valid(data) THEN data ->> 'tool' END = ?";
const IN_PROJECT: &str =
    " AND EXISTS (SELECT 1 FROM session WHERE session.id = part.session_id AND session.project_id = ?)";
const BY_ROLE: &str = " AND EXISTS (SELECT 1 FROM message
    WHERE message.session_id = part.session_id AND message.id = part.message_id
    AND CASE WHEN json_valid(message.data) THEN message.data ->> 'role' END = ?)";
const SINCE: &str = " AND EXISTS (SELECT 1 FROM message
    WHERE message.session_id = part.session_id AND message.id = part.message_id AND message.created >= ?)";
const UNTIL: &str = " AND EXISTS (SELECT 1 FROM message
    WHERE message.session_id = part.session_id AND message.id = part.message_id AND message.created < ?)";
const NEWEST_FIRST: &str = " ORDER BY rowid DESC LIMIT ?";

/// Rows that one search looks at.
const SCANNED_MAX: i64 = 50_000;
/// What it finds is in memory: it ends with the part that makes it this much.
const FOUND_BYTES_MAX: usize = 2 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    pub text: String,
    pub session: Option<SessionId>,
    pub project: Option<String>,
    /// `user` or `assistant`.
    pub role: Option<String>,
    /// The wire's name for what a part is.
    pub part_type: Option<String>,
    pub tool: Option<String>,
    /// Written then or later, in milliseconds.
    pub since: Option<u64>,
    /// Written before that.
    pub until: Option<u64>,
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
            let limit = query.limit as usize;
            let (statement, values) = statement(&query, before, first);
            let found = |row: &Row<'_>| {
                let part = FoundPart {
                    session: row.get(1)?,
                    message: row.get(2)?,
                    part: row.get(3)?,
                    data: crate::log::text_or_empty(row, 4)?,
                };
                Ok((row.get::<_, i64>(0)?, part))
            };
            let mut statement = connection.prepare_cached(&statement)?;
            let mut rows = statement.query_map(params_from_iter(values), found)?;
            let mut parts = Vec::new();
            let mut bytes = 0;
            let mut stopped = first;
            while let Some(found) = rows.next().transpose()? {
                let (row, part) = found;
                bytes += part.data.len();
                parts.push(part);
                if parts.len() >= limit || bytes >= FOUND_BYTES_MAX {
                    stopped = row;
                    break;
                }
            }
            Ok(Found { parts, before: (stopped > 1).then_some(stopped) })
        })
        .await
    }
}

/// Only the conditions that are wanted: a search of one session goes through that session's parts alone.
fn statement(query: &SearchQuery, before: i64, first: i64) -> (String, Vec<Value>) {
    let text = |value: &Option<String>| value.clone().map(Value::from);
    let time = |value: Option<u64>| value.map(|time| Value::from(clamp(time)));
    let conditions = [
        (IN_SESSION, query.session.as_ref().map(|session| Value::from(session.as_str().to_owned()))),
        (OF_TYPE, text(&query.part_type)),
        (OF_TOOL, text(&query.tool)),
        (IN_PROJECT, text(&query.project)),
        (BY_ROLE, text(&query.role)),
        (SINCE, time(query.since)),
        (UNTIL, time(query.until)),
    ];
    let mut statement = FIND.to_owned();
    let quoted = serde_json::to_string(&query.text).expect("BUG: a text is always JSON");
    let inside_json = pattern(&quoted[1..quoted.len() - 1]);
    let mut values = vec![
        Value::from(before),
        Value::from(first),
        Value::from(inside_json),
        Value::from(pattern(&query.text)),
    ];
    for (condition, value) in conditions {
        let Some(value) = value else { continue };
        statement.push_str(condition);
        values.push(value);
    }
    statement.push_str(NEWEST_FIRST);
    values.push(Value::from(i64::from(query.limit)));
    (statement, values)
}

/// Whatever contains these words, with nothing in them that means something to the database.
fn pattern(words: &str) -> String {
    let mut pattern = "%".to_owned();
    for letter in words.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}
