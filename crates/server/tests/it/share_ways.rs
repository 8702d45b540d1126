//! How batches reach a service: in one pipelined request, over a WebSocket while somebody watches, and over plain HTTP
//! where neither is understood.

use crate::relay::{Closed, Relay};
use crate::share_pair::{configure, owner_of, receiving, sender_to, share, share_of};
use crate::share_sending::agree;
use crate::wire_tap::{WireTap, write_certificates};
use crate::world::{Answer, World};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use sturdy_session::id::SessionId;
use tokio::time::timeout;

/// Longer than anything takes on a busy machine; nothing waits for it.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Opens a stream of the share and reads its beginning.
async fn watch(receiver: &World, share: &str) -> reqwest::Response {
    let mut stream = receiver.request("GET", &format!("/api/share/{share}/events")).send().await.unwrap();
    assert_eq!(stream.status().as_u16(), 200);
    assert!(stream.chunk().await.unwrap().is_some());
    stream
}

/// R26, T-OUT-05: redeeming and appending are one request, the second made on what the first will answer.
#[tokio::test]
async fn a_batch_is_sent_in_one_pipelined_request() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;
    let before = relay.paths().len();

    sender.ask(&session, "hello").await;
    agree(&sender, &session, &receiver, &id).await;

    let paths = relay.paths();
    assert!(paths.len() > before);
    assert!(paths[before..].iter().all(|path| path == "/rpc/share"), "{paths:?}");
    let calls: Vec<Value> = relay.last_calls();
    let names: Vec<&Value> = calls.iter().filter(|call| call[0] == "push").map(|call| &call[1][2]).collect();
    assert_eq!(names[..2], [&json!(["redeemShare"]), &json!(["share", "appendOps"])]);
    sender.close().await;
    receiver.close().await;
}

/// T-LEG-03
#[tokio::test]
async fn a_service_whose_rpc_is_shut_is_sent_plain_batches() {
    let closed = [
        Closed::Status(401),
        Closed::Status(403),
        Closed::Status(404),
        Closed::Status(405),
        Closed::Status(426),
        Closed::Status(501),
        Closed::Page,
    ];
    for closed in closed {
        let receiver = World::with(receiving()).await;
        let relay = Relay::to(&receiver.url).await;
        relay.close_rpc(Some(closed));
        let sender = sender_to(&relay).await;
        let session = sender.session().await;

        let id = share(&sender, &session).await;
        agree(&sender, &session, &receiver, &id).await;
        sender.ask(&session, "hello").await;
        agree(&sender, &session, &receiver, &id).await;

        let paths = relay.paths();
        let tries = paths.iter().filter(|path| *path == "/rpc/share").count();
        assert_eq!(tries, 1, "{closed:?} is not asked again for a while: {paths:?}");
        assert!(paths.iter().any(|path| path.ends_with("/ops")), "{closed:?}");
        sender.close().await;
        receiver.close().await;
    }
}

/// T-LEG-03: the memory of it ends, and the same writer goes on where it was.
#[tokio::test]
async fn a_service_whose_rpc_opens_again_is_sent_pipelined_requests_again() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    relay.close_rpc(Some(Closed::Status(404)));
    let sender = World::forgetting_ways().await;
    configure(&sender, &json!({ "enterprise": { "url": relay.url } }));
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;

    relay.close_rpc(None);
    let before = relay.paths().len();
    sender.ask(&session, "hello").await;
    agree(&sender, &session, &receiver, &id).await;

    let paths = relay.paths();
    assert!(paths[before..].iter().all(|path| path == "/rpc/share"), "{:?}", &paths[before..]);
    sender.close().await;
    receiver.close().await;
}

/// Shares through a way, and sends while somebody watches.
async fn send_while_somebody_watches(receiver: World, tap: WireTap) {
    let sender = World::new().await;
    configure(&sender, &json!({ "enterprise": { "url": tap.url } }));
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;
    assert_eq!(tap.sockets(), 0);

    let viewer = watch(&receiver, &id).await;
    // The answer to the first batch says that somebody watches, and the next goes over a WebSocket.
    for text in ["first", "second", "third"] {
        sender.ask(&session, text).await;
        agree(&sender, &session, &receiver, &id).await;
    }

    assert_eq!(tap.sockets(), 1, "{:?}", tap.beginnings());
    drop(viewer);
    sender.close().await;
    receiver.close().await;
}

#[tokio::test]
async fn a_share_that_somebody_watches_is_sent_over_a_websocket() {
    let receiver = World::with(receiving()).await;
    let tap = WireTap::to(&receiver.url).await;

    send_while_somebody_watches(receiver, tap).await;
}

/// Tells the process of `send_with_tls` where its certificates are.
const CERTIFICATES: &str = "STURDY_TEST_CERTIFICATES";

#[tokio::test]
#[ignore = "started by a_share_that_somebody_watches_is_sent_over_a_websocket_with_tls"]
async fn send_with_tls() {
    let receiver = World::with(receiving()).await;
    let certificates = std::env::var_os(CERTIFICATES).unwrap();
    let tap = WireTap::with_tls(&receiver.url, Path::new(&certificates)).await;

    send_while_somebody_watches(receiver, tap).await;
}

/// In a process of its own, which trusts the certificate of the test as an operator would have it.
#[tokio::test]
async fn a_share_that_somebody_watches_is_sent_over_a_websocket_with_tls() {
    let certificates = tempfile::tempdir().unwrap();
    let authority = write_certificates(certificates.path());
    let child = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "share_ways::send_with_tls"])
        .env(CERTIFICATES, certificates.path())
        .env("SSL_CERT_FILE", authority)
        .env_remove("SSL_CERT_DIR")
        .output();

    let output = child.await.unwrap();

    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{complained}");
}

/// T-NET-01: whichever half of a WebSocket's last word was carried.
#[tokio::test]
async fn a_websocket_that_is_cut_again_and_again_loses_nothing_and_sends_nothing_twice() {
    let receiver = World::with(receiving()).await;
    let tap = WireTap::to(&receiver.url).await;
    let sender = World::forgetting_ways().await;
    configure(&sender, &json!({ "enterprise": { "url": tap.url } }));
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    let viewer = watch(&receiver, &id).await;

    for round in 0..6 {
        sender.ask(&session, &format!("round {round}")).await;
        tap.cut();
        agree(&sender, &session, &receiver, &id).await;
    }

    assert!(tap.sockets() >= 2, "{:?}", tap.beginnings());
    let owner = owner_of(&sender, &session).await;
    let session = SessionId::parse(&session).unwrap();
    let writer = sender.engine.share_link(&session).await.unwrap().unwrap().writer;
    let redeem = receiver.request("POST", &format!("/api/share/{id}/redeem")).bearer_auth(owner);
    let seen = Answer::of(redeem.json(&json!({ "writer_id": writer })).send().await.unwrap()).await.json();
    assert_eq!(
        seen["writer"]["applied_count"], seen["cursor"],
        "nobody else has written, and nothing came twice"
    );
    assert_eq!(seen["writer"]["applied_seq"], seen["cursor"]);
    drop(viewer);
    sender.close().await;
    receiver.close().await;
}

/// T-NET-01: half-open connections, of a WebSocket and of requests.
#[tokio::test]
async fn connections_that_fall_silent_are_given_up_and_the_batch_is_sent_again() {
    let receiver = World::with(receiving()).await;
    let tap = WireTap::to(&receiver.url).await;
    let sender = World::impatient().await;
    configure(&sender, &json!({ "enterprise": { "url": tap.url } }));
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    let viewer = watch(&receiver, &id).await;
    for text in ["first", "second"] {
        sender.ask(&session, text).await;
        agree(&sender, &session, &receiver, &id).await;
    }

    tap.fall_silent();
    sender.ask(&session, "while nothing is carried").await;
    let told = async {
        while sender.get("/sturdy/share").await.json()[0]["error"].is_null() {
            tokio::task::yield_now().await;
        }
    };
    timeout(WAIT_MAX, told).await.expect("the link says that nobody answers");
    tap.speak();

    agree(&sender, &session, &receiver, &id).await;
    assert!(share_of(&receiver, &id).await.is_some());
    drop(viewer);
    sender.close().await;
    receiver.close().await;
}
