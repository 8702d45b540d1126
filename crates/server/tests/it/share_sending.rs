//! Sharing sessions: what a session shows is what its share shows, whatever gets lost in between.

use crate::relay::{Fault, Relay};
use crate::share_gone::link_in;
use crate::share_pair::{configure, copy, owner_of, receiving, sender_to, session_of, share, share_of};
use crate::world::{World, prompt};
use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use sturdy_server::ServerOptions;
use tokio::net::TcpListener;
use tokio::time::timeout;

/// Longer than anything takes on a busy machine; nothing waits for it.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Waits until the share shows the session as it is.
pub(crate) async fn agree(sender: &World, session: &str, receiver: &World, share: &str) {
    let mut moved = receiver.engine.share_wakes().watch(share);
    let agreeing = async {
        loop {
            moved.borrow_and_update();
            let shown = share_of(receiver, share).await;
            if shown.is_some_and(|shown| !shown.is_empty()) {
                let shown = share_of(receiver, share).await;
                if shown == session_of(sender, session).await {
                    return;
                }
            }
            moved.changed().await.unwrap();
        }
    };
    if timeout(WAIT_MAX, agreeing).await.is_err() {
        let shown = share_of(receiver, share).await;
        panic!("the share shows {shown:#?}\nbut the session is {:#?}", session_of(sender, session).await);
    }
}

/// Waits until the share is gone.
pub(crate) async fn gone(receiver: &World, share: &str) {
    let mut moved = receiver.engine.share_wakes().watch(share);
    let going = async {
        while share_of(receiver, share).await.is_some() {
            moved.changed().await.unwrap();
        }
    };
    timeout(WAIT_MAX, going).await.expect("the share goes");
}

/// Waits until nothing is shared any more.
pub(crate) async fn nothing_shared(world: &World) {
    let waiting = async {
        while world.get("/sturdy/share").await.json() != json!([]) {
            tokio::task::yield_now().await;
        }
    };
    timeout(WAIT_MAX, waiting).await.expect("the link goes");
}

#[tokio::test]
async fn a_server_that_receives_shares_shares_its_own_sessions_there() {
    let world = World::with(receiving()).await;
    let session = world.session().await;
    world.ask(&session, "before").await;

    let id = share(&world, &session).await;
    agree(&world, &session, &world, &id).await;
    world.ask(&session, "after").await;
    agree(&world, &session, &world, &id).await;

    let again = share(&world, &session).await;
    assert_eq!(again, id);
    let listed = world.get("/sturdy/share").await.json();
    assert_eq!(listed[0]["sessionID"], json!(session));
    assert_eq!(listed[0]["url"], json!(format!("https://share.example/share/{id}")));
    assert_eq!(listed[0]["state"], "active");
    assert!(!listed.to_string().contains("stdy1."), "{listed}");
    world.close().await;
}

// Was: a task that had panicked was taken for one that works, and nothing was sent until the next start.
#[tokio::test]
async fn a_share_whose_task_panicked_is_sent_all_the_same() {
    let (world, panics) = World::about_to_panic(receiving(), "share").await;
    let session = world.session().await;
    let id = share(&world, &session).await;
    agree(&world, &session, &world, &id).await;

    panics.arm();
    world.ask(&session, "after").await;

    agree(&world, &session, &world, &id).await;
    assert!(panics.is_over(), "nothing panicked");
    world.close().await;
}

#[tokio::test]
async fn a_share_describes_the_models_without_their_addresses() {
    let world = World::with(receiving()).await;
    let session = world.session().await;
    world.ask(&session, "hello").await;

    let id = share(&world, &session).await;
    agree(&world, &session, &world, &id).await;

    let data = world.get(&format!("/api/share/{id}/data")).await.json();
    let models: Vec<&Value> =
        data.as_array().unwrap().iter().filter(|item| item["type"] == "model").collect();
    let model = &models[0]["data"][0];
    assert_eq!(model["providerID"], "demo");
    assert_eq!(model["options"], Value::Null);
    assert_eq!(model["api"], Value::Null);
    let diffs = data.as_array().unwrap().iter().filter(|item| item["type"] == "session_diff");
    assert_eq!(diffs.map(|item| item["data"].clone()).collect::<Vec<_>>(), [json!([])]);
    world.close().await;
}

#[tokio::test]
async fn unsharing_forgets_the_url_and_deletes_the_share() {
    let world = World::with(receiving()).await;
    let session = world.session().await;
    let id = share(&world, &session).await;
    agree(&world, &session, &world, &id).await;

    let taken_back = world.call("DELETE", &format!("/session/{session}/share")).await;

    assert_eq!(taken_back.status, 200);
    assert_eq!(taken_back.json()["share"], Value::Null);
    gone(&world, &id).await;
    nothing_shared(&world).await;
    let other = share(&world, &session).await;
    assert_ne!(other, id);
    agree(&world, &session, &world, &other).await;
    world.close().await;
}

#[tokio::test]
async fn removing_a_session_deletes_its_share() {
    let world = World::with(receiving()).await;
    let session = world.session().await;
    let id = share(&world, &session).await;
    agree(&world, &session, &world, &id).await;

    world.call("DELETE", &format!("/session/{session}")).await;

    gone(&world, &id).await;
    nothing_shared(&world).await;
    world.close().await;
}

#[tokio::test]
async fn a_message_that_is_removed_leaves_the_share() {
    let world = World::with(receiving()).await;
    let session = world.session().await;
    let answer = world.ask(&session, "first").await;
    world.ask(&session, "second").await;
    let id = share(&world, &session).await;
    agree(&world, &session, &world, &id).await;

    let message = answer["info"]["id"].as_str().unwrap();
    let removed = world.call("DELETE", &format!("/session/{session}/message/{message}")).await;

    assert_eq!(removed.status, 200, "{}", removed.text);
    agree(&world, &session, &world, &id).await;
    world.close().await;
}

#[tokio::test]
async fn a_session_goes_to_the_service_that_the_configuration_names() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    sender.ask(&session, "hello").await;

    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;
    sender.call("DELETE", &format!("/session/{session}/share")).await;

    gone(&receiver, &id).await;
    nothing_shared(&sender).await;
    sender.close().await;
    receiver.close().await;
}

#[tokio::test]
async fn whoever_has_nowhere_to_share_to_is_told_what_helps() {
    let world = World::new().await;
    let session = world.session().await;

    let refused = world.call("POST", &format!("/session/{session}/share")).await;
    configure(&world, &json!({ "share": "disabled" }));
    let disabled = world.call("POST", &format!("/session/{session}/share")).await;
    configure(&world, &json!({ "enterprise": { "url": "not an address" } }));
    let nonsense = world.call("POST", &format!("/session/{session}/share")).await;

    for (answer, hint) in
        [(&refused, "sturdy serve --share"), (&disabled, "disabled"), (&nonsense, "enterprise.url")]
    {
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert!(answer.text.contains(hint), "{}", answer.text);
    }
    assert_eq!(world.get("/sturdy/share").await.json(), json!([]));
    world.close().await;
}

#[tokio::test]
async fn a_service_that_does_not_answer_leaves_the_session_unshared() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    relay.fail(Fault::Down);

    let refused = sender.call("POST", &format!("/session/{session}/share")).await;

    assert_eq!(refused.status, 502, "{}", refused.text);
    // It is only kept to delete what the service may have made.
    assert_eq!(sender.get("/sturdy/share").await.json()[0]["state"], "deleting");
    assert_eq!(sender.get(&format!("/session/{session}")).await.json()["share"], Value::Null);
    relay.fail(Fault::None);
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;
    sender.close().await;
    receiver.close().await;
}

/// T-OUT-02, T-OUT-05, T-SRV-03, T-NET-01
#[tokio::test]
async fn lost_requests_lost_answers_and_doubled_requests_change_nothing() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;

    for fault in [Fault::LoseRequests(3), Fault::LoseAnswers(3), Fault::Twice(3)] {
        relay.fail(fault);
        sender.ask(&session, &format!("{fault:?}")).await;
        agree(&sender, &session, &receiver, &id).await;
    }

    // Every batch with the same first number is the same, and the service has applied each operation once.
    let mut sent: Vec<(u64, Value)> = Vec::new();
    for batch in relay.batches() {
        let first = batch["first_seq"].as_u64().unwrap();
        match sent.iter().find(|(known, _)| *known == first) {
            Some((_, ops)) => assert_eq!(*ops, batch["ops"], "batch {first} was sent differently"),
            None => sent.push((first, batch["ops"].clone())),
        }
    }
    assert!(relay.batches().len() > sent.len(), "nothing was sent again");
    sender.close().await;
    receiver.close().await;
}

/// T-OUT-06, T-REC-03
#[tokio::test]
async fn either_side_may_end_and_come_back() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;

    // Something is sealed and cannot be sent; both sides end.
    relay.fail(Fault::Down);
    sender.ask(&session, "while the service is away").await;
    let receiver = World::reopened_with(receiver, receiving()).await;
    relay.lead_to(&receiver.url);
    let sender = sender.reopened().await;
    relay.fail(Fault::None);

    agree(&sender, &session, &receiver, &id).await;
    sender.ask(&session, "afterwards").await;
    agree(&sender, &session, &receiver, &id).await;
    sender.close().await;
    receiver.close().await;
}

/// T-SRV-11, T-REC-05
#[tokio::test]
async fn a_sender_that_was_restored_from_a_backup_sends_everything_anew() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    sender.ask(&session, "yesterday").await;
    agree(&sender, &session, &receiver, &id).await;
    let root = sender.close().await;
    copy(&root.path().join("data"), &root.path().join("backup"));
    let sender = World::open_again(root, ServerOptions::default()).await;
    sender.ask(&session, "today, and lost").await;
    agree(&sender, &session, &receiver, &id).await;

    let root = sender.close().await;
    copy(&root.path().join("backup"), &root.path().join("data"));
    let sender = World::open_again(root, ServerOptions::default()).await;

    agree(&sender, &session, &receiver, &id).await;
    sender.ask(&session, "tomorrow").await;
    agree(&sender, &session, &receiver, &id).await;
    sender.close().await;
    receiver.close().await;
}

/// The service as it was before the session's last prompt, restored from a copy of its data.
async fn set_back_by_a_day(
    receiver: World,
    relay: &Relay,
    sender: &World,
    session: &str,
    share: &str,
) -> World {
    sender.ask(session, "yesterday").await;
    agree(sender, session, &receiver, share).await;
    let root = receiver.close().await;
    copy(&root.path().join("data"), &root.path().join("backup"));
    let receiver = World::open_again(root, receiving()).await;
    relay.lead_to(&receiver.url);
    sender.ask(session, "today").await;
    agree(sender, session, &receiver, share).await;

    let root = receiver.close().await;
    copy(&root.path().join("backup"), &root.path().join("data"));
    let receiver = World::open_again(root, receiving()).await;
    relay.lead_to(&receiver.url);
    receiver
}

/// T-REC-04
#[tokio::test]
async fn a_service_that_was_restored_from_a_backup_is_sent_everything_anew() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    let receiver = set_back_by_a_day(receiver, &relay, &sender, &session, &id).await;
    sender.ask(&session, "tomorrow").await;

    agree(&sender, &session, &receiver, &id).await;
    sender.close().await;
    receiver.close().await;
}

/// T-REC-01
#[tokio::test]
async fn what_somebody_else_wrote_into_a_share_does_not_stay() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;
    let link = sender.call("POST", &format!("/sturdy/session/{session}/share")).await.json();
    let foreign = json!({ "secret": link["reference"], "data": [{ "type": "message", "data": { "id": "msg_foreign" } }] });

    let written = receiver.send("POST", &format!("/api/share/{id}/sync"), &foreign).await;
    sender.ask(&session, "mine").await;

    assert_eq!(written.status, 200, "{}", written.text);
    agree(&sender, &session, &receiver, &id).await;
    sender.close().await;
    receiver.close().await;
}

// Was: the answer to a repeat was believed as it came, and with it the cursor that somebody else had moved.
/// T-REC-01, R38
#[tokio::test]
async fn what_somebody_else_wrote_between_a_lost_answer_and_its_repeat_does_not_stay() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;
    let owner = owner_of(&sender, &session).await;

    let before = relay.batches().len();
    relay.fail(Fault::LoseAnswers(u32::MAX));
    sender.ask(&session, "mine").await;
    let repeated = async {
        while relay.batches().len() < before + 2 {
            tokio::task::yield_now().await;
        }
    };
    timeout(WAIT_MAX, repeated).await.expect("a batch whose answer is lost is sent again");
    let foreign =
        json!({ "secret": owner, "data": [{ "type": "message", "data": { "id": "msg_foreign" } }] });
    let written = receiver.send("POST", &format!("/api/share/{id}/sync"), &foreign).await;
    assert_eq!(written.status, 200, "{}", written.text);
    relay.fail(Fault::None);

    agree(&sender, &session, &receiver, &id).await;
    sender.close().await;
    receiver.close().await;
}

/// T-CAP-09
#[tokio::test]
async fn a_rotated_share_goes_on_after_one_more_try() {
    let world = World::with(receiving()).await;
    let session = world.session().await;
    let id = share(&world, &session).await;
    agree(&world, &session, &world, &id).await;
    let link = world.call("POST", &format!("/sturdy/session/{session}/share")).await.json();
    let owner = link["reference"].as_str().unwrap();

    let rotated =
        world.request("POST", &format!("/api/share/{id}/rotate")).bearer_auth(owner).send().await.unwrap();
    world.ask(&session, "after the rotation").await;

    assert_eq!(rotated.status().as_u16(), 200);
    agree(&world, &session, &world, &id).await;
    world.close().await;
}

/// T-CRT-03
#[tokio::test]
async fn a_session_that_is_removed_while_the_service_is_away_is_deleted_there_later() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;

    relay.fail(Fault::Down);
    sender.call("DELETE", &format!("/session/{session}")).await;
    let sender = sender.reopened().await;
    assert!(share_of(&receiver, &id).await.is_some());
    relay.fail(Fault::None);

    gone(&receiver, &id).await;
    nothing_shared(&sender).await;
    sender.close().await;
    receiver.close().await;
}

#[tokio::test]
async fn a_share_that_its_service_has_deleted_takes_the_url_of_the_session_with_it() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;
    let link = sender.call("POST", &format!("/sturdy/session/{session}/share")).await.json();
    let deleted =
        receiver.send("DELETE", &format!("/api/share/{id}"), &json!({ "secret": link["reference"] })).await;
    assert_eq!(deleted.status, 200);

    sender.ask(&session, "is anybody there?").await;

    link_in(&sender, "gone").await;
    let is_unshared = async {
        while !sender.get(&format!("/session/{session}")).await.json()["share"].is_null() {
            tokio::task::yield_now().await;
        }
    };
    timeout(WAIT_MAX, is_unshared).await.expect("the URL goes");
    sender.close().await;
    receiver.close().await;
}

#[tokio::test]
async fn every_new_session_is_shared_when_the_configuration_says_so() {
    let world = World::with(receiving()).await;
    configure(&world, &json!({ "share": "auto" }));

    let session = world.session().await;

    let shared = async {
        loop {
            let record = world.get(&format!("/session/{session}")).await.json();
            if let Some(url) = record["share"]["url"].as_str() {
                return url.rsplit('/').next().unwrap().to_owned();
            }
            tokio::task::yield_now().await;
        }
    };
    let id = timeout(WAIT_MAX, shared).await.expect("the session is shared");
    agree(&world, &session, &world, &id).await;
    world.close().await;
}

/// What a service knows that understands only the old contract: values by key, one secret.
type Values = Arc<Mutex<Vec<(String, Value)>>>;

async fn old_service() -> (String, Values) {
    let values = Values::default();
    let create = || async {
        Json(json!({ "id": "abcd1234", "url": "https://old.example/s/abcd1234", "secret": "theirs" }))
    };
    let sync = |State(values): State<Values>, Path(_): Path<String>, Json(body): Json<Value>| async move {
        assert_eq!(body["secret"], "theirs");
        let mut values = values.lock().unwrap();
        for item in body["data"].as_array().unwrap() {
            let kind = item["type"].as_str().unwrap();
            let key = format!("{kind}/{}", item["data"]["id"].as_str().unwrap_or_default());
            values.retain(|(known, _)| *known != key);
            values.push((key, item["data"].clone()));
        }
        Json(json!({}))
    };
    let remove = |State(values): State<Values>, Path(_): Path<String>| async move {
        values.lock().unwrap().clear();
        Json(json!({}))
    };
    let router = Router::new()
        .route("/api/share", post(create))
        .route("/api/share/{id}/sync", post(sync))
        .route("/api/share/{id}", axum::routing::delete(remove).merge(get(|| async { "" })))
        .with_state(values.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    #[allow(clippy::disallowed_methods, reason = "a test has no engine to spawn for it")]
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, values)
}

/// T-LEG-02
#[tokio::test]
async fn a_service_with_the_old_contract_is_sent_what_the_session_shows() {
    let (url, values) = old_service().await;
    let world = World::new().await;
    configure(&world, &json!({ "enterprise": { "url": format!("{url}/") } }));
    let session = world.session().await;
    world.ask(&session, "hello").await;

    let shared = world.call("POST", &format!("/session/{session}/share")).await;
    world.send("POST", &format!("/session/{session}/message"), &prompt("again")).await;

    assert_eq!(shared.json()["share"]["url"], "https://old.example/s/abcd1234");
    let all_there = async {
        loop {
            let wanted = session_of(&world, &session).await.unwrap();
            let shown: Vec<Value> = values.lock().unwrap().iter().map(|(_, value)| value.clone()).collect();
            if wanted.iter().all(|value| shown.contains(value)) {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(WAIT_MAX, all_there).await.expect("the service has everything");
    world.call("DELETE", &format!("/session/{session}/share")).await;
    nothing_shared(&world).await;
    assert!(values.lock().unwrap().is_empty());
    world.close().await;
}

/// T-REC-02 in the small, T-OUT-03
#[tokio::test]
async fn a_long_session_with_large_parts_is_sent_in_batches_within_their_bounds() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    let large = "ä".repeat(400_000);
    for number in 0..150 {
        let text = if number % 70 == 1 { large.clone() } else { format!("number {number}") };
        let mut body = prompt(&text);
        body["noReply"] = json!(true);
        let said = sender.send("POST", &format!("/session/{session}/message"), &body).await;
        assert_eq!(said.status, 200, "{}", said.text);
    }

    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;

    let mut numbers = Vec::new();
    for batch in relay.batches() {
        let ops = batch["ops"].as_array().unwrap();
        let bytes: usize = ops.iter().filter_map(|op| op["payload_json"].as_str()).map(str::len).sum();
        assert!(
            ops.len() <= 256 && (bytes <= 512 * 1024 || ops.len() == 1),
            "{} operations, {bytes} bytes",
            ops.len()
        );
        numbers.extend(ops.iter().map(|op| op["seq"].as_u64().unwrap()));
    }
    let count = numbers.len() as u64;
    assert_eq!(numbers, (1..=count).collect::<Vec<_>>());
    // Nothing is said twice: a session, messages with one part each, what it changed, and its model.
    assert!(count <= 150 * 2 + 4, "{count}");
    sender.close().await;
    receiver.close().await;
}

/// T-REC-05: found within the reconcile interval, without anything to send and without a restart of the sender.
#[tokio::test]
async fn a_service_that_was_restored_while_nothing_is_to_be_sent_is_found_by_comparing() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = World::comparing_often().await;
    configure(&sender, &json!({ "enterprise": { "url": relay.url } }));
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    let receiver = set_back_by_a_day(receiver, &relay, &sender, &session, &id).await;

    agree(&sender, &session, &receiver, &id).await;
    sender.close().await;
    receiver.close().await;
}

#[tokio::test]
async fn the_owner_is_told_how_many_changes_the_service_has_yet_to_take() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    sender.ask(&session, "before").await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;
    let link =
        async || sender.send("POST", &format!("/sturdy/session/{session}/share"), &json!({})).await.json();
    let waits_for = async |is_expected: fn(u64) -> bool| {
        while !is_expected(link().await["waiting"].as_u64().unwrap()) {
            tokio::task::yield_now().await;
        }
    };
    // The answer to the last batch may be on its way.
    timeout(WAIT_MAX, waits_for(|waiting| waiting == 0)).await.expect("everything was taken");

    relay.fail(Fault::Down);
    sender.ask(&session, "while it is away").await;

    assert!(link().await["waiting"].as_u64().unwrap() >= 2, "a prompt and an answer: {}", link().await);
    relay.fail(Fault::None);
    agree(&sender, &session, &receiver, &id).await;
    timeout(WAIT_MAX, waits_for(|waiting| waiting == 0)).await.expect("everything was taken");
}
