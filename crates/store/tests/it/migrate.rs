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
