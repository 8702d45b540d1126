//! T-MOD-01: a sender and a service, both with real stores, and between them whatever a network, kills, backups and other
//! people do. A plain model of the service follows along: it remembers every operation, and nothing is cut, hashed or
//! forgotten in it.
//!
//! After every event the service shows what the model shows and has counted what the model has counted: nothing is applied
//! twice, nothing is lost, nothing is refused or accepted that should not be. When the faults are over, the service shows
//! the session.
//!
//! `SHARE_CASES=2000 cargo nextest run -p sturdy-store -E 'test(share_model)'` runs as many histories.
//!
//! Not here: how the engine sends (`sturdy-server`, `share_deaths.rs`); the sender of this file does what it does, by the
//! same rules of the store.

use crate::bench::{Draft, msg, prt, ses};
use crate::share::{SHARE, Sender, append_as, call, create, message, narrowed, owner};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use sturdy_session::row::RowChange;
use sturdy_store::outbox::{
    Answered, Contract, Finding, Link, LinkSecret, Made, Seen, WantedLink, is_explained, judge,
};
use sturdy_store::share::{
    Ack, Batch, Operation, Refusal, Scope, ShareAuth, SturdyRef, Visibility, chain_start,
};
use sturdy_store::{Commit, Options, Store};
use tempfile::TempDir;

const SESSION: &str = "a";
/// More than any history needs to be sent.
const SENDS_MAX: usize = 40;

/// What becomes of the next thing that the sender sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Arrives,
    RequestLost,
    AnswerLost,
    /// The request arrives twice; the second answer is the one that comes back.
    Twice,
    /// The service is killed after it has stored what came.
    ServiceDies,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Sender,
    Service,
}

#[derive(Clone, Debug)]
enum Event {
    Message(u8),
    Part(u8, u8, u16),
    RemoveMessage(u8),
    RemovePart(u8, u8),
    Send(Fate),
    /// A request of the past comes once more.
    Late(usize),
    Kill(Side),
    BackUp(Side),
    Restore(Side),
    /// Every writer has to redeem again.
    Rotate,
    /// Somebody else with a right to write does so.
    Foreign(u8),
    /// That right is taken back, and used once more.
    Revoke,
}

fn event() -> impl Strategy<Value = Event> {
    let side = prop_oneof![Just(Side::Sender), Just(Side::Service)];
    let fate = prop_oneof![
        6 => Just(Fate::Arrives),
        2 => Just(Fate::RequestLost),
        3 => Just(Fate::AnswerLost),
        2 => Just(Fate::Twice),
        1 => Just(Fate::ServiceDies),
    ];
    prop_oneof![
        3 => (0..3u8).prop_map(Event::Message),
        5 => (0..3u8, 0..2u8, any::<u16>()).prop_map(|(message, part, text)| Event::Part(message, part, text)),
        1 => (0..3u8).prop_map(Event::RemoveMessage),
        1 => (0..3u8, 0..2u8).prop_map(|(message, part)| Event::RemovePart(message, part)),
        14 => fate.prop_map(Event::Send),
        2 => (0..6usize).prop_map(Event::Late),
        2 => side.clone().prop_map(Event::Kill),
        1 => side.clone().prop_map(Event::BackUp),
        2 => side.prop_map(Event::Restore),
        1 => Just(Event::Rotate),
        2 => (0..3u8).prop_map(Event::Foreign),
        1 => Just(Event::Revoke),
    ]
}

/// The service as one would explain it: every operation ever applied, by writer, and what stands.
#[derive(Clone, Debug, Default)]
struct Model {
    epoch: u64,
    cursor: u64,
    applied: BTreeMap<String, Vec<Operation>>,
    /// Payloads with the snapshot they belong to.
    stands: BTreeMap<String, (String, u64)>,
    snapshots: u64,
    /// Who else may write.
    right: Option<String>,
}

impl Model {
    /// Applies a batch, or says by which code it is refused. Says how many operations were new.
    fn receive(&mut self, batch: &Batch) -> Result<usize, &'static str> {
        if batch.capability_epoch != self.epoch {
            return Err("stale_epoch");
        }
        let known = self.applied.entry(batch.writer_id.clone()).or_default();
        let seen = known.len() as u64;
        if batch.first_seq > seen + 1 {
            return Err("gap");
        }
        if batch.last_seq < seen {
            return Ok(0);
        }
        let before = usize::try_from(batch.first_seq - 1).unwrap();
        let repeats = known.len() - before;
        let start = chain_start(SHARE, &batch.writer_id);
        let chain = known[..before].iter().fold(start, |chain, op| chain.after(op));
        if chain.to_string() != batch.chain_before || known[before..] != batch.ops[..repeats] {
            return Err("diverged");
        }
        if repeats == 0 && batch.expected_cursor.is_some_and(|cursor| cursor != self.cursor) {
            return Err("cursor_mismatch");
        }
        let new = &batch.ops[repeats..];
        known.extend_from_slice(new);
        new.iter().for_each(|op| self.apply(op));
        Ok(new.len())
    }

    fn apply(&mut self, op: &Operation) {
        self.cursor += 1;
        match op.kind.as_str() {
            "message.remove" => {
                let parts = op.key.replacen("message/", "part/", 1) + "/";
                self.stands.retain(|key, _| *key != op.key && !key.starts_with(&parts));
            }
            "part.remove" => drop(self.stands.remove(&op.key)),
            "snapshot.begin" => self.snapshots += 1,
            "snapshot.end" => self.stands.retain(|_, (_, snapshot)| *snapshot == self.snapshots),
            _ => {
                let payload = op.payload_json.clone().unwrap();
                self.stands.insert(op.key.clone(), (payload, self.snapshots));
            }
        }
    }

    fn shown(&self) -> BTreeMap<String, String> {
        self.stands.iter().map(|(key, (payload, _))| (key.clone(), payload.clone())).collect()
    }
}

struct World {
    root: TempDir,
    sender: Store,
    service: Store,
    model: Model,
    /// The model at the time of the service's backup.
    model_kept: Model,
    /// Everything that was ever sent.
    past: Vec<Batch>,
    /// Since its start the sender has compared itself with the service.
    is_compared: bool,
    /// Where it is in the conversation, when it looks at all of it.
    from: u64,
    /// Names that nobody had before, also not in a backup.
    names: u64,
}

fn owner_secret() -> LinkSecret {
    let ShareAuth::Ref(reference) = owner() else { unreachable!("the owner shows a reference") };
    LinkSecret::new(reference.reveal())
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

impl World {
    async fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let sender = Store::open(Options::new(root.path().join("Sender"))).await.unwrap();
        let service = Store::open(Options::new(root.path().join("Service"))).await.unwrap();
        create(&service).await;
        let wanted = WantedLink {
            session: ses(SESSION),
            target: "https://share.example".to_owned(),
            request: "rq_1".to_owned(),
            secret: owner_secret(),
            writer: "wr_0".to_owned(),
            visibility: Visibility::Link,
            actor: String::new(),
        };
        let link = sender.want_share(wanted, 1).await.unwrap();
        let made = Made {
            share: SHARE.to_owned(),
            url: format!("https://share.example/share/{SHARE}"),
            secret: owner_secret(),
            contract: Contract::Ops,
            epoch: 1,
            cursor: 0,
        };
        sender.share_was_made(&link, made).await.unwrap();
        let model = Model { epoch: 1, ..Model::default() };
        let mut world = Self {
            root,
            sender,
            service,
            model_kept: model.clone(),
            model,
            past: Vec::new(),
            is_compared: false,
            from: 0,
            names: 0,
        };
        world.commit(Draft::new(SESSION, 0).session("title")).await;
        world.back_up(Side::Sender).await;
        world.back_up(Side::Service).await;
        world
    }

    fn place(&self, side: Side) -> PathBuf {
        self.root.path().join(format!("{side:?}"))
    }

    fn new_name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}_{}", self.names)
    }

    /// Ends a side and starts it again on what it left, or on what `change` makes of that.
    async fn restart(&mut self, side: Side, change: impl FnOnce(&Path)) {
        let place = self.place(side);
        let store = match side {
            Side::Sender => &mut self.sender,
            Side::Service => &mut self.service,
        };
        store.clone().die().await;
        change(&place);
        *store = Store::open(Options::new(&place)).await.unwrap();
        if side == Side::Sender {
            self.is_compared = false;
            self.from = 0;
        }
    }

    async fn back_up(&mut self, side: Side) {
        self.restart(side, |place| copy(place, &place.with_extension("backup"))).await;
        if side == Side::Service {
            self.model_kept = self.model.clone();
        }
    }

    async fn restore(&mut self, side: Side) {
        self.restart(side, |place| copy(&place.with_extension("backup"), place)).await;
        if side == Side::Service {
            self.model = self.model_kept.clone();
        }
    }

    async fn commit(&self, draft: Draft) {
        let expected = self.sender.load(&ses(SESSION)).await.unwrap().map_or(0, |loaded| loaded.seq);
        self.sender.commit(Commit { expected, ..draft.commit }).await.unwrap();
    }

    async fn link(&self) -> Link {
        self.sender.share_link(&ses(SESSION)).await.unwrap().unwrap()
    }

    async fn happen(&mut self, event: &Event) {
        let draft = Draft::new(SESSION, 0);
        let part_name = |message: u8, part: u8| format!("{message}{part}");
        match event {
            Event::Message(id) => self.commit(draft.message(&id.to_string(), u64::from(*id) + 1, 1)).await,
            Event::Part(message, part, text) => {
                // A part belongs to a message, which is written again if it is not there any more.
                let draft = draft.message(&message.to_string(), u64::from(*message) + 1, 1);
                let id = part_name(*message, *part);
                let text = text.to_string();
                self.commit(draft.part(&message.to_string(), &id, u64::from(*part) + 1, &text)).await;
            }
            Event::RemoveMessage(id) => {
                let gone = RowChange::RemoveMessage(msg(&id.to_string()));
                self.commit(draft.idled().row(gone)).await;
            }
            Event::RemovePart(message, part) => {
                let gone = RowChange::RemovePart(prt(&part_name(*message, *part)));
                self.commit(draft.idled().row(gone)).await;
            }
            Event::Send(fate) => drop(self.send(*fate).await),
            Event::Late(back) => {
                if let Some(batch) = self.past.iter().rev().nth(*back).cloned() {
                    let _ = self.arrive(owner(), &batch).await;
                }
            }
            Event::Kill(side) => self.restart(*side, |_| {}).await,
            Event::BackUp(side) => self.back_up(*side).await,
            Event::Restore(side) => self.restore(*side).await,
            Event::Rotate => {
                let fresh = SturdyRef::new(SHARE, "unused", "unused");
                self.service.rotate_share(call(), SHARE.to_owned(), owner(), fresh).await.unwrap();
                self.model.epoch += 1;
            }
            Event::Foreign(id) => self.write_foreign(*id).await,
            Event::Revoke => self.revoke().await,
        }
    }

    /// A request reaches the service, which does what the model does.
    async fn arrive(&mut self, auth: ShareAuth, batch: &Batch) -> Result<Ack, Refusal> {
        let expected = self.model.receive(batch);
        let answer = append_as(&self.service, auth, batch).await;
        let done = match &answer {
            Ok(ack) => {
                assert_eq!(ack.rejected, []);
                assert_eq!(ack.applied.len() + ack.duplicates.len(), batch.ops.len());
                Ok(ack.applied.len())
            }
            Err(why) => Err(why.code()),
        };
        assert_eq!(done, expected, "{batch:?}");
        answer
    }

    async fn redeem(&self, writer: &str) -> Seen {
        let writer = Some(writer.to_owned());
        let found = self.service.redeem_share(call(), SHARE.to_owned(), owner(), writer).await.unwrap();
        let writer = found.writer.unwrap();
        Seen {
            epoch: found.epoch,
            cursor: found.cursor,
            applied_seq: writer.applied_seq,
            applied_count: writer.applied_count,
            chain: writer.chain,
        }
    }

    /// One step of the sender. False: there is nothing to be sent.
    async fn send(&mut self, fate: Fate) -> bool {
        let link = self.link().await;
        if !self.is_compared {
            // A question has no effect, so it does not matter which half of it is lost.
            if matches!(fate, Fate::Arrives | Fate::Twice) {
                self.compare_with_service(&link).await;
            }
            return true;
        }
        if let Some((link, batch)) = self.sender.sealed_batch(&ses(SESSION)).await.unwrap() {
            self.deliver(&link, &batch, fate).await;
            return true;
        }
        self.seal(&link).await
    }

    async fn compare_with_service(&mut self, link: &Link) {
        let seen = self.redeem(&link.writer).await;
        self.is_compared = true;
        match judge(link, &seen) {
            Finding::Agree => self.sender.set_share_epoch(link, seen.epoch).await.unwrap(),
            Finding::WeWentBack | Finding::TheyWentBack | Finding::Diverged | Finding::CursorUnexplained => {
                self.start_over(link).await;
            }
        }
    }

    async fn start_over(&mut self, link: &Link) {
        let seen = self.redeem(&link.writer).await;
        let writer = self.new_name("wr");
        self.sender.start_share_over(link, &writer, seen.epoch, seen.cursor).await.unwrap();
        self.from = 0;
    }

    async fn seal(&mut self, link: &Link) -> bool {
        let session = ses(SESSION);
        let found = if link.is_compared {
            self.sender.share_changes(&session).await.unwrap().unwrap()
        } else {
            self.sender.share_differences(&session, self.from).await.unwrap().unwrap()
        };
        if found.drafts.is_empty() && found.next.is_none() && link.is_compared {
            return false;
        }
        let is_last = found.next.is_none();
        let sealed = self.sender.seal_share(&session, &link.writer, found.drafts, is_last).await.unwrap();
        if sealed.took_all {
            self.from = found.next.unwrap_or(0);
        }
        true
    }

    async fn deliver(&mut self, link: &Link, batch: &Batch, fate: Fate) {
        self.past.push(batch.clone());
        let answer = match fate {
            Fate::RequestLost => return,
            Fate::Arrives => self.arrive(owner(), batch).await,
            Fate::AnswerLost => {
                let _ = self.arrive(owner(), batch).await;
                return;
            }
            Fate::Twice => {
                let _ = self.arrive(owner(), batch).await;
                self.arrive(owner(), batch).await
            }
            Fate::ServiceDies => {
                let _ = self.arrive(owner(), batch).await;
                return self.restart(Side::Service, |_| {}).await;
            }
        };
        match answer {
            Ok(ack) if is_explained(link, ack.cursor, ack.applied_count) => {
                let answered = Answered {
                    last_seq: batch.last_seq,
                    cursor: ack.cursor,
                    epoch: ack.epoch,
                    count: ack.applied_count,
                    error: None,
                };
                self.sender.share_was_answered(&ses(SESSION), &link.writer, answered).await.unwrap();
            }
            Err(Refusal::StaleEpoch { epoch }) => self.sender.set_share_epoch(link, epoch).await.unwrap(),
            Ok(_) | Err(Refusal::Gap { .. } | Refusal::Diverged { .. } | Refusal::CursorMismatch { .. }) => {
                self.start_over(link).await;
            }
            Err(why) => panic!("the service refuses {why:?}"),
        }
    }

    async fn write_foreign(&mut self, id: u8) {
        let right = match self.model.right.clone() {
            Some(right) => right,
            None => {
                let right = self.new_name("cap");
                narrowed(&self.service, &right, Scope::WRITER, |_| {}).await;
                self.model.right = Some(right.clone());
                right
            }
        };
        let batch = self.foreign_batch(id);
        self.arrive(right_of(&right), &batch).await.unwrap();
    }

    fn foreign_batch(&mut self, id: u8) -> Batch {
        let mut other = Sender::new(&self.new_name("wr_other"));
        other.epoch = self.model.epoch;
        other.seal(vec![
            message(&format!("msg_{id}"), "of somebody else"),
            message("msg_9", "no such message"),
        ])
    }

    async fn revoke(&mut self) {
        let Some(right) = self.model.right.take() else { return };
        self.service.revoke_share_capability(call(), SHARE.to_owned(), owner(), right.clone()).await.unwrap();
        self.model.epoch += 1;

        // Not applied by the model either.
        let batch = self.foreign_batch(0);
        assert_eq!(append_as(&self.service, right_of(&right), &batch).await, Err(Refusal::Revoked));
    }

    /// The service shows and has counted what the model has.
    async fn is_as_the_model(&self) {
        let (info, ops) = self.service.share_snapshot(1, SHARE.to_owned(), None).await.unwrap();
        let shown: BTreeMap<String, String> =
            ops.into_iter().map(|op| (op.key, op.data.unwrap().get().to_owned())).collect();
        assert_eq!(shown, self.model.shown());
        assert_eq!(info.cursor, self.model.cursor);
        for (writer, ops) in &self.model.applied {
            let seen = self.redeem(writer).await;
            let counted = (seen.epoch, seen.applied_seq, seen.applied_count);
            assert_eq!(counted, (self.model.epoch, ops.len() as u64, ops.len() as u64), "{writer}");
        }
    }

    /// What the session is, in the form that a share shows it.
    async fn session(&self) -> BTreeMap<String, String> {
        let rows = self.sender.rows_of_session(&ses(SESSION)).await.unwrap();
        let mut all = BTreeMap::from([("session".to_owned(), rows.session.unwrap().data)]);
        all.extend(rows.messages.into_iter().map(|row| (format!("message/{}", row.id), row.data)));
        all.extend(
            rows.parts.into_iter().map(|row| (format!("part/{}/{}", row.message_id, row.id), row.data)),
        );
        all
    }

    /// The faults are over: both sides are compared, as after a start or a quarter of an hour, and everything is sent.
    async fn settle(&mut self) {
        self.is_compared = false;
        for _ in 0..SENDS_MAX {
            if !self.send(Fate::Arrives).await {
                return;
            }
        }
        panic!("the sender has always something more to send");
    }
}

fn right_of(name: &str) -> ShareAuth {
    ShareAuth::parse(&format!("stdy1.{SHARE}.{name}.secret-of-{name}"))
}

async fn any_history(events: Vec<Event>) {
    let mut world = World::new().await;
    for event in &events {
        world.happen(event).await;
        world.is_as_the_model().await;
    }

    world.settle().await;

    world.is_as_the_model().await;
    assert_eq!(world.model.shown(), world.session().await);
    for store in [&world.sender, &world.service] {
        assert_eq!(store.verify(|_| {}).await.unwrap().findings, []);
    }
    world.sender.close().await;
    world.service.close().await;
}

/// The sender asks, seals and delivers, as often as it takes to send what has happened.
fn sent() -> Vec<Event> {
    vec![Event::Send(Fate::Arrives); 6]
}

// Was: the answer to the repeat was believed, and with it a cursor that somebody else had moved.
#[tokio::test]
async fn what_somebody_else_writes_between_a_lost_answer_and_its_repeat_is_found() {
    let mut events = sent();
    events.extend([Event::Message(0), Event::Send(Fate::Arrives), Event::Send(Fate::AnswerLost)]);
    events.extend([Event::Foreign(1), Event::Send(Fate::Arrives)]);

    any_history(events).await;
}

#[tokio::test]
async fn a_request_that_comes_again_behind_later_ones_is_known() {
    let mut events = sent();
    for message in 0..3 {
        events.push(Event::Message(message));
        events.extend(sent());
    }
    events.extend([Event::Late(0), Event::Late(1), Event::Late(2)]);

    any_history(events).await;
}

#[tokio::test]
async fn what_was_sealed_before_a_rotation_is_not_taken_after_it() {
    let mut events = sent();
    events.extend([Event::Message(0), Event::Send(Fate::Arrives), Event::Rotate, Event::Send(Fate::Arrives)]);

    any_history(events).await;
}

#[tokio::test]
async fn a_service_that_lost_what_it_had_is_sent_all_of_it_again() {
    let mut events = sent();
    events.push(Event::BackUp(Side::Service));
    events.push(Event::Part(0, 0, 1));
    events.extend(sent());
    events.push(Event::Restore(Side::Service));
    events.extend(sent());
    events.push(Event::Part(1, 0, 2));

    any_history(events).await;
}

/// How many histories are tried.
fn cases() -> u32 {
    std::env::var("SHARE_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(32)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 64, ..ProptestConfig::default() })]

    /// Whatever is lost, repeated, killed, restored, revoked or written by others: nothing is applied twice, nothing is
    /// lost, and in the end the share shows the session.
    #[test]
    fn a_service_does_what_its_model_does_and_shows_the_session_in_the_end(
        events in proptest::collection::vec(event(), 1..50),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(any_history(events));
    }
}
