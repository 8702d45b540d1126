//! Narrow rights to single sessions: they only narrow, and what is taken back stores nothing any more.

use crate::bench::{Draft, ses};
use proptest::prelude::*;
use std::sync::Arc;
use sturdy_store::grants::{
    GRANT_DEPTH_MAX, GRANTS_MAX, GrantCall, GrantKeeper, GrantQuery, GrantRow, GrantUse, NewGrant, Rights,
};
use sturdy_store::share::{Refusal, ShareError, SturdyRef};
use sturdy_store::{Commit, CommitError, Store};

const OWNER: GrantKeeper = GrantKeeper::Owner;

fn call(now: u64) -> GrantCall {
    GrantCall { now, actor: "user:ada".to_owned(), transport: "http", address: "127.0".to_owned() }
}

fn reference(name: &str) -> SturdyRef {
    SturdyRef::new(ses("a").as_str(), name, format!("secret-of-{name}"))
}

fn wanted(name: &str, rights: Rights) -> NewGrant {
    NewGrant { reference: reference(name), rights, expires: None, max_uses: None, label: name.to_owned() }
}

fn everything() -> Rights {
    Rights::READ.and(Rights::PROMPT).and(Rights::ANSWER)
}

async fn with_session(store: &Store) {
    store.commit(Draft::new("a", 0).at(1_000).session("One").commit).await.unwrap();
}

async fn granted(store: &Store, wanted: NewGrant) -> GrantRow {
    store.create_grant(call(1_000), wanted).await.unwrap()
}

fn holder(name: &str) -> GrantKeeper {
    GrantKeeper::Holder(name.to_owned())
}

fn refused<T: std::fmt::Debug>(outcome: Result<T, ShareError>) -> Refusal {
    match outcome {
        Err(ShareError::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// A commit at a time, made with a grant.
fn prompted(seq: u64, at: u64, grant: &str, right: Rights) -> Commit {
    let mut commit = Draft::new("a", seq).at(at).idled().commit;
    commit.grant = Some(GrantUse {
        grant: grant.to_owned(),
        right,
        method: "prompt",
        is_counted: true,
        actor: format!("grant:{grant}"),
        transport: "rpc",
        address: String::new(),
    });
    commit
}

async fn denied(store: &Store, commit: Commit) -> Refusal {
    let seq = store.seq(&commit.session).await.unwrap();
    let outcome = store.commit(commit.clone()).await;
    assert_eq!(store.seq(&commit.session).await.unwrap(), seq, "nothing was stored");
    match outcome {
        Err(CommitError::Denied(refusal)) => refusal,
        other => panic!("not denied: {other:?}"),
    }
}

stores! {
    async fn a_commit_is_refused_inside_its_transaction_when_its_grant_was_revoked(store: Store) {
        with_session(&store).await;
        granted(&store, wanted("g1", everything())).await;
        store.commit(prompted(1, 1_100, "g1", Rights::PROMPT)).await.unwrap();

        assert_eq!(store.revoke_grant(call(1_200), OWNER, "g1".to_owned()).await.unwrap(), 1);

        assert_eq!(denied(&store, prompted(2, 1_300, "g1", Rights::PROMPT)).await, Refusal::Revoked);
        // Somebody else goes on from where it was.
        store.commit(Draft::new("a", 2).idled().commit).await.unwrap();
    }

    async fn revocations_and_commits_at_once_have_one_order(store: Store) {
        with_session(&store).await;
        granted(&store, wanted("g1", everything())).await;

        let many = async {
            let mut made = 0;
            for _ in 0..20 {
                let seq = store.seq(&ses("a")).await.unwrap();
                made += u64::from(store.commit(prompted(seq, 1_100, "g1", Rights::PROMPT)).await.is_ok());
            }
            made
        };
        let (made, revoked) = tokio::join!(many, store.revoke_grant(call(1_200), OWNER, "g1".to_owned()));

        assert_eq!(revoked.unwrap(), 1);
        // What was made came before the revocation, and is counted.
        assert_eq!(store.entries_of(&ses("a")).await.unwrap().len() as u64, 1 + made);
        let rows = store.grants(1_300, OWNER, GrantQuery::default()).await.unwrap();
        assert_eq!(rows[0].used, made);
        let seq = store.seq(&ses("a")).await.unwrap();
        assert_eq!(denied(&store, prompted(seq, 1_300, "g1", Rights::PROMPT)).await, Refusal::Revoked);
    }

    async fn a_grant_ends_by_the_servers_clock(store: Store) {
        with_session(&store).await;
        granted(&store, NewGrant { expires: Some(2_000), ..wanted("g1", everything()) }).await;

        store.commit(prompted(1, 1_999, "g1", Rights::PROMPT)).await.unwrap();
        assert_eq!(denied(&store, prompted(2, 2_000, "g1", Rights::PROMPT)).await, Refusal::Expired);
        assert!(store.redeem_grant(1_999, reference("g1")).await.is_ok());
        assert_eq!(refused(store.redeem_grant(2_000, reference("g1")).await), Refusal::Expired);
        let past = NewGrant { expires: Some(999), ..wanted("g2", everything()) };
        assert_eq!(refused(store.create_grant(call(1_000), past).await).code(), "malformed");
    }

    async fn a_quota_is_counted_in_the_transaction_that_uses_it(store: Store) {
        with_session(&store).await;
        granted(&store, NewGrant { max_uses: Some(2), ..wanted("g1", everything()) }).await;
        store.commit(prompted(1, 1_100, "g1", Rights::PROMPT)).await.unwrap();
        store.commit(prompted(2, 1_200, "g1", Rights::ANSWER)).await.unwrap();

        assert_eq!(denied(&store, prompted(3, 1_300, "g1", Rights::PROMPT)).await.code(), "too_large");

        let mut stop = prompted(3, 1_300, "g1", Rights::PROMPT);
        stop.grant.as_mut().unwrap().is_counted = false;
        store.commit(stop).await.unwrap();
        let row = store.standing_grant(1_400, "g1".to_owned()).await.unwrap();
        assert_eq!((row.used, row.max_uses), (2, Some(2)));
    }

    // Was: whoever held a grant for two prompts made two hundred of it, each good for two.
    async fn what_is_used_of_a_narrower_grant_is_used_of_those_it_was_made_of(store: Store) {
        with_session(&store).await;
        granted(&store, NewGrant { max_uses: Some(3), ..wanted("top", everything()) }).await;
        for (parent, child) in [("top", "left"), ("top", "right"), ("left", "leaf")] {
            let wanted = wanted(child, everything());
            store.narrow_grant(call(1_000), holder(parent), parent.to_owned(), wanted).await.unwrap();
        }
        store.commit(prompted(1, 1_100, "leaf", Rights::PROMPT)).await.unwrap();
        store.commit(prompted(2, 1_100, "left", Rights::PROMPT)).await.unwrap();
        store.commit(prompted(3, 1_100, "top", Rights::PROMPT)).await.unwrap();

        for grant in ["top", "left", "right", "leaf"] {
            assert_eq!(denied(&store, prompted(4, 1_200, grant, Rights::PROMPT)).await.code(), "too_large");
        }
        let rows = store.grants(1_300, OWNER, GrantQuery::default()).await.unwrap();
        let used: Vec<(&str, u64)> = rows.iter().map(|row| (row.id.as_str(), row.used)).collect();
        assert_eq!(used, [("top", 3), ("left", 2), ("right", 0), ("leaf", 1)]);
    }

    async fn a_grant_reaches_one_session_and_what_it_allows_there(store: Store) {
        with_session(&store).await;
        store.commit(Draft::new("b", 0).session("Two").commit).await.unwrap();
        granted(&store, wanted("reader", Rights::READ)).await;
        granted(&store, wanted("prompter", Rights::PROMPT)).await;

        let prompt = prompted(1, 1_100, "reader", Rights::PROMPT);
        assert_eq!(denied(&store, prompt).await.code(), "forbidden_scope");
        let mut other = prompted(1, 1_100, "prompter", Rights::PROMPT);
        other.session = ses("b");
        assert_eq!(denied(&store, other).await, Refusal::ForbiddenScope("another session"));
        assert_eq!(denied(&store, prompted(1, 1_100, "nobody", Rights::PROMPT)).await, Refusal::Revoked);
    }

    async fn a_narrower_grant_has_no_right_time_or_use_that_its_parent_has_not(store: Store) {
        with_session(&store).await;
        let parent = NewGrant {
            expires: Some(5_000),
            max_uses: Some(3),
            ..wanted("parent", Rights::READ.and(Rights::PROMPT))
        };
        granted(&store, parent).await;
        store.commit(prompted(1, 1_100, "parent", Rights::PROMPT)).await.unwrap();

        let wide = NewGrant { expires: Some(9_000), max_uses: Some(50), ..wanted("child", Rights::PROMPT) };
        let child = store.narrow_grant(call(1_200), holder("parent"), "parent".to_owned(), wide).await.unwrap();
        let wider = store.narrow_grant(call(1_200), OWNER, "child".to_owned(), wanted("x", everything())).await;

        assert_eq!((child.expires, child.max_uses, child.depth), (Some(5_000), Some(2), 1));
        assert_eq!(child.parent.as_deref(), Some("parent"));
        assert_eq!(refused(wider).code(), "forbidden_scope");
        let elsewhere = NewGrant { reference: SturdyRef::new("ses_b", "y", "s"), ..wanted("y", Rights::READ) };
        let elsewhere = store.narrow_grant(call(1_200), OWNER, "parent".to_owned(), elsewhere).await;
        assert_eq!(refused(elsewhere), Refusal::ForbiddenScope("another session"));
    }

    async fn revoking_reaches_everything_made_of_a_grant_and_repeating_it_changes_nothing(store: Store) {
        with_session(&store).await;
        granted(&store, wanted("top", everything())).await;
        for (parent, child) in [("top", "left"), ("top", "right"), ("left", "leaf")] {
            store.narrow_grant(call(1_100), OWNER, parent.to_owned(), wanted(child, Rights::READ)).await.unwrap();
        }

        assert_eq!(store.revoke_grant(call(1_200), holder("left"), "left".to_owned()).await.unwrap(), 2);

        assert_eq!(refused(store.redeem_grant(1_300, reference("leaf")).await), Refusal::Revoked);
        assert!(store.redeem_grant(1_300, reference("right")).await.is_ok());
        assert_eq!(store.revoke_grant(call(1_400), OWNER, "left".to_owned()).await.unwrap(), 0);
        assert_eq!(store.revoke_grant(call(1_400), OWNER, "top".to_owned()).await.unwrap(), 2);
    }

    async fn a_holder_sees_and_keeps_its_own_and_what_was_made_of_it(store: Store) {
        with_session(&store).await;
        granted(&store, wanted("mine", everything())).await;
        granted(&store, wanted("other", everything())).await;
        store.narrow_grant(call(1_100), holder("mine"), "mine".to_owned(), wanted("child", Rights::READ)).await.unwrap();

        let ids = |rows: Vec<GrantRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
        let seen = store.grants(1_200, holder("mine"), GrantQuery::default()).await.unwrap();
        assert_eq!(ids(seen), ["mine", "child"]);
        let all = store.grants(1_200, OWNER, GrantQuery { actor: Some("user:ada".to_owned()), ..GrantQuery::default() }).await;
        assert_eq!(ids(all.unwrap()).len(), 3);
        let none = store.grants(1_200, OWNER, GrantQuery { actor: Some("user:bo".to_owned()), ..GrantQuery::default() }).await;
        assert_eq!(ids(none.unwrap()), Vec::<String>::new());
        assert_eq!(refused(store.revoke_grant(call(1_200), holder("mine"), "other".to_owned()).await), Refusal::NotFound);
        assert_eq!(refused(store.revoke_grant(call(1_200), holder("child"), "mine".to_owned()).await), Refusal::NotFound);
        assert_eq!(refused(store.grant_audit(1_200, holder("child"), "mine".to_owned(), 0).await), Refusal::NotFound);
    }

    async fn a_wrong_secret_and_an_unknown_grant_are_answered_alike(store: Store) {
        with_session(&store).await;
        granted(&store, wanted("g1", everything())).await;

        for shown in [
            SturdyRef::new(ses("a").as_str(), "g1", "guess"),
            SturdyRef::new(ses("a").as_str(), "g2", "secret-of-g2"),
            SturdyRef::new("ses_b", "g1", "secret-of-g1"),
        ] {
            assert_eq!(refused(store.redeem_grant(1_100, shown).await), Refusal::Unauthorized);
        }
        assert_eq!(store.redeem_grant(1_100, reference("g1")).await.unwrap().id, "g1");
    }

    async fn every_use_of_a_grant_is_in_its_audit_without_a_secret(store: Store) {
        with_session(&store).await;
        granted(&store, wanted("g1", everything())).await;
        store.narrow_grant(call(1_100), holder("g1"), "g1".to_owned(), wanted("g2", Rights::PROMPT)).await.unwrap();
        store.commit(prompted(1, 1_200, "g2", Rights::PROMPT)).await.unwrap();
        for at in [1_300, 1_400, 90_000] {
            store.note_grant(call(at), "g2".to_owned(), "read", "ok").await.unwrap();
        }
        store.revoke_grant(call(91_000), OWNER, "g1".to_owned()).await.unwrap();

        let rows = store.grant_audit(91_000, OWNER, "g1".to_owned(), 0).await.unwrap();

        let said: Vec<(u64, &str, &str, &str)> =
            rows.iter().map(|row| (row.at, row.grant.as_str(), row.method.as_str(), row.code.as_str())).collect();
        assert_eq!(said, [
            (1_000, "g1", "create", "ok"),
            (1_100, "g2", "narrow", "ok"),
            (1_200, "g2", "prompt", "ok"),
            (1_300, "g2", "read", "ok"),
            (90_000, "g2", "read", "ok"),
            (91_000, "g1", "revoke", "ok"),
        ]);
        assert!(!format!("{rows:?}").contains("secret"));
        let after = store.grant_audit(91_000, OWNER, "g1".to_owned(), rows[4].id).await.unwrap();
        assert_eq!(after, rows[5..]);
        let ninety_days = 90 * 24 * 60 * 60 * 1000;
        assert_eq!(store.tidy_grants(1_250 + ninety_days).await.unwrap(), 3);
    }

    async fn grants_are_bounded_in_number_and_depth(store: Store) {
        with_session(&store).await;
        granted(&store, wanted("g0", everything())).await;
        for depth in 1..=GRANT_DEPTH_MAX {
            let parent = format!("g{}", depth - 1);
            let child = format!("g{depth}");
            store.narrow_grant(call(1_000), OWNER, parent, wanted(&child, Rights::READ)).await.unwrap();
        }
        let deeper = wanted("deeper", Rights::READ);
        let deeper = store.narrow_grant(call(1_000), OWNER, format!("g{GRANT_DEPTH_MAX}"), deeper).await;
        assert_eq!(refused(deeper).code(), "too_large");

        for count in GRANT_DEPTH_MAX + 1..GRANTS_MAX {
            granted(&store, wanted(&format!("g{count}"), Rights::READ)).await;
        }
        assert_eq!(refused(store.create_grant(call(1_000), wanted("more", Rights::READ)).await).code(), "too_large");
    }

    async fn a_grant_goes_with_its_session(store: Store) {
        with_session(&store).await;
        granted(&store, wanted("g1", everything())).await;

        let gone = sturdy_session::row::RowChange::RemoveSession(ses("a"));
        let info = r#"{"info":{"id":"ses_a","slug":"s","projectID":"global","directory":"/work","title":"One",
            "version":"1","time":{"created":1,"updated":1}}}"#;
        store.commit(Draft::new("a", 1).fact("session.removed.1", info).row(gone).commit).await.unwrap();

        assert_eq!(refused(store.redeem_grant(1_100, reference("g1")).await), Refusal::Unauthorized);
        assert_eq!(refused(store.standing_grant(1_100, "g1".to_owned()).await), Refusal::Revoked);
        let nowhere = store.create_grant(call(1_000), wanted("g2", everything())).await;
        assert_eq!(refused(nowhere), Refusal::NotFound);
    }

    async fn an_entry_and_a_session_know_on_whose_behalf_they_were_written(store: Store) {
        let mut created = Draft::new("a", 0).session("One").commit;
        created.entries[0].actor = Some(Arc::from("token:tok_1"));
        store.commit(created).await.unwrap();
        let mut edited = Draft::new("a", 1).session("Two").commit;
        edited.entries[0].actor = Some(Arc::from("user:ada"));
        store.commit(edited).await.unwrap();
        store.commit(Draft::new("b", 0).session("Three").commit).await.unwrap();

        let entries = store.entries_of(&ses("a")).await.unwrap();
        let actors: Vec<&str> = entries.iter().map(|entry| entry.actor.as_str()).collect();
        assert_eq!(actors, ["token:tok_1", "user:ada"]);
        let of = |actor: &str| sturdy_store::SessionQuery { actor: Some(actor.to_owned()), ..Default::default() };
        // Who created it, not who changed it last.
        assert_eq!(store.sessions(of("token:tok_1")).await.unwrap().len(), 1);
        assert_eq!(store.sessions(of("user:ada")).await.unwrap(), Vec::<String>::new());
        assert_eq!(store.sessions(of("' OR '' = '")).await.unwrap(), Vec::<String>::new());
    }
}

/// What a child asks for.
#[derive(Clone, Debug)]
struct Wish {
    parent: usize,
    rights: u8,
    expires: Option<u64>,
    max_uses: Option<u64>,
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let limit = || proptest::option::of(2_000..9_000_u64);
    let wish = (0..30_usize, 1..8_u8, limit(), limit());
    let wish =
        wish.prop_map(|(parent, rights, expires, max_uses)| Wish { parent, rights, expires, max_uses });
    proptest::collection::vec(wish, 1..30)
}

fn rights(bits: u8) -> Rights {
    let all = [(1, "read"), (2, "prompt"), (4, "answer")];
    Rights::parse(all.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| name)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is asked for, no grant is wider than the one it was made of.
    #[test]
    fn no_tree_of_grants_has_a_child_that_is_wider_than_its_parent(wishes in wishes()) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let directory = tempfile::tempdir().unwrap();
            let store = crate::bench::open(&directory).await;
            with_session(&store).await;
            let mut made = vec![granted(&store, NewGrant { expires: Some(8_000), ..wanted("g", everything()) }).await];
            for (count, wish) in wishes.iter().enumerate() {
                let parent = made[wish.parent % made.len()].id.clone();
                let name = format!("g{count}");
                let asked = NewGrant { expires: wish.expires, max_uses: wish.max_uses, ..wanted(&name, rights(wish.rights)) };
                if let Ok(row) = store.narrow_grant(call(1_000), OWNER, parent, asked).await {
                    made.push(row);
                }
            }
            for row in &made {
                let Some(parent) = &row.parent else { continue };
                let parent = made.iter().find(|known| known.id == *parent).unwrap();
                assert!(parent.rights.contains(row.rights));
                assert!(row.depth == parent.depth + 1 && row.depth <= GRANT_DEPTH_MAX);
                assert!(row.expires.unwrap_or(u64::MAX) <= parent.expires.unwrap_or(u64::MAX));
                assert!(row.max_uses.unwrap_or(u64::MAX) <= parent.max_uses.unwrap_or(u64::MAX));
            }
            store.close().await;
        });
    }
}
