//! What was asked of the database is what it does.

use super::{Durability, broken_mode, open_writer};
use rusqlite::Connection;

#[test]
fn a_database_that_does_not_keep_the_journal_or_the_sync_level_is_found_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sturdy.db");

    for durability in [Durability::Full, Durability::Normal] {
        let connection = open_writer(&path, durability).unwrap();
        assert_eq!(broken_mode(&connection, durability).unwrap(), None);
        connection.execute_batch("PRAGMA synchronous = OFF").unwrap();
        let found = broken_mode(&connection, durability).unwrap().unwrap();
        assert!(found.contains("syncs at level 0"), "{found}");
    }
    // As on a file system that cannot have a write-ahead log: another journal is kept.
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    let found = broken_mode(&connection, Durability::Full).unwrap().unwrap();
    assert!(found.contains("\"memory\""), "{found}");
}
