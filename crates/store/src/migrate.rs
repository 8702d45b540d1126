//! The schema: numbered, checksummed, forward only.
//!
//! Every migration is a file beside `src`, named here once. An applied one is remembered with the
//! BLAKE3 of its text; a text that changed afterwards, or a number this version does not know, is
//! refused rather than guessed at. All that are missing are applied in one transaction.
//!
//! Written here rather than taken from refinery: that works with this rusqlite, but brings in `time`,
//! `url` (with the Unicode tables behind it), `regex`, `siphasher` and two crates of its own for what
//! are sixty lines, and its checksum is a 64-bit hash printed as text.

use crate::dialect;
use crate::error::{Failure, OpenError};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

struct Migration {
    number: u64,
    name: &'static str,
    text: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, name: "log_and_rows", text: include_str!("../migrations/0001_log_and_rows.sql") },
    Migration { number: 2, name: "approvals", text: include_str!("../migrations/0002_approvals.sql") },
    Migration { number: 3, name: "share", text: include_str!("../migrations/0003_share.sql") },
    Migration {
        number: 4,
        name: "session_order",
        text: include_str!("../migrations/0004_session_order.sql"),
    },
    Migration { number: 5, name: "outbox", text: include_str!("../migrations/0005_outbox.sql") },
    Migration { number: 6, name: "share_bytes", text: include_str!("../migrations/0006_share_bytes.sql") },
    Migration { number: 7, name: "grants", text: include_str!("../migrations/0007_grants.sql") },
    Migration { number: 8, name: "actor", text: include_str!("../migrations/0008_actor.sql") },
    Migration { number: 9, name: "row_schema", text: include_str!("../migrations/0009_row_schema.sql") },
    Migration { number: 10, name: "removal", text: include_str!("../migrations/0010_removal.sql") },
    Migration { number: 11, name: "mark", text: include_str!("../migrations/0011_mark.sql") },
    Migration {
        number: 12,
        name: "session_position",
        text: include_str!("../migrations/0012_session_position.sql"),
    },
    Migration { number: 13, name: "share_wishes", text: include_str!("../migrations/0013_share_wishes.sql") },
    Migration { number: 14, name: "packed", text: include_str!("../migrations/0014_packed.sql") },
    Migration { number: 15, name: "share_unsent", text: include_str!("../migrations/0015_share_unsent.sql") },
    Migration { number: 16, name: "share_retry", text: include_str!("../migrations/0016_share_retry.sql") },
    Migration { number: 17, name: "told", text: include_str!("../migrations/0017_told.sql") },
    Migration { number: 18, name: "edits", text: include_str!("../migrations/0018_edits.sql") },
    Migration { number: 19, name: "share_upkeep", text: include_str!("../migrations/0019_share_upkeep.sql") },
];

const CREATE: &str = "CREATE TABLE IF NOT EXISTS migration (
    number BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)";
const NEWEST: &str = "SELECT number FROM migration ORDER BY number DESC LIMIT 1";
const CHECKSUM: &str = "SELECT checksum FROM migration WHERE number = ?1";
const EPOCH: &str = "SELECT epoch FROM head WHERE id = 1";
const REMEMBER: &str = "INSERT INTO migration (number, name, checksum) VALUES (?1, ?2, ?3)";

/// The form of every row that this version writes.
const ROW_SCHEMA: u64 = 1;
/// Each is answered by an index that is empty as long as there is no such row.
const NEWER_ROWS: [&str; 7] = [
    "SELECT schema FROM session WHERE schema > 1 LIMIT 1",
    "SELECT schema FROM message WHERE schema > 1 LIMIT 1",
    "SELECT schema FROM part WHERE schema > 1 LIMIT 1",
    "SELECT schema FROM ask WHERE schema > 1 LIMIT 1",
    "SELECT schema FROM todo WHERE schema > 1 LIMIT 1",
    "SELECT schema FROM keyframe WHERE schema > 1 LIMIT 1",
    "SELECT schema FROM project WHERE schema > 1 LIMIT 1",
];

pub(crate) fn migrate(connection: &mut Connection) -> Result<(), OpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(&dialect::schema(CREATE))?;

    let known = MIGRATIONS.last().map_or(0, |migration| migration.number);
    let newest: Option<i64> = transaction.query_row(NEWEST, (), |row| row.get(0)).optional()?;
    let found = newest.map_or(0, i64::cast_unsigned);
    if found > known {
        return Err(OpenError::Newer { found, known });
    }

    for migration in MIGRATIONS {
        let number = migration.number.cast_signed();
        let checksum = blake3::hash(migration.text.as_bytes()).to_hex();
        let applied: Option<String> =
            transaction.query_row(CHECKSUM, [number], |row| row.get(0)).optional()?;
        match applied {
            Some(applied) if applied == checksum.as_str() => {}
            // The first release's log is the first that is kept for ever; those before it had no epoch.
            Some(_) if migration.number == 1 && transaction.prepare(EPOCH).is_err() => {
                return Err(OpenError::Outdated);
            }
            Some(_) => {
                let name = migration.name.to_owned();
                return Err(OpenError::Changed { number: migration.number, name });
            }
            // Forward only: one that is missing below an applied one was not lost by us.
            None if migration.number <= found => {
                return Err(Failure::broken("migration", format!("number {number} is missing")).into());
            }
            None => {
                transaction.execute_batch(&dialect::schema(migration.text))?;
                transaction.execute(REMEMBER, (number, migration.name, checksum.as_str()))?;
                tracing::trace!("point migrate.mid");
            }
        }
    }
    refuse_newer_rows(&transaction)?;
    transaction.commit()?;
    Ok(())
}

/// A row in a form that this version does not know is not guessed at.
fn refuse_newer_rows(connection: &Connection) -> Result<(), OpenError> {
    for newer in NEWER_ROWS {
        let found: Option<i64> = connection.query_row(newer, (), |row| row.get(0)).optional()?;
        if let Some(found) = found {
            return Err(OpenError::Newer { found: found.cast_unsigned(), known: ROW_SCHEMA });
        }
    }
    Ok(())
}
