//! What was asked of the database is what it does.

use super::{Durability, broken_mode, open_reader, open_writer};
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

// Was: SQLite prepared it again for every message, because a value might have fitted the condition of a partial index.
#[test]
fn a_statement_is_prepared_once_whatever_it_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sturdy.db");
    let mut writer = open_writer(&path, Durability::Normal).unwrap();
    crate::migrate::migrate(&mut writer).unwrap();
    let reader = open_reader(&path).unwrap();

    for connection in [writer, reader] {
        for text in [
            "SELECT data FROM part WHERE session_id = ?1 AND message_id = ?2 ORDER BY ord",
            "SELECT data FROM log WHERE session_id = ?1 AND kind = ?2",
        ] {
            let mut statement = connection.prepare(text).unwrap();
            for value in ["one", "two", "three"] {
                assert!(!statement.exists((value, value)).unwrap());
            }
            assert_eq!(statement.get_status(rusqlite::StatementStatus::RePrepare), 0, "{text}");
        }
    }
}
