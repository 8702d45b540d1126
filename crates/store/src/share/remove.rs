//! Deleting a share: a tombstone stays, everything else goes.

use super::audit::{self, Entry};
use super::capability::{self, Scope};
use super::reference::ShareAuth;
use super::refusal::{Refusal, ShareError};
use super::{ShareCall, ShareLimits, grant};
use rusqlite::Transaction;
use sturdy_session::stamp::Millis;
use tracing::trace;

const TOMBSTONE: &str =
    "UPDATE share SET deleted = ?2, epoch = epoch + 1, cursor = cursor + 1, log_from = cursor + 1,
    snapshot = NULL, bytes = 0 WHERE share_id = ?1 AND deleted IS NULL";
const ERASE: [&str; 4] = [
    "DELETE FROM share_entity WHERE share_id = ?1",
    "DELETE FROM share_op WHERE share_id = ?1",
    "DELETE FROM share_reject WHERE share_id = ?1",
    "DELETE FROM share_writer WHERE share_id = ?1",
];

impl crate::Store {
    /// Deletes a share. Repeated with the same secret, it is done already.
    pub async fn delete_share(
        &self,
        call: ShareCall,
        share: String,
        auth: ShareAuth,
    ) -> Result<(), ShareError> {
        self.change_share(move |transaction| {
            let own = capability::present(transaction, &share, &auth)?;
            match (capability::load_share(transaction, &share), own) {
                (Err(ShareError::Refused(Refusal::Gone)), Some(own)) if own.scope.contains(Scope::ADMIN) => {
                    Ok(())
                }
                (Err(other), _) => Err(other),
                (Ok(_), None) => Err(Refusal::Unauthorized.into()),
                (Ok(_), Some(own)) => {
                    own.stand(call.now)?;
                    own.require(Scope::ADMIN, "deleting")?;
                    erase(transaction, &call, &share, &own.cap_id)
                }
            }
        })
        .await
    }

    /// Forgets what nobody needs: shares without a single operation, and rows of logs and audits that are too old or
    /// too many.
    /// Answers with how many shares and rows went.
    pub async fn tidy_shares(&self, now: Millis, limits: ShareLimits) -> Result<(u64, u64), ShareError> {
        self.change_share(move |transaction| {
            let call = ShareCall {
                now,
                actor: "service".to_owned(),
                transport: "upkeep",
                address: String::new(),
                budget: None,
                limits,
            };
            let empty = tidy_empty(transaction, &call)?;
            trace!("point srv.gc.mid");
            let rows = tidy_log(transaction, now, limits)? + tidy_audit(transaction, now, limits)?;
            Ok((empty, rows))
        })
        .await
    }
}

fn erase(transaction: &Transaction<'_>, call: &ShareCall, share: &str, by: &str) -> Result<(), ShareError> {
    for statement in ERASE {
        transaction.execute(statement, [share])?;
    }
    trace!("point srv.delete.mid");
    let standing: Vec<String> =
        capability::all(transaction, share)?.into_iter().map(|row| row.cap_id).collect();
    grant::revoke_below(transaction, call, by, standing)?;
    transaction.execute(TOMBSTONE, (share, call.now.cast_signed()))?;
    audit::write(transaction, call, &Entry::of(share, by, "delete"))
}

fn tidy_empty(transaction: &Transaction<'_>, call: &ShareCall) -> Result<u64, ShareError> {
    const EMPTY: &str =
        "SELECT share_id FROM share WHERE sync_count = 0 AND deleted IS NULL AND created < ?1 LIMIT 1000";
    let before = call.now.saturating_sub(call.limits.empty_kept_ms).cast_signed();
    let mut statement = transaction.prepare(EMPTY)?;
    let found: Vec<String> = statement.query_map([before], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for share in &found {
        erase(transaction, call, share, "")?;
    }
    Ok(found.len() as u64)
}

fn tidy_audit(transaction: &Transaction<'_>, now: Millis, limits: ShareLimits) -> Result<u64, ShareError> {
    const OLD: &str = "DELETE FROM share_audit WHERE at < ?1";
    const LONG: &str = "SELECT share_id FROM share_audit GROUP BY share_id HAVING count(*) > ?1 LIMIT 1000";
    const CUT: &str = "DELETE FROM share_audit WHERE share_id = ?1 AND id <= (SELECT id FROM share_audit
        WHERE share_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)";
    let before = now.saturating_sub(limits.audit_kept_ms).cast_signed();
    let mut rows = transaction.execute(OLD, [before])?;
    let most = limits.audit_rows.cast_signed();
    let mut long = transaction.prepare(LONG)?;
    let long: Vec<String> = long.query_map([most], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for share in long {
        rows += transaction.execute(CUT, (&share, most))?;
    }
    Ok(rows as u64)
}

fn tidy_log(transaction: &Transaction<'_>, now: Millis, limits: ShareLimits) -> Result<u64, ShareError> {
    const LONG: &str = "SELECT share_id, cursor FROM share WHERE cursor - log_from > ?1 LIMIT 1000";
    const OLD: &str = "SELECT share_id, max(cursor) FROM share_op WHERE at < ?1 GROUP BY share_id LIMIT 1000";
    const CUT: &str = "DELETE FROM share_op WHERE share_id = ?1 AND cursor <= ?2";
    const MOVE: &str = "UPDATE share SET log_from = ?2 WHERE share_id = ?1 AND log_from < ?2";
    let mut cuts: Vec<(String, i64)> = Vec::new();
    let most = limits.log_rows.cast_signed();
    let mut long = transaction.prepare(LONG)?;
    for found in long.query_map([most], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? - most)))? {
        cuts.push(found?);
    }
    let mut old = transaction.prepare(OLD)?;
    let before = now.saturating_sub(limits.log_kept_ms).cast_signed();
    for found in old.query_map([before], |row| Ok((row.get(0)?, row.get(1)?)))? {
        cuts.push(found?);
    }
    let mut rows = 0;
    for (share, cursor) in cuts {
        rows += transaction.execute(CUT, (&share, cursor))?;
        trace!("point srv.compact.mid");
        transaction.execute(MOVE, (&share, cursor))?;
    }
    Ok(rows as u64)
}
