//! Entries after a cursor: of the whole store, or of one session.
//!
//! A reader holds a position, asks for what is after it, and gets a page, with what is needed to show the
//! entries again. Entries below the horizon may have lost growth to `fold`; a reader whose cursor is older
//! is told so.

use crate::commit::ENTRY_BYTES_MAX;
use crate::error::{Failure, ReadError};
use crate::{Store, blob};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row};
use sturdy_session::growth;
use sturdy_session::id::SessionId;

// The session's current place, for readers that want one directory only. None once it is removed.
const AFTER: &str = "SELECT log.position, log.session_id, log.seq, log.kind, log.at, log.data, log.blob,
    session.directory, session.project_id, log.actor, log.packed, log.told
    FROM log LEFT JOIN session ON session.id = log.session_id
    WHERE log.position > ?1 ORDER BY log.position LIMIT ?2";
const OF_SESSION: &str = "SELECT log.position, log.session_id, log.seq, log.kind, log.at, log.data, log.blob,
    session.directory, session.project_id, log.actor, log.packed, log.told
    FROM log LEFT JOIN session ON session.id = log.session_id
    WHERE log.session_id = ?1 AND log.seq > ?2 ORDER BY log.seq LIMIT ?3";
// A stretch of positions, of which only one directory is wanted. A removed session has no row: its removal
// says where it was.
const OF_DIRECTORY: &str =
    "SELECT log.position, log.session_id, log.seq, log.kind, log.at, log.data, log.blob,
    session.directory, session.project_id, log.actor, log.packed, log.told
    FROM log LEFT JOIN session ON session.id = log.session_id
    WHERE log.position > ?1 AND log.position <= ?2 AND (session.directory = ?3 OR session.id IS NULL)
    ORDER BY log.position LIMIT ?4";
const OF_SESSION_AFTER: &str =
    "SELECT log.position, log.session_id, log.seq, log.kind, log.at, log.data, log.blob,
    session.directory, session.project_id, log.actor, log.packed, log.told
    FROM log LEFT JOIN session ON session.id = log.session_id
    WHERE log.session_id = ?1 AND log.position > ?2 ORDER BY log.seq LIMIT ?3";
const KEYFRAME: &str =
    "SELECT seq, data FROM keyframe WHERE session_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT 1";
const BETWEEN: &str =
    "SELECT position, session_id, seq, kind, at, data, blob, NULL, NULL, actor, packed, told FROM log
    WHERE session_id = ?1 AND seq > ?2 AND seq < ?3 AND kind <> ?4 ORDER BY seq";
const ABOUT: &str =
    "SELECT position, session_id, seq, kind, at, data, blob, NULL, NULL, actor, packed, told FROM log
    WHERE subject = ?1 AND session_id = ?2 AND position < ?3 ORDER BY position";
const AT_OR_AFTER: &str =
    "SELECT position, seq, told FROM log WHERE session_id = ?1 AND seq >= ?2 ORDER BY seq LIMIT 1";
const LAST_SEQ: &str = "SELECT seq FROM log WHERE session_id = ?1 ORDER BY seq DESC LIMIT 1";
// By the name of the kind and not by a value: so the index of edits is used.
const EDITS: &str =
    "SELECT position, session_id, seq, kind, at, data, blob, NULL, NULL, actor, packed, told FROM log
    WHERE session_id = ?1 AND kind = 'session.edited.1' ORDER BY seq";
const NEWEST_OF_KIND: &str =
    "SELECT position, session_id, seq, kind, at, data, blob, NULL, NULL, actor, packed, told FROM log
    WHERE session_id = ?1 AND seq < ?2 AND kind = ?3 ORDER BY seq DESC LIMIT 1";
const HEAD: &str = "SELECT position, horizon FROM head WHERE id = 1";
const HORIZON: &str = "SELECT horizon FROM head WHERE id = 1";
const LAST_TIME: &str = "SELECT at FROM head WHERE id = 1";

/// Positions a search for one directory looks through at a time.
const SCANNED_MAX: u64 = 8_192;
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
    /// On whose behalf; empty: the session itself.
    pub actor: String,
    /// The number of the last thing that its session has told, up to and with this entry.
    pub told: u64,
}

/// Whose entries are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    #[default]
    All,
    /// Also removals of sessions that are in no directory any more.
    Directory(String),
    Session(SessionId),
}

/// Entries of a scope, and where to read on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogPage {
    pub entries: Vec<LogEntry>,
    /// Nothing of the scope stands between the last entry and this position.
    pub reached: u64,
    /// From this position on every entry is still there.
    pub horizon: u64,
    /// For each session of the page that the caller does not know: where to begin.
    pub origins: Vec<Origin>,
}

/// What a session's first entry of a page builds on.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    pub session: SessionId,
    /// None: its history begins with the entries.
    pub keyframe: Option<String>,
    /// Those between the keyframe and the page, without growth.
    pub entries: Vec<LogEntry>,
}

/// A call of a session, or a prompt: ids are unique in their session only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub session: SessionId,
    pub id: String,
    /// Only what was said of it before this position.
    pub before: u64,
}

impl Store {
    /// A page of a scope after `position`, with what is needed to show its entries again. Sessions that are
    /// `known` are read without their origin. One moment, and a number of queries that does not depend on how
    /// long a session is.
    pub async fn log_page(
        &self,
        position: u64,
        scope: Scope,
        known: Vec<SessionId>,
        limit: usize,
    ) -> Result<LogPage, ReadError> {
        self.read(move |connection| {
            let (head, horizon): (i64, i64) =
                connection.prepare_cached(HEAD)?.query_row((), |row| Ok((row.get(0)?, row.get(1)?)))?;
            let head = head.cast_unsigned();
            let rows = clamp(limit as u64);
            let (entries, is_end, last) = match &scope {
                Scope::All => {
                    let (entries, is_end) = read_page(connection, AFTER, (clamp(position), rows))?;
                    (entries, is_end, head)
                }
                Scope::Directory(directory) => {
                    let last = head.min(position.saturating_add(SCANNED_MAX));
                    let values = (clamp(position), clamp(last), directory, rows);
                    let (entries, is_end) = read_page(connection, OF_DIRECTORY, values)?;
                    (entries, is_end, last)
                }
                Scope::Session(session) => {
                    let values = (session.as_str(), clamp(position), rows);
                    let (entries, is_end) = read_page(connection, OF_SESSION_AFTER, values)?;
                    (entries, is_end, head)
                }
            };
            // All that there is: nothing follows up to where was looked.
            let is_end = is_end && entries.len() < limit;
            let reached = match entries.last() {
                Some(entry) if !is_end => entry.position,
                _ => last.max(position),
            };
            let origins = origins(connection, &entries, &known)?;
            Ok(LogPage { entries, reached, horizon: horizon.cast_unsigned(), origins })
        })
        .await
    }

    /// All that a session said of each subject before a position, oldest first, subject by subject.
    pub async fn entries_about(&self, subjects: Vec<Subject>) -> Result<Vec<Vec<LogEntry>>, ReadError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(ABOUT)?;
            let mut all = Vec::with_capacity(subjects.len());
            for Subject { session, id, before } in subjects {
                let mut rows = statement.query((id, session.as_str(), clamp(before)))?;
                let mut entries = Vec::new();
                while let Some(row) = rows.next()? {
                    entries.extend(entry_or_damage(connection, row)?);
                }
                all.push(entries);
            }
            Ok(all)
        })
        .await
    }

    /// Up to `limit` entries after `position`, in order; fewer when they are large, at least one.
    pub async fn log_after(&self, position: u64, limit: usize) -> Result<Vec<LogEntry>, ReadError> {
        self.read(move |connection| {
            Ok(read_page(connection, AFTER, (clamp(position), clamp(limit as u64)))?.0)
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
            let values = (session.as_str(), clamp(after_seq), clamp(limit as u64));
            Ok(read_all(connection, OF_SESSION, values)?)
        })
        .await
    }

    /// The changes of a session's own record, oldest first. One that cannot be read is of the kind `DAMAGED`.
    pub async fn edits_of(&self, session: &SessionId) -> Result<Vec<LogEntry>, ReadError> {
        let session = session.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(EDITS)?;
            let mut rows = statement.query([session.as_str()])?;
            let mut entries = Vec::new();
            while let Some(row) = rows.next()? {
                entries.extend(entry_or_damage(connection, row)?);
            }
            Ok(entries)
        })
        .await
    }

    /// The newest entry of a kind, of all or of those before a seq.
    pub async fn newest_of_kind(
        &self,
        session: &SessionId,
        kind: &'static str,
        before: Option<u64>,
    ) -> Result<Option<LogEntry>, ReadError> {
        let session = session.clone();
        self.read(move |connection| {
            let values = (session.as_str(), clamp(before.unwrap_or(u64::MAX)), kind);
            Ok(read_all(connection, NEWEST_OF_KIND, values)?.pop())
        })
        .await
    }

    /// The first entry of a session behind which more than this was told, by its position.
    pub async fn first_told_after(&self, session: &SessionId, told: u64) -> Result<Option<u64>, ReadError> {
        let session = session.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(AT_OR_AFTER)?;
            let mut at_or_after = |seq: u64| {
                let found = statement.query_row((session.as_str(), clamp(seq)), |row| {
                    let seq = row.get::<_, i64>(1)?.cast_unsigned();
                    Ok((row.get::<_, i64>(0)?.cast_unsigned(), seq, told_of(row, 2, seq)?))
                });
                found.optional()
            };
            // The number never goes down, so it is looked for by halves.
            let mut low = 0;
            let mut high = last_seq(connection, &session)? + 1;
            let mut first = None;
            while low < high {
                let middle = low + (high - low) / 2;
                match at_or_after(middle)? {
                    Some((position, _, number)) if number > told => {
                        first = Some(position);
                        high = middle;
                    }
                    Some((_, seq, _)) => low = seq + 1,
                    None => high = middle,
                }
            }
            Ok(first)
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

/// Everything that is left of a session's history, and the horizon of the whole log.
pub(crate) fn history(connection: &Connection, session: &SessionId) -> Result<(Vec<LogEntry>, u64), Failure> {
    let horizon: i64 = connection.prepare_cached(HORIZON)?.query_row((), |row| row.get(0))?;
    let entries = read_all(connection, OF_SESSION, (session.as_str(), 0, i64::MAX))?;
    Ok((entries, horizon.cast_unsigned()))
}

/// All entries of a statement, in its order; a damaged one is an error.
fn read_all(
    connection: &Connection,
    statement: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<LogEntry>, Failure> {
    let mut statement = connection.prepare_cached(statement)?;
    let mut rows = statement.query(values)?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(entry(connection, row)?);
    }
    Ok(entries)
}

fn last_seq(connection: &Connection, session: &SessionId) -> Result<u64, ReadError> {
    let mut statement = connection.prepare_cached(LAST_SEQ)?;
    let seq: Option<i64> = statement.query_row([session.as_str()], |row| row.get(0)).optional()?;
    Ok(seq.map_or(0, i64::cast_unsigned))
}

/// Entries in order, and whether the statement had no more of them.
fn read_page(
    connection: &Connection,
    statement: &str,
    values: impl rusqlite::Params,
) -> Result<(Vec<LogEntry>, bool), ReadError> {
    let mut statement = connection.prepare_cached(statement)?;
    let mut rows = statement.query(values)?;
    let mut entries = Vec::new();
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let Some(entry) = entry_or_damage(connection, row)? else { continue };
        bytes += entry.data.len();
        entries.push(entry);
        if bytes >= PAGE_BYTES_MAX {
            return Ok((entries, false));
        }
    }
    Ok((entries, true))
}

/// What each session of a page builds on, in the order of its first entry.
fn origins(
    connection: &Connection,
    page: &[LogEntry],
    known: &[SessionId],
) -> Result<Vec<Origin>, ReadError> {
    let mut origins: Vec<Origin> = Vec::new();
    for first in page {
        let is_done = |origin: &Origin| origin.session == first.session;
        if first.seq == 1 || known.contains(&first.session) || origins.iter().any(is_done) {
            continue;
        }
        let id = first.session.as_str();
        let seq = clamp(first.seq);
        let frame: Option<(i64, String)> = connection
            .prepare_cached(KEYFRAME)?
            .query_row((id, seq), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let (from, keyframe) = frame.map_or((0, None), |(seq, data)| (seq, Some(data)));
        let mut statement = connection.prepare_cached(BETWEEN)?;
        let mut rows = statement.query((id, from, seq, growth::KIND))?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            entries.extend(entry_or_damage(connection, row)?);
        }
        origins.push(Origin { session: first.session.clone(), keyframe, entries });
    }
    Ok(origins)
}

/// A bound or cursor from outside; larger than any that can be stored means "all".
pub(crate) fn clamp(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The text of a column; empty, which is no JSON, when it holds something else. So a spoilt row is found where it is
/// looked at, and its neighbours are read.
pub(crate) fn text_or_empty(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(row.get_ref(column)?.as_str().map(str::to_owned).unwrap_or_default())
}

pub(crate) fn entry(connection: &Connection, row: &Row<'_>) -> Result<LogEntry, Failure> {
    let position = row.get::<_, i64>(0)?.cast_unsigned();
    let session: String = row.get(1)?;
    let session = SessionId::parse(&session)
        .map_err(|error| Failure::broken(format!("log entry {position}"), error))?;
    let seq = row.get::<_, i64>(2)?.cast_unsigned();
    Ok(LogEntry {
        position,
        session,
        seq,
        kind: row.get(3)?,
        at: row.get::<_, i64>(4)?.cast_unsigned(),
        data: text_of(connection, row, Columns { position: 0, data: 5, blob: 6, packed: 10 })?,
        directory: row.get(7)?,
        project: row.get(8)?,
        actor: row.get(9)?,
        told: told_of(row, 11, seq)?,
    })
}

/// Entries that an earlier version wrote say nothing of it: room was left for so many events of each.
const TOLD_BY_OLD_ENTRY: u64 = 64;

/// The number of an entry that an earlier version wrote.
#[must_use]
pub fn told_before_it_was_counted(seq: u64) -> u64 {
    seq.saturating_mul(TOLD_BY_OLD_ENTRY)
}

/// The column `told` of an entry.
pub(crate) fn told_of(row: &Row<'_>, column: usize, seq: u64) -> rusqlite::Result<u64> {
    let told: Option<i64> = row.get(column)?;
    Ok(told.map_or_else(|| told_before_it_was_counted(seq), i64::cast_unsigned))
}

/// The kind of an entry that cannot be read: no fact, so that whoever reads it sees that something is missing.
pub const DAMAGED: &str = "damaged";

/// One damaged entry does not keep the others from being read. None if not even its session is known.
fn entry_or_damage(connection: &Connection, row: &Row<'_>) -> Result<Option<LogEntry>, Failure> {
    let what = match entry(connection, row) {
        Ok(entry) => return Ok(Some(entry)),
        Err(Failure::Broken { what, .. }) => what,
        Err(failure @ Failure::Unavailable(_)) => return Err(failure),
    };
    let Ok(session) = SessionId::parse(&row.get::<_, String>(1)?) else { return Ok(None) };
    let seq = row.get::<_, i64>(2)?.cast_unsigned();
    Ok(Some(LogEntry {
        position: row.get::<_, i64>(0)?.cast_unsigned(),
        session,
        seq,
        kind: DAMAGED.to_owned(),
        at: row.get::<_, i64>(4)?.cast_unsigned(),
        data: what,
        directory: row.get(7)?,
        project: row.get(8)?,
        actor: row.get(9)?,
        told: told_of(row, 11, seq)?,
    }))
}

/// Where a statement has what the text of an entry is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    pub(crate) position: usize,
    pub(crate) data: usize,
    pub(crate) blob: usize,
    pub(crate) packed: usize,
}

/// Invariant I12, the reading side: the text of an entry, wherever it stands.
pub(crate) fn text_of(connection: &Connection, row: &Row<'_>, columns: Columns) -> Result<String, Failure> {
    let Some(hash) = row.get::<_, Option<String>>(columns.blob)? else {
        let data: String = row.get(columns.data)?;
        return match row.get_ref(columns.packed)? {
            ValueRef::Blob(packed) if data.is_empty() => unpacked(packed, row.get(columns.position)?),
            _ => Ok(data),
        };
    };
    let Some(bytes) = blob::find(connection, &hash)? else {
        return Err(Failure::broken(format!("blob {hash}"), "an entry names it and it is missing"));
    };
    String::from_utf8(bytes).map_err(|error| Failure::broken(format!("blob {hash}"), error))
}

fn unpacked(packed: &[u8], position: i64) -> Result<String, Failure> {
    let place = || format!("log entry {position}");
    let bytes = blob::unpack(packed, ENTRY_BYTES_MAX, place)?;
    String::from_utf8(bytes).map_err(|error| Failure::broken(place(), error))
}
