//! Damage is reported as damage, with its place, and never as an empty answer or a panic.

use crate::bench::{Draft, open, ses};
use std::fs::{self, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::time::Duration;
use sturdy_store::{
    CommitError, DAMAGED, DriverErrorKind, MessageQuery, OpenError, Options, ReadError, Store,
};
use tempfile::TempDir;

const PAGE: u64 = 4096;

/// A closed store with two hundred messages.
async fn filled() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    let mut draft = Draft::new("a", 0).session("s");
    for n in 0..200 {
        draft = draft.message(&format!("{n}"), n + 2, n).part(
            &format!("{n}"),
            &format!("{n}"),
            n,
            &"text ".repeat(200),
        );
    }
    store.commit(draft.commit).await.unwrap();
    store.close().await;
    let path = directory.path().join("sturdy.db");
    (directory, path)
}

fn overwrite(path: &PathBuf, at: u64, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

/// Whatever page is destroyed, nothing panics, and nothing is silently missing.
#[tokio::test]
async fn a_destroyed_page_is_damage_or_is_not_noticed_but_never_an_empty_answer() {
    let (directory, path) = filled().await;
    let whole = fs::read(&path).unwrap();
    let pages = whole.len() as u64 / PAGE;
    let mut damaged = 0;
    for page in 0..pages {
        fs::write(&path, &whole).unwrap();
        overwrite(&path, page * PAGE, &vec![0xa5; PAGE as usize]);

        let store = match Store::open(Options::new(directory.path())).await {
            Ok(store) => store,
            Err(OpenError::Broken { .. } | OpenError::NotADatabase { .. }) => {
                damaged += 1;
                continue;
            }
            Err(other) => panic!("page {page}: {other:?}"),
        };
        match store.messages(&ses("a"), MessageQuery::default()).await {
            Ok(page) => assert_eq!(page.items.len(), 200),
            Err(ReadError::Broken { .. }) => damaged += 1,
            Err(other) => panic!("page {page}: {other:?}"),
        }
        let report = store.verify(|_| {}).await.unwrap();
        assert!(!report.is_sound(), "page {page} is destroyed and nobody noticed");
        drop(store);
    }
    assert!(damaged > pages / 2, "{damaged} of {pages}");
}

#[tokio::test]
async fn a_file_that_is_cut_off_is_damage() {
    let (directory, path) = filled().await;
    let length = fs::metadata(&path).unwrap().len();
    OpenOptions::new().write(true).open(&path).unwrap().set_len(length / 2).unwrap();

    let found = match Store::open(Options::new(directory.path())).await {
        Ok(store) => {
            store.messages(&ses("a"), MessageQuery::default()).await.map(|_| ()).unwrap_err().to_string()
        }
        Err(error) => error.to_string(),
    };

    assert!(found.contains("damaged"), "{found}");
}

#[tokio::test]
async fn something_else_under_the_databases_name_is_called_that() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("sturdy.db"), "notes, not a database").unwrap();

    let opened = Store::open(Options::new(directory.path())).await;

    assert!(matches!(opened, Err(OpenError::NotADatabase { .. })), "{opened:?}");
    // It was only looked at.
    assert_eq!(fs::read_to_string(directory.path().join("sturdy.db")).unwrap(), "notes, not a database");
}

#[tokio::test]
async fn a_head_behind_the_log_is_damage() {
    let (directory, path) = filled().await;
    rusqlite::Connection::open(&path).unwrap().execute("UPDATE head SET position = 3", ()).unwrap();

    let opened = Store::open(Options::new(directory.path())).await;

    assert!(matches!(&opened, Err(OpenError::Broken { place, .. }) if place == "head"), "{opened:?}");
}

#[tokio::test]
async fn a_full_disk_refuses_a_commit_whole_and_the_next_may_succeed() {
    let directory = tempfile::tempdir().unwrap();
    let patience = Duration::ZERO;
    let options = Options { bytes_max: Some(256 * 1024), patience, ..Options::new(directory.path()) };
    let store = Store::open(options).await.unwrap();
    store.commit(Draft::new("a", 0).session("small").commit).await.unwrap();

    let mut large = Draft::new("a", 1).session("large");
    for n in 0..100 {
        large = large.message(&format!("{n}"), n, n).part(
            &format!("{n}"),
            &format!("{n}"),
            n,
            &"x".repeat(8_000),
        );
    }
    let refused = store.commit(large.commit).await;
    let after = store.commit(Draft::new("a", 1).session("small again").commit).await;

    let Err(CommitError::Unavailable(driver)) = refused else { panic!("not refused: {refused:?}") };
    assert_eq!(driver.kind, DriverErrorKind::DiskFull);
    assert_eq!(after.unwrap().seq, 2);
    assert_eq!(store.messages(&ses("a"), MessageQuery::default()).await.unwrap().items, []);
    assert_eq!(store.verify(|_| {}).await.unwrap().findings, []);
}

// Was: one of them that was damaged kept the v2 API from listing any message of its session.
#[tokio::test]
async fn a_damaged_change_of_a_session_is_passed_over_by_who_reads_all_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(Options::new(directory.path())).await.unwrap();
    let edit = |title: &str| format!(r#"{{"edit":{{"renamed":{{"title":"{title}"}}}}}}"#);
    let draft = Draft::new("a", 0).session("s").fact("session.edited.1", edit("one"));
    let draft =
        draft.fact("session.edited.1", edit(&"x".repeat(100_000))).fact("session.edited.1", edit("three"));
    store.commit(draft.commit).await.unwrap();
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    raw.execute("DELETE FROM blob", ()).unwrap();

    let edits = store.edits_of(&ses("a")).await.unwrap();

    let found: Vec<_> = edits.iter().map(|entry| (entry.seq, entry.kind.as_str())).collect();
    assert_eq!(found, [(2, "session.edited.1"), (3, DAMAGED), (4, "session.edited.1")]);
}
