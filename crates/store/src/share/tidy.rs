//! Upkeep of shares: what nobody needs any more goes, a little at a time.
//!
//! Shares without a single operation are deleted. Rows of logs and audits that are too old or too many go, and so do
//! tombstones: of a deleted share it is remembered that it was there as long as its audit is kept, which is for whoever
//! was away and asks. After that it is answered as one that never was, and senders take both answers alike. The tombstone
//! of a share that was never written to goes sooner, and of the others so many are kept at most that nobody fills the
//! disk by sharing and deleting.
//!
//! What there is to do is looked for on a reading thread, by index, and looked for again in each of the short transactions
//! that do it. So nobody's commit waits for long, however many shares there are.

use super::capability::count;
use super::refusal::ShareError;
use super::remove::erase;
use super::{ShareCall, ShareLimits};
use crate::Store;
use rusqlite::{Connection, OptionalExtension as _, Transaction};
use sturdy_session::stamp::Millis;
use tracing::trace;

/// Shares that one read looks at.
const SHARES_LOOKED_AT: i64 = 64;
/// Shares that one transaction deletes or forgets.
const SHARES_AT_ONCE: i64 = 16;
/// Rows that one transaction removes.
const ROWS_AT_ONCE: i64 = 1_000;
/// Tombstones that are kept. Some fifty megabytes.
const TOMBSTONES_MAX: i64 = 100_000;

const EMPTY: &str = "SELECT share_id FROM share WHERE sync_count = 0 AND deleted IS NULL AND created < ?1
    ORDER BY created LIMIT ?2";
// The oldest rows say whether any is too old.
const LOOK: &str = "SELECT share_id,
    cursor - log_from > ?2 OR COALESCE((SELECT share_op.at FROM share_op
        WHERE share_op.share_id = share.share_id ORDER BY share_op.cursor LIMIT 1) < ?3, FALSE),
    COALESCE((SELECT share_audit.at FROM share_audit
        WHERE share_audit.share_id = share.share_id ORDER BY share_audit.id LIMIT 1) < ?4, FALSE)
    OR (SELECT share_audit.id FROM share_audit
        WHERE share_audit.share_id = share.share_id ORDER BY share_audit.id DESC LIMIT 1 OFFSET ?5) IS NOT NULL
    FROM share WHERE share_id > ?1 ORDER BY share_id LIMIT ?6";
const OLD_TOMBSTONES: &str = "SELECT share_id FROM share WHERE deleted IS NOT NULL AND deleted < ?1
    ORDER BY deleted LIMIT ?2";
const EMPTY_TOMBSTONES: &str = "SELECT share_id FROM share WHERE deleted IS NOT NULL AND sync_count = 0
    AND deleted < ?1 ORDER BY deleted LIMIT ?2";
const EXCESS_TOMBSTONES: &str =
    "SELECT share_id FROM share WHERE deleted IS NOT NULL ORDER BY deleted DESC LIMIT ?2 OFFSET ?1";
const FORGET: [&str; 4] = [
    "DELETE FROM share_audit WHERE share_id = ?1",
    "DELETE FROM share_capability WHERE share_id = ?1",
    "DELETE FROM share_create WHERE share_id = ?1",
    "DELETE FROM share WHERE share_id = ?1 AND deleted IS NOT NULL",
];

/// When, and by which bounds.
#[derive(Clone, Copy)]
struct Upkeep {
    now: Millis,
    limits: ShareLimits,
}

impl Upkeep {
    /// The time before which something is older than this.
    fn before(self, kept_ms: u64) -> i64 {
        self.now.saturating_sub(kept_ms).cast_signed()
    }
}

/// Which rows of a share go.
#[derive(Clone, Copy)]
enum Cut {
    Log,
    Audit,
    WholeAudit,
}

impl Store {
    /// Forgets what nobody needs. Answers with how many shares and rows went.
    pub async fn tidy_shares(&self, now: Millis, limits: ShareLimits) -> Result<(u64, u64), ShareError> {
        let upkeep = Upkeep { now, limits };
        let mut shares = self.delete_empty_shares(upkeep).await?;
        let mut rows = 0;
        let mut after = String::new();
        loop {
            let found = self.look_at_shares(move |connection| look(connection, &after, upkeep)).await?;
            let Some((last, _)) = found.last().cloned() else { break };
            for (share, cuts) in found {
                for cut in cuts {
                    rows += self.cut_share(&share, cut, upkeep).await?;
                }
            }
            after = last;
        }
        shares += self.forget_tombstones(upkeep).await?;
        Ok((shares, rows))
    }

    async fn delete_empty_shares(&self, upkeep: Upkeep) -> Result<u64, ShareError> {
        let mut deleted = 0;
        loop {
            let found = self.look_at_shares(move |connection| empty(connection, upkeep)).await?;
            if found.is_empty() {
                return Ok(deleted);
            }
            deleted += self.change_share(move |transaction| delete_empty(transaction, upkeep)).await?;
        }
    }

    /// Removes what is too much of a share, slice by slice.
    async fn cut_share(&self, share: &str, cut: Cut, upkeep: Upkeep) -> Result<u64, ShareError> {
        let mut rows = 0;
        loop {
            let share = share.to_owned();
            let removed = self.change_share(move |transaction| match cut {
                Cut::Log => cut_log(transaction, &share, upkeep),
                Cut::Audit => cut_audit(transaction, &share, upkeep),
                Cut::WholeAudit => {
                    let limits = ShareLimits { audit_rows: 0, ..upkeep.limits };
                    cut_audit(transaction, &share, Upkeep { limits, ..upkeep })
                }
            });
            match removed.await? {
                0 => return Ok(rows),
                removed => rows += removed,
            }
        }
    }

    async fn forget_tombstones(&self, upkeep: Upkeep) -> Result<u64, ShareError> {
        let mut forgotten = 0;
        loop {
            let found = self.look_at_shares(move |connection| tombstones(connection, upkeep)).await?;
            if found.is_empty() {
                return Ok(forgotten);
            }
            for share in &found {
                self.cut_share(share, Cut::WholeAudit, upkeep).await?;
            }
            forgotten += found.len() as u64;
            self.change_share(move |transaction| {
                for share in &found {
                    for statement in FORGET {
                        transaction.prepare_cached(statement)?.execute([share])?;
                    }
                }
                Ok(())
            })
            .await?;
        }
    }

    async fn look_at_shares<T, F>(&self, look: F) -> Result<T, ShareError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, ShareError> + Send + 'static,
    {
        self.read(move |connection| Ok(look(connection))).await?
    }
}

fn empty(connection: &Connection, upkeep: Upkeep) -> Result<Vec<String>, ShareError> {
    let before = upkeep.before(upkeep.limits.empty_kept_ms);
    names(connection, EMPTY, (before, SHARES_AT_ONCE))
}

fn names(
    connection: &Connection,
    statement: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<String>, ShareError> {
    let mut statement = connection.prepare_cached(statement)?;
    let found = statement.query_map(values, |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(found)
}

/// Looked for again: somebody may have written to one meanwhile.
fn delete_empty(transaction: &Transaction<'_>, upkeep: Upkeep) -> Result<u64, ShareError> {
    let call = ShareCall {
        now: upkeep.now,
        actor: "service".to_owned(),
        transport: "upkeep",
        address: String::new(),
        budget: None,
        limits: upkeep.limits,
    };
    let found = empty(transaction, upkeep)?;
    for share in &found {
        erase(transaction, &call, share, "")?;
        trace!("point srv.gc.mid");
    }
    Ok(found.len() as u64)
}

/// Some shares after this one, and what is too much of each.
fn look(connection: &Connection, after: &str, upkeep: Upkeep) -> Result<Vec<(String, Vec<Cut>)>, ShareError> {
    let limits = upkeep.limits;
    let mut statement = connection.prepare_cached(LOOK)?;
    let values = (
        after,
        limits.log_rows.cast_signed(),
        upkeep.before(limits.log_kept_ms),
        upkeep.before(limits.audit_kept_ms),
        limits.audit_rows.cast_signed(),
        SHARES_LOOKED_AT,
    );
    let found = statement.query_map(values, |row| {
        let log = row.get::<_, bool>(1)?.then_some(Cut::Log);
        let audit = row.get::<_, bool>(2)?.then_some(Cut::Audit);
        Ok((row.get(0)?, log.into_iter().chain(audit).collect()))
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Removes the first rows of a share's log if they are too old, or too many follow.
fn cut_log(transaction: &Transaction<'_>, share: &str, upkeep: Upkeep) -> Result<u64, ShareError> {
    const CURSOR: &str = "SELECT cursor FROM share WHERE share_id = ?1";
    const END: &str = "SELECT MAX(cursor) FROM (SELECT cursor, at FROM share_op WHERE share_id = ?1
        ORDER BY cursor LIMIT ?2) AS oldest WHERE cursor <= ?3 OR at < ?4";
    const CUT: &str = "DELETE FROM share_op WHERE share_id = ?1 AND cursor <= ?2";
    const MOVE: &str = "UPDATE share SET log_from = ?2 WHERE share_id = ?1 AND log_from < ?2";
    let cursor = transaction.prepare_cached(CURSOR)?.query_row([share], |row| count(row, 0)).optional()?;
    let last = cursor.unwrap_or(0).saturating_sub(upkeep.limits.log_rows).cast_signed();
    let values = (share, ROWS_AT_ONCE, last, upkeep.before(upkeep.limits.log_kept_ms));
    let end: Option<i64> = transaction.prepare_cached(END)?.query_row(values, |row| row.get(0))?;
    let Some(end) = end else { return Ok(0) };
    let removed = transaction.prepare_cached(CUT)?.execute((share, end))?;
    trace!("point srv.compact.mid");
    transaction.prepare_cached(MOVE)?.execute((share, end))?;
    Ok(removed as u64)
}

/// The same for its audit.
fn cut_audit(transaction: &Transaction<'_>, share: &str, upkeep: Upkeep) -> Result<u64, ShareError> {
    const LAST: &str = "SELECT id FROM share_audit WHERE share_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2";
    const END: &str = "SELECT MAX(id) FROM (SELECT id, at FROM share_audit WHERE share_id = ?1
        ORDER BY id LIMIT ?2) AS oldest WHERE id <= ?3 OR at < ?4";
    const CUT: &str = "DELETE FROM share_audit WHERE share_id = ?1 AND id <= ?2";
    let most = upkeep.limits.audit_rows.cast_signed();
    let last: Option<i64> =
        transaction.prepare_cached(LAST)?.query_row((share, most), |row| row.get(0)).optional()?;
    let values = (share, ROWS_AT_ONCE, last.unwrap_or(0), upkeep.before(upkeep.limits.audit_kept_ms));
    let end: Option<i64> = transaction.prepare_cached(END)?.query_row(values, |row| row.get(0))?;
    let Some(end) = end else { return Ok(0) };
    Ok(transaction.prepare_cached(CUT)?.execute((share, end))? as u64)
}

/// Some tombstones that nobody needs.
fn tombstones(connection: &Connection, upkeep: Upkeep) -> Result<Vec<String>, ShareError> {
    let limits = upkeep.limits;
    let queries = [
        (OLD_TOMBSTONES, upkeep.before(limits.audit_kept_ms)),
        (EMPTY_TOMBSTONES, upkeep.before(limits.empty_kept_ms)),
        (EXCESS_TOMBSTONES, TOMBSTONES_MAX),
    ];
    for (statement, bound) in queries {
        let found = names(connection, statement, (bound, SHARES_AT_ONCE))?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}
