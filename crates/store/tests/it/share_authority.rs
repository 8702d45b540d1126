//! Who may do what with a share: authority only narrows, and what is taken back is gone.

use crate::share::{
    SHARE, Sender, append, append_as, at, call, create, keys, message, narrowed, owner, part, refused,
};
use sturdy_store::share::{Attenuation, Batch, NewShare, Refusal, Scope, ShareAuth, SturdyRef};

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

        let rows = store.share_audit(call(), SHARE.to_owned(), owner(), 0).await.unwrap();

        let lines: Vec<_> = rows.iter().map(|row| (row.cap_id.as_str(), row.method.as_str(), row.code.as_str())).collect();
        assert_eq!(lines, [
            ("owner", "create", "ok"),
            ("owner", "attenuate", "ok"),
            ("owner", "append", "ok"),
            ("viewer", "append", "forbidden_scope"),
        ]);
        let refusal = refused(store.share_audit(call(), SHARE.to_owned(), viewer, 0).await);
        assert_eq!(refusal.code(), "forbidden_scope");
    }

    async fn an_empty_share_is_removed_after_a_day_and_one_that_was_used_is_not(store: Store) {
        create(&store).await;
        assert_eq!(store.tidy_shares(1_000_001).await.unwrap(), (0, 0));
        append(&store, &Sender::new("wr_1").seal(vec![message("msg_1", "a")])).await.unwrap();
        let other = NewShare {
            share: "unused".to_owned(),
            owner: SturdyRef::new("unused", "cap", "secret"),
            session: "ses_b".to_owned(),
            request: None,
            visibility: "link".to_owned(),
            label: String::new(),
        };
        store.create_share(call(), other).await.unwrap();

        let day = 1_000_000 + 24 * 60 * 60 * 1000 + 1;
        assert_eq!(store.tidy_shares(day).await.unwrap(), (1, 0));

        assert_eq!(refused(store.share_snapshot(day, "unused".to_owned(), None).await), Refusal::Gone);
        assert_eq!(keys(&store).await, ["message/msg_1"]);
    }
}
