//! What changes in a shared session is noted by the commit that changes it, and sealed once.

use crate::bench::{Draft, msg, prt, ses};
use proptest::prelude::*;
use std::collections::BTreeMap;
use sturdy_session::row::{PartRow, RowChange};
use sturdy_store::outbox::{Answered, Contract, Link, LinkSecret, LinkState, Made, Retry, WantedLink};
use sturdy_store::share::{Batch, Visibility};
use sturdy_store::{Commit, CommitError, CrashPlan, Options, Store};

const SHARED: &str = "a";

/// The session is shared, to a service that takes everything.
async fn shared(store: &Store) {
    shared_as(store, SHARED).await;
}

async fn shared_as(store: &Store, session: &str) {
    let wanted = WantedLink {
        session: ses(session),
        target: "https://share.example".to_owned(),
        request: "rq_1".to_owned(),
        secret: LinkSecret::new("a-secret-of-the-owner"),
        writer: "wr_1".to_owned(),
        visibility: Visibility::Link,
        actor: String::new(),
    };
    let link = store.want_share(wanted, 1).await.unwrap();
    let made = Made {
        share: "AbCdEfGhIjKlMnOpQrStUv".to_owned(),
        url: "https://share.example/share/AbCdEfGhIjKlMnOpQrStUv".to_owned(),
        secret: LinkSecret::new("a-secret-of-the-owner"),
        contract: Contract::Ops,
        epoch: 1,
        cursor: 0,
    };
    store.share_was_made(&link, made).await.unwrap();
}

async fn link(store: &Store) -> Link {
    store.share_link(&ses(SHARED)).await.unwrap().unwrap()
}

/// What the service shows: the newest payload of each key.
type Shown = BTreeMap<String, String>;

fn apply(shown: &mut Shown, batch: &Batch) {
    for op in &batch.ops {
        match (&op.payload_json, op.kind.as_str()) {
            (Some(payload), _) => drop(shown.insert(op.key.clone(), payload.clone())),
            (None, "message.remove") => {
                let parts = op.key.replacen("message/", "part/", 1) + "/";
                shown.retain(|key, _| *key != op.key && !key.starts_with(&parts));
            }
            (None, _) => drop(shown.remove(&op.key)),
        }
    }
}

/// Reads, seals and answers once, as the sender does. Says how many operations that were, and whether it is done.
async fn send_once(store: &Store, shown: &mut Shown) -> (usize, bool) {
    let session = ses(SHARED);
    let before = link(store).await;
    let found = if before.is_compared {
        store.share_changes(&session).await.unwrap().unwrap()
    } else {
        store.share_differences(&session, 0).await.unwrap().unwrap()
    };
    let is_last = found.next.is_none();
    let sealed = store.seal_share(&session, &before.writer, found.drafts, is_last).await.unwrap();
    let Some((link, batch)) = store.sealed_batch(&session).await.unwrap() else {
        return (0, sealed.took_all && is_last && before.is_compared);
    };
    apply(shown, &batch);
    let count = batch.ops.len();
    let answered = Answered {
        last_seq: batch.last_seq,
        cursor: link.cursor + count as u64,
        epoch: 1,
        count: link.acked_count + count as u64,
        error: None,
    };
    store.share_was_answered(&session, &link.writer, answered).await.unwrap();
    (count, false)
}

/// Sends until there is nothing to send. Says how many operations that were.
async fn send_all(store: &Store, shown: &mut Shown) -> usize {
    let mut sent = 0;
    loop {
        let (count, is_done) = send_once(store, shown).await;
        sent += count;
        if is_done {
            return sent;
        }
    }
}

/// Looks at the whole session, and finds nothing that the changes have not said.
async fn nothing_is_missing(store: &Store) {
    let all = store.share_differences(&ses(SHARED), 0).await.unwrap().unwrap();
    assert_eq!(all.drafts, [], "the changes have missed something");
    let rest = store.share_changes(&ses(SHARED)).await.unwrap().unwrap();
    assert_eq!(rest.drafts, []);
}

async fn commit(store: &Store, draft: Draft) {
    let expected = seq(store).await;
    store.commit(Commit { expected, ..draft.commit }).await.unwrap();
}

async fn seq(store: &Store) -> u64 {
    store.load(&ses(SHARED)).await.unwrap().map_or(0, |loaded| loaded.seq)
}

fn draft() -> Draft {
    Draft::new(SHARED, 0)
}

// Was: one link that could not be read kept every other from being sent.
#[tokio::test]
async fn a_link_that_cannot_be_read_is_noted_and_keeps_no_other_from_being_listed() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(Options::new(directory.path())).await.unwrap();
    shared(&store).await;
    shared_as(&store, "b").await;
    shared_as(&store, "c").await;
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    raw.execute("UPDATE share_link SET state = 'nonsense' WHERE session_id = ?1", [ses("b").as_str()])
        .unwrap();
    raw.execute("UPDATE share_link SET session_id = 'nobody' WHERE session_id = ?1", [ses("c").as_str()])
        .unwrap();

    let links = store.share_links().await.unwrap();

    let listed: Vec<_> = links.iter().map(|link| link.session.clone()).collect();
    assert_eq!(listed, [ses(SHARED)]);
    let damaged: Vec<_> = store.damaged_rows().into_iter().map(|row| (row.session, row.place)).collect();
    assert_eq!(damaged, [(ses("b"), "its share link".to_owned())]);
    store.close().await;
}

/// T-OUT-02: a wait is stored with its link, and ends with whatever is wanted of the link next.
#[tokio::test]
async fn a_link_that_was_put_off_stays_so_through_a_kill_until_something_else_is_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(Options::new(directory.path())).await.unwrap();
    shared(&store).await;
    let before = link(&store).await;
    let retry = Retry { failures: 4, at: 77_000 };

    store.put_off_share(&before, "nobody answers", retry).await.unwrap();
    store.die().await;
    let store = Store::open(Options::new(directory.path())).await.unwrap();

    let error = Some("nobody answers".to_owned());
    assert_eq!(link(&store).await, Link { error, retry, ..before.clone() });
    store.set_share_state(&before, LinkState::Deleting, None).await.unwrap();
    let wanted = Link { state: LinkState::Deleting, ..before.clone() };
    assert_eq!(link(&store).await, wanted);
    store.put_off_share(&before, "too late", retry).await.unwrap();
    assert_eq!(link(&store).await, wanted, "what failed is not what is wanted now");
    store.close().await;
}

stores! {
    /// T-OUT-03
    async fn a_thousand_changes_of_one_part_are_one_operation(store: Store) {
        commit(&store, draft().session("title").message("1", 1, 1).part("1", "1", 1, "first")).await;
        shared(&store).await;
        let mut shown = Shown::new();
        send_all(&store, &mut shown).await;

        let many = (0..1_000).fold(draft(), |draft, number| draft.part("1", "1", 1, &format!("text {number}")));
        commit(&store, many).await;
        let sent = send_all(&store, &mut shown).await;

        assert_eq!(sent, 1);
        assert!(shown["part/msg_1/prt_1"].contains("text 999"));
        nothing_is_missing(&store).await;
    }

    async fn a_row_that_changes_after_it_was_read_is_read_again(store: Store) {
        commit(&store, draft().session("title").message("1", 1, 1).part("1", "1", 1, "first")).await;
        shared(&store).await;
        let mut shown = Shown::new();
        send_all(&store, &mut shown).await;
        commit(&store, draft().part("1", "1", 1, "second")).await;
        let found = store.share_changes(&ses(SHARED)).await.unwrap().unwrap();

        commit(&store, draft().part("1", "1", 1, "third")).await;
        store.seal_share(&ses(SHARED), "wr_1", found.drafts, true).await.unwrap();
        let (_, batch) = store.sealed_batch(&ses(SHARED)).await.unwrap().unwrap();
        assert!(batch.ops[0].payload_json.as_ref().unwrap().contains("second"));
        let answered = Answered { last_seq: batch.last_seq, cursor: 4, epoch: 1, count: 4, error: None };
        store.share_was_answered(&ses(SHARED), "wr_1", answered).await.unwrap();

        assert_eq!(send_all(&store, &mut shown).await, 1);
        assert!(shown["part/msg_1/prt_1"].contains("third"));
        nothing_is_missing(&store).await;
    }

    async fn what_was_made_and_removed_before_it_was_sent_is_not_spoken_of(store: Store) {
        commit(&store, draft().session("title")).await;
        shared(&store).await;
        let mut shown = Shown::new();
        send_all(&store, &mut shown).await;

        commit(&store, draft().message("1", 1, 1).part("1", "1", 1, "text")).await;
        commit(&store, draft().idled().row(RowChange::RemoveMessage(msg("1")))).await;

        assert_eq!(send_all(&store, &mut shown).await, 0);
        nothing_is_missing(&store).await;
    }

    async fn a_message_that_comes_again_without_a_part_loses_that_part(store: Store) {
        commit(&store, draft().session("title").message("1", 1, 1).part("1", "1", 1, "text")).await;
        shared(&store).await;
        let mut shown = Shown::new();
        send_all(&store, &mut shown).await;

        let again = draft().idled().row(RowChange::RemoveMessage(msg("1"))).message("1", 1, 1);
        commit(&store, again.part("1", "2", 1, "other")).await;
        send_all(&store, &mut shown).await;

        let keys: Vec<&str> = shown.keys().map(String::as_str).collect();
        assert_eq!(keys, ["message/msg_1", "part/msg_1/prt_2", "session"]);
        nothing_is_missing(&store).await;
    }

    async fn an_open_part_is_sent_with_its_growth(store: Store) {
        commit(&store, draft().session("title").message("1", 1, 1)).await;
        shared(&store).await;
        let mut shown = Shown::new();
        send_all(&store, &mut shown).await;

        commit(&store, draft().open_part("1", "1", 1)).await;
        for delta in ["one ", "two ", "three"] {
            commit(&store, draft().grew("1", "1", delta)).await;
            send_all(&store, &mut shown).await;
        }

        assert!(shown["part/msg_1/prt_1"].contains("one two three"), "{shown:?}");
    }

    async fn a_session_that_is_not_shared_has_no_notes(store: Store) {
        commit(&store, draft().session("title")).await;
        shared(&store).await;
        let other = Draft::new("b", 0).session("other").message("2", 1, 1);

        store.commit(other.commit).await.unwrap();

        let found = store.share_changes(&ses("b")).await.unwrap().unwrap();
        assert_eq!(found.drafts, []);
    }
}

/// T-OUT-01: the note and the change are one commit, whichever side of it the process dies on.
#[tokio::test]
async fn a_change_and_its_note_are_there_together_or_not_at_all() {
    for plan in [CrashPlan::BeforeKind("text.grew.1"), CrashPlan::AfterKind("text.grew.1")] {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(Options::new(directory.path())).await.unwrap();
        commit(&store, draft().session("title").message("1", 1, 1)).await;
        shared(&store).await;
        let mut shown = Shown::new();
        send_all(&store, &mut shown).await;
        store.close().await;

        let options = Options { crash: plan, ..Options::new(directory.path()) };
        let store = Store::open(options).await.unwrap();
        let expected = seq(&store).await;
        let last = draft().grew("1", "9", "x").part("1", "1", 1, "text");
        let died = store.commit(Commit { expected, ..last.commit }).await;
        assert!(died.is_err(), "{plan:?}");
        drop(store);

        let store = Store::open(Options::new(directory.path())).await.unwrap();
        send_all(&store, &mut shown).await;
        let is_there = seq(&store).await > expected;
        assert_eq!(shown.contains_key("part/msg_1/prt_1"), is_there, "{plan:?}");
        nothing_is_missing(&store).await;
        store.close().await;
    }
}

/// T-DSK-01: the sender's disk is full.
#[tokio::test]
async fn a_full_disk_seals_nothing_and_loses_no_note() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(Options::new(directory.path())).await.unwrap();
    commit(&store, draft().session("title").message("1", 1, 1)).await;
    shared(&store).await;
    let mut shown = Shown::new();
    send_all(&store, &mut shown).await;
    commit(&store, draft().part("1", "1", 1, &"x".repeat(300_000))).await;
    store.close().await;
    let size = std::fs::metadata(directory.path().join("sturdy.db")).unwrap().len();
    let bytes_max = Some(size + 16 * 1024);
    let store = Store::open(Options { bytes_max, ..Options::new(directory.path()) }).await.unwrap();

    let found = store.share_changes(&ses(SHARED)).await.unwrap().unwrap();
    let refused = store.seal_share(&ses(SHARED), "wr_1", found.drafts, true).await;

    assert!(matches!(refused, Err(CommitError::Unavailable(_))), "{refused:?}");
    assert_eq!(store.sealed_batch(&ses(SHARED)).await.unwrap(), None);
    store.close().await;
    let store = Store::open(Options::new(directory.path())).await.unwrap();
    assert_eq!(send_all(&store, &mut shown).await, 1);
    nothing_is_missing(&store).await;
    assert_eq!(store.verify(|_| {}).await.unwrap().findings, []);
    store.close().await;
}

#[derive(Clone, Debug)]
enum Step {
    Message(u8),
    Part(u8, u8, u16),
    RemoveMessage(u8),
    RemovePart(u8, u8),
    Send,
    /// Everything is sent anew.
    StartOver,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..4u8).prop_map(Step::Message),
        6 => (0..4u8, 0..3u8, any::<u16>()).prop_map(|(message, part, text)| Step::Part(message, part, text)),
        1 => (0..4u8).prop_map(Step::RemoveMessage),
        1 => (0..4u8, 0..3u8).prop_map(|(message, part)| Step::RemovePart(message, part)),
        3 => Just(Step::Send),
        1 => Just(Step::StartOver),
        1 => Just(Step::Restart),
    ]
}

fn changed(step: &Step) -> Option<Draft> {
    let part_name = |message: u8, part: u8| format!("{message}{part}");
    match step {
        Step::Message(message) => Some(draft().message(&message.to_string(), u64::from(*message) + 1, 1)),
        Step::Part(message, part, text) => {
            let id = part_name(*message, *part);
            Some(draft().part(&message.to_string(), &id, u64::from(*part) + 1, &text.to_string()))
        }
        Step::RemoveMessage(message) => {
            Some(draft().idled().row(RowChange::RemoveMessage(msg(&message.to_string()))))
        }
        Step::RemovePart(message, part) => {
            Some(draft().idled().row(RowChange::RemovePart(prt(&part_name(*message, *part)))))
        }
        Step::Send | Step::StartOver | Step::Restart => None,
    }
}

async fn any_history(steps: Vec<Step>) {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(Options::new(directory.path())).await.unwrap();
    commit(&store, draft().session("title")).await;
    shared(&store).await;
    let mut shown = Shown::new();
    let mut messages = std::collections::BTreeSet::new();
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Message(message) => drop(messages.insert(*message)),
            Step::RemoveMessage(message) => drop(messages.remove(message)),
            // A part belongs to a message that is there.
            Step::Part(message, ..) if !messages.contains(message) => continue,
            Step::Send => drop(send_once(&store, &mut shown).await),
            Step::StartOver => {
                let link = link(&store).await;
                store.start_share_over(&link, &format!("wr_{number}"), 1, link.cursor).await.unwrap();
                // What a snapshot does not name goes when it ends.
                shown.clear();
            }
            Step::Restart => {
                store.close().await;
                store = Store::open(Options::new(directory.path())).await.unwrap();
            }
            Step::Part(..) | Step::RemovePart(..) => {}
        }
        if let Some(draft) = changed(step) {
            commit(&store, draft).await;
        }
    }

    send_all(&store, &mut shown).await;

    nothing_is_missing(&store).await;
    let mut wanted = Shown::new();
    let rows = store.rows_of_session(&ses(SHARED)).await.unwrap();
    wanted.insert("session".to_owned(), rows.session.unwrap().data);
    wanted.extend(rows.messages.into_iter().map(|row| (format!("message/{}", row.id), row.data)));
    let of_part = |row: &PartRow| format!("part/{}/{}", row.message_id, row.id);
    wanted.extend(rows.parts.into_iter().map(|row| (of_part(&row), row.data)));
    assert_eq!(shown, wanted);
    store.close().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever changes, in whatever order it is sent: changes say what a look at the whole session would.
    #[test]
    fn changes_say_what_a_look_at_the_whole_session_says(steps in proptest::collection::vec(step(), 0..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(any_history(steps));
    }
}
