//! Shares: what is sent is applied once, authority only narrows, and what is taken back is gone.

use serde_json::{Value, json};
use sturdy_store::Store;
use sturdy_store::share::{
    Ack, Attenuation, Batch, Chain, LegacyItem, NewShare, Operation, Refusal, Scope, ShareAuth, ShareBudget,
    ShareCall, ShareError, ShareLimits, ShownOp, SturdyRef, Visibility, chain_start,
};

pub(crate) const SHARE: &str = "AbCdEfGhIjKlMnOpQrStUv";
const SECRET: &str = "s3cr3t-of-the-owner-that-nobody-may-find-here";

pub(crate) fn call() -> ShareCall {
    at(1_000_000)
}

pub(crate) fn at(now: u64) -> ShareCall {
    ShareCall {
        now,
        actor: "ada".to_owned(),
        transport: "test",
        address: "127.0".to_owned(),
        budget: None,
        limits: ShareLimits::default(),
    }
}

fn owner_ref() -> SturdyRef {
    SturdyRef::new(SHARE, "owner", SECRET)
}

pub(crate) fn owner() -> ShareAuth {
    ShareAuth::Ref(owner_ref())
}

pub(crate) async fn create(store: &Store) {
    let new = NewShare {
        share: SHARE.to_owned(),
        owner: owner_ref(),
        session: "ses_a".to_owned(),
        request: Some("req_1".to_owned()),
        visibility: Visibility::Link,
        label: String::new(),
    };
    assert!(store.create_share(call(), new).await.unwrap().is_new);
}

/// A writer as an engine keeps it: numbers, the chain, the last answer.
#[derive(Clone)]
pub(crate) struct Sender {
    pub(crate) id: String,
    chain: Chain,
    next: u64,
    batches: u64,
    pub(crate) epoch: u64,
    pub(crate) cursor: Option<u64>,
}

impl Sender {
    pub(crate) fn new(id: &str) -> Self {
        let chain = chain_start(SHARE, id);
        Self { id: id.to_owned(), chain, next: 1, batches: 0, epoch: 1, cursor: None }
    }

    /// Goes on after a batch whose content a test has changed.
    pub(crate) fn go_on(&mut self, batch: &Batch, chain: Chain) {
        self.chain = chain;
        self.next = batch.last_seq + 1;
        self.batches += 1;
    }

    /// The chain after a batch whose content a test has changed.
    pub(crate) fn chain_after(&self, batch: &Batch) -> Chain {
        batch.ops.iter().fold(self.chain, |chain, op| chain.after(op))
    }

    /// A batch that is sealed: whatever happens to it, its numbers are used.
    pub(crate) fn seal(&mut self, ops: Vec<(&str, String, Option<Value>)>) -> Batch {
        let before = self.chain;
        let first = self.next;
        let mut sealed = Vec::new();
        for (kind, key, payload) in ops {
            let op = Operation {
                op_id: format!("op_{}_{}", self.id, self.next),
                seq: self.next,
                kind: kind.to_owned(),
                key,
                version: self.next,
                schema: 1,
                depends_on: Vec::new(),
                payload_json: payload.map(|value| value.to_string()),
            };
            self.chain = self.chain.after(&op);
            self.next += 1;
            sealed.push(op);
        }
        self.batches += 1;
        Batch {
            writer_id: self.id.clone(),
            batch_id: format!("bt_{}_{}", self.id, self.batches),
            first_seq: first,
            last_seq: self.next - 1,
            chain_before: before.to_string(),
            chain_after: self.chain.to_string(),
            expected_cursor: self.cursor,
            capability_epoch: self.epoch,
            ops: sealed,
        }
    }
}

pub(crate) fn message(id: &str, text: &str) -> (&'static str, String, Option<Value>) {
    ("message", format!("message/{id}"), Some(json!({ "id": id, "text": text })))
}

pub(crate) fn part(message: &str, id: &str) -> (&'static str, String, Option<Value>) {
    ("part", format!("part/{message}/{id}"), Some(json!({ "id": id, "messageID": message })))
}

pub(crate) async fn append(store: &Store, batch: &Batch) -> Result<Ack, Refusal> {
    append_as(store, owner(), batch).await
}

pub(crate) async fn append_as(store: &Store, auth: ShareAuth, batch: &Batch) -> Result<Ack, Refusal> {
    match store.append_share(call(), SHARE.to_owned(), auth, batch.clone()).await {
        Ok(ack) => Ok(ack),
        Err(ShareError::Refused(why)) => Err(why),
        Err(ShareError::Store(cause)) => panic!("{cause}"),
    }
}

pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, ShareError>) -> Refusal {
    match result {
        Err(ShareError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn shown(store: &Store) -> Vec<(String, String)> {
    let (_, ops) = store.share_snapshot(1_000_000, SHARE.to_owned(), None).await.unwrap();
    ops.into_iter().map(line).collect()
}

fn line(op: ShownOp) -> (String, String) {
    (op.key, op.data.map(|data| data.get().to_owned()).unwrap_or_default())
}

pub(crate) async fn keys(store: &Store) -> Vec<String> {
    shown(store).await.into_iter().map(|(key, _)| key).collect()
}

pub(crate) async fn narrowed(
    store: &Store,
    name: &str,
    scope: Scope,
    change: impl FnOnce(&mut Attenuation),
) -> ShareAuth {
    let reference = SturdyRef::new(SHARE, name, format!("secret-of-{name}"));
    let mut wanted = Attenuation {
        reference: reference.clone(),
        scope,
        kinds: None,
        expires: None,
        max_ops: None,
        label: name.to_owned(),
    };
    change(&mut wanted);
    store.attenuate_share(call(), SHARE.to_owned(), owner(), wanted).await.unwrap();
    ShareAuth::Ref(reference)
}

stores! {
    async fn a_batch_whose_answer_was_lost_is_recognised_and_not_applied_again(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        let first = sender.seal(vec![message("msg_1", "old")]);
        let second = sender.seal(vec![message("msg_1", "new")]);
        append(&store, &first).await.unwrap();
        append(&store, &second).await.unwrap();

        let again = append(&store, &first).await.unwrap();
        let newest = append(&store, &second).await.unwrap();

        assert_eq!(again.duplicates, ["op_wr_1_1"]);
        assert_eq!(newest.duplicates, ["op_wr_1_2"]);
        assert_eq!((again.cursor, again.applied_seq, again.applied_count), (2, 2, 2));
        assert_eq!(shown(&store).await, [("message/msg_1".to_owned(), r#"{"id":"msg_1","text":"new"}"#.to_owned())]);
    }

    async fn a_batch_that_is_known_in_part_applies_the_rest(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        let known = sender.clone().seal(vec![message("msg_1", "a")]);
        let whole = sender.seal(vec![message("msg_1", "a"), message("msg_2", "b")]);
        append(&store, &known).await.unwrap();

        let ack = append(&store, &whole).await.unwrap();

        assert_eq!((ack.duplicates, ack.applied), (vec!["op_wr_1_1".to_owned()], vec!["op_wr_1_2".to_owned()]));
        assert_eq!(keys(&store).await, ["message/msg_1", "message/msg_2"]);
    }

    async fn a_gap_and_a_writer_that_went_back_in_time_are_refused(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        let mut restored = sender.clone();
        let first = sender.seal(vec![message("msg_1", "a")]);
        let second = sender.seal(vec![message("msg_2", "b")]);

        assert_eq!(append(&store, &second).await, Err(Refusal::Gap { applied_seq: 0 }));
        append(&store, &first).await.unwrap();
        let other = restored.seal(vec![message("msg_1", "something else")]);
        assert_eq!(append(&store, &other).await, Err(Refusal::Diverged { applied_seq: 1 }));
        let after_other = restored.seal(vec![message("msg_3", "c")]);
        assert_eq!(append(&store, &after_other).await, Err(Refusal::Diverged { applied_seq: 1 }));
        assert_eq!(keys(&store).await, ["message/msg_1"]);
    }

    async fn a_changed_operation_does_not_fit_its_chain(store: Store) {
        create(&store).await;
        let mut batch = Sender::new("wr_1").seal(vec![message("msg_1", "a")]);
        batch.ops[0].payload_json = Some("{}".to_owned());

        assert_eq!(append(&store, &batch).await, Err(Refusal::ChainMismatch));
        assert_eq!(keys(&store).await, [""; 0]);
    }

    async fn somebody_elses_write_is_noticed_but_a_repeat_is_not_mistaken_for_it(store: Store) {
        create(&store).await;
        let mut one = Sender::new("wr_1");
        let mut two = Sender::new("wr_2");
        one.cursor = Some(0);
        let first = one.seal(vec![message("msg_1", "a")]);
        append(&store, &first).await.unwrap();
        append(&store, &two.seal(vec![message("msg_2", "b")])).await.unwrap();

        assert_eq!(append(&store, &first).await.unwrap().duplicates, ["op_wr_1_1"]);
        one.cursor = Some(1);
        let late = one.seal(vec![message("msg_3", "c")]);
        assert_eq!(append(&store, &late).await, Err(Refusal::CursorMismatch { cursor: 2, applied_seq: 1 }));
    }

    async fn a_rejected_operation_uses_its_number_up_and_the_rest_goes_on(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        let batch = sender.seal(vec![
            ("poem", "poem/1".to_owned(), Some(json!({}))),
            message("msg_1", "a"),
            ("message", "message/msg_2".to_owned(), None),
        ]);

        let ack = append(&store, &batch).await.unwrap();
        let again = append(&store, &batch).await.unwrap();

        let codes: Vec<_> = ack.rejected.iter().map(|rejected| (rejected.seq, rejected.code.as_str())).collect();
        assert_eq!(codes, [(1, "unknown_kind"), (3, "invalid_payload")]);
        assert_eq!((ack.applied_seq, ack.applied_count, ack.cursor), (3, 1, 1));
        assert_eq!((again.rejected, again.duplicates), (ack.rejected, vec!["op_wr_1_2".to_owned()]));
    }

    async fn what_depends_on_something_that_is_not_there_is_rejected(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        append(&store, &sender.seal(vec![("poem", "poem/1".to_owned(), None), message("msg_1", "a")])).await.unwrap();
        let mut depending = |dependency: &str| {
            let chain = sender.chain;
            let mut batch = sender.seal(vec![message("msg_2", "b")]);
            batch.ops[0].depends_on = vec![dependency.to_owned()];
            sender.chain = chain.after(&batch.ops[0]);
            batch.chain_after = sender.chain.to_string();
            batch
        };
        let batches = [
            (depending("op_nowhere"), Some("dependency_missing")),
            (depending("op_wr_1_1@1"), Some("dependency_rejected")),
            (depending("op_wr_1_2@2"), None),
            (depending("op_wr_1_2"), None),
            (depending("op_later@99"), Some("dependency_missing")),
        ];

        for (batch, code) in batches {
            let ack = append(&store, &batch).await.unwrap();
            assert_eq!(ack.rejected.first().map(|rejected| rejected.code.as_str()), code, "{batch:?}");
        }
    }

    async fn removals_and_snapshots_take_away_what_is_gone(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        let batch = sender.seal(vec![
            ("session", "session".to_owned(), Some(json!({ "id": "ses_a" }))),
            message("msg_1", "a"),
            part("msg_1", "prt_1"),
            message("msg_10", "b"),
            part("msg_10", "prt_2"),
        ]);
        append(&store, &batch).await.unwrap();
        append(&store, &sender.seal(vec![("message.remove", "message/msg_1".to_owned(), None)])).await.unwrap();
        assert_eq!(keys(&store).await, ["message/msg_10", "part/msg_10/prt_2", "session"]);

        let snapshot = sender.seal(vec![
            ("snapshot.begin", "snapshot/1".to_owned(), None),
            ("session", "session".to_owned(), Some(json!({ "id": "ses_a" }))),
            message("msg_2", "c"),
            ("snapshot.end", "snapshot/1".to_owned(), None),
        ]);
        append(&store, &snapshot).await.unwrap();

        assert_eq!(keys(&store).await, ["message/msg_2", "session"]);
        let unbegun = sender.seal(vec![("snapshot.end", "snapshot/9".to_owned(), None)]);
        assert_eq!(append(&store, &unbegun).await.unwrap().rejected[0].code, "invalid_payload");
    }

    async fn a_viewer_that_comes_back_gets_what_came_after_its_cursor(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_1");
        append(&store, &sender.seal(vec![message("msg_1", "a"), message("msg_2", "b")])).await.unwrap();
        append(&store, &sender.seal(vec![message("msg_1", "c")])).await.unwrap();

        let page = store.share_ops(1, SHARE.to_owned(), None, 1, 100).await.unwrap();

        let lines: Vec<_> = page.ops.iter().map(|op| (op.cursor, op.key.as_str())).collect();
        assert_eq!(lines, [(2, "message/msg_2"), (3, "message/msg_1")]);
        assert_eq!((page.cursor, page.more), (3, false));
        let ahead = store.share_ops(1, SHARE.to_owned(), None, 99, 100).await.unwrap();
        assert!(ahead.is_behind, "a cursor of another store is answered with the whole");
    }

    async fn a_create_that_is_repeated_makes_one_share(store: Store) {
        create(&store).await;
        let again = |secret: &str| NewShare {
            share: "another-id".to_owned(),
            owner: SturdyRef::new("another-id", "another-cap", secret),
            session: "ses_a".to_owned(),
            request: Some("req_1".to_owned()),
            visibility: Visibility::Link,
            label: String::new(),
        };

        let repeated = store.create_share(call(), again(SECRET)).await.unwrap();

        assert_eq!((repeated.share.as_str(), repeated.capability.as_str(), repeated.is_new), (SHARE, "owner", false));
        assert_eq!(refused(store.create_share(call(), again("other")).await), Refusal::RequestConflict);
    }

    async fn a_client_without_numbers_replaces_by_key_and_keeps_every_model(store: Store) {
        create(&store).await;
        let items: Vec<LegacyItem> = serde_json::from_value(json!([
            { "type": "session", "data": { "id": "ses_a" } },
            { "type": "message", "data": { "id": "msg_1" } },
            { "type": "part", "data": { "id": "prt_1", "messageID": "msg_1" } },
            { "type": "session_diff", "data": [] },
            { "type": "model", "data": [{ "providerID": "acme", "id": "one" }] },
        ])).unwrap();
        let model: Vec<LegacyItem> = serde_json::from_value(json!([
            { "type": "model", "data": [{ "providerID": "acme", "id": "two" }] },
        ])).unwrap();

        let first = store.sync_share(call(), SHARE.to_owned(), owner(), items).await.unwrap();
        let second = store.sync_share(call(), SHARE.to_owned(), owner(), model).await.unwrap();

        assert_eq!((first, second), ((1, 5), (2, 6)));
        assert_eq!(
            keys(&store).await,
            ["message/msg_1", "model/acme/one", "model/acme/two", "part/msg_1/prt_1", "session", "session_diff"]
        );
    }
}

#[tokio::test]
async fn no_secret_is_in_the_database_and_none_is_printed() {
    let directory = tempfile::tempdir().unwrap();
    let store = crate::bench::open(&directory).await;
    create(&store).await;
    let wrong = ShareAuth::Ref(SturdyRef::new(SHARE, "owner", "a-wrong-secret"));
    let refusal = refused(store.redeem_share(call(), SHARE.to_owned(), wrong, None).await);
    assert_eq!(refusal, Refusal::Unauthorized);
    store.redeem_share(call(), SHARE.to_owned(), owner(), None).await.unwrap();

    store.close().await;

    assert!(!format!("{:?}", owner()).contains(SECRET));
    let mut files = 0;
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            files += 1;
            let bytes = std::fs::read(&path).unwrap();
            let holds = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
            assert!(!holds, "{}", path.display());
        }
    }
    assert!(files > 0);
}

#[test]
fn an_unknown_share_and_a_wrong_secret_are_answered_at_the_same_length() {
    let length = |refusal: Refusal| refusal.code().len() + refusal.to_string().len();

    assert_eq!(length(Refusal::NotFound), length(Refusal::Unauthorized));
}

stores! {
    async fn a_service_without_a_key_holds_no_more_than_its_budget(store: Store) {
        create(&store).await;
        let mut sender = Sender::new("wr_a");
        let held = |bytes: u64| ShareCall { budget: Some(ShareBudget { shares: 1, bytes }), ..call() };
        let part = |text: &str| vec![("part", "part/m/p".to_owned(), Some(json!({ "text": text })))];

        let another = NewShare {
            share: "another".to_owned(),
            owner: SturdyRef::new("another", "other", SECRET),
            session: "ses_b".to_owned(),
            request: None,
            visibility: Visibility::Link,
            label: String::new(),
        };
        let one_too_many = store.create_share(held(1000), another.clone()).await;
        let small = sender.seal(part("small"));
        store.append_share(held(100), SHARE.to_owned(), owner(), small).await.unwrap();
        let mut greedy = sender.clone();
        let large = greedy.seal(part(&"x".repeat(100)));
        let too_large = store.append_share(held(100), SHARE.to_owned(), owner(), large).await;
        // A value that replaces another counts once, and what is deleted does not count.
        for _ in 0..20 {
            let again = sender.seal(part("smaller"));
            store.append_share(held(60), SHARE.to_owned(), owner(), again).await.unwrap();
        }
        store.delete_share(call(), SHARE.to_owned(), owner()).await.unwrap();
        let after_all = store.create_share(held(1000), another).await;

        assert!(matches!(one_too_many, Err(ShareError::Refused(Refusal::Full))), "{one_too_many:?}");
        assert!(matches!(too_large, Err(ShareError::Refused(Refusal::Full))), "{too_large:?}");
        assert!(after_all.is_ok(), "{after_all:?}");
    }
}
