//! Folding removes closed growth and nothing else.

use crate::bench::{Draft, msg, open, part_json, ses};
use std::collections::BTreeSet;
use sturdy_store::{Folded, Subject};

fn kinds(entries: &[sturdy_store::LogEntry]) -> usize {
    entries.iter().filter(|entry| entry.kind == "text.grew.1").count()
}

stores! {
    async fn growth_of_closed_parts_is_folded_and_the_horizon_moves(store: Store) {
        let draft = Draft::new("a", 0).session("s").message("1", 2, 1).open_part("1", "x", 3);
        let draft = draft.grew("1", "x", "Hel").grew("1", "x", "lo").part("1", "x", 3, "Hello");
        store.commit(draft.commit).await.unwrap();

        let folded = store.fold(u64::MAX).await.unwrap();

        assert_eq!(folded, Folded { removed: 2, horizon: 7, is_done: true });
        assert_eq!(store.horizon().await.unwrap(), 7);
        assert_eq!(kinds(&store.log_after(0, 10).await.unwrap()), 0);
        assert_eq!(store.parts_of(&ses("a"), &msg("1")).await.unwrap(), [part_json("x", "Hello")]);
        assert_eq!(store.commit(Draft::new("a", 6).idled().commit).await.unwrap().seq, 7);
        assert_eq!(store.fold(4).await.unwrap(), Folded { removed: 0, horizon: 7, is_done: true });
    }

    async fn growth_of_open_parts_stays_and_holds_the_horizon(store: Store) {
        let closed = Draft::new("a", 0).session("s").message("1", 2, 1).open_part("1", "x", 3).grew("1", "x", "old");
        store.commit(closed.part("1", "x", 3, "old").commit).await.unwrap();
        let open = Draft::new("b", 0).session("s").message("2", 2, 1).open_part("2", "y", 3).grew("2", "y", "new");
        store.commit(open.commit).await.unwrap();

        let folded = store.fold(u64::MAX).await.unwrap();

        assert_eq!(folded, Folded { removed: 1, horizon: 8, is_done: true });
        assert_eq!(store.parts_of(&ses("b"), &msg("2")).await.unwrap(), [part_json("y", "new")]);
    }

    async fn an_open_part_of_a_quarantined_session_keeps_its_growth_and_holds_nobody_up(store: Store) {
        let open = Draft::new("a", 0).session("s").message("1", 2, 1).open_part("1", "x", 3);
        store.commit(open.grew("1", "x", "left ").grew("1", "x", "open").commit).await.unwrap();
        let closed = Draft::new("b", 0).session("s").message("2", 2, 1).open_part("2", "y", 3).grew("2", "y", "old");
        store.commit(closed.part("2", "y", 3, "old").commit).await.unwrap();
        let quarantined = BTreeSet::from([ses("a")]);

        // Was: the log behind the part was never folded again.
        assert_eq!(store.fold(u64::MAX).await.unwrap(), Folded { removed: 0, horizon: 3, is_done: true });
        let folded = store.fold_past(u64::MAX, &quarantined).await.unwrap();

        assert_eq!(folded, Folded { removed: 1, horizon: 11, is_done: true });
        assert_eq!(store.parts_of(&ses("a"), &msg("1")).await.unwrap(), [part_json("x", "left open")]);
        assert_eq!(store.verify(|_| {}).await.unwrap().findings, []);
    }

    async fn growth_after_the_given_position_stays(store: Store) {
        let draft = Draft::new("a", 0).session("s").message("1", 2, 1).open_part("1", "x", 3);
        let draft = draft.grew("1", "x", "a").grew("1", "x", "b").part("1", "x", 3, "ab");
        store.commit(draft.commit).await.unwrap();

        assert_eq!(store.fold(5).await.unwrap(), Folded { removed: 1, horizon: 5, is_done: true });
        assert_eq!(kinds(&store.entries_of(&ses("a")).await.unwrap()), 1);
    }

    async fn folding_goes_in_slices_and_gives_space_back(store: Store) {
        let mut draft = Draft::new("a", 0).session("s").message("1", 2, 1).open_part("1", "x", 3);
        for _ in 0..5_000 {
            draft = draft.grew("1", "x", &"x".repeat(200));
        }
        store.commit(draft.part("1", "x", 3, "whole").commit).await.unwrap();
        let before = store.sizes().await.unwrap();

        let slice = store.fold_slice(u64::MAX, &BTreeSet::new()).await.unwrap();
        assert!(!slice.is_done && slice.removed < 5_000, "{slice:?}");
        let folded = store.fold(u64::MAX).await.unwrap();

        assert_eq!(slice.removed + folded.removed, 5_000);
        let after = store.sizes().await.unwrap();
        assert_eq!(after.entries, 4);
        assert!(after.database_bytes < before.database_bytes / 2, "{before:?} {after:?}");
    }

    async fn a_time_is_found_in_the_log(store: Store) {
        for (expected, at) in (0..).zip([100, 200, 200, 300]) {
            store.commit(Draft::new("a", expected).at(at).idled().commit).await.unwrap();
        }

        let mut found = Vec::new();
        for time in [0, 100, 101, 200, 300, 301] {
            found.push(store.position_at(time).await.unwrap());
        }

        assert_eq!(found, [0, 0, 2, 2, 4, 5]);
    }

    // Was: the last report of one was folded away when the other had a later one, and so was the last sum of a turn.
    async fn what_two_sessions_say_of_one_id_is_kept_for_each(store: Store) {
        let said = r#"{"part":"prt_1"}"#;
        let [report, _] = sturdy_session::growth::SUPERSEDED;
        let mut positions = Vec::new();
        for session in ["a", "b"] {
            let draft = Draft::new(session, 0).session("s").fact(report, said).about("prt_1");
            let draft = draft.fact(report, said).about("prt_1").idled();
            positions.push(store.commit(draft.commit).await.unwrap().first_position);
        }

        let folded = store.fold(u64::MAX).await.unwrap();

        assert_eq!(folded.removed, 2, "the first of each");
        for (session, first) in ["a", "b"].into_iter().zip(positions) {
            let subject = Subject { session: ses(session), id: "prt_1".to_owned(), before: u64::MAX };
            let about = store.entries_about(vec![subject]).await.unwrap().remove(0);
            let found: Vec<_> = about.iter().map(|entry| (entry.session.clone(), entry.position)).collect();
            assert_eq!(found, [(ses(session), first + 2)]);
        }
    }

    async fn the_last_entry_of_a_session_is_never_folded(store: Store) {
        store.commit(Draft::new("a", 0).session("s").grew("1", "x", "late").commit).await.unwrap();

        store.fold(u64::MAX).await.unwrap();

        assert_eq!(store.seq(&ses("a")).await.unwrap(), 2);
        assert_eq!(store.commit(Draft::new("a", 2).idled().commit).await.unwrap().seq, 3);
    }
}

fn write_ahead_log_bytes(directory: &tempfile::TempDir) -> u64 {
    std::fs::metadata(directory.path().join("sturdy.db-wal")).map_or(0, |file| file.len())
}

#[tokio::test]
async fn the_write_ahead_log_is_given_back_and_nobody_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    store.commit(Draft::new("a", 0).session("s").commit).await.unwrap();
    assert!(write_ahead_log_bytes(&directory) > 0);
    let reader = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM session").unwrap();

    store.commit(Draft::new("a", 1).idled().commit).await.unwrap();
    store.give_log_back().await.unwrap();
    assert!(write_ahead_log_bytes(&directory) > 0, "somebody reads from it");
    reader.execute_batch("COMMIT").unwrap();
    store.give_log_back().await.unwrap();

    assert_eq!(write_ahead_log_bytes(&directory), 0);
    assert_eq!(store.commit(Draft::new("a", 2).idled().commit).await.unwrap().seq, 3);
    assert_eq!(store.entries_of(&ses("a")).await.unwrap().len(), 3);
}
