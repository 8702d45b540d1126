//! Who may do what with a share: authority only narrows, and what is taken back is gone.

use crate::share::{
    SHARE, Sender, append, append_as, at, call, create, keys, message, narrowed, owner, part, refused,
};
use sturdy_store::share::{
    Attenuation, Batch, LegacyItem, NewShare, OldShare, Refusal, Scope, ShareAuth, ShareCall, ShareLimits,
    SturdyRef, Visibility,
};

stores! {
    async fn a_capability_is_never_wider_than_the_one_it_is_made_of(store: Store) {
        create(&store).await;
        let viewer = narrowed(&store, "viewer", Scope::VIEWER, |_| {}).await;
        let writer = narrowed(&store, "writer", Scope::WRITER, |wanted| {
            wanted.kinds = Some(vec!["message".to_owned()]);
            wanted.expires = Some(2_000_000);
            wanted.max_ops = Some(2);
        }).await;
        let widen = |scope, kinds: Option<Vec<String>>, name: &str| Attenuation {
            reference: SturdyRef::new(SHARE, name, "x"),
            scope,
            kinds,
            expires: Some(9_000_000),
            max_ops: Some(100),
            label: String::new(),
        };

        let wider = store.attenuate_share(call(), SHARE.to_owned(), viewer.clone(), widen(Scope::WRITER, None, "w1")).await;
        assert_eq!(refused(wider).code(), "forbidden_scope");
        let kinds = Some(vec!["message".to_owned(), "part".to_owned()]);
        let wider = store.attenuate_share(call(), SHARE.to_owned(), writer.clone(), widen(Scope::WRITER, kinds, "w2")).await;
        assert_eq!(refused(wider).code(), "forbidden_scope");
        let child = store.attenuate_share(call(), SHARE.to_owned(), writer, widen(Scope::APPEND, None, "w3")).await;
        let child = child.unwrap().capability;

        assert_eq!((child.expires, child.max_ops), (Some(2_000_000), Some(2)));
        assert_eq!(child.kinds, Some(vec!["message".to_owned()]));
        let batch = Sender::new("wr_1").seal(vec![message("msg_1", "a")]);
        assert_eq!(append_as(&store, viewer, &batch).await, Err(Refusal::ForbiddenScope("writing")));
    }

    async fn kinds_quota_and_expiry_are_kept(store: Store) {
        create(&store).await;
        let writer = narrowed(&store, "writer", Scope::WRITER, |wanted| {
            wanted.kinds = Some(vec!["message".to_owned()]);
            wanted.expires = Some(2_000_000);
            wanted.max_ops = Some(1);
        }).await;
        let mut sender = Sender::new("wr_1");
        let mixed = sender.seal(vec![part("msg_1", "prt_1")]);
        assert_eq!(append_as(&store, writer.clone(), &mixed).await.unwrap().rejected[0].code, "kind_forbidden");
        append_as(&store, writer.clone(), &sender.seal(vec![message("msg_1", "a")])).await.unwrap();

        let over = sender.seal(vec![message("msg_2", "b")]);
        assert_eq!(append_as(&store, writer.clone(), &over).await.unwrap_err().code(), "too_large");
        let late = store.redeem_share(at(2_000_000), SHARE.to_owned(), writer, None).await;
        assert_eq!(refused(late), Refusal::Expired);
    }

    // Was: whoever might send two operations made two hundred capabilities of it, each good for two.
    async fn what_is_sent_with_a_narrower_capability_is_counted_for_those_it_was_made_of(store: Store) {
        create(&store).await;
        let parent = narrowed(&store, "parent", Scope::WRITER, |wanted| wanted.max_ops = Some(2)).await;
        let below = async |name: &str| {
            let reference = SturdyRef::new(SHARE, name, "secret-of-a-child");
            let wanted = Attenuation {
                reference: reference.clone(), scope: Scope::WRITER, kinds: None, expires: None, max_ops: None, label: String::new(),
            };
            store.attenuate_share(call(), SHARE.to_owned(), parent.clone(), wanted).await.unwrap();
            ShareAuth::Ref(reference)
        };
        let left = below("left").await;
        let right = below("right").await;
        let mut sender = Sender::new("wr_1");
        append_as(&store, left.clone(), &sender.seal(vec![message("msg_1", "a")])).await.unwrap();
        append_as(&store, right.clone(), &sender.seal(vec![message("msg_2", "b")])).await.unwrap();

        let over = sender.seal(vec![message("msg_3", "c")]);
        for writer in [left, right, parent.clone()] {
            assert_eq!(append_as(&store, writer, &over).await.unwrap_err().code(), "too_large");
        }
        let rows = store.share_capabilities(call(), SHARE.to_owned(), parent).await.unwrap();
        let mut used: Vec<(&str, u64)> = rows.iter().map(|row| (row.cap_id.as_str(), row.used_ops)).collect();
        used.sort_unstable();
        assert_eq!(used, [("left", 1), ("parent", 2), ("right", 1)]);
        assert_eq!(append(&store, &over).await.unwrap().applied.len(), 1, "the owner has no quota");
    }

    // Was: a wish for less, under a secret that was used before, was answered with what had been made for it then.
    async fn a_wish_for_less_under_a_known_secret_is_refused(store: Store) {
        create(&store).await;
        let wish = |change: fn(&mut Attenuation)| {
            let mut wanted = Attenuation {
                reference: SturdyRef::new(SHARE, "reader", "secret-of-a-reader"),
                scope: Scope::WRITER, kinds: None, expires: Some(5_000_000), max_ops: Some(5), label: String::new(),
            };
            change(&mut wanted);
            store.attenuate_share(call(), SHARE.to_owned(), owner(), wanted)
        };
        let made = wish(|_| {}).await.unwrap();

        assert_eq!(wish(|_| {}).await.unwrap(), made, "the same wish is met once");
        let less: [fn(&mut Attenuation); 4] = [
            |wanted| wanted.expires = Some(2_000_000),
            |wanted| wanted.max_ops = Some(1),
            |wanted| wanted.kinds = Some(vec!["message".to_owned()]),
            |wanted| wanted.scope = Scope::VIEWER,
        ];
        for change in less {
            assert_eq!(refused(wish(change).await), Refusal::RequestConflict);
        }
    }

    async fn revoking_reaches_everything_below_and_writers_must_redeem(store: Store) {
        create(&store).await;
        let parent = narrowed(&store, "parent", Scope::WRITER, |_| {}).await;
        let child = SturdyRef::new(SHARE, "child", "secret-of-child");
        let wanted = Attenuation {
            reference: child.clone(), scope: Scope::WRITER, kinds: None, expires: None, max_ops: None, label: String::new(),
        };
        store.attenuate_share(call(), SHARE.to_owned(), parent, wanted).await.unwrap();
        let mut sender = Sender::new("wr_1");
        let batch = sender.seal(vec![message("msg_1", "a")]);

        let epoch = store.revoke_share_capability(call(), SHARE.to_owned(), owner(), "parent".to_owned()).await.unwrap();
        let again = store.revoke_share_capability(call(), SHARE.to_owned(), owner(), "parent".to_owned()).await.unwrap();

        assert_eq!((epoch, again), (2, 2));
        assert_eq!(append_as(&store, ShareAuth::Ref(child), &batch).await, Err(Refusal::Revoked));
        assert_eq!(append(&store, &batch).await, Err(Refusal::StaleEpoch { epoch: 2 }));
        let fresh = Batch { capability_epoch: 2, ..batch };
        assert_eq!(append(&store, &fresh).await.unwrap().applied.len(), 1);
    }

    async fn a_writer_belongs_to_the_lineage_that_used_it_first(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        append(&store, &sender.seal(vec![message("msg_1", "a")])).await.unwrap();
        let child = narrowed(&store, "child", Scope::WRITER, |_| {}).await;

        assert!(append_as(&store, child, &sender.seal(vec![message("msg_2", "b")])).await.is_ok());
        let reserved = Batch { writer_id: "legacy:owner".to_owned(), ..sender.seal(vec![message("msg_3", "c")]) };
        assert_eq!(append(&store, &reserved).await.unwrap_err().code(), "malformed");
    }

    async fn a_deleted_share_is_gone_for_everybody_and_its_contents_are_erased(store: Store) {
        create(&store).await;
        let viewer = narrowed(&store, "viewer", Scope::VIEWER, |_| {}).await;
        let mut sender = Sender::new("wr_1");
        append(&store, &sender.seal(vec![message("msg_1", "a")])).await.unwrap();
        let not_allowed = store.delete_share(call(), SHARE.to_owned(), viewer.clone()).await;
        assert_eq!(refused(not_allowed).code(), "forbidden_scope");

        store.delete_share(call(), SHARE.to_owned(), owner()).await.unwrap();
        store.delete_share(call(), SHARE.to_owned(), owner()).await.unwrap();

        assert_eq!(refused(store.share_snapshot(1, SHARE.to_owned(), None).await), Refusal::Gone);
        assert_eq!(refused(store.redeem_share(call(), SHARE.to_owned(), viewer, None).await), Refusal::Gone);
        assert_eq!(append(&store, &sender.seal(vec![message("msg_2", "b")])).await, Err(Refusal::Gone));
    }

    async fn the_audit_says_who_did_what_and_only_an_admin_reads_it(store: Store) {
        create(&store).await;
        let viewer = narrowed(&store, "viewer", Scope::VIEWER, |_| {}).await;
        append(&store, &Sender::new("wr_1").seal(vec![message("msg_1", "a")])).await.unwrap();
        let forbidden = Sender::new("wr_2").seal(vec![message("msg_2", "b")]);
        append_as(&store, viewer.clone(), &forbidden).await.unwrap_err();

        let rows = store.share_audit(call(), SHARE.to_owned(), owner(), 0, None).await.unwrap();

        let lines: Vec<_> = rows.iter().map(|row| (row.cap_id.as_str(), row.method.as_str(), row.code.as_str())).collect();
        assert_eq!(lines, [
            ("owner", "create", "ok"),
            ("owner", "attenuate", "ok"),
            ("owner", "append", "ok"),
            ("viewer", "append", "forbidden_scope"),
        ]);
        let refusal = refused(store.share_audit(call(), SHARE.to_owned(), viewer, 0, None).await);
        assert_eq!(refusal.code(), "forbidden_scope");
    }

    async fn an_empty_share_is_removed_after_a_day_and_one_that_was_used_is_not(store: Store) {
        create(&store).await;
        assert_eq!(store.tidy_shares(1_000_001, ShareLimits::default()).await.unwrap(), (0, 0));
        append(&store, &Sender::new("wr_1").seal(vec![message("msg_1", "a")])).await.unwrap();
        let other = NewShare {
            share: "unused".to_owned(),
            owner: SturdyRef::new("unused", "cap", "secret"),
            session: "ses_b".to_owned(),
            request: None,
            visibility: Visibility::Link,
            label: String::new(),
        };
        store.create_share(call(), other).await.unwrap();

        let day = 1_000_000 + 24 * 60 * 60 * 1000 + 1;
        assert_eq!(store.tidy_shares(day, ShareLimits::default()).await.unwrap(), (1, 0));

        assert_eq!(refused(store.share_snapshot(day, "unused".to_owned(), None).await), Refusal::Gone);
        assert_eq!(keys(&store).await, ["message/msg_1"]);
    }
}

/// A call under limits that a test sets.
fn limited(set: impl FnOnce(&mut ShareLimits)) -> ShareCall {
    let mut limits = ShareLimits::default();
    set(&mut limits);
    ShareCall { limits, ..call() }
}

stores! {
    async fn a_batch_is_bounded_in_operations_and_bytes(store: Store) {
        create(&store).await;
        let three = || vec![message("msg_1", "a"), message("msg_2", "b"), message("msg_3", "c")];
        let send = async |call: ShareCall| {
            let batch = Sender::new("wr_1").seal(three());
            store.append_share(call, SHARE.to_owned(), owner(), batch).await
        };

        assert_eq!(refused(send(limited(|limits| limits.batch_ops = 2)).await).code(), "too_large");
        assert_eq!(refused(send(limited(|limits| limits.batch_bytes = 10)).await).code(), "too_large");
        send(limited(|limits| limits.batch_ops = 3)).await.unwrap();
    }

    async fn a_payload_that_is_too_large_is_rejected_alone(store: Store) {
        create(&store).await;
        let long = "x".repeat(400);
        let batch = Sender::new("wr_1").seal(vec![message("msg_1", &long), message("msg_2", "b")]);

        let call = limited(|limits| limits.op_bytes = 300);
        let ack = store.append_share(call, SHARE.to_owned(), owner(), batch).await.unwrap();

        assert_eq!((ack.applied.len(), ack.rejected[0].code.as_str()), (1, "too_large"));
    }

    async fn a_share_has_a_bounded_number_of_writers_and_capabilities(store: Store) {
        create(&store).await;
        append(&store, &Sender::new("wr_1").seal(vec![message("msg_1", "a")])).await.unwrap();

        let second = Sender::new("wr_2").seal(vec![message("msg_2", "b")]);
        let second = store.append_share(limited(|limits| limits.writers = 1), SHARE.to_owned(), owner(), second).await;
        let wanted = |name: &str| Attenuation {
            reference: SturdyRef::new(SHARE, name, "x"),
            scope: Scope::VIEWER,
            kinds: None,
            expires: None,
            max_ops: None,
            label: String::new(),
        };
        let narrow = async |call: ShareCall, auth: ShareAuth, name: &str| {
            store.attenuate_share(call, SHARE.to_owned(), auth, wanted(name)).await
        };
        let full = narrow(limited(|limits| limits.capabilities = 1), owner(), "c1").await;
        narrow(limited(|limits| limits.depth = 1), owner(), "c2").await.unwrap();
        let child = ShareAuth::Ref(SturdyRef::new(SHARE, "c2", "x"));
        let deep = narrow(limited(|limits| limits.depth = 1), child, "c3").await;

        assert_eq!(refused(second).to_string(), "a share has at most 1 writers");
        assert_eq!(refused(full).to_string(), "a share has at most 1 capabilities");
        assert_eq!(refused(deep).to_string(), "capabilities are at most 1 deep");
    }

    async fn the_log_is_cut_by_rows_and_by_age(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        for name in ["a", "b", "c"] {
            append(&store, &sender.seal(vec![message("msg_1", name)])).await.unwrap();
        }

        let rows = ShareLimits { log_rows: 2, ..ShareLimits::default() };
        assert_eq!(store.tidy_shares(1_000_000, rows).await.unwrap(), (0, 1));
        let age = ShareLimits { log_kept_ms: 1_000, ..ShareLimits::default() };
        assert_eq!(store.tidy_shares(1_001_001, age).await.unwrap(), (0, 2));
        let page = store.share_ops(1_000_000, SHARE.to_owned(), Some(owner()), 0, 10).await.unwrap();
        assert!(page.is_behind, "a viewer from before is told to begin anew");
    }

    async fn an_empty_share_is_kept_as_long_as_the_setting_says(store: Store) {
        create(&store).await;
        let hour = 60 * 60 * 1000;
        let short = ShareLimits { empty_kept_ms: hour, ..ShareLimits::default() };

        assert_eq!(store.tidy_shares(1_000_000 + hour, short).await.unwrap(), (0, 0));
        assert_eq!(store.tidy_shares(1_000_001 + hour, short).await.unwrap(), (1, 0));
    }
}

const OLD: &str = "a1B2c3D4";
const OLD_SECRET: &str = "11111111-2222-5333-8444-555555555555";

fn old() -> OldShare {
    let item = |kind: &str, data: serde_json::Value| LegacyItem { kind: kind.to_owned(), data };
    OldShare {
        share: OLD.to_owned(),
        session: "ses_old".to_owned(),
        secret: ShareAuth::parse(OLD_SECRET),
        capability: "imported".to_owned(),
        items: vec![
            item("session", serde_json::json!({ "id": "ses_old", "title": "Old" })),
            item("message", serde_json::json!({ "id": "msg_1" })),
        ],
    }
}

fn plain() -> ShareAuth {
    ShareAuth::parse(OLD_SECRET)
}

stores! {
    /// T-LEG-04
    async fn an_imported_share_works_with_its_old_secret_until_that_is_rotated(store: Store) {
        let imported = store.import_share(call(), old()).await.unwrap();
        assert_eq!((imported.is_new, imported.cursor), (true, 2));
        let more = vec![LegacyItem { kind: "message".to_owned(), data: serde_json::json!({ "id": "msg_2" }) }];
        store.sync_share(call(), OLD.to_owned(), plain(), more.clone()).await.unwrap();
        let redeemed = store.redeem_share(call(), OLD.to_owned(), plain(), None).await.unwrap();
        assert_eq!(redeemed.cursor, 3);

        let fresh = SturdyRef::new(OLD, "fresh", "a-new-secret");
        let rotated = store.rotate_share(call(), OLD.to_owned(), plain(), fresh.clone()).await.unwrap();

        assert!(rotated.is_replaced && rotated.epoch == 2, "{rotated:?}");
        let late = store.sync_share(call(), OLD.to_owned(), plain(), more.clone()).await;
        assert_eq!(refused(late), Refusal::Revoked);
        let fresh = ShareAuth::Ref(fresh);
        store.sync_share(call(), OLD.to_owned(), fresh.clone(), more).await.unwrap();
        let all = store.share_capabilities(call(), OLD.to_owned(), fresh.clone()).await.unwrap();
        let stands: Vec<(&str, bool)> = all.iter().map(|row| (row.cap_id.as_str(), row.revoked.is_none())).collect();
        assert_eq!(stands, [("fresh", true), ("imported", false)]);
        let again = store.rotate_share(call(), OLD.to_owned(), fresh, SturdyRef::new(OLD, "other", "x")).await.unwrap();
        assert!(!again.is_replaced);
    }

    async fn a_secret_that_was_kept_in_clear_gives_nothing_away_before_it_is_rotated(store: Store) {
        store.import_share(call(), old()).await.unwrap();
        let wanted = Attenuation {
            reference: SturdyRef::new(OLD, "child", "x"),
            scope: Scope::VIEWER,
            kinds: None,
            expires: None,
            max_ops: None,
            label: String::new(),
        };

        let narrowed = store.attenuate_share(call(), OLD.to_owned(), plain(), wanted).await;
        let listed = store.share_capabilities(call(), OLD.to_owned(), plain()).await;
        let audited = store.share_audit(call(), OLD.to_owned(), plain(), 0, None).await;
        let revoked = store.revoke_all_share_capabilities(call(), OLD.to_owned(), plain()).await;

        assert_eq!(refused(narrowed), Refusal::MustRotate);
        assert_eq!(refused(listed), Refusal::MustRotate);
        assert_eq!(refused(audited), Refusal::MustRotate);
        assert_eq!(refused(revoked), Refusal::MustRotate);
    }

    async fn an_import_is_whole_repeatable_and_never_takes_another_share_over(store: Store) {
        store.import_share(call(), old()).await.unwrap();

        let again = store.import_share(call(), old()).await.unwrap();
        let other = OldShare { secret: ShareAuth::parse("another-secret-of-somebody"), ..old() };
        let other = store.import_share(call(), other).await;
        let bad_id = store.import_share(call(), OldShare { share: "../etc".to_owned(), ..old() }).await;
        let short = OldShare { share: "short".to_owned(), secret: ShareAuth::parse("abc"), ..old() };
        let short = store.import_share(call(), short).await;
        let nameless = LegacyItem { kind: "message".to_owned(), data: serde_json::json!({}) };
        let half = OldShare {
            share: "half".to_owned(),
            capability: "other".to_owned(),
            items: vec![nameless],
            ..old()
        };
        let half = store.import_share(call(), half).await;

        assert_eq!((again.is_new, again.cursor), (false, 2));
        assert_eq!(refused(other), Refusal::RequestConflict);
        assert_eq!(refused(bad_id).code(), "malformed");
        assert_eq!(refused(short).code(), "malformed");
        assert_eq!(refused(half).code(), "malformed");
        assert_eq!(refused(store.share_snapshot(1_000_000, "half".to_owned(), None).await), Refusal::NotFound);
        store.delete_share(call(), OLD.to_owned(), plain()).await.unwrap();
        assert_eq!(refused(store.import_share(call(), old()).await), Refusal::Gone);
    }
}
