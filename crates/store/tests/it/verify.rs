//! `verify` finds what is not as promised.

use crate::bench::{Draft, open};
use std::sync::{Arc, Mutex};
use sturdy_store::{Progress, Stage};

/// What is found after `change` was made to a sound store behind its back.
async fn findings(change: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    let draft = Draft::new("a", 0).session("s").message("1", 2, 1).part("1", "x", 3, "text").idled();
    store.commit(draft.commit).await.unwrap();
    store.put_blob(b"bytes".to_vec()).await.unwrap();
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    raw.execute_batch(change).unwrap();

    let report = store.verify(|_| {}).await.unwrap();

    report.findings.into_iter().map(|finding| format!("{}: {}", finding.place, finding.what)).collect()
}

#[tokio::test]
async fn every_kind_of_damage_is_found_and_named() {
    let cases = [
        ("SELECT 1", ""),
        ("DELETE FROM log WHERE seq = 2", "log entry 3 (ses_a 3): follows seq 1"),
        ("DELETE FROM log WHERE seq = 1", "log entry 2 (ses_a 2): is the first of its session"),
        ("UPDATE log SET kind = 'never.heard.9' WHERE seq = 2", "unknown kind of fact \"never.heard.9\""),
        ("UPDATE log SET data = '{' WHERE seq = 2", "damaged fact of kind \"session.compacted.1\""),
        ("UPDATE log SET blob = 'gone' WHERE seq = 2", "blob gone: an entry names it and it is missing"),
        ("UPDATE log SET session_id = 'x' WHERE seq = 4", "Expected a string starting with \"ses\""),
        ("UPDATE part SET data = 'x'", "part prt_x: expected value"),
        ("DELETE FROM message", "part prt_x: what it belongs to is missing"),
        ("DELETE FROM session", "message msg_1: what it belongs to is missing"),
        ("UPDATE blob SET data = x'00'", "its bytes are not those of its hash"),
        ("DELETE FROM log WHERE seq = 4", "head: it is at 4, the log at 3"),
        ("UPDATE head SET position = 9", "head: it is at 9, the log at 4"),
        ("UPDATE head SET horizon = 9", "horizon: it is at 9, the log ends at 4"),
        ("UPDATE part SET position = 9", "part prt_x: the entry 9 that wrote this part is missing"),
        (
            "UPDATE log SET session_id = 'ses_b' WHERE seq = 3",
            "part prt_x: its position 3 is that of an entry of ses_b",
        ),
    ];
    for (change, expected) in cases {
        let found = findings(change).await;
        if expected.is_empty() {
            assert_eq!(found, [""; 0], "{change}");
        } else {
            assert!(found.iter().any(|finding| finding.contains(expected)), "{change}: {found:?}");
        }
    }
}

#[tokio::test]
async fn a_horizon_that_was_raised_past_growth_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    let draft = Draft::new("a", 0).session("s").message("1", 2, 1).open_part("1", "x", 3);
    let draft = draft.grew("1", "x", "a").idled().grew("1", "x", "b").part("1", "x", 3, "ab");
    store.commit(draft.commit).await.unwrap();
    assert_eq!(store.verify(|_| {}).await.unwrap().findings, []);
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();

    raw.execute_batch("UPDATE head SET horizon = 7").unwrap();

    let found = store.verify(|_| {}).await.unwrap().findings;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].what, "it is at 7, and ses_a has growth before it");
}

#[tokio::test]
async fn progress_is_told_through_all_stages() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    store.commit(Draft::new("a", 0).session("s").message("1", 2, 1).commit).await.unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));

    let tell = Arc::clone(&told);
    let report = store.verify(move |progress| tell.lock().unwrap().push(progress)).await.unwrap();

    assert_eq!((report.entries, report.rows, report.blobs), (2, 2, 0));
    let told = told.lock().unwrap();
    assert_eq!(told.first(), Some(&Progress { stage: Stage::File, done: 0, total: 1 }));
    assert_eq!(told.last(), Some(&Progress { stage: Stage::Blobs, done: 0, total: 0 }));
    assert!(told.contains(&Progress { stage: Stage::Entries, done: 2, total: 2 }));
}
