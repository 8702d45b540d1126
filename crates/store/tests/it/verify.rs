//! `verify` finds what is not as promised.

use crate::bench::{Draft, open};
use crate::share;
use std::sync::{Arc, Mutex};
use sturdy_store::share::Scope;
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

/// What is found after `change` was made to a sound store of shares behind its back.
async fn share_findings(change: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    share::create(&store).await;
    share::narrowed(&store, "viewer", Scope::VIEWER, |_| {}).await;
    let mut sender = share::Sender::new("wr_1");
    for number in 0..3 {
        let batch = sender.seal(vec![share::message(&format!("msg_{number}"), "text")]);
        share::append(&store, &batch).await.unwrap();
    }
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    raw.execute_batch(change).unwrap();

    let report = store.verify(|_| {}).await.unwrap();

    report.findings.into_iter().map(|finding| finding.what).collect()
}

#[tokio::test]
async fn every_broken_promise_of_a_share_is_found() {
    let cases = [
        ("SELECT 1", ""),
        ("DELETE FROM share_op WHERE cursor = 2", "its log does not hold what was applied"),
        ("UPDATE share SET cursor = 2", "its log reaches beyond its cursor"),
        ("UPDATE share_op SET seq = 1 WHERE cursor = 2", "a number of a writer was applied twice"),
        (
            "INSERT INTO share_reject SELECT share_id, writer_id, 2, op_id, 'x', 'x' FROM share_op WHERE seq = 2",
            "a number of a writer was applied and rejected",
        ),
        ("UPDATE share_writer SET applied_seq = 2", "above the last number of its writer"),
        ("UPDATE share_writer SET applied_count = 4", "its writers have applied more"),
        ("UPDATE share_entity SET cursor = 9", "written after its cursor"),
        ("UPDATE share SET bytes = 1", "as many bytes as it counts"),
        ("UPDATE share SET deleted = 1", "it was deleted and something of it is left"),
        (
            "UPDATE share_capability SET scope = 7, parent_id = 'viewer', revoked = NULL WHERE cap_id = 'owner'",
            "wider than the right it was made of",
        ),
        (
            "INSERT INTO share_unsent VALUES ('ses_x', 'part', 'prt_x', 1, 1)",
            "a change of a session is noted",
        ),
    ];
    for (change, expected) in cases {
        let found = share_findings(change).await;
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
