//! Several kinds of rows as they were at one moment, with the position of that moment.
//!
//! A reader that also follows the log must know which entries its rows already contain: growth is not
//! idempotent. So these reads are one transaction each and carry the log's head of that transaction.

use crate::Store;
use crate::error::ReadError;
use crate::log::{clamp, text_or_empty};
use crate::read::asks::{RawAsk, all_readable_asks, readable_asks_of};
use crate::read::damaged::DamagedRows;
use crate::read::messages::{MessagePage, MessageQuery, page};
use crate::read::projects::readable_projects;
use crate::read::sessions::columns;
use crate::read::shape::PartShape;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row};
use sturdy_session::id::SessionId;
use sturdy_session::placeholder;

const HEAD: &str = "SELECT position, horizon FROM head WHERE id = 1";
// The columns that `glance` reads.
const SESSION: &str = "SELECT id, data, machine, project_id, directory, parent_id, title, created, updated
    FROM session WHERE id = ?1";
const CHILDREN: &str = "SELECT id, data, machine, project_id, directory, parent_id, title, created, updated
    FROM session WHERE parent_id = ?1 ORDER BY updated DESC, id DESC LIMIT ?2";
const LIST: &str =
    "SELECT id, data, machine, project_id, directory, parent_id, title, created, updated FROM session";
const TODOS: &str = "SELECT data FROM todo WHERE session_id = ?1";
const OUTLINE: &str = "SELECT id, data, created FROM message WHERE session_id = ?1 ORDER BY ord, id LIMIT ?2";
const SINCE: &str =
    "SELECT data FROM message WHERE created >= ?1 AND created < ?2 ORDER BY created DESC LIMIT ?3";

/// A family that is larger is told in part.
const FAMILY_MAX: usize = 200;

/// Which sessions of all projects; what is not set does not filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverviewQuery {
    pub limit: u32,
    /// Those after this one: its time of change, and its id.
    pub after: Option<(u64, String)>,
    pub project: Option<String>,
    pub archived: Option<bool>,
}

/// A session with what its machine has open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionGlance {
    pub id: String,
    /// The wire record.
    pub data: String,
    /// Empty: idle with nothing waiting.
    pub machine: String,
    pub updated: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overview {
    pub position: u64,
    pub sessions: Vec<SessionGlance>,
    /// More sessions follow the last one.
    pub more: bool,
    pub projects: Vec<String>,
    pub asks: Vec<RawAsk>,
}

/// Everything a screen that opens a session wants first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub position: u64,
    pub session: SessionGlance,
    pub messages: MessagePage,
    pub todos: Option<String>,
    /// Of the session and all its descendants.
    pub asks: Vec<RawAsk>,
    /// Its ancestors, its siblings' parent excluded, and all its descendants.
    pub family: Vec<SessionGlance>,
}

/// The ids and headers of messages, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    pub position: u64,
    pub messages: Vec<(String, String)>,
}

impl Store {
    /// Sessions of all projects, newest change first, with what waits for a person.
    pub async fn overview(&self, query: OverviewQuery) -> Result<Overview, ReadError> {
        let damaged = self.inner.damaged.clone();
        self.read(move |connection| {
            let mut sessions = list(connection, &query, &damaged)?;
            let more = sessions.len() > query.limit as usize;
            sessions.truncate(query.limit as usize);
            Ok(Overview {
                position: head(connection)?,
                sessions,
                more,
                projects: readable_projects(connection)?,
                asks: all_readable_asks(connection, &damaged)?,
            })
        })
        .await
    }

    /// One session with the newest of its messages; none when it does not exist.
    pub async fn opening(
        &self,
        session: &SessionId,
        limit: u32,
        shape: PartShape,
    ) -> Result<Option<Opening>, ReadError> {
        let id = session.clone();
        let damaged = self.inner.damaged.clone();
        self.read(move |connection| {
            let Some(session) = one(connection, id.as_str(), &damaged)? else { return Ok(None) };
            let query = MessageQuery { limit: Some(limit), before: None };
            let descendants = descendants(connection, id.as_str(), &damaged)?;
            let mut asks = readable_asks_of(connection, &id, &damaged)?;
            for child in &descendants {
                let child = super::session_id(&child.id)?;
                asks.extend(readable_asks_of(connection, &child, &damaged)?);
            }
            let mut family = ancestors(connection, &session, &damaged)?;
            family.extend(descendants);
            let todos =
                connection.prepare_cached(TODOS)?.query_row([id.as_str()], |row| text_or_empty(row, 0));
            Ok(Some(Opening {
                position: head(connection)?,
                messages: page(connection, &id, &query, shape, &damaged)?,
                todos: readable_todos(&id, todos.optional()?, &damaged),
                session,
                asks,
                family,
            }))
        })
        .await
    }

    /// The headers of a session's messages, oldest first.
    pub async fn outline(&self, session: &SessionId, limit: u32) -> Result<Outline, ReadError> {
        let session = session.clone();
        let damaged = self.inner.damaged.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(OUTLINE)?;
            let mut rows = statement.query((session.as_str(), i64::from(limit)))?;
            let mut messages = Vec::new();
            while let Some(row) = rows.next()? {
                let id = text_or_empty(row, 0)?;
                let created = row.get::<_, i64>(2).unwrap_or_default().cast_unsigned();
                let data = damaged.message_or_placeholder(&session, &id, created, text_or_empty(row, 1)?);
                messages.push((id, data));
            }
            Ok(Outline { position: head(connection)?, messages })
        })
        .await
    }

    /// The headers of all messages made in a span of time, newest first, at most `limit` of them.
    pub async fn messages_between(
        &self,
        since: u64,
        until: u64,
        limit: u32,
    ) -> Result<Vec<String>, ReadError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(SINCE)?;
            let rows = statement
                .query_map((clamp(since), clamp(until), i64::from(limit)), |row| text_or_empty(row, 0))?;
            Ok(rows.collect::<rusqlite::Result<Vec<String>>>()?)
        })
        .await
    }

    /// Where the log ends, and from where on it is complete.
    pub async fn head_and_horizon(&self) -> Result<(u64, u64), ReadError> {
        self.read(|connection| {
            let found: (i64, i64) = connection.query_row(HEAD, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok((found.0.cast_unsigned(), found.1.cast_unsigned()))
        })
        .await
    }
}

/// The position of the last entry this transaction sees.
pub(crate) fn head(connection: &Connection) -> Result<u64, ReadError> {
    let position: i64 = connection.prepare_cached(HEAD)?.query_row((), |row| row.get(0))?;
    Ok(position.cast_unsigned())
}

fn list(
    connection: &Connection,
    query: &OverviewQuery,
    damaged: &DamagedRows,
) -> Result<Vec<SessionGlance>, ReadError> {
    let mut statement = LIST.to_owned();
    let mut conditions: Vec<String> = Vec::new();
    let mut values: Vec<Value> = Vec::new();
    if let Some((updated, id)) = &query.after {
        conditions.push("updated <= ?1 AND (updated < ?1 OR id < ?2)".to_owned());
        values.push(Value::Integer(clamp(*updated)));
        values.push(Value::Text(id.clone()));
    }
    if let Some(project) = &query.project {
        values.push(Value::Text(project.clone()));
        conditions.push(format!("project_id = ?{}", values.len()));
    }
    if let Some(archived) = query.archived {
        values.push(Value::Integer(i64::from(archived)));
        conditions.push(format!("archived = ?{}", values.len()));
    }
    if !conditions.is_empty() {
        statement.push_str(" WHERE ");
        statement.push_str(&conditions.join(" AND "));
    }
    // One more than asked for tells whether others follow.
    values.push(Value::Integer(i64::from(query.limit) + 1));
    statement.push_str(&format!(" ORDER BY updated DESC, id DESC LIMIT ?{}", values.len()));
    let mut statement = connection.prepare_cached(&statement)?;
    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.extend(glance(row, damaged)?);
    }
    Ok(found)
}

fn one(connection: &Connection, id: &str, damaged: &DamagedRows) -> Result<Option<SessionGlance>, ReadError> {
    let mut statement = connection.prepare_cached(SESSION)?;
    let found = statement.query_row([id], |row| glance(row, damaged)).optional()?;
    Ok(found.flatten())
}

/// None if not even the id can be read.
fn glance(row: &Row<'_>, damaged: &DamagedRows) -> rusqlite::Result<Option<SessionGlance>> {
    let id = text_or_empty(row, 0)?;
    let data = damaged.session_or_placeholder(&id, text_or_empty(row, 1)?, || columns(row, 3))?;
    let machine = text_or_empty(row, 2)?;
    let updated = row.get::<_, i64>(8).unwrap_or_default().cast_unsigned();
    Ok(data.map(|data| SessionGlance { id, data, machine, updated }))
}

/// The list of a session; none if it cannot be read.
pub(crate) fn readable_todos(
    session: &SessionId,
    todos: Option<String>,
    damaged: &DamagedRows,
) -> Option<String> {
    let todos = todos?;
    if placeholder::is_json(&todos) {
        return Some(todos);
    }
    damaged.note(session, &format!("the todos of {session}"));
    None
}

/// Children, their children and so on, as far as the bound allows.
fn descendants(
    connection: &Connection,
    id: &str,
    damaged: &DamagedRows,
) -> Result<Vec<SessionGlance>, ReadError> {
    let mut found: Vec<SessionGlance> = Vec::new();
    let mut parents = vec![id.to_owned()];
    while let Some(parent) = parents.pop() {
        let room = FAMILY_MAX.saturating_sub(found.len());
        let mut statement = connection.prepare_cached(CHILDREN)?;
        let mut rows = statement.query((&parent, clamp(room as u64)))?;
        while let Some(row) = rows.next()? {
            let Some(child) = glance(row, damaged)? else { continue };
            parents.push(child.id.clone());
            found.push(child);
        }
    }
    Ok(found)
}

fn ancestors(
    connection: &Connection,
    session: &SessionGlance,
    damaged: &DamagedRows,
) -> Result<Vec<SessionGlance>, ReadError> {
    let mut found: Vec<SessionGlance> = Vec::new();
    let mut parent = parent_of(session);
    while let Some(id) = parent.take() {
        let above = one(connection, &id, damaged)?;
        let Some(above) = above.filter(|_| found.len() < FAMILY_MAX) else { break };
        parent = parent_of(&above);
        found.push(above);
    }
    Ok(found)
}

fn parent_of(session: &SessionGlance) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Child {
        #[serde(rename = "parentID", default)]
        parent: Option<String>,
    }
    serde_json::from_str::<Child>(&session.data).ok()?.parent
}
