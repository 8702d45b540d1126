//! What is long takes less room on disk, and reads as if it did not.

use crate::bench::{Draft, msg, open, part_json, ses};
use proptest::prelude::*;
use serde_json::json;
use sturdy_store::{DAMAGED, ENTRY_BYTES_MAX};

fn answer_of(lines: usize) -> String {
    (0..lines).map(|line| format!("Line {line} of an answer says what was found. ")).collect()
}

fn raw(directory: &tempfile::TempDir) -> rusqlite::Connection {
    rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap()
}

fn stored_bytes(directory: &tempfile::TempDir) -> i64 {
    let sum = "SELECT SUM(LENGTH(data) + COALESCE(LENGTH(packed), 0)) FROM log";
    raw(directory).query_row(sum, (), |row| row.get(0)).unwrap()
}

fn replied(answer: &str) -> String {
    json!({ "request": "que_1", "answers": [[answer]] }).to_string()
}

#[tokio::test]
async fn a_long_entry_takes_less_room_and_reads_byte_for_byte() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    let data = replied(&answer_of(200));
    store.commit(Draft::new("a", 0).fact("question.replied.1", &data).commit).await.unwrap();

    assert_eq!(store.log_after(0, 10).await.unwrap()[0].data, data);
    assert_eq!(store.entries_of(&ses("a")).await.unwrap()[0].data, data);
    let stored = stored_bytes(&directory);
    assert!(stored < data.len() as i64 / 2, "{stored} of {}", data.len());
    assert_eq!(store.verify(|_| {}).await.unwrap().findings, []);
}

#[tokio::test]
async fn data_that_compression_does_not_shrink_is_stored_as_plain_text() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    let random: String = (0..3000_u32).map(|at| char::from(b'!' + (blake3_byte(at) % 90))).collect();
    for (session, data) in [("a", replied("a few words")), ("b", replied(&random))] {
        store.commit(Draft::new(session, 0).fact("question.replied.1", &data).commit).await.unwrap();

        let kept: String = raw(&directory)
            .query_row("SELECT data FROM log ORDER BY position DESC LIMIT 1", (), |row| row.get(0))
            .unwrap();
        assert_eq!(kept, data);
    }
}

fn blake3_byte(number: u32) -> u8 {
    blake3::hash(&number.to_le_bytes()).as_bytes()[0]
}

#[tokio::test]
async fn growth_that_is_packed_is_added_like_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    let piece = answer_of(100);
    let draft = Draft::new("a", 0).session("s").message("1", 2, 1).open_part("1", "x", 3);
    store.commit(draft.grew("1", "x", &piece).grew("1", "x", "end").commit).await.unwrap();

    assert!(stored_bytes(&directory) < piece.len() as i64);
    assert_eq!(store.parts_of(&ses("a"), &msg("1")).await.unwrap(), [part_json("x", &format!("{piece}end"))]);
}

#[tokio::test]
async fn a_large_blob_takes_less_room_and_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    let bytes = answer_of(10_000).into_bytes();

    let hash = store.put_blob(bytes.clone()).await.unwrap();

    assert_eq!(hash, blake3::hash(&bytes).to_hex().as_str());
    assert_eq!(store.blob(&hash).await.unwrap(), Some(bytes.clone()));
    assert_eq!(store.sizes().await.unwrap().blob_bytes, bytes.len() as u64);
    let stored: i64 =
        raw(&directory).query_row("SELECT LENGTH(data) FROM blob", (), |row| row.get(0)).unwrap();
    assert!(stored < bytes.len() as i64 / 2, "{stored}");
    assert_eq!(store.verify(|_| {}).await.unwrap().findings, []);
}

// Packing it would hold up the commits of all sessions.
#[tokio::test]
async fn a_very_large_blob_is_stored_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    let bytes = vec![b'x'; 1024 * 1024 + 1];

    let hash = store.put_blob(bytes.clone()).await.unwrap();

    let stored: Vec<u8> = raw(&directory).query_row("SELECT data FROM blob", (), |row| row.get(0)).unwrap();
    assert!(stored == bytes, "{} bytes are stored", stored.len());
    assert_eq!(store.blob(&hash).await.unwrap(), Some(bytes));
}

/// What `verify` finds, and what a reader of the log is given, after the only entry was spoilt.
async fn spoilt(change: &str, values: &[&dyn rusqlite::ToSql]) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    let data = replied(&answer_of(200));
    store.commit(Draft::new("a", 0).fact("question.replied.1", &data).commit).await.unwrap();
    assert_eq!(raw(&directory).execute(change, values).unwrap(), 1);

    let found = store.verify(|_| {}).await.unwrap().findings;
    let found = found.into_iter().map(|one| format!("{}: {}", one.place, one.what)).collect::<Vec<_>>();
    (found.join("; "), store.log_after(0, 10).await.unwrap().remove(0).kind)
}

#[tokio::test]
async fn a_packed_entry_that_is_spoilt_is_found_and_shown_as_damaged() {
    let cut = "UPDATE log SET packed = SUBSTR(packed, 1, LENGTH(packed) - 9)";
    let turned = "UPDATE log SET packed = CAST(SUBSTR(packed, 1, 40) || x'00' || SUBSTR(packed, 42) AS BLOB)";
    for change in [cut, turned] {
        let (found, kind) = spoilt(change, &[]).await;
        assert!(found.starts_with("log entry 1: "), "{change}: {found}");
        assert_eq!(kind, DAMAGED);
    }
}

// A few kilobytes can be made to hold gigabytes.
#[tokio::test]
async fn an_entry_that_would_unpack_to_more_than_any_can_hold_is_not_unpacked() {
    let nothing = vec![0_u8; 10 * ENTRY_BYTES_MAX];
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    store.put_blob(nothing).await.unwrap();
    let bomb: Vec<u8> = raw(&directory).query_row("SELECT data FROM blob", (), |row| row.get(0)).unwrap();
    assert!(bomb.len() < ENTRY_BYTES_MAX);

    let (found, kind) = spoilt("UPDATE log SET packed = ?1", &[&bomb]).await;

    assert_eq!(found, format!("log entry 1: it holds more than {ENTRY_BYTES_MAX} bytes"));
    assert_eq!(kind, DAMAGED);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_is_written_is_read(texts in prop::collection::vec("(\\PC{0,40}){0,120}", 1..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let directory = tempfile::tempdir().unwrap();
            let store = open(&directory).await;
            let mut draft = Draft::new("a", 0);
            let wanted: Vec<String> = texts.iter().map(|text| replied(text)).collect();
            for data in &wanted {
                draft = draft.fact("question.replied.1", data);
            }
            store.commit(draft.commit).await.unwrap();
            store.close().await;
            let store = open(&directory).await;
            let read = store.entries_of(&ses("a")).await.unwrap();
            assert_eq!(read.into_iter().map(|entry| entry.data).collect::<Vec<_>>(), wanted);
        });
    }
}
