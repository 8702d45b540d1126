//! Links of shared sessions: made once, kept through answers that are nobody's word, and gone when they are taken back.

use crate::relay::{Fault, Relay};
use crate::share_pair::{
    Pair, Side, configure, owner_of, receiving, sender_to, share, share_of, shows_what_follows,
};
use crate::share_sending::{agree, gone, nothing_shared};
use crate::stream::{Frame, Stream};
use crate::world::{Answer, World, prompt};
use axum::extract::{Path, State};
use axum::routing::{delete, post};
use axum::{Json, Router};
use http::StatusCode;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use sturdy_store::CrashPlan;
use tokio::net::TcpListener;
use tokio::time::timeout;

/// Longer than anything takes on a busy machine; nothing waits for it.
const WAIT_MAX: Duration = Duration::from_secs(60);

async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(WAIT_MAX, looking).await.unwrap_or_else(|_| panic!("in vain: {what}"))
}

async fn two_servers() -> (World, Relay, World) {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    (sender, relay, receiver)
}

/// The URL of the session, as every open stream is told of it.
async fn told_url(stream: &mut Stream) -> Value {
    let frames = stream.until(|frame| frame.kind() == "session.updated").await;
    frames.last().unwrap().event()["properties"]["info"]["share"].clone()
}

#[tokio::test]
async fn clients_are_told_that_a_session_is_shared_and_that_it_is_not_any_more() {
    let world = World::with(receiving()).await;
    let session = world.session().await;
    let mut instance = Stream::open(&world, "/event").await;
    let mut global = Stream::open(&world, "/global/event").await;
    let mut streams = [&mut instance, &mut global];
    for stream in &mut streams {
        stream.until(|frame| frame.kind() == "server.connected").await;
    }

    let id = share(&world, &session).await;
    for stream in &mut streams {
        assert_eq!(told_url(stream).await, json!({ "url": format!("https://share.example/share/{id}") }));
    }
    world.call("DELETE", &format!("/session/{session}/share")).await;
    for stream in &mut streams {
        assert_eq!(told_url(stream).await, Value::Null);
    }

    world.close().await;
}

/// The same when its service has deleted the share, which nobody here asked for.
#[tokio::test]
async fn clients_are_told_that_a_share_was_deleted_at_its_service() {
    let (sender, _relay, receiver) = two_servers().await;
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;
    let owner = owner_of(&sender, &session).await;
    let mut stream = Stream::open(&sender, "/event").await;
    stream.until(|frame| frame.kind() == "server.connected").await;

    let gone = receiver.send("DELETE", &format!("/api/share/{id}"), &json!({ "secret": owner })).await;
    sender.send("PATCH", &format!("/session/{session}"), &json!({ "title": "moved on" })).await;

    assert_eq!(gone.status, 200, "{}", gone.text);
    let is_unshared = |frame: &Frame| {
        frame.kind() == "session.updated" && frame.event()["properties"]["info"]["share"].is_null()
    };
    stream.until(is_unshared).await;
    sender.close().await;
    receiver.close().await;
}

#[tokio::test]
async fn with_share_auto_every_new_session_is_shared_and_those_of_sub_agents_are_not() {
    let world = World::with(receiving()).await;
    let before = world.session().await;
    configure(&world, &json!({ "share": "auto" }));

    let session = world.session().await;
    let child = world.send("POST", "/session", &json!({ "parentID": session })).await.json();

    let url = until("the session is shared", async || {
        let record = world.get(&format!("/session/{session}")).await.json();
        record["share"]["url"].as_str().map(str::to_owned)
    });
    let id = url.await.rsplit('/').next().unwrap().to_owned();
    agree(&world, &session, &world, &id).await;
    let links = world.get("/sturdy/share").await.json();
    let shared: Vec<&str> =
        links.as_array().unwrap().iter().map(|link| link["sessionID"].as_str().unwrap()).collect();
    assert_eq!(shared, [session.as_str()], "neither {before} nor {}", child["id"]);
    world.close().await;
}

/// Was: a proxy's 404 took the URL of the session away, and its 401 ended the sending for good.
#[tokio::test]
async fn a_refusal_without_a_code_of_the_service_ends_no_share() {
    let (sender, relay, receiver) = two_servers().await;
    let session = sender.session().await;
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;

    for status in [404, 410, 401, 403, 400, 413] {
        relay.fail(Fault::Refuse(status, 2));
        sender.ask(&session, &format!("through {status}")).await;
        agree(&sender, &session, &receiver, &id).await;
    }

    let links = sender.get("/sturdy/share").await.json();
    assert_eq!((&links[0]["state"], &links[0]["shareID"]), (&json!("active"), &json!(id)));
    sender.close().await;
    receiver.close().await;
}

/// Was: whatever the service said to a deletion counted as done, and the secret was forgotten.
#[tokio::test]
async fn a_deletion_that_is_refused_is_asked_for_until_the_share_is_gone() {
    let (sender, relay, receiver) = two_servers().await;
    for fault in [Fault::Refuse(404, 3), Fault::Code(403, "forbidden_scope", 3), Fault::LoseAnswers(2)] {
        let session = sender.session().await;
        let id = share(&sender, &session).await;
        agree(&sender, &session, &receiver, &id).await;

        relay.fail(fault);
        let taken_back = sender.call("DELETE", &format!("/session/{session}/share")).await;

        assert_eq!(taken_back.json()["share"], Value::Null);
        gone(&receiver, &id).await;
        nothing_shared(&sender).await;
    }
    sender.close().await;
    receiver.close().await;
}

/// T-CRT-01
#[tokio::test]
async fn a_lost_answer_to_a_creation_leaves_one_share_or_none() {
    let (sender, relay, receiver) = two_servers().await;
    let session = sender.session().await;

    relay.fail(Fault::LoseAnswers(1));
    let refused = sender.call("POST", &format!("/session/{session}/share")).await;
    assert_eq!(refused.status, 502, "{}", refused.text);
    let id = share(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;

    for made in relay.created().iter().filter(|made| **made != id) {
        assert!(share_of(&receiver, made).await.is_none(), "{made} is left over");
    }
    // And when nobody asks again, nothing stays.
    let other = sender.session().await;
    relay.fail(Fault::LoseAnswers(1));
    assert_eq!(sender.call("POST", &format!("/session/{other}/share")).await.status, 502);
    until("only the first session is shared", async || {
        let links = sender.get("/sturdy/share").await.json();
        (links.as_array().unwrap().len() == 1).then_some(())
    })
    .await;
    assert_eq!(sender.get(&format!("/session/{other}")).await.json()["share"], Value::Null);
    for made in relay.created().iter().filter(|made| **made != id) {
        assert!(share_of(&receiver, made).await.is_none(), "{made} is left over");
    }
    sender.close().await;
    receiver.close().await;
}

/// Was: of two who shared a session at once, the one that failed deleted the link of the other.
#[tokio::test]
async fn two_who_share_a_session_at_once_get_one_link() {
    let (sender, relay, receiver) = two_servers().await;
    for fault in [Fault::None, Fault::LoseRequests(1), Fault::LoseAnswers(1)] {
        let session = sender.session().await;
        let path = format!("/session/{session}/share");
        relay.fail(fault);

        let (one, two) = tokio::join!(sender.call("POST", &path), sender.call("POST", &path));

        let id = share(&sender, &session).await;
        for answer in [one, two].iter().filter(|answer| answer.status == 200) {
            let url = answer.json()["share"]["url"].as_str().unwrap().to_owned();
            assert!(url.ends_with(&id), "{fault:?}: {url} is not {id}");
        }
        agree(&sender, &session, &receiver, &id).await;
    }
    sender.close().await;
    receiver.close().await;
}

/// Was: a session that was taken back while its service took its time kept a URL without a link.
#[tokio::test]
async fn a_session_that_is_taken_back_while_its_share_is_made_has_no_url() {
    let (sender, relay, receiver) = two_servers().await;
    let session = sender.session().await;
    let path = format!("/session/{session}/share");
    relay.fail(Fault::Hold);

    let taking_back = async {
        relay.held().await;
        let taken_back = sender.call("DELETE", &path).await;
        relay.release();
        taken_back
    };
    let (shared, taken_back) = tokio::join!(sender.call("POST", &path), taking_back);

    assert_eq!((shared.status, taken_back.status), (502, 200), "{}", shared.text);
    nothing_shared(&sender).await;
    assert_eq!(sender.get(&format!("/session/{session}")).await.json()["share"], Value::Null);
    assert!(share_of(&receiver, &relay.created()[0]).await.is_none());
    sender.close().await;
    receiver.close().await;
}

/// Was: a session that was shared again at once never said its models and what it changed.
#[tokio::test]
async fn a_session_that_is_shared_again_shows_models_and_changes_again() {
    let world = World::with(receiving()).await;
    let session = world.session().await;
    world.ask(&session, "hello").await;
    for _ in 0..3 {
        let id = share(&world, &session).await;
        agree(&world, &session, &world, &id).await;
        until("models and changes", async || shows_what_follows(&world, &id).await.then_some(())).await;

        assert_eq!(world.call("DELETE", &format!("/session/{session}/share")).await.status, 200);
    }
    world.close().await;
}

/// Was: a link that was reached again went on saying why it had not been.
#[tokio::test]
async fn a_link_that_is_reached_again_has_no_error() {
    let mut pair = Pair::new().await;
    let share = pair.share().await;
    pair.agree(&share).await;
    pair.relay.fail(Fault::Down);
    pair.restart(Side::Sender, CrashPlan::Never, |_| {}).await;
    let sender = pair.world(Side::Sender);
    let error = async || sender.get("/sturdy/share").await.json()[0]["error"].clone();
    until("it says that the service is away", async || error().await.is_string().then_some(())).await;

    pair.relay.fail(Fault::None);

    until("it says so no more", async || error().await.is_null().then_some(())).await;
    pair.close().await;
}

#[tokio::test]
async fn a_session_that_is_shared_privately_is_read_by_a_right_and_not_by_its_link() {
    let (sender, relay, receiver) = two_servers().await;
    let session = sender.session().await;
    sender.ask(&session, "for few").await;

    let path = format!("/session/{session}/share");
    let shared = sender.send("POST", &path, &json!({ "visibility": "private" })).await;
    let unknown = sender.send("POST", &path, &json!({ "visibility": "secret" })).await;

    assert_eq!((shared.status, unknown.status), (200, 400), "{}", unknown.text);
    let id = relay.created()[0].clone();
    let data = format!("/api/share/{id}/data");
    assert_eq!(receiver.get(&data).await.status, 401);
    let owner = owner_of(&sender, &session).await;
    until("the owner reads it", async || {
        let answer = receiver.request("GET", &data).bearer_auth(&owner).send().await.unwrap();
        Answer::of(answer).await.text.contains("for few").then_some(())
    })
    .await;
    sender.close().await;
    receiver.close().await;
}

#[tokio::test]
async fn what_a_session_did_changed_and_took_back_reaches_its_share() {
    let world = World::with(receiving()).await;
    configure(&world, &json!({ "permission": "allow" }));
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(world.project()).status();
    assert!(git.unwrap().success());
    let session = world.session().await;
    let id = share(&world, &session).await;
    let data = format!("/api/share/{id}/data");
    let item = async |kind: &str| {
        let items = world.get(&data).await.json();
        items.as_array().unwrap().iter().find(|item| item["type"] == kind).map(|item| item["data"].clone())
    };

    let todos = json!({ "todos": [{ "content": "tell them", "status": "pending", "priority": "high" }] });
    world.ask(&session, &format!("/demo tool todowrite {todos}")).await;
    let file = json!({ "filePath": world.project().join("new.txt"), "content": "a line\n" });
    let written = world.ask(&session, &format!("/demo tool write {file}")).await;
    agree(&world, &session, &world, &id).await;
    assert!(world.get(&data).await.text.contains("tell them"));
    let diff = until("the share shows what changed", async || {
        item("session_diff").await.filter(|diff| diff.as_array().is_some_and(|diff| !diff.is_empty()))
    })
    .await;
    assert_eq!(diff[0]["file"], "new.txt", "{diff}");
    assert_eq!(diff, world.get(&format!("/session/{session}/diff")).await.json());

    let message = written["info"]["parentID"].as_str().unwrap();
    let reverted =
        world.send("POST", &format!("/session/{session}/revert"), &json!({ "messageID": message })).await;
    assert_eq!(reverted.status, 200, "{}", reverted.text);

    until("the share shows that it was taken back", async || {
        item("session").await.filter(|record| record["revert"]["messageID"] == json!(message))
    })
    .await;
    agree(&world, &session, &world, &id).await;
    world.close().await;
}

/// What a service of the old contract was sent, and what it refuses.
#[derive(Clone, Default)]
struct OldService {
    values: Arc<Mutex<Vec<Value>>>,
    deletions: Arc<Mutex<u32>>,
}

impl OldService {
    async fn start() -> (String, Self) {
        let service = Self::default();
        let create = || async {
            Json(json!({ "id": "abcd1234", "url": "https://old.example/s/abcd1234", "secret": "theirs" }))
        };
        let router = Router::new()
            .route("/api/share", post(create))
            .route("/api/share/{id}/sync", post(Self::sync))
            .route("/api/share/{id}", delete(Self::remove))
            .with_state(service.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        #[allow(clippy::disallowed_methods, reason = "a test has no engine to spawn for it")]
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (url, service)
    }

    /// Takes two values at once, and never what says that it is too large.
    async fn sync(
        State(service): State<Self>,
        Path(_): Path<String>,
        Json(body): Json<Value>,
    ) -> (StatusCode, Json<Value>) {
        let data = body["data"].as_array().unwrap();
        if data.len() > 2 || data.iter().any(|value| value.to_string().contains("too large")) {
            return (StatusCode::PAYLOAD_TOO_LARGE, Json(json!({})));
        }
        service.values.lock().unwrap().extend(data.iter().cloned());
        (StatusCode::OK, Json(json!({})))
    }

    /// Says twice that it cannot, then that there is nothing.
    async fn remove(State(service): State<Self>, Path(_): Path<String>) -> (StatusCode, Json<Value>) {
        let mut deletions = service.deletions.lock().unwrap();
        *deletions += 1;
        let status = if *deletions < 3 { StatusCode::UNAUTHORIZED } else { StatusCode::NOT_FOUND };
        (status, Json(json!({})))
    }

    fn values(&self) -> Vec<Value> {
        self.values.lock().unwrap().clone()
    }
}

/// Was: an old service that refused a batch was asked for things it does not know, and the link was dropped.
#[tokio::test]
async fn an_old_service_that_refuses_a_value_is_sent_all_others() {
    let (url, service) = OldService::start().await;
    let world = World::new().await;
    configure(&world, &json!({ "enterprise": { "url": url } }));
    let session = world.session().await;
    world.ask(&session, "this is too large").await;
    let mut story = prompt("once");
    story["model"] = json!({ "providerID": "demo", "modelID": "story" });
    world.send("POST", &format!("/session/{session}/message"), &story).await;

    let shared = world.call("POST", &format!("/session/{session}/share")).await;

    assert_eq!(shared.json()["share"]["url"], "https://old.example/s/abcd1234");
    until("the rest arrives, with both models in one list", async || {
        let values = service.values();
        let models = values.iter().rev().find(|value| value["type"] == "model")?;
        let has_both = models["data"].as_array().unwrap().len() == 2;
        (has_both && values.iter().any(|value| value.to_string().contains("once"))).then_some(())
    })
    .await;
    assert!(service.values().iter().all(|value| !value.to_string().contains("too large")));

    world.call("DELETE", &format!("/session/{session}/share")).await;
    nothing_shared(&world).await;
    assert_eq!(*service.deletions.lock().unwrap(), 3);
    world.close().await;
}

#[tokio::test]
async fn a_service_that_has_no_private_shares_gets_none() {
    let (url, service) = OldService::start().await;
    let world = World::new().await;
    configure(&world, &json!({ "enterprise": { "url": url } }));
    let session = world.session().await;

    let path = format!("/session/{session}/share");
    let refused = world.send("POST", &path, &json!({ "visibility": "private" })).await;

    assert_eq!(refused.status, 502);
    assert!(refused.text.contains("private"), "{}", refused.text);
    nothing_shared(&world).await;
    assert_eq!(service.values(), Vec::<Value>::new());
    assert_eq!(world.get(&format!("/session/{session}")).await.json()["share"], Value::Null);
    world.close().await;
}
