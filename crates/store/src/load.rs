//! What an actor needs to start, and which sessions want one after a restart.
//!
//! Only what is open is loaded, so a session starts equally fast however long it is.

use crate::Store;
use crate::error::ReadError;
use crate::growth::{Damage, PART_COLUMNS, Part, add_growth_or};
use crate::log::text_or_empty;
use crate::read::asks::{RawAsk, asks_of};
use rusqlite::OptionalExtension as _;
use sturdy_session::id::SessionId;

const SESSION: &str = "SELECT data, machine FROM session WHERE id = ?1";
const LAST_ENTRY: &str = "SELECT seq, at FROM log WHERE session_id = ?1 ORDER BY seq DESC LIMIT 1";
const BUSY_IN: &str = "SELECT id FROM session WHERE machine <> '' AND directory = ?1 ORDER BY id";
const KEYFRAME: &str = "SELECT COALESCE(MAX(seq), 0) FROM keyframe WHERE session_id = ?1";
const BUSY: &str = "SELECT id FROM session WHERE machine <> '' ORDER BY id";

/// A session as it was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// What the next commit builds on.
    pub seq: u64,
    /// The wire record.
    pub info: String,
    /// What the machine had open; empty when it was idle with nothing waiting.
    pub machine: String,
    /// The seq of its newest keyframe; 0 when it has none.
    pub keyframe: u64,
    /// The time of the last entry.
    pub last_at: u64,
    /// Parts whose text was still growing, with all of their growth.
    pub open_parts: Vec<String>,
    /// What waits for a person.
    pub asks: Vec<RawAsk>,
}

impl Store {
    /// None when there is no such session, or none any more.
    pub async fn load(&self, session: &SessionId) -> Result<Option<Loaded>, ReadError> {
        let session = session.clone();
        self.read(move |connection| {
            let id = session.as_str();
            let found = connection
                .prepare_cached(SESSION)?
                .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let Some((info, machine)) = found else { return Ok(None) };
            let (seq, last_at): (i64, i64) = connection
                .prepare_cached(LAST_ENTRY)?
                .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let keyframe: i64 = connection.prepare_cached(KEYFRAME)?.query_row([id], |row| row.get(0))?;

            let open = format!(
                "SELECT {PART_COLUMNS} FROM part WHERE session_id = ?1 AND is_open = 1 ORDER BY ord, id"
            );
            let mut parts = connection
                .prepare_cached(&open)?
                .query_map([id], Part::from_row)?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            add_growth_or(connection, &mut parts, Damage::Refused)?;
            Ok(Some(Loaded {
                seq: seq.cast_unsigned(),
                info,
                machine,
                keyframe: keyframe.cast_unsigned(),
                last_at: last_at.cast_unsigned(),
                open_parts: parts.into_iter().map(|part| part.data).collect(),
                asks: asks_of(connection, &session)?,
            }))
        })
        .await
    }

    /// What a session's next commit builds on; 0 when its id was never used. Also for a session
    /// that was removed: an id that comes back goes on counting.
    pub async fn seq(&self, session: &SessionId) -> Result<u64, ReadError> {
        let session = session.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(LAST_ENTRY)?;
            let seq: Option<i64> = statement.query_row([session.as_str()], |row| row.get(0)).optional()?;
            Ok(seq.map_or(0, i64::cast_unsigned))
        })
        .await
    }

    /// Those of one directory.
    pub async fn busy_sessions_in(&self, directory: &str) -> Result<Vec<SessionId>, ReadError> {
        let directory = directory.to_owned();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(BUSY_IN)?;
            let ids = statement.query_map([&directory], |row| text_or_empty(row, 0))?;
            readable_ids(ids)
        })
        .await
    }

    /// Sessions whose machine has something open.
    pub async fn busy_sessions(&self) -> Result<Vec<SessionId>, ReadError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(BUSY)?;
            let ids = statement.query_map((), |row| text_or_empty(row, 0))?;
            readable_ids(ids)
        })
        .await
    }
}

/// One spoilt id does not keep the others from being settled.
fn readable_ids(ids: impl Iterator<Item = rusqlite::Result<String>>) -> Result<Vec<SessionId>, ReadError> {
    let mut readable = Vec::new();
    for id in ids {
        match SessionId::parse(&id?) {
            Ok(id) => readable.push(id),
            Err(cause) => tracing::error!(%cause, "a session with an unreadable id is left out"),
        }
    }
    Ok(readable)
}
