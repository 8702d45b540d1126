//! Several kinds of rows as they were at one moment, with the position of that moment.
//!
//! A reader that also follows the log must know which entries its rows already contain: growth is not
//! idempotent. So these reads are one transaction each and carry the log's head of that transaction.

use crate::Store;
use crate::error::ReadError;
use crate::log::clamp;
use crate::read::asks::{RawAsk, all_asks, asks_of};
use crate::read::messages::{MessagePage, MessageQuery, page};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row};
use sturdy_session::id::SessionId;

const HEAD: &str = "SELECT position, horizon FROM head WHERE id = 1";
const SESSION: &str = "SELECT data, machine, updated, id FROM session WHERE id = ?1";
const CHILDREN: &str = "SELECT data, machine, updated, id FROM session WHERE parent_id = ?1 ORDER BY updated DESC, id DESC LIMIT ?2";
const TODOS: &str = "SELECT data FROM todo WHERE session_id = ?1";
const PROJECTS: &str = "SELECT data FROM project ORDER BY id";
const OUTLINE: &str = "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY ord, id LIMIT ?2";
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
        self.read(move |connection| {
            let mut sessions = list(connection, &query)?;
            let more = sessions.len() > query.limit as usize;
            sessions.truncate(query.limit as usize);
            let mut statement = connection.prepare_cached(PROJECTS)?;
            let projects = statement.query_map((), |row| row.get(0))?;
            Ok(Overview {
                position: head(connection)?,
                sessions,
                more,
                projects: projects.collect::<rusqlite::Result<Vec<String>>>()?,
                asks: all_asks(connection)?,
            })
        })
        .await
    }

    /// One session with the newest of its messages; none when it does not exist.
    pub async fn opening(&self, session: &SessionId, limit: u32) -> Result<Option<Opening>, ReadError> {
        let id = session.clone();
        self.read(move |connection| {
            let found = connection.prepare_cached(SESSION)?.query_row([id.as_str()], glance).optional()?;
            let Some(session) = found else { return Ok(None) };
            let query = MessageQuery { limit: Some(limit), before: None };
            let descendants = descendants(connection, id.as_str())?;
            let mut asks = asks_of(connection, &id)?;
            for child in &descendants {
                let child = super::session_id(&child.id)?;
                asks.extend(asks_of(connection, &child)?);
            }
            let mut family = ancestors(connection, &session)?;
            family.extend(descendants);
            Ok(Some(Opening {
                position: head(connection)?,
                messages: page(connection, &id, &query)?,
                todos: connection
                    .prepare_cached(TODOS)?
                    .query_row([id.as_str()], |row| row.get(0))
                    .optional()?,
                session,
                asks,
                family,
            }))
        })
        .await
    }

    /// The headers of a session's messages, oldest first.
    pub async fn outline(&self, session: &SessionId, limit: u32) -> Result<Outline, ReadError> {
        let id = session.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(OUTLINE)?;
            let rows =
                statement.query_map((id.as_str(), i64::from(limit)), |row| Ok((row.get(0)?, row.get(1)?)))?;
            let messages = rows.collect::<rusqlite::Result<Vec<(String, String)>>>()?;
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
            let rows =
                statement.query_map((clamp(since), clamp(until), i64::from(limit)), |row| row.get(0))?;
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

fn list(connection: &Connection, query: &OverviewQuery) -> Result<Vec<SessionGlance>, ReadError> {
    let mut statement = "SELECT data, machine, updated, id FROM session".to_owned();
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
    let rows = statement.query_map(rusqlite::params_from_iter(values), glance)?;
    Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
}

fn glance(row: &Row<'_>) -> rusqlite::Result<SessionGlance> {
    let updated: i64 = row.get(2)?;
    Ok(SessionGlance {
        data: row.get(0)?,
        machine: row.get(1)?,
        updated: updated.cast_unsigned(),
        id: row.get(3)?,
    })
}

/// Children, their children and so on, as far as the bound allows.
fn descendants(connection: &Connection, id: &str) -> Result<Vec<SessionGlance>, ReadError> {
    let mut found: Vec<SessionGlance> = Vec::new();
    let mut parents = vec![id.to_owned()];
    while let Some(parent) = parents.pop() {
        let room = FAMILY_MAX.saturating_sub(found.len());
        let mut statement = connection.prepare_cached(CHILDREN)?;
        let rows = statement.query_map((&parent, clamp(room as u64)), glance)?;
        for child in rows {
            let child = child?;
            parents.push(child.id.clone());
            found.push(child);
        }
    }
    Ok(found)
}

fn ancestors(connection: &Connection, session: &SessionGlance) -> Result<Vec<SessionGlance>, ReadError> {
    let mut found: Vec<SessionGlance> = Vec::new();
    let mut parent = parent_of(session);
    while let Some(id) = parent.take() {
        let above = connection.prepare_cached(SESSION)?.query_row([&id], glance).optional()?;
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
