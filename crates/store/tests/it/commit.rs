//! Commits: order, conflicts, groups.

use crate::bench::{Draft, ses};
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
