//! Removal takes what it says and leaves the rest.

use crate::bench::{Draft, msg, part_json, prt, ses};
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
    async fn a_removed_session_leaves_only_the_news_of_it(store: Store) {
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
