//! What a share may hold, and who may read it without a right of their own.

use crate::share::{
    SHARE, Sender, append, append_as, at, call, create, message, narrowed, owner, part, refused,
};
use serde_json::json;
use sturdy_store::share::{
    Attenuation, Batch, LegacyItem, Refusal, Scope, ShareAuth, ShareCall, ShareLimits, SturdyRef, Visibility,
};

fn limited(set: impl FnOnce(&mut ShareLimits)) -> ShareCall {
    let mut limits = ShareLimits::default();
    set(&mut limits);
    ShareCall { limits, ..call() }
}

/// Methods of the audit, oldest first.
async fn methods(store: &sturdy_store::Store) -> Vec<String> {
    let rows = store.share_audit(call(), SHARE.to_owned(), owner(), 0, None).await.unwrap();
    rows.into_iter().map(|row| row.method).collect()
}

stores! {
    // Was: 64 writers of other people left no place for the next writer of the owner's engine, for ever.
    async fn an_owner_takes_the_place_of_the_writer_that_was_silent_longest(store: Store) {
        create(&store).await;
        let stranger = narrowed(&store, "stranger", Scope::WRITER, |_| {}).await;
        let two = || limited(|limits| limits.writers = 2);
        let mut first = Sender::new("wr_1");
        let begun = first.seal(vec![message("msg_1", "a")]);
        for (now, batch) in [(1, begun.clone()), (2, Sender::new("wr_2").seal(vec![message("msg_2", "b")]))] {
            let call = ShareCall { now, ..two() };
            store.append_share(call, SHARE.to_owned(), stranger.clone(), batch).await.unwrap();
        }

        let third = Sender::new("wr_3").seal(vec![message("msg_3", "c")]);
        let send = async |auth: ShareAuth, expected_cursor: Option<u64>| {
            let batch = Batch { expected_cursor, ..third.clone() };
            store.append_share(two(), SHARE.to_owned(), auth, batch).await
        };
        assert_eq!(refused(send(stranger.clone(), Some(2)).await).code(), "too_large");
        assert_eq!(refused(send(owner(), None).await).code(), "too_large");
        assert_eq!(send(owner(), Some(2)).await.unwrap().applied.len(), 1);

        // What the forgotten one sent, and what it goes on with, is not applied again.
        let again = Batch { expected_cursor: Some(0), ..begun };
        let again = store.append_share(two(), SHARE.to_owned(), owner(), again).await;
        assert_eq!(refused(again).code(), "cursor_mismatch");
        let next = Batch { expected_cursor: Some(3), ..first.seal(vec![message("msg_4", "d")]) };
        let next = store.append_share(two(), SHARE.to_owned(), owner(), next).await;
        assert_eq!(refused(next), Refusal::Gap { applied_seq: 0 });
    }

    async fn clients_without_numbers_take_nobodys_place(store: Store) {
        create(&store).await;
        append(&store, &Sender::new("wr_1").seal(vec![message("msg_1", "a")])).await.unwrap();
        let item = LegacyItem { kind: "session".to_owned(), data: json!({ "id": "ses_a" }) };
        let one = || limited(|limits| limits.writers = 1);

        for _ in 0..2 {
            store.sync_share(one(), SHARE.to_owned(), owner(), vec![item.clone()]).await.unwrap();
        }
        let batch = Batch { expected_cursor: Some(3), ..Sender::new("wr_2").seal(vec![message("msg_2", "b")]) };
        store.append_share(one(), SHARE.to_owned(), owner(), batch).await.unwrap();

        let synced = store.sync_share(one(), SHARE.to_owned(), owner(), vec![item]).await.unwrap();
        assert_eq!(synced.1, 5);
    }

    async fn a_share_holds_no_more_than_it_may(store: Store) {
        create(&store).await;
        let long = "x".repeat(600);
        let small = || limited(|limits| limits.share_bytes = 1000);
        let mut sender = Sender::new("wr_1");
        let first = sender.seal(vec![message("msg_1", &long)]);
        store.append_share(small(), SHARE.to_owned(), owner(), first).await.unwrap();

        let second = sender.seal(vec![message("msg_2", &long)]);
        let refusal = refused(store.append_share(small(), SHARE.to_owned(), owner(), second.clone()).await);

        assert_eq!(refusal, Refusal::Full);
        store.append_share(call(), SHARE.to_owned(), owner(), second).await.unwrap();
    }

    // Was: the log of a share grew until the next round of upkeep, however much was sent.
    async fn the_log_is_cut_while_it_is_written(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        let short = || limited(|limits| limits.log_rows = 10);
        for round in 0..12 {
            let text = round.to_string();
            let ops = (0..100).map(|_| message("msg_1", &text)).collect();
            store.append_share(short(), SHARE.to_owned(), owner(), sender.seal(ops)).await.unwrap();
        }

        let old = store.share_ops(1, SHARE.to_owned(), Some(owner()), 1000, 10).await.unwrap();
        let new = store.share_ops(1, SHARE.to_owned(), Some(owner()), 1199, 10).await.unwrap();

        assert!(old.is_behind, "1,200 operations are more than 10 rows and the slack");
        assert_eq!((new.is_behind, new.ops.len()), (false, 1));
    }

    async fn what_was_rejected_long_ago_is_forgotten_and_the_last_batch_is_not(store: Store) {
        create(&store).await;
        let writer = narrowed(&store, "writer", Scope::WRITER, |wanted| wanted.kinds = Some(vec!["part".to_owned()])).await;
        let mut sender = Sender::new("wr_1");
        let mut sent = Vec::new();
        for _ in 0..18 {
            let batch = sender.seal((0..256).map(|_| message("msg_1", "a")).collect());
            assert_eq!(append_as(&store, writer.clone(), &batch).await.unwrap().rejected.len(), 256);
            sent.push(batch);
        }

        let first = append_as(&store, writer.clone(), &sent[0]).await.unwrap();
        let last = append_as(&store, writer, &sent[17]).await.unwrap();

        assert_eq!((first.duplicates.len(), first.rejected.len()), (256, 0));
        assert_eq!((last.duplicates.len(), last.rejected.len()), (0, 256));
    }

    async fn the_audit_is_cut_by_rows_and_by_age(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        for _ in 0..5 {
            append(&store, &sender.seal(vec![message("msg_1", "a")])).await.unwrap();
        }

        let few = ShareLimits { audit_rows: 2, ..ShareLimits::default() };
        assert_eq!(store.tidy_shares(1_000_000, few).await.unwrap(), (0, 4));
        assert_eq!(methods(&store).await, ["append", "append"]);
        let short = ShareLimits { audit_kept_ms: 1_000, ..ShareLimits::default() };
        assert_eq!(store.tidy_shares(1_001_001, short).await.unwrap(), (0, 2));
        assert!(methods(&store).await.is_empty());
    }

    async fn a_private_share_is_read_by_a_right_and_not_by_its_address(store: Store) {
        create(&store).await;
        let viewer = narrowed(&store, "viewer", Scope::VIEWER, |_| {}).await;
        let set = async |auth: ShareAuth, visibility: Visibility| {
            store.set_share_visibility(call(), SHARE.to_owned(), auth, visibility).await
        };
        let read = async |auth: Option<ShareAuth>| store.share_snapshot(1, SHARE.to_owned(), auth).await;
        let standing = store.share_standing(1, SHARE.to_owned(), None).await.unwrap();

        assert_eq!(refused(set(viewer.clone(), Visibility::Private).await).code(), "forbidden_scope");
        assert_eq!(set(owner(), Visibility::Private).await.unwrap(), 2);
        assert_eq!(set(owner(), Visibility::Private).await.unwrap(), 2);

        assert!(!standing.holds(2, 1), "whoever watches by the address is looked at again");
        assert_eq!(refused(read(None).await), Refusal::Unauthorized);
        read(Some(viewer)).await.unwrap();
        assert_eq!(set(owner(), Visibility::Link).await.unwrap(), 3);
        read(None).await.unwrap();
    }

    // Was: whoever revoked all links left the one that most people have.
    async fn revoking_all_makes_the_plain_link_stop_as_well(store: Store) {
        create(&store).await;
        let viewer = narrowed(&store, "viewer", Scope::VIEWER, |_| {}).await;

        store.revoke_all_share_capabilities(call(), SHARE.to_owned(), owner()).await.unwrap();

        assert_eq!(refused(store.share_snapshot(1, SHARE.to_owned(), None).await), Refusal::Unauthorized);
        assert_eq!(refused(store.share_snapshot(1, SHARE.to_owned(), Some(viewer)).await), Refusal::Revoked);
        store.share_snapshot(1, SHARE.to_owned(), Some(owner())).await.unwrap();
    }

    async fn a_read_by_a_right_is_in_the_audit_once_a_minute(store: Store) {
        create(&store).await;
        let viewer = narrowed(&store, "viewer", Scope::VIEWER, |_| {}).await;
        let drop_box = narrowed(&store, "drop_box", Scope::DROP_BOX, |_| {}).await;
        let bob = |now: u64| ShareCall { actor: "cap:viewer".to_owned(), ..at(now) };

        for now in [1_000_000, 1_000_001, 1_060_000] {
            store.note_share_read(bob(now), SHARE.to_owned(), viewer.clone()).await.unwrap();
        }
        // Whoever may not read has not read.
        store.note_share_read(call(), SHARE.to_owned(), drop_box).await.unwrap();

        assert_eq!(methods(&store).await, ["create", "attenuate", "attenuate", "read", "read"]);
        let actor = Some("cap:viewer".to_owned());
        let rows = store.share_audit(call(), SHARE.to_owned(), owner(), 0, actor).await.unwrap();
        let times: Vec<u64> = rows.iter().map(|row| row.at).collect();
        assert_eq!(times, [1_000_000, 1_060_000]);
    }

    /// T-CAP-03
    async fn a_drop_box_writes_and_cannot_read(store: Store) {
        create(&store).await;
        let drop_box = narrowed(&store, "drop_box", Scope::DROP_BOX, |_| {}).await;
        store.set_share_visibility(call(), SHARE.to_owned(), owner(), Visibility::Private).await.unwrap();
        let mut sender = Sender::new("wr_1");
        sender.epoch = 2;

        append_as(&store, drop_box.clone(), &sender.seal(vec![message("msg_1", "a")])).await.unwrap();

        let whole = store.share_snapshot(1, SHARE.to_owned(), Some(drop_box.clone())).await;
        assert_eq!(refused(whole).code(), "forbidden_scope");
        let ops = store.share_ops(1, SHARE.to_owned(), Some(drop_box.clone()), 0, 10).await;
        assert_eq!(refused(ops).code(), "forbidden_scope");
        assert_eq!(refused(store.share_standing(1, SHARE.to_owned(), Some(drop_box)).await).code(), "forbidden_scope");
    }

    async fn a_narrowing_that_is_repeated_with_its_secret_makes_one_capability(store: Store) {
        create(&store).await;
        let wanted = |secret: &str, scope: Scope| Attenuation {
            reference: SturdyRef::named_by_secret(SHARE, secret),
            scope,
            kinds: None,
            expires: None,
            max_ops: None,
            label: String::new(),
        };
        let narrow = async |wanted: Attenuation| store.attenuate_share(call(), SHARE.to_owned(), owner(), wanted).await;

        let first = narrow(wanted("the-secret-of-a-viewer", Scope::VIEWER)).await.unwrap();
        let again = narrow(wanted("the-secret-of-a-viewer", Scope::VIEWER)).await.unwrap();
        let wider = narrow(wanted("the-secret-of-a-viewer", Scope::WRITER)).await;

        assert_eq!(first, again);
        assert_eq!(refused(wider), Refusal::RequestConflict);
        let all = store.share_capabilities(call(), SHARE.to_owned(), owner()).await.unwrap();
        assert_eq!(all.len(), 2);
        let other = narrow(wanted("the-secret-of-another", Scope::VIEWER)).await.unwrap();
        assert_ne!(other.capability.cap_id, first.capability.cap_id);
    }

    /// T-SRV-07: what depends on something whose row the log has dropped.
    async fn what_depends_on_an_own_operation_that_left_the_log_is_applied(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        append(&store, &sender.seal(vec![message("msg_1", "a")])).await.unwrap();
        append(&store, &sender.seal(vec![message("msg_2", "b")])).await.unwrap();
        let short = ShareLimits { log_rows: 1, ..ShareLimits::default() };
        assert_eq!(store.tidy_shares(1_000_000, short).await.unwrap(), (0, 1));

        let before = sender.clone();
        let mut batch = sender.seal(vec![part("msg_1", "prt_1")]);
        batch.ops[0].depends_on = vec!["op_wr_1_1@1".to_owned()];
        let chain = before.chain_after(&batch);
        batch.chain_after = chain.to_string();

        assert_eq!(append(&store, &batch).await.unwrap().applied.len(), 1);
    }
}
