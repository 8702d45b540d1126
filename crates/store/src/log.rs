//! Entries after a cursor: of the whole store, or of one session.
//!
//! A reader holds a position, asks for what is after it, and gets a page. Entries below the horizon
//! may have lost growth to `fold`; a reader whose cursor is older wants rows instead.

use crate::error::{Failure, ReadError};
use crate::{Store, blob};
use rusqlite::{Connection, Row};
use sturdy_session::id::SessionId;

// The session's current place, for readers that want one directory only. None once it is removed.
const AFTER: &str = "SELECT log.position, log.session_id, log.seq, log.kind, log.at, log.data, log.blob,
    session.directory, session.project_id
    FROM log LEFT JOIN session ON session.id = log.session_id
    WHERE log.position > ?1 ORDER BY log.position LIMIT ?2";
const OF_SESSION: &str = "SELECT log.position, log.session_id, log.seq, log.kind, log.at, log.data, log.blob,
    session.directory, session.project_id
    FROM log LEFT JOIN session ON session.id = log.session_id
    WHERE log.session_id = ?1 AND log.seq > ?2 ORDER BY log.seq LIMIT ?3";
const HORIZON: &str = "SELECT horizon FROM head WHERE id = 1";
const LAST_TIME: &str = "SELECT at FROM head WHERE id = 1";

/// A page of the log ends when it holds this much: large entries are read a few at a time.
const PAGE_BYTES_MAX: usize = 256 * 1024;

/// A fact with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub position: u64,
    pub session: SessionId,
    pub seq: u64,
    pub kind: String,
    /// Milliseconds.
    pub at: u64,
    /// The whole text, also when it is stored as a blob.
    pub data: String,
    /// Where its session is now; none when the session is removed.
    pub directory: Option<String>,
    pub project: Option<String>,
}

impl Store {
    /// Up to `limit` entries after `position`, in order; fewer when they are large, at least one.
    pub async fn log_after(&self, position: u64, limit: usize) -> Result<Vec<LogEntry>, ReadError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(AFTER)?;
            let mut rows = statement.query((clamp(position), clamp(limit as u64)))?;
            let (mut entries, mut bytes) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                let entry: LogEntry = entry(connection, row)?;
                bytes += entry.data.len();
                entries.push(entry);
                if bytes >= PAGE_BYTES_MAX {
                    break;
                }
            }
            Ok(entries)
        })
        .await
    }

    /// Up to `limit` entries of one session after `seq`, in order.
    pub async fn session_log(
        &self,
        session: &SessionId,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<LogEntry>, ReadError> {
        let session = session.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(OF_SESSION)?;
            let mut rows = statement.query((session.as_str(), clamp(after_seq), clamp(limit as u64)))?;
            let mut entries = Vec::new();
            while let Some(row) = rows.next()? {
                entries.push(entry(connection, row)?);
            }
            Ok(entries)
        })
        .await
    }

    /// Everything that is left of a session's history.
    pub async fn entries_of(&self, session: &SessionId) -> Result<Vec<LogEntry>, ReadError> {
        self.session_log(session, 0, usize::MAX).await
    }

    /// From this position on, every entry is still there.
    pub async fn horizon(&self) -> Result<u64, ReadError> {
        self.number(HORIZON).await
    }

    /// The latest time any entry ever carried: where the clock goes on after a restart.
    pub async fn last_time(&self) -> Result<u64, ReadError> {
        self.number(LAST_TIME).await
    }

    async fn number(&self, statement: &'static str) -> Result<u64, ReadError> {
        self.read(move |connection| {
            let number: i64 = connection.prepare_cached(statement)?.query_row((), |row| row.get(0))?;
            Ok(number.cast_unsigned())
        })
        .await
    }
}

/// A bound or cursor from outside; larger than any that can be stored means "all".
pub(crate) fn clamp(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn entry(connection: &Connection, row: &Row<'_>) -> Result<LogEntry, Failure> {
    let position = row.get::<_, i64>(0)?.cast_unsigned();
    let session: String = row.get(1)?;
    let session = SessionId::parse(&session)
        .map_err(|error| Failure::broken(format!("log entry {position}"), error))?;
    Ok(LogEntry {
        position,
        session,
        seq: row.get::<_, i64>(2)?.cast_unsigned(),
        kind: row.get(3)?,
        at: row.get::<_, i64>(4)?.cast_unsigned(),
        data: text_of(connection, row, 5, 6)?,
        directory: row.get(7)?,
        project: row.get(8)?,
    })
}

/// Invariant I12, the reading side: the text of an entry, wherever it stands.
pub(crate) fn text_of(
    connection: &Connection,
    row: &Row<'_>,
    data: usize,
    blob: usize,
) -> Result<String, Failure> {
    let Some(hash) = row.get::<_, Option<String>>(blob)? else { return Ok(row.get(data)?) };
    let Some(bytes) = blob::find(connection, &hash)? else {
        return Err(Failure::broken(format!("blob {hash}"), "an entry names it and it is missing"));
    };
    String::from_utf8(bytes).map_err(|error| Failure::broken(format!("blob {hash}"), error))
}
