//! Parts that contain some words, newest first.
//!
//! A scan and not an index: what is written stays as cheap as it is, and a search costs at most a stretch of rows
//! before it says how far it came and can be asked to go on. Upper and lower case are the same for letters of ASCII.
//!
//! A row is found when its text contains the words anywhere, names of fields included; whoever asks looks closer.
//! Text that still grows is found when its part is closed.

use crate::Store;
use crate::error::ReadError;
use crate::log::clamp;
use rusqlite::Row;
use sturdy_session::id::SessionId;

const END: &str = "SELECT coalesce(max(rowid), 0) + 1 FROM part";
const FIND: &str = "SELECT rowid, session_id, message_id, id, data FROM part
    WHERE rowid < ?1 AND rowid >= ?2 AND data LIKE ?3 ESCAPE '\\'";
const IN_SESSION: &str = " AND session_id = ?5";
// Damaged JSON would end the whole statement, so it is asked about first.
const OF_TYPE: &str = " AND CASE WHEN json_valid(data) THEN data ->> 'type' END = ?6";
const OF_TOOL: &str = " AND CASE WHEN json_valid(data) THEN data ->> 'tool' END = ?7";
const IN_PROJECT: &str =
    " AND EXISTS (SELECT 1 FROM session WHERE session.id = part.session_id AND session.project_id = ?8)";
const IN_MESSAGE: &str = " AND EXISTS (SELECT 1 FROM message
    WHERE message.session_id = part.session_id AND message.id = part.message_id
    AND message.created >= ?9 AND message.created < ?10
    AND (?11 IS NULL OR CASE WHEN json_valid(message.data) THEN message.data ->> 'role' END = ?11))";
const NEWEST_FIRST: &str = " ORDER BY rowid DESC LIMIT ?4";

/// Rows that one search looks at.
const SCANNED_MAX: i64 = 50_000;

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
            let values = (
                before,
                first,
                pattern,
                limit,
                query.session.as_ref().map(SessionId::as_str),
                &query.part_type,
                &query.tool,
                &query.project,
                clamp(query.since.unwrap_or(0)),
                clamp(query.until.unwrap_or(u64::MAX)),
                &query.role,
            );
            let mut statement = connection.prepare_cached(&statement(&query))?;
            let rows: Vec<(i64, FoundPart)> =
                statement.query_map(values, found)?.collect::<Result<_, _>>()?;
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

/// Only the conditions that are wanted: a search of one session goes through that session's parts alone.
fn statement(query: &SearchQuery) -> String {
    let is_timed = query.since.is_some() || query.until.is_some();
    let mut text = FIND.to_owned();
    let conditions = [
        (query.session.is_some(), IN_SESSION),
        (query.part_type.is_some(), OF_TYPE),
        (query.tool.is_some(), OF_TOOL),
        (query.project.is_some(), IN_PROJECT),
        (query.role.is_some() || is_timed, IN_MESSAGE),
    ];
    text.extend(conditions.iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, condition)| *condition));
    text.push_str(NEWEST_FIRST);
    text
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
