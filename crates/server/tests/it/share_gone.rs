//! A service that says that it does not have a share: it may be another one at the same address.

use crate::relay::Relay;
use crate::share_pair::{Pair, Side, configure, owner_of, receiving, sender_to, share, share_of};
use crate::share_sending::{agree, nothing_shared};
use crate::world::World;
use serde_json::{Value, json};
use std::time::Duration;
use sturdy_store::CrashPlan;
use tokio::time::timeout;

/// Longer than anything takes on a busy machine; nothing waits for it.
const WAIT_MAX: Duration = Duration::from_secs(120);

/// Waits until the only link of a server is in a state, and answers with it.
pub(crate) async fn link_in(world: &World, state: &str) -> Value {
    let waiting = async {
        loop {
            let link = world.get("/sturdy/share").await.json()[0].clone();
            if link["state"] == state {
                return link;
            }
            tokio::task::yield_now().await;
        }
    };
    match timeout(WAIT_MAX, waiting).await {
        Ok(link) => link,
        Err(_) => panic!("no link is {state}: {}", world.get("/sturdy/share").await.text),
    }
}

/// The address of the service leads to another one, which has never heard of the share, until the link is gone.
async fn met_a_stranger(sender: &World, session: &str, relay: &Relay) -> Value {
    let stranger = World::with(receiving()).await;
    relay.lead_to(&stranger.url);
    sender.send("PATCH", &format!("/session/{session}"), &json!({ "title": "moved on" })).await;
    let link = link_in(sender, "gone").await;
    // The link says so first, then the record.
    let is_unshared = async {
        while !sender.get(&format!("/session/{session}")).await.json()["share"].is_null() {
            tokio::task::yield_now().await;
        }
    };
    timeout(WAIT_MAX, is_unshared).await.expect("the URL goes");
    stranger.close().await;
    link
}

// Was: whoever answered at the address of a service could make a sender forget the secret of its share.
#[tokio::test]
async fn a_share_that_a_stranger_does_not_have_is_kept_and_shared_again_under_its_address() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;
    let owner = owner_of(&sender, &session).await;

    let link = met_a_stranger(&sender, &session, &relay).await;
    assert_eq!(link["shareID"], json!(id));
    assert!(link["error"].as_str().unwrap().contains("does not have this share"), "{link}");
    assert_eq!(owner_of(&sender, &session).await, owner);

    relay.lead_to(&receiver.url);
    assert_eq!(share(&sender, &session).await, id);
    agree(&sender, &session, &receiver, &id).await;
    assert_eq!(link_in(&sender, "active").await["error"], Value::Null);
    sender.close().await;
    receiver.close().await;
}

#[tokio::test]
async fn a_share_that_is_there_again_is_taken_up_without_being_asked_for() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = World::comparing_often().await;
    configure(&sender, &json!({ "enterprise": { "url": relay.url } }));
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;
    met_a_stranger(&sender, &session, &relay).await;

    relay.lead_to(&receiver.url);

    link_in(&sender, "active").await;
    agree(&sender, &session, &receiver, &id).await;
    sender.close().await;
    receiver.close().await;
}

#[tokio::test]
async fn a_share_that_was_gone_is_looked_for_by_the_next_start() {
    let mut pair = Pair::new().await;
    let id = pair.share().await;
    pair.agree(&id).await;
    met_a_stranger(pair.world(Side::Sender), &pair.session, &pair.relay).await;
    pair.restart(Side::Receiver, CrashPlan::Never, |_| {}).await;

    pair.restart(Side::Sender, CrashPlan::Never, |_| {}).await;

    pair.agree(&id).await;
    pair.close().await;
}

#[tokio::test]
async fn a_share_that_stays_gone_is_shared_anew_or_forgotten_as_its_owner_likes() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    let path = format!("/session/{session}");
    let mut last = String::new();
    for round in 0..2 {
        let id = share(&sender, &session).await;
        assert_ne!(id, last, "a share that was deleted has an address that nobody uses again");
        agree(&sender, &session, &receiver, &id).await;
        let owner = json!({ "secret": owner_of(&sender, &session).await });
        assert_eq!(receiver.send("DELETE", &format!("/api/share/{id}"), &owner).await.status, 200);
        sender.send("PATCH", &path, &json!({ "title": format!("round {round}") })).await;
        link_in(&sender, "gone").await;
        last = id;
    }

    assert_eq!(sender.call("DELETE", &format!("{path}/share")).await.status, 200);

    nothing_shared(&sender).await;
    sender.close().await;
    receiver.close().await;
}

#[tokio::test]
async fn a_session_that_is_removed_while_its_share_is_gone_leaves_no_share_behind() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;
    met_a_stranger(&sender, &session, &relay).await;
    relay.lead_to(&receiver.url);

    sender.call("DELETE", &format!("/session/{session}")).await;

    nothing_shared(&sender).await;
    assert!(share_of(&receiver, &id).await.is_none(), "its owner could delete it and did not");
    sender.close().await;
    receiver.close().await;
}
