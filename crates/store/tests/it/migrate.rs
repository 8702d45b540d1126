//! Migrations go forward and are not argued with.

use crate::bench::open;
use sturdy_store::{OpenError, Options, Store};
use tempfile::TempDir;

async fn after(change: &str) -> (TempDir, Result<Store, OpenError>) {
    let directory = tempfile::tempdir().unwrap();
    open(&directory).await.close().await;
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    raw.execute_batch(change).unwrap();
    drop(raw);
    let opened = Store::open(Options::new(directory.path())).await;
    (directory, opened)
}

#[tokio::test]
async fn a_migration_that_changed_after_it_was_applied_is_refused() {
    let (_directory, opened) = after("UPDATE migration SET checksum = 'other' WHERE number = 1").await;

    assert!(
        matches!(&opened, Err(OpenError::Changed { number: 1, name }) if name == "log_and_rows"),
        "{opened:?}"
    );
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_refused() {
    let (_directory, opened) = after("INSERT INTO migration VALUES (999, 'later', 'x')").await;

    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations")).unwrap().count() as u64;
    assert!(matches!(opened, Err(OpenError::Newer { found: 999, known }) if known == files), "{opened:?}");
}

#[tokio::test]
async fn an_untouched_store_opens_again() {
    let (_directory, opened) = after("SELECT 1").await;

    opened.unwrap();
}

/// T-SCH-01
#[tokio::test]
async fn a_row_in_a_form_of_a_newer_version_is_refused() {
    for table in ["session", "message", "part", "ask", "todo", "keyframe", "project"] {
        let directory = tempfile::tempdir().unwrap();
        open(&directory).await.close().await;
        let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
        let names: String = raw
            .query_row(
                "SELECT group_concat(name) FROM pragma_table_info(?1) WHERE name <> 'schema' AND \"notnull\" + pk > 0",
                [table],
                |row| row.get(0),
            )
            .unwrap();
        // Any value will do: nobody reads it.
        let values = names.split(',').map(|_| "'1'").collect::<Vec<_>>().join(",");
        raw.execute_batch(&format!("INSERT INTO {table} ({names}, schema) VALUES ({values}, 2)")).unwrap();
        drop(raw);

        let opened = Store::open(Options::new(directory.path())).await;

        assert!(matches!(opened, Err(OpenError::Newer { found: 2, known: 1 })), "{table}: {opened:?}");
    }
}

/// A store as it was before rows said their form.
async fn old_store(directory: &TempDir) -> rusqlite::Connection {
    open(directory).await.close().await;
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    for table in ["session", "message", "part", "ask", "todo", "keyframe", "project"] {
        raw.execute_batch(&format!("DROP INDEX {table}_newer; ALTER TABLE {table} DROP COLUMN schema"))
            .unwrap();
    }
    raw.execute_batch(
        "DROP TABLE removal; ALTER TABLE head DROP COLUMN mark; DROP INDEX session_by_position;
         ALTER TABLE share_link DROP COLUMN visibility; ALTER TABLE share_link DROP COLUMN actor;
         ALTER TABLE log DROP COLUMN packed; ALTER TABLE blob DROP COLUMN is_packed;
         DROP TABLE share_unsent; ALTER TABLE share_link DROP COLUMN is_compared;
         ALTER TABLE share_link DROP COLUMN failures; ALTER TABLE share_link DROP COLUMN retry_at;
         ALTER TABLE log DROP COLUMN told; DROP INDEX log_edits;
         DROP INDEX share_deleted; DROP INDEX share_deleted_empty; DROP INDEX share_held;
         DROP INDEX share_create_by_share",
    )
    .unwrap();
    raw.execute_batch("DELETE FROM migration WHERE number >= 9; INSERT INTO todo VALUES ('ses_a', '[]', 1)")
        .unwrap();
    raw
}

/// A store of before rows said their form opens, and its rows are in the first one.
#[tokio::test]
async fn a_store_of_before_rows_said_their_form_is_taken_over() {
    let directory = tempfile::tempdir().unwrap();
    drop(old_store(&directory).await);

    Store::open(Options::new(directory.path())).await.unwrap().close().await;

    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    let schema: i64 = raw.query_row("SELECT schema FROM todo", (), |row| row.get(0)).unwrap();
    assert_eq!(schema, 1);
}

/// T-MIG-01: a change of the schema that ends in the middle, here because something stands in its way, leaves the schema
/// as it was.
#[tokio::test]
async fn migrations_are_applied_all_or_not_at_all_and_the_next_start_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let raw = old_store(&directory).await;
    let tables = |raw: &rusqlite::Connection| -> Vec<String> {
        let mut statement =
            raw.prepare("SELECT name || coalesce(sql, '') FROM sqlite_schema ORDER BY 1").unwrap();
        let rows = statement.query_map((), |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    raw.execute_batch("CREATE TABLE share_unsent (in_the_way TEXT)").unwrap();
    let before = tables(&raw);
    drop(raw);

    let opened = Store::open(Options::new(directory.path())).await;

    assert!(opened.is_err(), "number 15 cannot be applied, after those before it");
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    assert_eq!(tables(&raw), before);
    raw.execute_batch("DROP TABLE share_unsent").unwrap();
    drop(raw);
    Store::open(Options::new(directory.path())).await.unwrap().close().await;
}
