//! Lists of sessions: newest change first, or by creation in either direction.
//!
//! A query is put together from constant pieces, one for each filter that is set: a statement for
//! all filters at once could use no index.

use super::session_id;
use crate::Store;
use crate::committer::title_column;
use crate::error::ReadError;
use crate::log::{clamp, text_or_empty};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::sync::{Arc, PoisonError};
use sturdy_session::id::SessionId;
use sturdy_session::placeholder::SessionColumns;

const ONE: &str = "SELECT data FROM session WHERE id = ?1";
// The last entry of a session is found by the index that keeps its entries apart.
const HEADS: &str = "SELECT id, position FROM (SELECT id, (SELECT log.position FROM log
    WHERE log.session_id = session.id ORDER BY log.seq DESC LIMIT 1) AS position
    FROM session WHERE project_id = ?1) AS heads WHERE position IS NOT NULL ORDER BY position";
// The columns that `columns` reads.
const PLACE: &str =
    "SELECT project_id, directory, parent_id, title, created, updated FROM session WHERE id = ?1";
// The last entry of a removed session records its removal, and stays.
const WITHOUT_ROW: &str = "SELECT log.session_id FROM log
    WHERE log.session_id NOT IN (SELECT id FROM session) AND log.kind NOT LIKE 'session.removed.%'
    AND NOT EXISTS (SELECT 1 FROM log AS later
        WHERE later.session_id = log.session_id AND later.seq > log.seq)
    ORDER BY log.session_id";
// Those that were there before their parent was removed.
const LEFT_BEHIND: &str = "SELECT id FROM session WHERE parent_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM session AS parent WHERE parent.id = session.parent_id)
    AND (SELECT log.position FROM log WHERE log.session_id = session.id ORDER BY log.seq LIMIT 1)
        < (SELECT log.position FROM log WHERE log.session_id = session.parent_id
           AND log.kind LIKE 'session.removed.%' ORDER BY log.seq DESC LIMIT 1)
    ORDER BY id";
const CHILDREN: &str = "SELECT id FROM session WHERE parent_id = ?1 ORDER BY updated DESC, id DESC";

/// Which sessions; what is not set does not filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionQuery {
    pub project: Option<String>,
    /// Exactly this directory. Beside `path` it only adds sessions of that directory which have no path.
    pub directory: Option<String>,
    /// This path or below it; empty is no filter.
    pub path: Option<String>,
    pub parent: Option<SessionId>,
    /// `true`: only sessions without a parent; `false`: only those with one.
    pub roots: Option<bool>,
    /// Only those changed at or after this time.
    pub start: Option<u64>,
    /// Only those changed before this time: the cursor of the list of all projects.
    pub before: Option<u64>,
    /// Contained in the title, ignoring ASCII case.
    pub search: Option<String>,
    /// `false`: without archived ones; `true`: only archived ones.
    pub archived: Option<bool>,
    /// Who created them.
    pub actor: Option<String>,
    pub order: SessionOrder,
    pub limit: Option<u32>,
}

/// In which order sessions are listed, and where the list begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SessionOrder {
    /// Newest change first.
    #[default]
    Changed,
    /// Newest first, from the one after this on.
    NewestCreated { after: Option<CreatedEdge> },
    /// Oldest first, from the one after this on.
    OldestCreated { after: Option<CreatedEdge> },
}

/// A session's place in the order of creation. The session itself may be gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedEdge {
    pub created: u64,
    pub id: SessionId,
}

/// A session, and where it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionHead {
    pub id: SessionId,
    /// Of its last entry.
    pub position: u64,
}

impl Store {
    /// One session's wire record.
    pub async fn session(&self, id: &SessionId) -> Result<Option<String>, ReadError> {
        let id = id.clone();
        self.read(move |connection| record(connection, &id)).await
    }

    /// The sessions of a project without their records, each with the position of its last entry, oldest first.
    pub async fn session_heads(&self, project: &str) -> Result<Vec<SessionHead>, ReadError> {
        let project = project.to_owned();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(HEADS)?;
            let mut rows = statement.query([&project])?;
            let mut heads = Vec::new();
            while let Some(row) = rows.next()? {
                let id = session_id(&row.get::<_, String>(0)?)?;
                let position: i64 = row.get(1)?;
                heads.push(SessionHead { id, position: position.unsigned_abs() });
            }
            Ok(heads)
        })
        .await
    }

    /// The columns beside a session's record, for when the record itself cannot be read.
    pub async fn session_columns(&self, id: &SessionId) -> Result<Option<SessionColumns>, ReadError> {
        let id = id.clone();
        self.read(move |connection| {
            let found = connection.prepare_cached(PLACE)?.query_row([id.as_str()], |row| columns(row, 0));
            Ok(found.optional()?)
        })
        .await
    }

    /// The sessions right below this one, newest change first, also those whose records cannot be read.
    pub async fn children(&self, parent: &SessionId) -> Result<Vec<SessionId>, ReadError> {
        let parent = parent.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(CHILDREN)?;
            let rows = statement.query_map([parent.as_str()], |row| text_or_empty(row, 0))?;
            let ids = rows.collect::<rusqlite::Result<Vec<String>>>()?;
            Ok(ids.iter().filter_map(|id| SessionId::parse(id).ok()).collect())
        })
        .await
    }

    /// Sessions whose parent was removed after they were created. They were to be removed with it.
    pub async fn left_behind(&self) -> Result<Vec<SessionId>, ReadError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(LEFT_BEHIND)?;
            let rows = statement.query_map([], |row| text_or_empty(row, 0))?;
            let ids = rows.collect::<rusqlite::Result<Vec<String>>>()?;
            Ok(ids.iter().filter_map(|id| SessionId::parse(id).ok()).collect())
        })
        .await
    }

    /// Sessions of which the log does not end with their removal, and which have no row.
    pub async fn sessions_without_row(&self) -> Result<Vec<SessionId>, ReadError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(WITHOUT_ROW)?;
            let rows = statement.query_map([], |row| text_or_empty(row, 0))?;
            let ids = rows.collect::<rusqlite::Result<Vec<String>>>()?;
            Ok(ids.iter().filter_map(|id| SessionId::parse(id).ok()).collect())
        })
        .await
    }

    /// The wire records of the sessions that match, in the order asked for. Of one that cannot be read, what is known
    /// without it.
    pub async fn sessions(&self, query: SessionQuery) -> Result<Vec<String>, ReadError> {
        let damaged = self.inner.damaged.clone();
        let titles = Arc::clone(&self.inner.titles);
        self.read(move |connection| {
            let candidates = match &query.search {
                Some(search) => {
                    let mut titles = titles.lock().unwrap_or_else(PoisonError::into_inner);
                    titles.candidates(connection, &searched(search))?
                }
                None => None,
            };
            if candidates.as_ref().is_some_and(Vec::is_empty) {
                return Ok(Vec::new());
            }
            let is_narrowed = candidates.is_some();
            let (statement, values) = compose(&query, candidates);
            // One for every number of candidates: not worth keeping.
            let mut kept;
            let mut once;
            let statement = if is_narrowed {
                once = connection.prepare(&statement)?;
                &mut once
            } else {
                kept = connection.prepare_cached(&statement)?;
                &mut *kept
            };
            let mut rows = statement.query(rusqlite::params_from_iter(values))?;
            let mut records = Vec::new();
            while let Some(row) = rows.next()? {
                let id = text_or_empty(row, 0)?;
                let data = text_or_empty(row, 1)?;
                records.extend(damaged.session_or_placeholder(&id, data, || columns(row, 2))?);
            }
            Ok(records)
        })
        .await
    }
}

/// What stands beside a session's record, from this column on.
pub(crate) fn columns(row: &Row<'_>, first: usize) -> rusqlite::Result<SessionColumns> {
    let parent = text_or_empty(row, first + 2)?;
    Ok(SessionColumns {
        project: text_or_empty(row, first)?,
        directory: text_or_empty(row, first + 1)?,
        parent: Some(parent).filter(|parent| !parent.is_empty()),
        title: text_or_empty(row, first + 3)?,
        created: row.get::<_, i64>(first + 4).unwrap_or_default().cast_unsigned(),
        updated: row.get::<_, i64>(first + 5).unwrap_or_default().cast_unsigned(),
    })
}

/// A statement under construction: every value gets the next number.
#[derive(Default)]
struct Composed {
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl Composed {
    /// `?` in the condition stands for the value, as often as it occurs.
    fn filter(&mut self, condition: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        self.conditions.push(condition.replace('?', &format!("?{}", self.values.len())));
    }

    fn among(&mut self, column: &str, values: Vec<String>) {
        let first = self.values.len() + 1;
        let places: Vec<String> = (first..first + values.len()).map(|place| format!("?{place}")).collect();
        self.values.extend(values.into_iter().map(Value::from));
        self.conditions.push(format!("{column} IN ({})", places.join(", ")));
    }

    /// Beyond a place in the order of creation. One comparison of both columns, which an index can answer.
    fn edge(&mut self, comparison: char, edge: &CreatedEdge) {
        self.values.push(Value::Integer(clamp(edge.created)));
        self.values.push(Value::Text(edge.id.as_str().to_owned()));
        let last = self.values.len();
        self.conditions.push(format!("(created, id) {comparison} (?{}, ?{last})", last - 1));
    }
}

/// `candidates`: the only sessions whose titles can match.
fn compose(query: &SessionQuery, candidates: Option<Vec<String>>) -> (String, Vec<Value>) {
    let mut composed = Composed::default();
    if let Some(candidates) = candidates {
        composed.among("id", candidates);
    }
    if let Some(project) = &query.project {
        composed.filter("project_id = ?", project.clone());
    }
    match (query.path.as_deref().filter(|path| !path.is_empty()), &query.directory) {
        (Some(path), directory) => place(&mut composed, path, directory.as_deref()),
        (None, Some(directory)) => composed.filter("directory = ?", directory.clone()),
        (None, None) => {}
    }
    if let Some(parent) = &query.parent {
        composed.filter("parent_id = ?", parent.as_str().to_owned());
    }
    match query.roots {
        Some(true) => composed.conditions.push("parent_id IS NULL".to_owned()),
        Some(false) => composed.conditions.push("parent_id IS NOT NULL".to_owned()),
        None => {}
    }
    if let Some(start) = query.start {
        composed.filter("updated >= ?", clamp(start));
    }
    if let Some(before) = query.before {
        composed.filter("updated < ?", clamp(before));
    }
    if let Some(search) = &query.search {
        composed.filter("lower(title) LIKE ? ESCAPE '\\'", pattern(search));
    }
    if let Some(archived) = query.archived {
        composed.filter("archived = ?", i64::from(archived));
    }
    if let Some(actor) = &query.actor {
        composed.filter("actor = ? AND actor <> ''", actor.clone());
    }
    if let SessionOrder::NewestCreated { after: Some(edge) } = &query.order {
        composed.edge('<', edge);
    }
    if let SessionOrder::OldestCreated { after: Some(edge) } = &query.order {
        composed.edge('>', edge);
    }

    let mut statement =
        "SELECT id, data, project_id, directory, parent_id, title, created, updated FROM session".to_owned();
    if !composed.conditions.is_empty() {
        statement.push_str(" WHERE ");
        statement.push_str(&composed.conditions.join(" AND "));
    }
    statement.push_str(match query.order {
        SessionOrder::Changed => " ORDER BY updated DESC, id DESC",
        SessionOrder::NewestCreated { .. } => " ORDER BY created DESC, id DESC",
        SessionOrder::OldestCreated { .. } => " ORDER BY created, id",
    });
    if let Some(limit) = query.limit {
        composed.values.push(Value::Integer(i64::from(limit)));
        statement.push_str(&format!(" LIMIT ?{}", composed.values.len()));
    }
    (statement, composed.values)
}

/// Equal or below. Compared piece by piece rather than by LIKE or by range: a path may contain
/// wildcards, and the order of text differs between databases.
fn place(composed: &mut Composed, path: &str, directory: Option<&str>) {
    let path = path.trim_end_matches('/');
    composed.filter("(path = ?", path.to_owned());
    composed.filter("substr(path, 1, length(?)) = ?", format!("{path}/"));
    let mut any = composed.conditions.split_off(composed.conditions.len() - 2);
    if let Some(directory) = directory {
        composed.filter("(path IS NULL AND directory = ?)", directory.to_owned());
        any.extend(composed.conditions.pop());
    }
    composed.conditions.push(format!("{})", any.join(" OR ")));
}

/// Contains, with the wildcards of LIKE taken literally. Lower case here and in the statement,
/// because LIKE ignores case in one database and not in the other.
fn pattern(search: &str) -> String {
    let mut pattern = String::with_capacity(search.len() + 2);
    pattern.push('%');
    for char in searched(search).chars() {
        if matches!(char, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern.push('%');
    pattern
}

/// As the column of titles has it, in lower case: see committer/write.rs.
fn searched(search: &str) -> String {
    title_column(search).to_ascii_lowercase()
}

pub(super) fn record(connection: &Connection, id: &SessionId) -> Result<Option<String>, ReadError> {
    let mut statement = connection.prepare_cached(ONE)?;
    Ok(statement.query_row([id.as_str()], |row| text_or_empty(row, 0)).optional()?)
}
