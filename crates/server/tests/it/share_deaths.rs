//! Either side dies before and after each of its writes, and for a long time both come and go: nothing is lost, nothing
//! stays that does not belong there.

use crate::relay::{Closed, Fault};
use crate::share_pair::{Pair, Side, copy};
use serde_json::json;
use std::path::Path;
use sturdy_store::CrashPlan;

/// More writes than sharing one session takes.
const WRITES_MAX: u64 = 100;
/// A start replaces the mark of its store and forgets the former one. Whoever dies there has not started.
const WRITES_OF_A_START: u64 = 2;

/// A session is shared, goes on, and is taken back. Says whether somebody died.
async fn life_of_a_share(pair: &mut Pair) -> bool {
    let deaths = pair.deaths();
    let share = pair.share().await;
    pair.agree(&share).await;
    pair.say("while it is shared").await;
    pair.agree(&share).await;
    pair.unshare(&share).await;
    pair.deaths() > deaths
}

/// Lets one side die at its first write, at its second, and so on, until it lives through it all.
async fn die_at_every_write(side: Side, plan: fn(u64) -> CrashPlan) {
    let mut pair = Pair::new().await;
    let mut deaths = 0;
    for number in 1..WRITES_MAX {
        pair.another_session().await;
        pair.say("before it is shared").await;
        pair.restart(side, plan(WRITES_OF_A_START + number), |_| {}).await;
        if !life_of_a_share(&mut pair).await {
            break;
        }
        deaths += 1;
    }
    // Made, sealed, answered, sealed, answered, unshared: or created, twice applied, deleted.
    assert!((4..WRITES_MAX - 1).contains(&deaths), "it died {deaths} times");
    pair.close().await;
}

/// T-OUT-06, T-OUT-07, T-CRT-01, T-CRT-02
#[tokio::test]
async fn a_sender_may_die_before_every_write() {
    die_at_every_write(Side::Sender, CrashPlan::BeforeWrite).await;
}

/// T-OUT-06, T-OUT-07, T-CRT-01, T-CRT-02
#[tokio::test]
async fn a_sender_may_die_after_every_write() {
    die_at_every_write(Side::Sender, CrashPlan::AfterWrite).await;
}

/// T-SRV-12, T-CRT-01, T-CRT-02
#[tokio::test]
async fn a_receiver_may_die_before_every_write() {
    die_at_every_write(Side::Receiver, CrashPlan::BeforeWrite).await;
}

/// T-SRV-12, T-CRT-01, T-CRT-02
#[tokio::test]
async fn a_receiver_may_die_after_every_write() {
    die_at_every_write(Side::Receiver, CrashPlan::AfterWrite).await;
}

/// The record of a session says whether it is shared, so its commits matter as well.
#[tokio::test]
async fn a_sender_may_die_before_and_after_its_session_says_that_it_is_shared() {
    let mut pair = Pair::new().await;
    let edited = "session.edited.1";
    for plan in [CrashPlan::BeforeKind(edited), CrashPlan::AfterKind(edited)] {
        pair.another_session().await;
        pair.restart(Side::Sender, plan, |_| {}).await;
        assert!(life_of_a_share(&mut pair).await, "nobody died by {plan:?}");
    }
    pair.close().await;
}

/// A row of numbers that looks random and is the same in every run.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }
}

/// T-REC-03
#[tokio::test]
async fn a_service_that_comes_and_goes_forty_times_shows_the_session_in_the_end() {
    let mut pair = Pair::new().await;
    let share = pair.share().await;
    let mut drawn = Drawn(3);
    for round in 0..40 {
        pair.relay.fail([Fault::Down, Fault::None][usize::from(round % 2 == 1)]);
        if drawn.below(4) == 0 {
            pair.restart(Side::Receiver, CrashPlan::Never, |_| {}).await;
        }
        pair.say(&format!("round {round}")).await;
    }

    pair.agree(&share).await;

    pair.close().await;
}

/// T-NET-01: over Cap'n Web in one request.
#[tokio::test]
async fn every_fault_of_the_network_is_survived() {
    survive_every_fault(None).await;
}

/// T-NET-01: over plain HTTP, where nothing else is understood.
#[tokio::test]
async fn every_fault_of_the_network_is_survived_over_plain_http() {
    survive_every_fault(Some(Closed::Status(404))).await;
}

async fn survive_every_fault(rpc: Option<Closed>) {
    let mut pair = Pair::new().await;
    pair.relay.close_rpc(rpc);
    let share = pair.share().await;
    let faults = [
        Fault::LoseRequests(2),
        Fault::LoseAnswers(2),
        Fault::Twice(2),
        Fault::CutAnswers(2),
        Fault::Refuse(429, 2),
        Fault::Refuse(500, 2),
        Fault::RefuseAfter(502, 2),
        Fault::Drip(2),
        Fault::Reset(2),
        Fault::Refuse(404, 2),
        Fault::Refuse(413, 2),
    ];
    for fault in faults {
        pair.relay.fail(fault);
        pair.say(&format!("{fault:?}")).await;
        pair.agree(&share).await;
    }
    pair.close().await;
}

/// What can happen to two servers that share.
#[derive(Clone, Copy, Debug)]
enum Event {
    Say,
    RemoveMessage,
    Fault(Fault),
    Restart(Side),
    Die(Side, CrashPlan),
    Backup(Side),
    Restore(Side),
    Rotate,
    ForeignWrite,
}

fn drawn_event(drawn: &mut Drawn) -> Event {
    let side = [Side::Sender, Side::Receiver][drawn.below(2) as usize];
    match drawn.below(12) {
        0..=2 => Event::Say,
        3 => Event::RemoveMessage,
        4 | 5 => {
            let faults = [
                Fault::Down,
                Fault::None,
                Fault::LoseRequests(2),
                Fault::LoseAnswers(2),
                Fault::Twice(2),
                Fault::CutAnswers(1),
            ];
            Event::Fault(faults[drawn.below(6) as usize])
        }
        6 => Event::Restart(side),
        7 => {
            let number = WRITES_OF_A_START + 1 + drawn.below(3);
            let plans = [CrashPlan::BeforeWrite(number), CrashPlan::AfterWrite(number)];
            Event::Die(side, plans[drawn.below(2) as usize])
        }
        8 => Event::Backup(side),
        9 => Event::Restore(side),
        10 => Event::Rotate,
        _ => Event::ForeignWrite,
    }
}

fn back_up(root: &Path) {
    copy(&root.join("data"), &root.join("backup"));
}

fn restore(root: &Path) {
    copy(&root.join("backup"), &root.join("data"));
}

impl Pair {
    async fn happen(&mut self, event: Event, share: &str, number: usize) {
        match event {
            Event::Say => self.say(&format!("event {number}")).await,
            Event::RemoveMessage => self.remove_first_message().await,
            Event::Fault(fault) => self.relay.fail(fault),
            Event::Restart(side) => self.restart(side, CrashPlan::Never, |_| {}).await,
            Event::Die(side, plan) => {
                self.restart(side, plan, |_| {}).await;
                self.say(&format!("death {number}")).await;
            }
            Event::Backup(side) => self.restart(side, CrashPlan::Never, back_up).await,
            Event::Restore(side) => self.restart(side, CrashPlan::Never, restore).await,
            Event::Rotate => {
                let owner = self.owner().await;
                let receiver = self.world(Side::Receiver);
                let path = format!("/api/share/{share}/rotate");
                // A receiver that is about to die may not answer; the secret is asked for anew whenever it is needed.
                let _ = receiver.request("POST", &path).bearer_auth(owner).send().await;
            }
            Event::ForeignWrite => {
                let owner = self.owner().await;
                let message = json!({ "id": format!("msg_foreign{number}") });
                let data = json!([{ "type": "message", "data": message }]);
                let receiver = self.world(Side::Receiver);
                let path = format!("/api/share/{share}/sync");
                receiver.send("POST", &path, &json!({ "secret": owner, "data": data })).await;
            }
        }
        self.revive().await;
    }

    async fn owner(&mut self) -> String {
        let path = format!("/sturdy/session/{}/share", self.session);
        self.insist("POST", &path, None).await["reference"].as_str().unwrap().to_owned()
    }

    async fn remove_first_message(&mut self) {
        let path = format!("/session/{}/message", self.session);
        let messages = self.insist("GET", &path, None).await;
        if let Some(first) = messages[0]["info"]["id"].as_str() {
            let path = format!("{path}/{first}");
            let removed = self.world(Side::Sender).call("DELETE", &path).await;
            assert!([200, 404, 500, 503].contains(&removed.status), "{}", removed.text);
        }
    }
}

/// T-MOD-01: whatever happened to either side, in the end the share shows the session.
async fn end_in_agreement(seed: u64) {
    let mut drawn = Drawn(seed);
    let mut pair = Pair::new().await;
    pair.say("the beginning").await;
    let share = pair.share().await;
    pair.agree(&share).await;
    for side in [Side::Sender, Side::Receiver] {
        pair.restart(side, CrashPlan::Never, back_up).await;
    }
    let mut history = Vec::new();
    for number in 0..12 {
        let event = drawn_event(&mut drawn);
        history.push(event);
        println!("seed {seed}: {event:?}");
        pair.happen(event, &share, number).await;
    }

    pair.relay.fail(Fault::None);
    // What was restored while nothing was to be sent is noticed when both are compared: at a start, or every quarter hour.
    pair.restart(Side::Sender, CrashPlan::Never, |_| {}).await;
    pair.agree(&share).await;
    pair.close().await;
}

#[tokio::test]
async fn both_sides_agree_after_any_history_1() {
    for seed in 1..=3 {
        end_in_agreement(seed).await;
    }
}

#[tokio::test]
async fn both_sides_agree_after_any_history_2() {
    for seed in 4..=6 {
        end_in_agreement(seed).await;
    }
}
