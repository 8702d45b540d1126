//! What is said of a write that was given up.

use super::certain;
use crate::dialect::{Durability, open_writer};
use crate::error::{CommitError, DriverError, DriverErrorKind, Failure};
use rusqlite::Connection;
use std::path::Path;
use std::time::Duration;

fn failed(kind: DriverErrorKind) -> Failure {
    Failure::Unavailable(DriverError::planned(kind))
}

/// The number that takes the place of what may stand in the write-ahead log.
fn number(path: &Path) -> i64 {
    let reader = Connection::open(path).unwrap();
    reader.query_row("PRAGMA user_version", (), |row| row.get(0)).unwrap()
}

#[test]
fn a_failed_disk_is_called_refused_only_when_something_else_stands_where_the_commit_may_stand() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sturdy.db");
    let mut connection = open_writer(&path, Durability::Full).unwrap();
    connection.execute_batch("CREATE TABLE one (id)").unwrap();
    let before = number(&path);

    // A disk that is full has written no whole commit: there is nothing to take the place of.
    let full = certain(&mut connection, failed(DriverErrorKind::DiskFull));
    assert!(matches!(full, CommitError::Unavailable(_)), "{full:?}");
    assert_eq!(number(&path), before);
    let refused = certain(&mut connection, failed(DriverErrorKind::Disk));
    assert!(matches!(refused, CommitError::Unavailable(_)), "{refused:?}");
    assert_eq!(number(&path), before + 1);

    // Nothing can be written now.
    connection.busy_timeout(Duration::ZERO).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let unknown = certain(&mut connection, failed(DriverErrorKind::Disk));
    assert!(matches!(unknown, CommitError::Unknown(_)), "{unknown:?}");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(number(&path), before + 1);
    let damaged = certain(&mut connection, Failure::broken("the database", "damage"));
    assert!(matches!(damaged, CommitError::Broken { .. }), "{damaged:?}");
}
