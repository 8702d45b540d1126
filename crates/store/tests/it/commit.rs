//! Commits: order, conflicts, groups.

use crate::bench::{Draft, ses};
use std::sync::{Arc, Mutex};
use sturdy_store::{CommitError, Committed};

stores! {
    async fn a_commit_is_read_back_in_its_place(store: Store) {
        let first = store.commit(Draft::new("a", 0).idled().idled().commit).await.unwrap();
        let second = store.commit(Draft::new("b", 0).at(7).session("hello").commit).await.unwrap();

        assert_eq!(first, Committed { first_position: 1, seq: 2 });
        assert_eq!(second, Committed { first_position: 3, seq: 1 });
        assert_eq!(store.head(), 3);
        let entries = store.log_after(1, 10).await.unwrap();
        let places: Vec<_> = entries.iter().map(|e| (e.position, e.session.as_str(), e.seq, e.at)).collect();
        assert_eq!(places, [(2, "ses_a", 2, 1_000), (3, "ses_b", 1, 7)]);
        assert_eq!(entries[0].directory, None);
        assert_eq!(entries[1].directory.as_deref(), Some("/work"));
        assert_eq!(entries[1].project.as_deref(), Some("global"));
        assert_eq!(store.last_time().await.unwrap(), 1_000);
    }

    async fn the_second_writer_is_told_and_has_written_nothing(store: Store) {
        store.commit(Draft::new("a", 0).session("first").commit).await.unwrap();

        let second = store.commit(Draft::new("a", 0).session("second").commit).await;

        let Err(CommitError::Conflict { session, expected: 0, found: 1 }) = second else {
            panic!("not a conflict: {second:?}");
        };
        assert_eq!(session, ses("a"));
        assert_eq!(store.head(), 1);
        assert!(store.session(&ses("a")).await.unwrap().unwrap().contains("first"));
    }
}

stores! {
    async fn commits_of_one_session_chain_within_a_group(store: Store) {
        let (one, two, three) = tokio::join!(
            store.commit(Draft::new("a", 0).idled().commit),
            store.commit(Draft::new("a", 1).idled().idled().commit),
            store.commit(Draft::new("a", 3).idled().commit),
        );

        assert_eq!(one.unwrap(), Committed { first_position: 1, seq: 1 });
        assert_eq!(two.unwrap(), Committed { first_position: 2, seq: 3 });
        assert_eq!(three.unwrap(), Committed { first_position: 4, seq: 4 });
    }

    async fn a_commit_on_the_wrong_seq_fails_alone(store: Store) {
        let (before, wrong, after, same) = tokio::join!(
            store.commit(Draft::new("a", 0).idled().commit),
            store.commit(Draft::new("b", 7).session("never").commit),
            store.commit(Draft::new("c", 0).idled().commit),
            store.commit(Draft::new("b", 0).session("there").commit),
        );

        assert_eq!(before.unwrap().first_position, 1);
        assert!(matches!(wrong, Err(CommitError::Conflict { expected: 7, found: 0, .. })), "{wrong:?}");
        assert_eq!(after.unwrap().first_position, 2);
        assert_eq!(same.unwrap(), Committed { first_position: 3, seq: 1 });
        assert!(store.session(&ses("b")).await.unwrap().unwrap().contains("there"));
    }

    async fn what_waits_is_written_in_one_transaction(store: Store) {
        let mut tasks = tokio::task::JoinSet::new();
        // The committer is busy with this while the others queue up.
        let busy = store.clone();
        tasks.spawn(async move { busy.put_blob(vec![7; 8 << 20]).await.map(|_| 0) });
        for n in 0..200 {
            let store = store.clone();
            tasks.spawn(async move {
                let committed = store.commit(Draft::new(&n.to_string(), 0).idled().commit).await?;
                Ok(committed.first_position)
            });
        }

        let mut positions = Vec::new();
        while let Some(position) = tasks.join_next().await {
            positions.push(position.unwrap().unwrap());
        }

        positions.sort_unstable();
        assert_eq!(positions, (0..=200).collect::<Vec<_>>());
        assert!(store.transactions() < 100, "{} transactions for 200 commits", store.transactions());
    }

    async fn more_callers_than_the_queue_has_room_for_all_get_their_turn(store: Store) {
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..3_000 {
            let store = store.clone();
            tasks.spawn(async move { store.commit(Draft::new(&n.to_string(), 0).idled().commit).await });
        }

        while let Some(committed) = tasks.join_next().await {
            committed.unwrap().unwrap();
        }

        assert_eq!(store.head(), 3_000);
    }

    async fn a_caller_that_stops_waiting_has_still_committed(store: Store) {
        {
            let commit = store.commit(Draft::new("a", 0).idled().commit);
            tokio::select! {
                biased;
                _ = commit => panic!("answered before it was written"),
                () = std::future::ready(()) => {}
            }
        }

        let next = store.commit(Draft::new("b", 0).idled().commit).await.unwrap();

        assert_eq!(next.first_position, 2);
        assert_eq!(store.seq(&ses("a")).await.unwrap(), 1);
    }

    async fn a_session_log_has_only_its_own_entries(store: Store) {
        store.commit(Draft::new("a", 0).idled().idled().commit).await.unwrap();
        store.commit(Draft::new("b", 0).idled().commit).await.unwrap();
        store.commit(Draft::new("a", 2).idled().commit).await.unwrap();

        let entries = store.session_log(&ses("a"), 1, 10).await.unwrap();

        let places: Vec<_> = entries.iter().map(|entry| (entry.position, entry.seq)).collect();
        assert_eq!(places, [(2, 2), (4, 3)]);
        assert_eq!(store.session_log(&ses("a"), 0, 1).await.unwrap().len(), 1);
        assert_eq!(store.entries_of(&ses("a")).await.unwrap().len(), 3);
    }

    async fn commits_are_told_of_in_the_order_of_positions_before_they_are_answered(store: Store) {
        let told = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..100 {
            let store = store.clone();
            let told = Arc::clone(&told);
            tasks.spawn(async move {
                let tell = Arc::clone(&told);
                let on_durable = Box::new(move |committed: Committed| tell.lock().unwrap().push(committed));
                let commit = Draft::new(&n.to_string(), 0).idled().commit;
                let committed = store.commit_then(commit, on_durable).await.unwrap();
                assert!(told.lock().unwrap().contains(&committed));
            });
        }
        while let Some(task) = tasks.join_next().await {
            task.unwrap();
        }

        let told: Vec<_> = told.lock().unwrap().iter().map(|committed| committed.first_position).collect();
        assert_eq!(told, (1..=100).collect::<Vec<_>>());
    }

    async fn time_goes_on_from_the_latest_entry_ever(store: Store) {
        store.commit(Draft::new("a", 0).at(9_000).idled().commit).await.unwrap();
        store.commit(Draft::new("b", 0).at(50).idled().commit).await.unwrap();

        assert_eq!(store.last_time().await.unwrap(), 9_000);
    }
}

/// The net under the lock: somebody writes past it.
#[tokio::test]
async fn a_writer_that_ignores_the_lock_causes_a_conflict_and_nothing_mixed() {
    let directory = tempfile::tempdir().unwrap();
    let store = crate::bench::open(&directory).await;
    store.commit(Draft::new("a", 0).idled().commit).await.unwrap();
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    raw.execute_batch(
        "BEGIN IMMEDIATE;
         INSERT INTO log (position, session_id, seq, kind, at, data) VALUES (2, 'ses_a', 2, 'session.compacted.1', 1, '{}');
         UPDATE head SET position = 2;
         COMMIT;",
    )
    .unwrap();

    let (before, stale, after) = tokio::join!(
        store.commit(Draft::new("b", 0).idled().commit),
        store.commit(Draft::new("a", 1).session("never").commit),
        store.commit(Draft::new("c", 0).idled().commit),
    );
    let fresh = store.commit(Draft::new("a", 2).idled().commit).await;

    assert!(matches!(stale, Err(CommitError::Conflict { expected: 1, found: 2, .. })), "{stale:?}");
    assert_eq!((before.unwrap().seq, after.unwrap().seq), (1, 1));
    assert_eq!(fresh.unwrap(), Committed { first_position: 5, seq: 3 });
    assert_eq!(store.session(&ses("a")).await.unwrap(), None);
    assert_eq!(store.verify(|_| {}).await.unwrap().findings, []);
}
