//! What a session tells is numbered from 1 on, without a gap, entry by entry.

use crate::bench::{Draft, open, ses};
use sturdy_store::{Options, Store};

async fn numbers(store: &Store, session: &str) -> Vec<u64> {
    store.entries_of(&ses(session)).await.unwrap().iter().map(|entry| entry.told).collect()
}

/// The seq of the first entry that tells something behind a number.
async fn first_after(store: &Store, session: &str, told: u64) -> Option<u64> {
    let position = store.first_told_after(&ses(session), told).await.unwrap()?;
    let entries = store.entries_of(&ses(session)).await.unwrap();
    entries.iter().find(|entry| entry.position == position).map(|entry| entry.seq)
}

stores! {
    async fn every_session_numbers_what_it_tells_from_one_on(store: Store) {
        let first = Draft::new("a", 0).session("a").idled().telling(1).idled().telling(3).commit;
        store.commit(first).await.unwrap();
        store.commit(Draft::new("b", 0).session("b").telling(2).commit).await.unwrap();
        store.commit(Draft::new("a", 3).idled().idled().telling(1).commit).await.unwrap();

        assert_eq!(numbers(&store, "a").await, [0, 1, 4, 4, 5]);
        assert_eq!(numbers(&store, "b").await, [2]);
        let mut found = Vec::new();
        for told in 0..=6 {
            found.push(first_after(&store, "a", told).await);
        }
        assert_eq!(found, [Some(2), Some(3), Some(3), Some(3), Some(5), None, None]);
        assert_eq!(first_after(&store, "nobody", 0).await, None);
    }
}

#[tokio::test]
async fn a_session_of_an_older_version_goes_on_behind_the_numbers_it_has_given() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    store.commit(Draft::new("a", 0).session("a").idled().idled().commit).await.unwrap();
    store.close().await;
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    raw.execute_batch("UPDATE log SET told = NULL").unwrap();
    drop(raw);

    let store = Store::open(Options::new(directory.path())).await.unwrap();
    store.commit(Draft::new("a", 3).idled().telling(2).commit).await.unwrap();

    assert_eq!(numbers(&store, "a").await, [64, 128, 192, 194]);
    assert_eq!(first_after(&store, "a", 128).await, Some(3));
    assert_eq!(first_after(&store, "a", 193).await, Some(4));
}
