//! The share service over HTTP: who may come in, what is answered, and viewers that watch.

use crate::world::{Answer, World};
use secrecy::SecretString;
use serde_json::{Value, json};
use sturdy_server::{Password, ServerOptions, ShareOptions};

fn sharing() -> ShareOptions {
    ShareOptions::at("https://share.example/")
}

async fn world() -> World {
    World::with(ServerOptions { share: Some(sharing()), ..ServerOptions::default() }).await
}

/// A share as OpenCode's client makes it: id and secret.
async fn share(world: &World) -> (String, String) {
    let made = world.send("POST", "/api/share", &json!({ "sessionID": "ses_a" })).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let made = made.json();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    assert_eq!(text("url"), format!("https://share.example/share/{}", text("id")));
    (text("id"), text("secret"))
}

async fn with_right(world: &World, method: &str, path: &str, right: &str, body: Option<&Value>) -> Answer {
    let request = world.request(method, path).bearer_auth(right);
    let request = match body {
        Some(body) => request.json(body),
        None => request,
    };
    Answer::of(request.send().await.unwrap()).await
}

async fn sync(world: &World, (id, secret): &(String, String), data: Value) -> Answer {
    world.send("POST", &format!("/api/share/{id}/sync"), &json!({ "secret": secret, "data": data })).await
}

fn code(answer: &Answer) -> (u16, String) {
    (answer.status, answer.json()["error"]["code"].as_str().unwrap().to_owned())
}

/// Reads frames until one has this event and text.
async fn until(response: &mut reqwest::Response, wanted: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(wanted) {
        let chunk = response.chunk().await.unwrap();
        let chunk = chunk.unwrap_or_else(|| panic!("the stream ended without {wanted}: {seen}"));
        seen.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    seen
}

#[tokio::test]
async fn a_server_that_does_not_receive_shares_says_how_to_change_that() {
    let world = World::new().await;

    let answer = world.send("POST", "/api/share", &json!({ "sessionID": "ses_a" })).await;

    assert_eq!(code(&answer), (501, "off".to_owned()));
    assert!(answer.text.contains("sturdy serve --share"), "{}", answer.text);
}

#[tokio::test]
async fn what_opencodes_client_sends_is_shown_in_the_order_its_import_reads() {
    let world = world().await;
    let share = share(&world).await;
    let data = json!([
        { "type": "part", "data": { "id": "prt_1", "messageID": "msg_1", "text": "hi" } },
        { "type": "model", "data": [{ "providerID": "acme", "id": "main" }] },
        { "type": "message", "data": { "id": "msg_1" } },
        { "type": "session", "data": { "id": "ses_a" } },
    ]);

    let synced = sync(&world, &share, data).await;
    let shown = world.get(&format!("/api/share/{}/data", share.0)).await;

    assert_eq!(synced.both(), (200, json!({ "success": true, "syncCount": 1, "cursor": 4 })));
    let kinds: Vec<_> = shown.json().as_array().unwrap().iter().map(|item| item["type"].clone()).collect();
    assert_eq!(kinds, ["session", "message", "part", "model"]);
    assert_eq!((shown.header("etag"), shown.header("cache-control")), (Some("\"4\""), Some("no-cache")));
    let unchanged =
        world.request("GET", &format!("/api/share/{}/data", share.0)).header("if-none-match", "\"4\"");
    assert_eq!(unchanged.send().await.unwrap().status(), 304);
}

#[tokio::test]
async fn a_wrong_secret_and_an_unknown_share_change_nothing() {
    let world = world().await;
    let (id, secret) = share(&world).await;
    let wrong = format!("{}x", &secret[..secret.len() - 1]);
    let item = json!([{ "type": "session", "data": { "id": "ses_a" } }]);

    let refused = sync(&world, &(id.clone(), wrong), item.clone()).await;
    let unknown = sync(&world, &("nothing".to_owned(), secret), item).await;

    assert_eq!(code(&refused), (401, "unauthorized".to_owned()));
    assert_eq!(code(&unknown), (404, "not_found".to_owned()));
    assert_eq!(world.get(&format!("/api/share/{id}/data")).await.json(), json!([]));
}

#[tokio::test]
async fn a_viewer_sees_what_is_there_what_comes_and_that_it_was_unshared() {
    let world = world().await;
    let share = share(&world).await;
    let message = |text: &str| json!([{ "type": "message", "data": { "id": "msg_1", "text": text } }]);
    sync(&world, &share, message("before")).await;
    let mut watching = world.request("GET", &format!("/api/share/{}/events", share.0)).send().await.unwrap();
    let first = until(&mut watching, "before").await;

    sync(&world, &share, message("after")).await;
    let second = until(&mut watching, "after").await;
    let secret = json!({ "secret": share.1 });
    let removed = world.send("DELETE", &format!("/api/share/{}", share.0), &secret).await;
    let last = until(&mut watching, "closed").await;

    assert!(first.starts_with("id: 1\nevent: snapshot\n"), "{first}");
    assert!(second.starts_with("id: 2\nevent: op\n"), "{second}");
    assert_eq!(removed.both(), (200, json!({ "success": true })));
    assert!(last.contains(r#"{"code":"gone"}"#), "{last}");
    assert_eq!(watching.chunk().await.unwrap(), None);
    assert_eq!(code(&world.get(&format!("/api/share/{}/data", share.0)).await), (410, "gone".to_owned()));
}

#[tokio::test]
async fn a_viewer_that_comes_back_gets_only_what_it_missed() {
    let world = world().await;
    let share = share(&world).await;
    for text in ["one", "two", "three"] {
        let id = format!("msg_{text}");
        sync(&world, &share, json!([{ "type": "message", "data": { "id": id, "text": text } }])).await;
    }

    let events = format!("/api/share/{}/events", share.0);
    let mut watching = world.request("GET", &events).header("last-event-id", "2").send().await.unwrap();
    let seen = until(&mut watching, "three").await;

    assert!(!seen.contains("one") && !seen.contains("two"), "{seen}");
}

#[tokio::test]
async fn an_open_viewer_stops_when_its_link_is_revoked() {
    let world = world().await;
    let (id, owner) = share(&world).await;
    let path = format!("/api/share/{id}/capabilities");
    let wanted = json!({ "scope": ["viewer"], "label": "for bob" });
    let made = with_right(&world, "POST", &path, &owner, Some(&wanted)).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let link = made.json()["sturdy_ref"].as_str().unwrap().to_owned();
    let events = world.request("GET", &format!("/api/share/{id}/events")).bearer_auth(&link);
    let mut watching = events.send().await.unwrap();
    until(&mut watching, "snapshot").await;

    let cap = made.json()["cap_id"].as_str().unwrap().to_owned();
    let revoked = with_right(&world, "DELETE", &format!("{path}/{cap}"), &owner, None).await;
    let last = until(&mut watching, "closed").await;

    assert_eq!(revoked.both(), (200, json!({ "epoch": 2 })));
    assert!(last.contains(r#"{"code":"revoked"}"#), "{last}");
    let redeem = format!("/api/share/{id}/redeem");
    assert_eq!(code(&with_right(&world, "POST", &redeem, &link, None).await), (403, "revoked".to_owned()));
    let listed = with_right(&world, "GET", &path, &owner, None).await;
    assert_eq!(listed.json().as_array().unwrap().len(), 2, "{}", listed.text);
    assert!(!listed.text.contains("hash") && !listed.text.contains(&link), "{}", listed.text);
}

#[tokio::test]
async fn the_password_guards_the_sessions_and_the_link_the_share() {
    let password = Some(Password::new("ada", "open sesame"));
    let options = ServerOptions { password, share: Some(sharing()), ..ServerOptions::default() };
    let world = World::with(options).await;

    let share = share(&world).await;

    assert_eq!(world.get(&format!("/api/share/{}/data", share.0)).await.status, 200);
    assert_eq!(world.get("/session").await.status, 401);
    assert_eq!(world.get("/api/shareable").await.status, 401);
}

#[tokio::test]
async fn where_there_is_a_gateway_key_nobody_creates_shares_without_it() {
    let key = Some(SecretString::from("the-key"));
    let share = Some(ShareOptions { gateway_key: key, ..sharing() });
    let world = World::with(ServerOptions { share, ..ServerOptions::default() }).await;
    let create = |key: &str| {
        let request = world.request("POST", "/api/share").header("x-opencode-share-key", key);
        request.json(&json!({ "sessionID": "ses_a" })).send()
    };

    assert_eq!(create("wrong").await.unwrap().status(), 401);
    assert_eq!(create("the-key").await.unwrap().status(), 200);
}
