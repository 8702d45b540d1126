//! The rest of the matrix of sharing, by the names it has in docs/matrix.md.

use crate::share::{SHARE, Sender, append, at, call, create, message, narrowed, owner, refused, shown};
use proptest::prelude::*;
use serde_json::json;
use sturdy_store::share::{Attenuation, Batch, Operation, Refusal, Scope, ShareAuth, SturdyRef, chain_start};
use tokio::task::JoinSet;

/// Numbers that look random and are the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// T-OUT-04: worked out apart from this program, so that no version of it numbers or hashes otherwise.
#[test]
fn the_chain_is_the_one_that_every_version_works_out() {
    let op = |seq: u64, kind: &str, key: &str, depends_on: &[&str], payload: Option<&str>| Operation {
        op_id: format!("op_{seq}"),
        seq,
        kind: kind.to_owned(),
        key: key.to_owned(),
        version: 203 + seq,
        schema: 1,
        depends_on: depends_on.iter().map(|one| (*one).to_owned()).collect(),
        payload_json: payload.map(str::to_owned),
    };
    let ops = [
        op(1, "message", "message/msg_1", &[], Some(r#"{"id":"msg_1"}"#)),
        op(2, "part", "part/msg_1/prt_ä", &["op_1@1", "op_0"], Some(r#"{"text":"Grüße"}"#)),
        op(3, "part.remove", "part/msg_1/prt_9", &[], None),
    ];

    let mut chain = chain_start(SHARE, "wr_1");
    let mut links = vec![chain.to_string()];
    for op in &ops {
        chain = chain.after(op);
        links.push(chain.to_string());
    }

    assert_eq!(
        links,
        [
            "55c876d2f878a8ce5d2529d89928a49e13bd0e52b9e2ce1ba3333b6a7bbf6674",
            "16a4718e72c7a026ba57f0a2f590ba7e5a949642aec9206e24ad23a7d6f4121e",
            "37c531286cfbd257d66e5d419cd0ace3c1dcd2848c3e9a326e7d34e5780e694d",
            "3cee369e4df7aba21413db5ac442b411e1139df7dc803a2642afb5e5abcc4467",
        ]
    );
}

stores! {
    /// T-SRV-02
    async fn the_same_batch_a_hundred_times_at_once_is_applied_once(store: Store) {
        create(&store).await;
        let batch = Sender::new("wr_1").seal(vec![message("msg_1", "a"), message("msg_2", "b")]);

        let mut tasks = JoinSet::new();
        for _ in 0..100 {
            let store = store.clone();
            let batch = batch.clone();
            tasks.spawn(async move { append(&store, &batch).await.unwrap() });
        }
        let acks = tasks.join_all().await;

        assert_eq!(acks.iter().filter(|ack| !ack.applied.is_empty()).count(), 1);
        assert!(acks.iter().all(|ack| ack.cursor == 2 && ack.applied.len() + ack.duplicates.len() == 2));
    }

    /// T-SRV-04
    async fn a_repeat_with_an_old_cursor_is_a_repeat_and_no_conflict(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        sender.cursor = Some(0);
        let first = sender.seal(vec![message("msg_1", "a")]);
        append(&store, &first).await.unwrap();
        let mut other = Sender::new("wr_2");
        append(&store, &other.seal(vec![message("msg_2", "b")])).await.unwrap();

        let again = append(&store, &first).await.unwrap();

        assert_eq!((again.duplicates.len(), again.applied.len(), again.cursor), (1, 0, 2));
        sender.cursor = Some(1);
        let next = sender.seal(vec![message("msg_3", "c")]);
        assert_eq!(append(&store, &next).await.unwrap_err().code(), "cursor_mismatch");
    }

    /// T-SRV-05
    async fn batches_in_the_wrong_order_end_in_order(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        let first = sender.seal(vec![message("msg_1", "old")]);
        let second = sender.seal(vec![message("msg_1", "new")]);

        assert_eq!(append(&store, &second).await, Err(Refusal::Gap { applied_seq: 0 }));
        append(&store, &first).await.unwrap();
        append(&store, &second).await.unwrap();

        assert!(shown(&store).await[0].1.contains("new"));
    }

    /// T-SRV-08
    async fn a_diff_that_is_sent_again_does_not_grow(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        let diff = || vec![("session_diff", "session_diff".to_owned(), Some(json!([{ "file": "a.rs" }])))];
        let batch = sender.seal(diff());
        for _ in 0..5 {
            append(&store, &batch).await.unwrap();
        }
        append(&store, &sender.seal(diff())).await.unwrap();

        let all = shown(&store).await;

        assert_eq!(all, [("session_diff".to_owned(), json!([{ "file": "a.rs" }]).to_string())]);
    }

    /// T-SRV-09
    async fn an_old_value_that_comes_again_after_thousands_of_others_changes_nothing(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        let old = sender.seal(vec![message("msg_1", "old")]);
        append(&store, &old).await.unwrap();
        for _ in 0..20 {
            let many = (0..250).map(|count| message(&format!("msg_{count}"), "new")).collect();
            append(&store, &sender.seal(many)).await.unwrap();
        }
        let before = shown(&store).await;

        let late = append(&store, &old).await.unwrap();

        assert_eq!(late.duplicates.len(), 1);
        assert_eq!(shown(&store).await, before);
    }

    /// T-SRV-10
    async fn other_content_under_used_numbers_is_refused_in_the_same_and_in_another_grouping(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        append(&store, &sender.seal(vec![message("msg_1", "a"), message("msg_2", "b")])).await.unwrap();

        let mut restored = Sender::new("wr_1");
        let same = restored.seal(vec![message("msg_1", "other"), message("msg_2", "b")]);
        assert_eq!(append(&store, &same).await, Err(Refusal::Diverged { applied_seq: 2 }));
        let mut regrouped = Sender::new("wr_1");
        let longer = regrouped.seal(vec![message("msg_1", "other"), message("msg_2", "b"), message("msg_3", "c")]);
        assert_eq!(append(&store, &longer).await, Err(Refusal::Diverged { applied_seq: 2 }));
        let mut behind = Sender::new("wr_1");
        behind.seal(vec![message("msg_1", "other"), message("msg_2", "b")]);
        let next = behind.seal(vec![message("msg_3", "c")]);
        assert_eq!(append(&store, &next).await, Err(Refusal::Diverged { applied_seq: 2 }));
    }

    /// T-SRV-13, I9, I10
    async fn two_writers_and_ten_thousand_operations_keep_their_counts(store: Store) {
        create(&store).await;
        let mut draw = Draw(7);
        let mut senders = [Sender::new("wr_0"), Sender::new("wr_1")];
        let mut sent: [u64; 2] = [0, 0];
        let mut cursor = 0;
        let mut done: Vec<Batch> = Vec::new();
        while sent[0] + sent[1] < 10_000 {
            if !done.is_empty() && draw.below(4) == 0 {
                let again = &done[draw.below(done.len() as u64) as usize];
                let ack = append(&store, again).await.unwrap();
                assert!(ack.applied.is_empty() && ack.cursor == cursor);
                continue;
            }
            let writer = draw.below(2) as usize;
            let count = 1 + draw.below(200);
            let ops = (0..count).map(|_| message(&format!("msg_{}", draw.below(300)), "x")).collect();
            let batch = senders[writer].seal(ops);
            let ack = append(&store, &batch).await.unwrap();
            sent[writer] += count;
            cursor += ack.applied.len() as u64;
            assert_eq!((ack.cursor, ack.applied_seq), (cursor, sent[writer]));
            done.push(batch);
        }
        for (writer, sent) in sent.into_iter().enumerate() {
            let writer = Some(format!("wr_{writer}"));
            let redeemed = store.redeem_share(call(), SHARE.to_owned(), owner(), writer).await.unwrap();
            let state = redeemed.writer.unwrap();
            assert_eq!((state.applied_seq, state.applied_count), (sent, sent));
            assert_eq!(redeemed.cursor, cursor);
        }
    }

    /// T-CAP-01
    async fn redeeming_gives_the_same_identity_and_the_cursor_of_now(store: Store) {
        create(&store).await;
        let viewer = narrowed(&store, "viewer", Scope::VIEWER, |_| {}).await;
        let redeem = async || store.redeem_share(call(), SHARE.to_owned(), viewer.clone(), None).await.unwrap();
        let before = redeem().await;
        append(&store, &Sender::new("wr_1").seal(vec![message("msg_1", "a")])).await.unwrap();

        let after = redeem().await;

        assert_eq!((before.cap_id.as_str(), before.cursor), ("viewer", 0));
        assert_eq!((after.cap_id.as_str(), after.cursor, after.epoch), ("viewer", 1, before.epoch));
    }

    /// T-CAP-06, I14
    async fn a_batch_and_a_revocation_at_once_are_all_or_nothing(store: Store) {
        create(&store).await;
        for round in 0..20 {
            let name = format!("writer{round}");
            let writer = narrowed(&store, &name, Scope::WRITER, |_| {}).await;
            let epoch = store.redeem_share(call(), SHARE.to_owned(), writer.clone(), None).await.unwrap().epoch;
            let mut sender = Sender::new(&format!("wr_{round}"));
            sender.epoch = epoch;
            let many = (0..100).map(|count| message(&format!("msg_{round}_{count}"), "x")).collect();
            let batch = sender.seal(many);

            let appended = store.append_share(call(), SHARE.to_owned(), writer.clone(), batch);
            let revoked = store.revoke_share_capability(call(), SHARE.to_owned(), owner(), name);
            let (appended, revoked) = tokio::join!(appended, revoked);

            revoked.unwrap();
            let mine = shown(&store).await.into_iter().filter(|(key, _)| key.starts_with(&format!("message/msg_{round}_")));
            assert_eq!(mine.count(), if appended.is_ok() { 100 } else { 0 });
            let late = sender.seal(vec![message("msg_late", "x")]);
            let late = store.append_share(call(), SHARE.to_owned(), writer, late).await;
            assert_eq!(refused(late), Refusal::Revoked);
        }
    }

    /// T-CAP-08
    async fn expiry_is_judged_by_the_servers_clock_wherever_that_goes(store: Store) {
        create(&store).await;
        let viewer = narrowed(&store, "viewer", Scope::VIEWER, |wanted| wanted.expires = Some(2_000_000)).await;
        let redeem = async |now: u64| store.redeem_share(at(now), SHARE.to_owned(), viewer.clone(), None).await;

        assert!(redeem(1_999_999).await.is_ok());
        assert_eq!(refused(redeem(2_000_000).await), Refusal::Expired);
        let day = 24 * 60 * 60 * 1000;
        assert_eq!(refused(redeem(2_000_000 + day).await), Refusal::Expired);
        assert!(redeem(1_500_000).await.is_ok(), "a clock that was set back makes it stand again");
    }

    /// T-SQL-01
    async fn hostile_texts_in_ids_and_filters_are_texts(store: Store) {
        create(&store).await;
        for hostile in ["' OR '1'='1", "\"; DROP TABLE share; --", "%", "_", "\u{0}", "ses_a' UNION SELECT 1", "\\"] {
            let auth = ShareAuth::Ref(SturdyRef::new(SHARE, hostile, hostile));
            assert_eq!(refused(store.redeem_share(call(), SHARE.to_owned(), auth.clone(), None).await), Refusal::Unauthorized);
            assert_eq!(refused(store.redeem_share(call(), hostile.to_owned(), auth, None).await), Refusal::NotFound);
            let unknown = store.revoke_share_capability(call(), SHARE.to_owned(), owner(), hostile.to_owned()).await;
            assert_eq!(refused(unknown), Refusal::NotFound);
            let writer = Some(hostile.to_owned());
            let writer = store.redeem_share(call(), SHARE.to_owned(), owner(), writer).await.unwrap().writer;
            assert_eq!(writer.unwrap().applied_seq, 0);
        }
        append(&store, &Sender::new("wr_1").seal(vec![message("msg_' OR 1", "a")])).await.unwrap();
        assert_eq!(shown(&store).await.len(), 1);
    }

    /// T-ENV-01, the store's part
    async fn every_byte_of_a_payload_is_kept(store: Store) {
        create(&store).await;
        let deep = format!("{}1{}", "[".repeat(60), "]".repeat(60));
        let odd = r#"{"__proto__":1,"constructor":{"toJSON":2},"10":"b","9":"a","u":"\ud83d\ude00 \u0000 ü","n":1e400,"big":12345678901234567890}"#;
        let mut sender = Sender::new("wr_1");
        let mut texts = Vec::new();
        for (count, text) in [odd, deep.as_str(), "{\"spaces\" :\t1 }"].into_iter().enumerate() {
            let mut batch = sender.clone().seal(vec![message(&format!("msg_{count}"), "")]);
            batch.ops[0].payload_json = Some(text.to_owned());
            let chain = sturdy_store::share::Chain::parse(&batch.chain_before).unwrap().after(&batch.ops[0]);
            batch.chain_after = chain.to_string();
            sender.go_on(&batch, chain);
            assert_eq!(append(&store, &batch).await.unwrap().rejected, []);
            texts.push((format!("message/msg_{count}"), text.to_owned()));
        }

        assert_eq!(shown(&store).await, texts);
    }
}

/// What a child capability asks for.
#[derive(Clone, Debug)]
struct Wish {
    parent: usize,
    scope: u8,
    expires: Option<u64>,
    max_ops: Option<u64>,
    kinds: Option<u8>,
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let limit = || proptest::option::of(2_000_000..9_000_000_u64);
    let wish = (0..30_usize, 1..8_u8, limit(), limit(), proptest::option::of(1..8_u8));
    let wish = wish.prop_map(|(parent, scope, expires, max_ops, kinds)| Wish {
        parent,
        scope,
        expires,
        max_ops,
        kinds,
    });
    proptest::collection::vec(wish, 1..30)
}

/// The names whose bit is set.
fn chosen(bits: u8, names: [&str; 3]) -> Vec<String> {
    let all = names.into_iter().enumerate();
    all.filter(|(place, _)| bits & (1 << place) != 0).map(|(_, name)| name.to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// T-CAP-04: whatever is asked for, no capability is wider than the one it was made of.
    #[test]
    fn no_tree_of_capabilities_has_a_child_that_is_wider_than_its_parent(wishes in wishes()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let directory = tempfile::tempdir().unwrap();
            let store = crate::bench::open(&directory).await;
            create(&store).await;
            let mut holders = vec![owner()];
            for (count, wish) in wishes.iter().enumerate() {
                let parent = holders[wish.parent % holders.len()].clone();
                let reference = SturdyRef::new(SHARE, format!("cap{count}"), "secret");
                let wanted = Attenuation {
                    reference: reference.clone(),
                    scope: Scope::parse(&chosen(wish.scope, ["read", "append", "admin"])).unwrap(),
                    kinds: wish.kinds.map(|bits| chosen(bits, ["message", "part", "session"])),
                    expires: wish.expires,
                    max_ops: wish.max_ops,
                    label: String::new(),
                };
                if store.attenuate_share(call(), SHARE.to_owned(), parent, wanted).await.is_ok() {
                    holders.push(ShareAuth::Ref(reference));
                }
            }
            let all = store.share_capabilities(call(), SHARE.to_owned(), owner()).await.unwrap();
            assert_eq!(all.len(), holders.len());
            for row in &all {
                let Some(parent) = &row.parent_id else { continue };
                let parent = all.iter().find(|known| known.cap_id == *parent).unwrap();
                assert!(parent.scope.contains(row.scope));
                assert!(row.depth == parent.depth + 1 && row.depth <= 8);
                assert!(row.expires.unwrap_or(u64::MAX) <= parent.expires.unwrap_or(u64::MAX));
                assert!(row.max_ops.unwrap_or(u64::MAX) <= parent.max_ops.unwrap_or(u64::MAX));
                if let Some(allowed) = &parent.kinds {
                    assert!(row.kinds.as_ref().unwrap().iter().all(|kind| allowed.contains(kind)));
                }
            }
            store.close().await;
        });
    }
}
