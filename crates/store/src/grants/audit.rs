//! Who used which grant for what, and what came of it. Never a secret, never what was said.

use super::GrantCall;
use super::record::GrantRow;
use crate::share::ShareError;
use rusqlite::{Connection, OptionalExtension as _, Transaction};
use serde::Serialize;
use sturdy_session::stamp::Millis;

/// What changes nothing is noted at most this often for each grant.
const READ_EVERY_MS: u64 = 60_000;
/// Rows in one answer.
const PAGE: usize = 500;
/// Rows are kept this long.
const KEPT_MS: u64 = 90 * 24 * 60 * 60 * 1000;
/// Rows that one transaction removes, so that nobody's commit waits for long.
const FORGOTTEN_AT_ONCE: i64 = 1_000;

/// One line of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GrantAuditRow {
    pub id: u64,
    pub at: Millis,
    pub grant: String,
    pub actor: String,
    pub method: String,
    /// `ok`, or why not.
    pub code: String,
    pub transport: String,
    pub address: String,
}

pub(super) struct Entry<'a> {
    pub(super) row: &'a GrantRow,
    pub(super) method: &'a str,
    pub(super) code: &'a str,
}

impl<'a> Entry<'a> {
    /// Something that was done.
    pub(super) fn of(row: &'a GrantRow, method: &'a str) -> Self {
        Self { row, method, code: "ok" }
    }
}

pub(super) fn write(connection: &Connection, call: &GrantCall, entry: &Entry<'_>) -> Result<(), ShareError> {
    const INSERT: &str =
        "INSERT INTO grant_audit (grant_id, session_id, at, actor, method, code, transport, address)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    connection.prepare_cached(INSERT)?.execute(rusqlite::params![
        entry.row.id,
        entry.row.session,
        call.now.cast_signed(),
        call.actor,
        entry.method,
        entry.code,
        call.transport,
        call.address,
    ])?;
    Ok(())
}

/// The same for what changes nothing: at most one row a minute.
pub(super) fn write_rarely(
    transaction: &Transaction<'_>,
    call: &GrantCall,
    entry: &Entry<'_>,
) -> Result<(), ShareError> {
    const LAST: &str = "SELECT at FROM grant_audit WHERE grant_id = ?1 AND method = ?2 AND code = ?3
        ORDER BY id DESC LIMIT 1";
    let key = (&entry.row.id, entry.method, entry.code);
    let last: Option<i64> = transaction.prepare_cached(LAST)?.query_row(key, |row| row.get(0)).optional()?;
    let is_due = last.is_none_or(|last| call.now.saturating_sub(last.cast_unsigned()) >= READ_EVERY_MS);
    if is_due { write(transaction, call, entry) } else { Ok(()) }
}

pub(super) fn read(
    connection: &Connection,
    grants: &[String],
    after: u64,
) -> Result<Vec<GrantAuditRow>, ShareError> {
    const ROWS: &str = "SELECT id, at, grant_id, actor, method, code, transport, address FROM grant_audit
        WHERE grant_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
    let mut statement = connection.prepare_cached(ROWS)?;
    let mut found = Vec::new();
    for grant in grants {
        let key = (grant, after.cast_signed(), PAGE as i64);
        let rows = statement.query_map(key, |row| {
            Ok(GrantAuditRow {
                id: row.get::<_, i64>(0)?.cast_unsigned(),
                at: row.get::<_, i64>(1)?.cast_unsigned(),
                grant: row.get(2)?,
                actor: row.get(3)?,
                method: row.get(4)?,
                code: row.get(5)?,
                transport: row.get(6)?,
                address: row.get(7)?,
            })
        })?;
        for row in rows {
            found.push(row?);
        }
    }
    found.sort_by_key(|row| row.id);
    found.truncate(PAGE);
    Ok(found)
}

/// Forgets some of what is too old; how many rows went.
pub(super) fn forget_some(transaction: &Transaction<'_>, now: Millis) -> Result<u64, ShareError> {
    const FORGET: &str = "DELETE FROM grant_audit WHERE id IN
        (SELECT id FROM grant_audit WHERE at < ?1 ORDER BY at LIMIT ?2)";
    let before = now.saturating_sub(KEPT_MS).cast_signed();
    Ok(transaction.prepare_cached(FORGET)?.execute((before, FORGOTTEN_AT_ONCE))? as u64)
}
