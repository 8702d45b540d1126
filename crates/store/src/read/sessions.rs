//! Lists of sessions: newest change first, or by creation in either direction.
//!
//! A query is put together from constant pieces, one for each filter that is set: a statement for
//! all filters at once could use no index.

use crate::Store;
use crate::error::ReadError;
use crate::log::clamp;
use rusqlite::OptionalExtension as _;
use rusqlite::types::Value;
use sturdy_session::id::SessionId;

const ONE: &str = "SELECT data FROM session WHERE id = ?1";
const PLACE: &str = "SELECT project_id, directory, title FROM session WHERE id = ?1";

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

/// Where a session belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPlace {
    pub project: String,
    pub directory: String,
    pub title: String,
}

impl Store {
    /// One session's wire record.
    pub async fn session(&self, id: &SessionId) -> Result<Option<String>, ReadError> {
        let id = id.clone();
        self.read(move |connection| {
            Ok(connection.prepare_cached(ONE)?.query_row([id.as_str()], |row| row.get(0)).optional()?)
        })
        .await
    }

    /// The columns beside a session's record, for when the record itself cannot be read.
    pub async fn session_place(&self, id: &SessionId) -> Result<Option<SessionPlace>, ReadError> {
        let id = id.clone();
        self.read(move |connection| {
            let place = |row: &rusqlite::Row<'_>| {
                Ok(SessionPlace { project: row.get(0)?, directory: row.get(1)?, title: row.get(2)? })
            };
            Ok(connection.prepare_cached(PLACE)?.query_row([id.as_str()], place).optional()?)
        })
        .await
    }

    /// The wire records of the sessions that match, in the order asked for.
    pub async fn sessions(&self, query: SessionQuery) -> Result<Vec<String>, ReadError> {
        self.read(move |connection| {
            let (statement, values) = compose(&query);
            let mut statement = connection.prepare_cached(&statement)?;
            let rows = statement.query_map(rusqlite::params_from_iter(values), |row| row.get(0))?;
            Ok(rows.collect::<rusqlite::Result<Vec<String>>>()?)
        })
        .await
    }
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

    /// Beyond a place in the order of creation. One comparison of both columns, which an index can answer.
    fn edge(&mut self, comparison: char, edge: &CreatedEdge) {
        self.values.push(Value::Integer(clamp(edge.created)));
        self.values.push(Value::Text(edge.id.as_str().to_owned()));
        let last = self.values.len();
        self.conditions.push(format!("(created, id) {comparison} (?{}, ?{last})", last - 1));
    }
}

fn compose(query: &SessionQuery) -> (String, Vec<Value>) {
    let mut composed = Composed::default();
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

    let mut statement = "SELECT data FROM session".to_owned();
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
    for char in search.chars() {
        match char {
            '%' | '_' | '\\' => pattern.extend(['\\', char]),
            // As the stored title: see committer/write.rs.
            '\0' => pattern.push('\u{fffd}'),
            char => pattern.push(char.to_ascii_lowercase()),
        }
    }
    pattern.push('%');
    pattern
}
