//! The few statements that differ between databases. So far there is one: SQLite.
//!
//! Everything else in this crate is one text for both: `?1` placeholders, `INSERT … ON CONFLICT`,
//! `UPDATE … RETURNING`, text, bigint and blob.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// How hard a commit is pressed onto the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// An acknowledged commit survives a power cut.
    #[default]
    Full,
    /// An acknowledged commit survives the end of the process; a power cut may take the last ones.
    Normal,
}

/// Another program may look into the file; we wait this long for it.
/// What SQLite calls vacuuming slice by slice.
const INCREMENTAL: u64 = 2;
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Statements are few and constant; all of them stay prepared.
const STATEMENTS: usize = 64;
/// Pages kept in memory. The operating system caches the file anyway, and an idle server is to be small.
const WRITER_CACHE_KIB: u32 = 2048;
const READER_CACHE_KIB: u32 = 1024;
/// A write-ahead log that grew in a busy hour is cut back to this.
const WAL_BYTES_KEPT: u32 = 8 * 1024 * 1024;
/// Pages in the write-ahead log before a checkpoint: 4 MiB.
const WAL_PAGES: u32 = 1000;

/// The schema's types in this database's words. SQLite makes a key the row's own address only
/// under the name `INTEGER`; with `BIGINT` the log would get a second tree for its positions.
pub(crate) fn schema(text: &str) -> String {
    text.replace("BIGINT PRIMARY KEY", "INTEGER PRIMARY KEY")
}

pub(crate) fn open_writer(path: &Path, durability: Durability) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    prepare_once(&connection)?;
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    // On a Mac an ordinary fsync does not reach the disk; elsewhere `fullfsync` means nothing.
    let fullfsync = durability == Durability::Full;
    // Space is given back in slices by `fold`; this must be said before the first table.
    // Said to a database that is so already, it writes to it all the same.
    let vacuum = if pragma(&connection, "auto_vacuum")? == INCREMENTAL {
        ""
    } else {
        "PRAGMA auto_vacuum = INCREMENTAL;"
    };
    connection.execute_batch(&format!(
        "{vacuum}PRAGMA journal_mode = WAL;
         PRAGMA synchronous = {synchronous};
         PRAGMA fullfsync = {fullfsync};
         PRAGMA checkpoint_fullfsync = {fullfsync};
         PRAGMA foreign_keys = OFF;
         PRAGMA mmap_size = 0;
         PRAGMA cache_size = -{WRITER_CACHE_KIB};
         PRAGMA journal_size_limit = {WAL_BYTES_KEPT};
         PRAGMA wal_autocheckpoint = {WAL_PAGES};"
    ))?;
    Ok(connection)
}

/// Keeps statements prepared, whatever values they are given. Otherwise SQLite looks at the values for a partial index that
/// they would allow, and prepares the statement again for each new one: a third of the time of reading a conversation.
/// A statement that wants a partial index names its condition in its text.
fn prepare_once(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// What a file system without shared memory makes of it. For tests.
pub(crate) fn keep_another_journal(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA journal_mode = DELETE")
}

/// What was set is read back: a file system without shared memory keeps another journal, and says so only here.
/// Gives back what does not hold.
pub(crate) fn broken_mode(
    connection: &Connection,
    durability: Durability,
) -> rusqlite::Result<Option<String>> {
    let journal: String = connection.query_row("PRAGMA journal_mode", (), |row| row.get(0))?;
    if journal != "wal" {
        return Ok(Some(format!(
            "the database keeps a journal of the kind \"{journal}\" and not a write-ahead log"
        )));
    }
    let wanted = match durability {
        Durability::Full => 2,
        Durability::Normal => 1,
    };
    let level = pragma(connection, "synchronous")?;
    Ok((level != wanted).then(|| format!("the database syncs at level {level} and not at {wanted}")))
}

pub(crate) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    prepare_once(&connection)?;
    connection.execute_batch(&format!(
        "PRAGMA query_only = ON;
         PRAGMA mmap_size = 0;
         PRAGMA cache_size = -{READER_CACHE_KIB};"
    ))?;
    Ok(connection)
}

/// A quota: what would make the database larger is refused as a full disk would refuse it.
pub(crate) fn limit_bytes(connection: &Connection, bytes_max: u64) -> rusqlite::Result<()> {
    let page: u64 = pragma(connection, "page_size")?;
    connection.query_row(&format!("PRAGMA max_page_count = {}", (bytes_max / page).max(1)), (), |_| Ok(()))
}

/// Copies the write-ahead log into the database, as far as no reader needs it.
/// Waits for nobody: commits must not wait for a reader.
pub(crate) fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()))
}

/// The same at the end, when nobody commits any more: everything is in one file afterwards.
pub(crate) fn checkpoint_and_empty(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))
}

/// The same while others go on: nobody is waited for, and what a reader still needs stays as it is.
pub(crate) fn checkpoint_and_empty_if_unused(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::ZERO)?;
    let emptied = checkpoint_and_empty(connection);
    connection.busy_timeout(BUSY_TIMEOUT)?;
    emptied
}

/// Closes without a checkpoint, as a crashed process would.
pub(crate) fn leave_files_alone(connection: &Connection) {
    // The answer does not matter: at worst the files look as after an orderly end.
    let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
}

/// A write that nobody reads: a number in the file's header that SQLite keeps for us. It has to differ from what is
/// there, because a row that is written with its own value makes no frame at all.
pub(crate) fn change_nothing_that_is_read(connection: &Connection) -> rusqlite::Result<()> {
    let number = pragma(connection, "user_version")?;
    let next = (number + 1) % 1_000_000;
    connection.execute_batch(&format!("PRAGMA user_version = {next}"))
}

/// Gives up to `pages` free pages back to the disk.
pub(crate) fn shrink(connection: &Connection, pages: u32) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    let mut rows = statement.query(())?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// (all, free) bytes of the database file.
pub(crate) fn file_bytes(connection: &Connection) -> rusqlite::Result<(u64, u64)> {
    let page: u64 = pragma(connection, "page_size")?;
    let pages: u64 = pragma(connection, "page_count")?;
    let free: u64 = pragma(connection, "freelist_count")?;
    Ok((pages * page, free * page))
}

/// What the database itself finds wrong with its file; empty when nothing.
pub(crate) fn integrity(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA integrity_check(100)")?;
    let lines = statement.query_map((), |row| row.get::<_, String>(0))?;
    Ok(lines.collect::<rusqlite::Result<Vec<_>>>()?.into_iter().filter(|line| line != "ok").collect())
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<u64> {
    connection.query_row(&format!("PRAGMA {name}"), (), |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
}

#[cfg(test)]
mod tests;
