//! Upkeep: folding growth away, sizes, giving space back in slices.
//!
//! Invariant I12: the end of a text carries the text, so once a part is closed its growth is kept only for
//! readers that are behind; what a call reported is kept until something later is said of the call, and what a turn
//! has changed until it has changed more. Folding removes all three up to a position and moves the *horizon* there: a cursor before it is answered
//! with a resync instead of entries.
//!
//! A part that is open holds the horizon. That of a quarantined session may stay open for ever: it holds only its own
//! growth, which stays below the horizon because readers are shown the text from it.
//!
//! Every slice is a short transaction between two commits.

use crate::error::{CommitError, ReadError};
use crate::log::{clamp, text_or_empty};
use crate::open::DATABASE;
use crate::{Store, dialect};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};
use std::collections::BTreeSet;
use std::fs;
use sturdy_session::growth;
use sturdy_session::id::SessionId;

/// Positions one slice looks at: a few milliseconds during which commits wait.
const SLICE: i64 = 2_000;
/// Pages given back after a slice.
const SHRINK: u32 = 256;

const HEAD: &str = "SELECT position, horizon FROM head WHERE id = 1";
const OLDEST_OPEN: &str = "SELECT session_id, MIN(position) FROM part WHERE is_open = 1 GROUP BY session_id";
// Never the last entry of a session: its seq is what the next commit builds on. Never what may be the growth of an
// open part. And never the last report of a call, or the last sum of a turn, before the horizon: what comes after it
// is shown with what was said there. Of its own session: prompts of two sessions may have one id.
const FOLD: &str =
    "DELETE FROM log WHERE position >= ?1 AND position < ?2 AND (kind = ?3 OR (kind IN (?4, ?5)
    AND EXISTS (SELECT 1 FROM log AS next WHERE next.subject = log.subject AND next.session_id = log.session_id
    AND next.position > log.position AND next.position < ?2)))
    AND EXISTS (SELECT 1 FROM log AS later WHERE later.session_id = log.session_id AND later.seq > log.seq)
    AND NOT EXISTS (SELECT 1 FROM part WHERE part.session_id = log.session_id AND part.is_open = 1
    AND part.position < log.position)";
// Of the keyframes before the horizon each session keeps the newest.
const FORGET_KEYFRAMES: &str =
    "DELETE FROM keyframe WHERE position < ?1 AND EXISTS (SELECT 1 FROM keyframe AS later
    WHERE later.session_id = keyframe.session_id AND later.seq > keyframe.seq AND later.position < ?1)";
const TIME_FROM: &str = "SELECT at FROM log WHERE position >= ?1 ORDER BY position LIMIT 1";
const MOVE_HORIZON: &str = "UPDATE head SET horizon = ?1 WHERE id = 1";
const BLOBS: &str = "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM blob";
const COUNTS: [&str; 4] = [
    "SELECT COUNT(*) FROM log",
    "SELECT COUNT(*) FROM session",
    "SELECT COUNT(*) FROM message",
    "SELECT COUNT(*) FROM part",
];

/// What a slice of folding did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folded {
    /// Entries removed.
    pub removed: u64,
    /// From here on every entry is still there.
    pub horizon: u64,
    /// Nothing is left to fold before the given position, as long as no open part closes.
    pub is_done: bool,
}

/// How much is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    pub database_bytes: u64,
    /// Of these, unused.
    pub free_bytes: u64,
    /// The write-ahead log, which is checkpointed when the store is idle.
    pub wal_bytes: u64,
    pub entries: u64,
    pub sessions: u64,
    pub messages: u64,
    pub parts: u64,
    pub blobs: u64,
    pub blob_bytes: u64,
}

impl Store {
    /// Folds one slice of the growth before `position`, past what `quarantined` sessions have open. Call it again
    /// until `is_done`.
    pub async fn fold_slice(
        &self,
        before: u64,
        quarantined: &BTreeSet<SessionId>,
    ) -> Result<Folded, CommitError> {
        let quarantined: BTreeSet<String> = quarantined.iter().map(ToString::to_string).collect();
        self.write(move |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let (head, horizon): (i64, i64) =
                transaction.query_row(HEAD, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
            // All growth of an open part follows its row. So below the oldest open row every part of a session that
            // is not quarantined is closed, and no entry has to be read to know whose growth it is.
            let open = oldest_open(&transaction, &quarantined)?;
            let end = clamp(before).min(head + 1).min(open.unwrap_or(i64::MAX));
            if end <= horizon {
                transaction.prepare_cached(FORGET_KEYFRAMES)?.execute([horizon])?;
                transaction.commit()?;
                return Ok(Folded { removed: 0, horizon: horizon.cast_unsigned(), is_done: true });
            }

            let next = end.min(horizon + SLICE);
            let [report, sum] = growth::SUPERSEDED;
            let removed =
                transaction.prepare_cached(FOLD)?.execute((horizon, next, growth::KIND, report, sum))?;
            transaction.prepare_cached(MOVE_HORIZON)?.execute([next])?;
            transaction.commit()?;
            if removed > 0 {
                dialect::shrink(connection, SHRINK)?;
            }
            Ok(Folded { removed: removed as u64, horizon: next.cast_unsigned(), is_done: next == end })
        })
        .await
    }

    /// Folds all closed growth before `position`, as if no session were quarantined.
    pub async fn fold(&self, before: u64) -> Result<Folded, CommitError> {
        self.fold_past(before, &BTreeSet::new()).await
    }

    /// Folds all closed growth before `position`, slice by slice, letting commits pass in between. What `quarantined`
    /// sessions have open keeps its growth and holds up nobody else's.
    pub async fn fold_past(
        &self,
        before: u64,
        quarantined: &BTreeSet<SessionId>,
    ) -> Result<Folded, CommitError> {
        let mut removed = 0;
        loop {
            let slice = self.fold_slice(before, quarantined).await?;
            removed += slice.removed;
            if slice.is_done {
                return Ok(Folded { removed, ..slice });
            }
        }
    }

    /// The first position whose entry is not older than `time`; the end of the log if all are. Times ascend
    /// with positions, give or take what sessions run ahead of each other.
    pub async fn position_at(&self, time: u64) -> Result<u64, ReadError> {
        let head = self.head();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(TIME_FROM)?;
            let mut low = 0;
            let mut high = head + 1;
            while low < high {
                let middle = low + (high - low) / 2;
                let at: Option<i64> = statement.query_row([clamp(middle)], |row| row.get(0)).optional()?;
                if at.is_some_and(|at| at.cast_unsigned() < time) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            Ok(low)
        })
        .await
    }

    pub async fn sizes(&self) -> Result<Sizes, ReadError> {
        let wal = self.inner.path.join(format!("{DATABASE}-wal"));
        self.read(move |connection| {
            let (database_bytes, free_bytes) = dialect::file_bytes(connection)?;
            let mut counts = [0; COUNTS.len()];
            for (statement, count) in COUNTS.iter().zip(&mut counts) {
                *count = connection.query_row(statement, (), |row| row.get::<_, i64>(0))?.cast_unsigned();
            }
            let [entries, sessions, messages, parts] = counts;
            let (blobs, blob_bytes): (i64, i64) =
                connection.query_row(BLOBS, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(Sizes {
                database_bytes,
                free_bytes,
                wal_bytes: fs::metadata(wal).map_or(0, |file| file.len()),
                entries,
                sessions,
                messages,
                parts,
                blobs: blobs.cast_unsigned(),
                blob_bytes: blob_bytes.cast_unsigned(),
            })
        })
        .await
    }
}

/// Where the oldest part stands that is open in a session that is not quarantined.
fn oldest_open(connection: &Connection, quarantined: &BTreeSet<String>) -> rusqlite::Result<Option<i64>> {
    let mut statement = connection.prepare_cached(OLDEST_OPEN)?;
    let mut rows = statement.query(())?;
    let mut oldest = None;
    while let Some(row) = rows.next()? {
        let session = text_or_empty(row, 0)?;
        let position: i64 = row.get(1)?;
        if !quarantined.contains(&session) && oldest.is_none_or(|oldest| position < oldest) {
            oldest = Some(position);
        }
    }
    Ok(oldest)
}
