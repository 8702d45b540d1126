//! How often a link failed and when it is tried again are stored with it: a start neither forgets that nor asks a service
//! at once that was to be left alone.

use crate::relay::{Fault, Relay};
use crate::share_pair::{configure, receiving, sender_to, share};
use crate::share_sending::{agree, gone};
use crate::world::World;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

/// Longer than anything takes on a busy machine; nothing waits for it.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The link of a session.
async fn link(world: &World, session: &str) -> Value {
    let links = world.get("/sturdy/share").await.json();
    let mut links = links.as_array().unwrap().iter();
    links.find(|link| link["sessionID"] == session).unwrap().clone()
}

/// Waits until a link has failed so often in a row.
async fn failed(world: &World, session: &str, times: u64) -> Value {
    let failing = async {
        loop {
            let link = link(world, session).await;
            if link["failures"].as_u64().unwrap() >= times {
                return link;
            }
        }
    };
    timeout(WAIT_MAX, failing).await.expect("the link says how often it failed")
}

/// T-OUT-02, R16, R30
#[tokio::test]
async fn a_service_that_asks_to_be_left_alone_is_left_alone_after_a_kill() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = World::patient().await;
    configure(&sender, &json!({ "enterprise": { "url": relay.url } }));
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;
    relay.fail(Fault::Busy(1_800));
    sender.ask(&session, "while the service is busy").await;
    let before = failed(&sender, &session, 1).await;

    let sender = sender.reopened_patient().await;
    relay.fail(Fault::None);
    let asked = relay.paths().len();
    // Another link of the same start is sent meanwhile.
    let other = sender.session().await;
    let other_id = share(&sender, &other).await;
    agree(&sender, &other, &receiver, &other_id).await;

    let paths = relay.paths();
    assert!(!paths[asked..].iter().any(|path| path.contains(&id)), "{:?}", &paths[asked..]);
    assert_eq!(link(&sender, &session).await, before);
    assert_eq!(before["failures"], 1);
    assert!(before["retryAt"].as_u64() > before["created"].as_u64().map(|created| created + 1_700_000));

    // Whoever takes it back does not wait for that.
    let unshared = sender.call("DELETE", &format!("/session/{session}/share")).await;
    assert_eq!(unshared.status, 200);
    gone(&receiver, &id).await;
    sender.close().await;
    receiver.close().await;
}

/// T-OUT-02
#[tokio::test]
async fn failures_are_counted_through_kills_until_the_service_is_reached() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let mut sender = sender_to(&relay).await;
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;

    relay.fail(Fault::Down);
    sender.ask(&session, "while the service is away").await;
    let early = failed(&sender, &session, 1).await;
    assert_eq!(early["isDegraded"], early["failures"].as_u64() >= Some(10));
    let mut counted = 0;
    for _ in 0..3 {
        let failures = failed(&sender, &session, counted + 3).await["failures"].as_u64().unwrap();
        sender = sender.reopened().await;
        let after = link(&sender, &session).await["failures"].as_u64().unwrap();
        assert!(after >= failures, "{after} failures after a start, {failures} before it");
        counted = failures;
    }
    assert_eq!(failed(&sender, &session, 10).await["isDegraded"], true);
    relay.fail(Fault::None);

    agree(&sender, &session, &receiver, &id).await;
    let reached = async {
        loop {
            let link = link(&sender, &session).await;
            if link["error"].is_null() {
                return link;
            }
        }
    };
    let link = timeout(WAIT_MAX, reached).await.expect("it is reached");
    assert_eq!((&link["failures"], &link["retryAt"]), (&json!(0), &Value::Null));
    assert_eq!(link["isDegraded"], false);
    sender.close().await;
    receiver.close().await;
}
