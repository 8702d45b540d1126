//! Who used which capability for what, and what came of it. Never a secret, never a payload.

use super::ShareCall;
use super::capability::{self, Scope};
use super::reference::ShareAuth;
use super::refusal::ShareError;
use rusqlite::{Connection, OptionalExtension as _};
use serde::Serialize;
use sturdy_session::stamp::Millis;

/// Reads are noted at most this often for each capability.
const READ_EVERY_MS: u64 = 60_000;
/// The method of a read in the audit.
const READ: &str = "read";
/// Rows in one answer.
const PAGE: u64 = 500;

/// One line of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditRow {
    pub id: u64,
    pub at: Millis,
    pub cap_id: String,
    #[serde(rename = "actor_id")]
    pub actor: String,
    pub method: String,
    pub code: String,
    pub batch_id: Option<String>,
    pub applied: u64,
    pub rejected: u64,
    pub transport: String,
    pub address: String,
}

pub(crate) struct Entry<'a> {
    pub(crate) share: &'a str,
    pub(crate) capability: &'a str,
    pub(crate) method: &'a str,
    pub(crate) code: &'a str,
    pub(crate) batch: Option<&'a str>,
    pub(crate) applied: usize,
    pub(crate) rejected: usize,
}

impl<'a> Entry<'a> {
    /// Something that was done.
    pub(crate) fn of(share: &'a str, capability: &'a str, method: &'a str) -> Self {
        Self { share, capability, method, code: "ok", batch: None, applied: 0, rejected: 0 }
    }
}

pub(crate) fn write(connection: &Connection, call: &ShareCall, entry: &Entry<'_>) -> Result<(), ShareError> {
    const INSERT: &str =
        "INSERT INTO share_audit (share_id, at, cap_id, actor, method, code, batch_id, applied,
        rejected, transport, address) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    connection.prepare_cached(INSERT)?.execute(rusqlite::params![
        entry.share,
        call.now.cast_signed(),
        entry.capability,
        call.actor,
        entry.method,
        entry.code,
        entry.batch,
        entry.applied as i64,
        entry.rejected as i64,
        call.transport,
        call.address,
    ])?;
    Ok(())
}

/// The same for what changes nothing: at most one row a minute.
pub(crate) fn write_rarely(
    connection: &Connection,
    call: &ShareCall,
    entry: &Entry<'_>,
) -> Result<(), ShareError> {
    if is_due(connection, call.now, entry)? { write(connection, call, entry) } else { Ok(()) }
}

/// Whether the last row of the same kind is old enough.
fn is_due(connection: &Connection, now: Millis, entry: &Entry<'_>) -> Result<bool, ShareError> {
    const LAST: &str =
        "SELECT at FROM share_audit WHERE share_id = ?1 AND cap_id = ?2 AND method = ?3 AND code = ?4
        ORDER BY id DESC LIMIT 1";
    let key = (entry.share, entry.capability, entry.method, entry.code);
    let last: Option<i64> = connection.prepare_cached(LAST)?.query_row(key, |row| row.get(0)).optional()?;
    Ok(last.is_none_or(|last| now.saturating_sub(last.cast_unsigned()) >= READ_EVERY_MS))
}

impl crate::Store {
    /// Notes that somebody reads by a capability, at most once a minute. Whether it may is decided by the read itself.
    pub async fn note_share_read(
        &self,
        call: ShareCall,
        share: String,
        auth: ShareAuth,
    ) -> Result<(), ShareError> {
        let Some(capability) = self.reader_to_note(&call, &share, &auth).await? else { return Ok(()) };
        self.change_share(move |transaction| {
            write_rarely(transaction, &call, &Entry::of(&share, &capability, READ))
        })
        .await
    }

    /// The capability that somebody reads by, if that was not noted lately: most reads write nothing.
    async fn reader_to_note(
        &self,
        call: &ShareCall,
        share: &str,
        auth: &ShareAuth,
    ) -> Result<Option<String>, ShareError> {
        let now = call.now;
        let share = share.to_owned();
        let auth = auth.clone();
        let read = self.read(move |connection| {
            let found = capability::present(connection, &share, &auth).and_then(|found| {
                let Some(row) = found else { return Ok(None) };
                if row.stand(now).is_err() || !row.scope.contains(Scope::READ) {
                    return Ok(None);
                }
                let is_due = is_due(connection, now, &Entry::of(&share, &row.cap_id, READ))?;
                Ok(is_due.then_some(row.cap_id))
            });
            Ok(found)
        });
        read.await?
    }

    /// The audit of a share after a row, oldest first; of one actor, if one is named.
    pub async fn share_audit(
        &self,
        call: ShareCall,
        share: String,
        auth: ShareAuth,
        after: u64,
        actor: Option<String>,
    ) -> Result<Vec<AuditRow>, ShareError> {
        const ROWS: &str =
            "SELECT id, at, cap_id, actor, method, code, batch_id, applied, rejected, transport, address
            FROM share_audit WHERE share_id = ?1 AND id > ?2 AND (?4 IS NULL OR actor = ?4) ORDER BY id LIMIT ?3";
        let read = self.read(move |connection| {
            let authorized = capability::authorize(connection, &share, &auth, call.now);
            let allowed = authorized.and_then(|(_, row)| {
                row.is_rotated()?;
                Ok(row.require(Scope::ADMIN, "reading the audit")?)
            });
            if let Err(refused) = allowed {
                return Ok(Err(refused));
            }
            let mut statement = connection.prepare_cached(ROWS)?;
            let rows =
                statement.query_map((&share, after.cast_signed(), PAGE.cast_signed(), &actor), |row| {
                    Ok(AuditRow {
                        id: capability::count(row, 0)?,
                        at: capability::count(row, 1)?,
                        cap_id: row.get(2)?,
                        actor: row.get(3)?,
                        method: row.get(4)?,
                        code: row.get(5)?,
                        batch_id: row.get(6)?,
                        applied: capability::count(row, 7)?,
                        rejected: capability::count(row, 8)?,
                        transport: row.get(9)?,
                        address: row.get(10)?,
                    })
                })?;
            Ok(Ok(rows.collect::<Result<_, _>>()?))
        });
        read.await?
    }
}
