//! Removal takes what it says and leaves the rest.

use crate::bench::{Draft, msg, open, part_json, prt, ses};
use sturdy_session::row::{AskKind, AskRow, RowChange};
use sturdy_store::{CommitError, MessageQuery, SessionRows};

fn full(session: &str) -> Draft {
    let id = ses(session);
    let ask = AskRow {
        id: format!("per_{session}"),
        session_id: id.clone(),
        kind: AskKind::Permission,
        data: "{}".into(),
    };
    Draft::new(session, 0)
        .session("s")
        .message(session, 2, 1)
        .part(session, session, 3, "text")
        .row(RowChange::Ask(ask))
        .row(RowChange::Todos { session: id, data: "[]".to_owned() })
}

stores! {
    async fn a_removed_session_leaves_only_the_entry_of_its_removal(store: Store) {
        store.commit(full("a").commit).await.unwrap();
        store.commit(full("b").commit).await.unwrap();
        let info = r#"{"info":{"id":"ses_a","slug":"s","projectID":"global","directory":"/work","title":"s",
            "version":"1","time":{"created":1,"updated":1}}}"#;
        let removal = Draft::new("a", 3).fact("session.removed.1", info).row(RowChange::RemoveSession(ses("a")));
        store.commit(removal.commit).await.unwrap();

        assert_eq!(store.rows_of_session(&ses("a")).await.unwrap(), SessionRows::default());
        assert_eq!(store.load(&ses("a")).await.unwrap(), None);
        let entries = store.log_after(0, 100).await.unwrap();
        let left: Vec<_> = entries.iter().map(|entry| (entry.session.as_str(), entry.seq)).collect();
        assert_eq!(left, [("ses_b", 1), ("ses_b", 2), ("ses_b", 3), ("ses_a", 4)]);
        assert_eq!(store.rows_of(&ses("a"), &[msg("a")], &[prt("a")]).await.unwrap().parts, []);
        let other = store.rows_of_session(&ses("b")).await.unwrap();
        assert!(other.session.is_some() && other.todos.is_some());
        assert_eq!((other.messages.len(), other.parts.len(), other.asks.len()), (1, 1, 1));
    }

    async fn nothing_is_created_below_a_session_that_was_removed(store: Store) {
        let below = |child: &str, parent: &str| {
            let mut draft = Draft::new(child, 0).session("child");
            draft.commit.parent = Some(Box::new(ses(parent)));
            draft.commit
        };
        let info = r#"{"info":{"id":"ses_a","slug":"s","projectID":"global","directory":"/work","title":"s",
            "version":"1","time":{"created":1,"updated":1}}}"#;
        let removal = |seq| {
            Draft::new("a", seq).fact("session.removed.1", info).row(RowChange::RemoveSession(ses("a"))).commit
        };
        store.commit(below("early", "nobody")).await.unwrap();
        let seq = store.commit(full("a").commit).await.unwrap().seq;

        // All at once, so that they are judged before the first of them is written.
        let (before, removed, after, again, below_new) = tokio::join!(
            store.commit(below("before", "a")),
            store.commit(removal(seq)),
            store.commit(below("after", "a")),
            store.commit(Draft::new("a", seq + 1).session("again").commit),
            store.commit(below("new", "a")),
        );

        before.unwrap();
        removed.unwrap();
        assert!(matches!(&after, Err(CommitError::ParentRemoved(parent)) if *parent == ses("a")), "{after:?}");
        let seq = again.unwrap().seq;
        below_new.unwrap();
        store.commit(removal(seq)).await.unwrap();
        let late = store.commit(below("late", "a")).await;
        assert!(matches!(late, Err(CommitError::ParentRemoved(_))), "{late:?}");
    }

    // Was: every commit of others waited until all of it was removed.
    async fn what_a_long_session_left_is_removed_in_slices_behind_its_removal(store: Store) {
        let mut draft = full("a");
        for n in 0..2_500 {
            draft = draft.message(&format!("m{n}"), 4, 1).part(&format!("m{n}"), &format!("p{n}"), 5, "text");
        }
        let seq = store.commit(draft.commit).await.unwrap().seq;
        let info = r#"{"info":{"id":"ses_a","slug":"s","projectID":"global","directory":"/work","title":"s",
            "version":"1","time":{"created":1,"updated":1}}}"#;
        let removal = Draft::new("a", seq).fact("session.removed.1", info).row(RowChange::RemoveSession(ses("a")));

        let (removed, other, again) = tokio::join!(
            store.commit(removal.commit),
            store.commit(full("b").commit),
            store.commit(Draft::new("a", seq + 1).session("again").commit),
        );

        removed.unwrap();
        other.unwrap();
        assert_eq!(again.unwrap().seq, seq + 2);
        let rows = store.rows_of_session(&ses("a")).await.unwrap();
        assert_eq!((rows.messages.len(), rows.parts.len()), (0, 0), "a session whose id is used again is a new one");
        let left: Vec<u64> = store.session_log(&ses("a"), 0, 10).await.unwrap().iter().map(|entry| entry.seq).collect();
        assert_eq!(left, [seq + 1, seq + 2]);
    }

    async fn what_a_long_session_left_goes_while_others_commit(store: Store) {
        let mut draft = full("a");
        for n in 0..2_500 {
            draft = draft.message(&format!("m{n}"), 4, 1).part(&format!("m{n}"), &format!("p{n}"), 5, "text");
        }
        let seq = store.commit(draft.commit).await.unwrap().seq;
        let info = r#"{"info":{"id":"ses_a","slug":"s","projectID":"global","directory":"/work","title":"s",
            "version":"1","time":{"created":1,"updated":1}}}"#;
        let removal = Draft::new("a", seq).fact("session.removed.1", info).row(RowChange::RemoveSession(ses("a")));
        store.commit(removal.commit).await.unwrap();

        for seq in 0..20 {
            store.commit(Draft::new("b", seq).idled().commit).await.unwrap();
        }

        let sizes = store.sizes().await.unwrap();
        assert_eq!((sizes.parts, sizes.entries), (0, 21));
    }

    async fn an_id_that_is_used_again_goes_on_counting(store: Store) {
        store.commit(full("a").commit).await.unwrap();
        let info = r#"{"info":{"id":"ses_a","slug":"s","projectID":"global","directory":"/work","title":"s",
            "version":"1","time":{"created":1,"updated":1}}}"#;
        let removal = Draft::new("a", 3).fact("session.removed.1", info).row(RowChange::RemoveSession(ses("a")));
        store.commit(removal.commit).await.unwrap();

        let restarted = store.commit(Draft::new("a", 0).session("again").commit).await;
        assert!(matches!(restarted, Err(CommitError::Conflict { found: 4, .. })), "{restarted:?}");
        assert_eq!(store.seq(&ses("a")).await.unwrap(), 4);
        assert_eq!(store.commit(Draft::new("a", 4).session("again").commit).await.unwrap().seq, 5);
    }

    async fn what_a_removed_session_kept_in_blobs_is_collected_and_its_space_given_back(store: Store) {
        let large = |text: &str| format!(r#"{{"name":"{}","arguments":"","message":"msg_x"}}"#, text.repeat(100_000));
        let shared = large("s");
        let own = large("o");
        for session in ["a", "b"] {
            let draft = full(session).fact("command.executed.1", &shared);
            store.commit(draft.commit).await.unwrap();
        }
        store.commit(Draft::new("a", 4).fact("command.executed.1", &own).commit).await.unwrap();
        assert_eq!(store.sizes().await.unwrap().blobs, 2);
        let info = r#"{"info":{"id":"ses_a","slug":"s","projectID":"global","directory":"/work","title":"s",
            "version":"1","time":{"created":1,"updated":1}}}"#;
        let removal = Draft::new("a", 5).fact("session.removed.1", info).row(RowChange::RemoveSession(ses("a")));
        store.commit(removal.commit).await.unwrap();

        let first = store.collect_blobs("").await.unwrap();
        let rest = store.collect_blobs(first.next.as_deref().unwrap()).await.unwrap();
        while store.give_space_back().await.unwrap() {}

        assert_eq!((first.removed, rest.removed, rest.next), (1, 0, None));
        let sizes = store.sizes().await.unwrap();
        assert_eq!((sizes.blobs, sizes.free_bytes), (1, 0));
        assert_eq!(store.session_log(&ses("b"), 3, 1).await.unwrap()[0].data, shared, "b still names it");
    }

    async fn a_removed_message_takes_its_parts_along(store: Store) {
        let draft = full("a").message("2", 4, 1).part("2", "y", 5, "stays");
        let draft = draft.idled().row(RowChange::RemoveMessage(msg("a")));
        store.commit(draft.commit).await.unwrap();

        let page = store.messages(&ses("a"), MessageQuery::default()).await.unwrap();
        assert_eq!(page.items.len(), 1);
        assert_eq!(page.items[0].parts, [part_json("y", "stays")]);
        assert_eq!(store.rows_of(&ses("a"), &[], &[prt("a")]).await.unwrap().parts, []);
    }

    async fn a_removed_part_goes_alone(store: Store) {
        let draft = full("a").part("a", "y", 5, "stays").idled().row(RowChange::RemovePart(prt("a")));
        store.commit(draft.commit).await.unwrap();

        assert_eq!(store.parts_of(&ses("a"), &msg("a")).await.unwrap(), [part_json("y", "stays")]);
    }
}

#[tokio::test]
async fn a_removal_that_was_cut_off_is_ended_by_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    let mut draft = full("a");
    for n in 0..2_500 {
        draft = draft.message(&format!("m{n}"), 4, 1).part(&format!("m{n}"), &format!("p{n}"), 5, "text");
    }
    let seq = store.commit(draft.commit).await.unwrap().seq;
    store.commit(full("b").commit).await.unwrap();
    let info = r#"{"info":{"id":"ses_a","slug":"s","projectID":"global","directory":"/work","title":"s",
        "version":"1","time":{"created":1,"updated":1}}}"#;
    let removal =
        Draft::new("a", seq).fact("session.removed.1", info).row(RowChange::RemoveSession(ses("a")));

    // Killed right behind the removal, before a further slice or after it.
    let (removed, ()) = tokio::join!(store.commit(removal.commit), store.clone().die());
    removed.unwrap();
    drop(store);
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    let count = |statement: &str| raw.query_row(statement, (), |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT COUNT(*) FROM session WHERE id = 'ses_a'"), 0);
    assert_eq!(count("SELECT COUNT(*) FROM removal WHERE session_id = 'ses_a'"), 1, "what is left is listed");
    let parts_left = count("SELECT COUNT(*) FROM part WHERE session_id = 'ses_a'");
    let entries_left = count("SELECT COUNT(*) FROM log WHERE session_id = 'ses_a'");
    assert!(parts_left > 0, "it was not cut off");
    assert!(entries_left < 1 + seq as i64, "no slice was removed with the session");
    drop(raw);
    let store = open(&directory).await;

    assert_eq!(store.verify(|_| {}).await.unwrap().findings, []);
    let sizes = store.sizes().await.unwrap();
    assert_eq!((sizes.sessions, sizes.messages, sizes.parts, sizes.entries), (1, 1, 1, 4));
    store.close().await;
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    let listed: i64 = raw.query_row("SELECT COUNT(*) FROM removal", (), |row| row.get(0)).unwrap();
    assert_eq!(listed, 0);
}

// Was: the session was forgotten, and one that was created again under its id was destroyed by the next start.
#[tokio::test]
async fn a_session_that_is_created_again_outlives_a_removal_that_was_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    let mut draft = full("a");
    for n in 0..1_500 {
        draft = draft.message(&format!("m{n}"), 4, 1).part(&format!("m{n}"), &format!("p{n}"), 5, "text");
    }
    let seq = store.commit(draft.commit).await.unwrap().seq;
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE DELETE ON part WHEN old.id = 'prt_p1'
        BEGIN SELECT RAISE(ABORT, 'refused'); END";
    raw.execute_batch(refuse).unwrap();
    let info = r#"{"info":{"id":"ses_a","slug":"s","projectID":"global","directory":"/work","title":"s",
        "version":"1","time":{"created":1,"updated":1}}}"#;
    let removal =
        Draft::new("a", seq).fact("session.removed.1", info).row(RowChange::RemoveSession(ses("a")));
    store.commit(removal.commit).await.unwrap();
    // Commits are made behind the slices that are refused.
    for seq in 0..10 {
        store.commit(Draft::new("b", seq).idled().commit).await.unwrap();
    }
    let count = |statement: &str| raw.query_row(statement, (), |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT COUNT(*) FROM part WHERE id = 'prt_p1'"), 1, "it was not refused");
    assert_eq!(store.verify(|_| {}).await.unwrap().findings, [], "what will go is not called damaged");
    // Nobody is kept from opening the store by it.
    store.close().await;
    let store = open(&directory).await;
    raw.execute_batch("DROP TRIGGER refuse").unwrap();

    let again = Draft::new("a", seq + 1).session("again").message("new", 2, 1).part("new", "new", 3, "stays");
    store.commit(again.commit).await.unwrap();
    store.close().await;
    let store = open(&directory).await;

    let rows = store.rows_of_session(&ses("a")).await.unwrap();
    assert_eq!((rows.messages.len(), rows.parts.len()), (1, 1));
    assert_eq!(store.session_log(&ses("a"), 0, 10).await.unwrap().len(), 4);
    assert_eq!(store.verify(|_| {}).await.unwrap().findings, []);
}

// Was: parts without a session were taken for a removal that was cut off, and opening the store destroyed them.
#[tokio::test]
async fn a_session_whose_row_is_lost_keeps_its_parts_and_its_log() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory).await;
    store.commit(full("a").commit).await.unwrap();
    let before = store.sizes().await.unwrap();
    store.close().await;
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    raw.execute("DELETE FROM session", ()).unwrap();
    drop(raw);

    let store = open(&directory).await;

    let after = store.sizes().await.unwrap();
    assert_eq!((after.parts, after.entries), (before.parts, before.entries));
}
