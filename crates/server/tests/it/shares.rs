//! The share service over HTTP: who may come in, what is answered, and viewers that watch.

use crate::world::{Answer, World};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::time::Duration;
use sturdy_server::{Password, ServerOptions, ServiceLimits, ShareOptions};
use sturdy_store::share::{LegacyItem, ShareAuth, ShareCall, ShareLimits};

pub(crate) fn sharing() -> ShareOptions {
    ShareOptions::at("https://share.example/")
}

pub(crate) async fn world() -> World {
    World::with(ServerOptions { share: Some(sharing()), ..ServerOptions::default() }).await
}

/// A share as OpenCode's client makes it: id and secret.
pub(crate) async fn share(world: &World) -> (String, String) {
    let made = world.send("POST", "/api/share", &json!({ "sessionID": "ses_a" })).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let made = made.json();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    assert_eq!(text("url"), format!("https://share.example/share/{}", text("id")));
    (text("id"), text("secret"))
}

pub(crate) async fn with_right(
    world: &World,
    method: &str,
    path: &str,
    right: &str,
    body: Option<&Value>,
) -> Answer {
    let request = world.request(method, path).bearer_auth(right);
    let request = match body {
        Some(body) => request.json(body),
        None => request,
    };
    Answer::of(request.send().await.unwrap()).await
}

pub(crate) async fn sync(world: &World, (id, secret): &(String, String), data: Value) -> Answer {
    world.send("POST", &format!("/api/share/{id}/sync"), &json!({ "secret": secret, "data": data })).await
}

pub(crate) fn code(answer: &Answer) -> (u16, String) {
    (answer.status, answer.json()["error"]["code"].as_str().unwrap().to_owned())
}

/// Reads frames until one has this event and text.
pub(crate) async fn until(response: &mut reqwest::Response, wanted: &str) -> String {
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
async fn only_so_many_large_shares_are_on_their_way_whole_at_once() {
    let world = world().await;
    let share = share(&world).await;
    // More than the system keeps of an answer that nobody reads.
    for number in 0..3 {
        let text = "x".repeat(3_500_000);
        let part = json!({ "id": format!("prt_{number}"), "messageID": "msg_1", "text": text });
        assert_eq!(sync(&world, &share, json!([{ "type": "part", "data": part }])).await.status, 200);
    }
    let path = format!("/api/share/{}/data", share.0);
    let mut unread = Vec::new();
    for _ in 0..8 {
        let answer = world.request("GET", &path).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        unread.push(answer);
    }

    // Was: each was read into memory, for as many as asked and for as long as they did not read.
    assert_eq!(code(&world.get(&path).await), (503, "overloaded".to_owned()));
    let following = world.get(&format!("/api/share/{}/events", share.0)).await;
    assert_eq!(code(&following), (503, "overloaded".to_owned()));
    let known = world.request("GET", &path).header("if-none-match", "\"3\"").send().await.unwrap();
    assert_eq!(known.status(), 304);
    drop(unread);
    while world.get(&path).await.status != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_wrong_secret_and_an_unknown_share_change_nothing() {
    let world = world().await;
    let (id, secret) = share(&world).await;
    // Was: its last letter was replaced by an x, which it may have been already.
    let wrong = format!("{secret}x");
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
async fn the_owner_sees_who_reads_now_and_others_see_only_their_own() {
    let world = world().await;
    let (id, owner) = share(&world).await;
    let path = format!("/api/share/{id}/capabilities");
    let wanted = json!({ "scope": ["viewer"], "label": "for bob" });
    let made = with_right(&world, "POST", &path, &owner, Some(&wanted)).await.json();
    let link = made["sturdy_ref"].as_str().unwrap().to_owned();
    let events = format!("/api/share/{id}/events");
    let readers = format!("/api/share/{id}/readers");
    assert_eq!(with_right(&world, "GET", &readers, &owner, None).await.both(), (200, json!([])));

    let mut public = world.request("GET", &events).send().await.unwrap();
    until(&mut public, "snapshot").await;
    let mut named = world.request("GET", &events).bearer_auth(&link).send().await.unwrap();
    until(&mut named, "snapshot").await;

    let bob = json!({ "cap_id": made["cap_id"], "count": 1 });
    let everybody = json!([{ "cap_id": null, "count": 1 }, bob]);
    assert_eq!(with_right(&world, "GET", &readers, &owner, None).await.both(), (200, everybody));
    assert_eq!(with_right(&world, "GET", &readers, &link, None).await.both(), (200, json!([bob])));
    assert_eq!(world.get(&readers).await.status, 401);

    let cap = made["cap_id"].as_str().unwrap().to_owned();
    with_right(&world, "DELETE", &format!("{path}/{cap}"), &owner, None).await;
    until(&mut named, "closed").await;
    assert_eq!(named.chunk().await.unwrap(), None);
    let left = json!([{ "cap_id": null, "count": 1 }]);
    assert_eq!(with_right(&world, "GET", &readers, &owner, None).await.both(), (200, left));
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
    // Before anything of the body is looked at.
    let nonsense = world.request("POST", "/api/share").header("content-type", "application/json").body("{");
    assert_eq!(nonsense.send().await.unwrap().status(), 401);
    assert_eq!(create("the-key").await.unwrap().status(), 200);
}

pub(crate) fn limited(set: impl FnOnce(&mut ServiceLimits)) -> ServerOptions {
    let mut share = sharing();
    set(&mut share.limits);
    ServerOptions { share: Some(share), ..ServerOptions::default() }
}

#[tokio::test]
async fn batches_of_one_share_that_come_too_often_are_told_when_to_come_back() {
    let world = World::with(limited(|limits| limits.batches_per_second = 1)).await;
    let busy = share(&world).await;
    let quiet = share(&world).await;
    let data = || json!([{ "type": "session", "data": { "id": "ses_a" } }]);

    assert_eq!(sync(&world, &busy, data()).await.status, 200);
    let refused = sync(&world, &busy, data()).await;

    assert_eq!(code(&refused), (429, "rate_limited".to_owned()));
    assert_eq!(refused.json()["error"]["retryable"], true);
    assert!(refused.header("retry-after").is_some());
    assert_eq!(sync(&world, &quiet, data()).await.status, 200);
}

#[tokio::test]
async fn an_address_creates_so_many_shares_in_an_hour() {
    let world = World::with(limited(|limits| limits.creates_per_hour = 2)).await;
    share(&world).await;
    share(&world).await;

    let refused = world.send("POST", "/api/share", &json!({ "sessionID": "ses_a" })).await;

    assert_eq!(code(&refused), (429, "rate_limited".to_owned()));
}

#[tokio::test]
async fn viewers_beyond_the_limit_are_told_to_come_back() {
    let world = World::with(limited(|limits| limits.viewers = 1)).await;
    let share = share(&world).await;
    let path = format!("/api/share/{}/events", share.0);
    let mut first = world.request("GET", &path).send().await.unwrap();
    until(&mut first, "snapshot").await;

    let refused = world.get(&path).await;

    assert_eq!(code(&refused), (503, "overloaded".to_owned()));
}

#[tokio::test]
async fn a_silent_viewer_is_told_that_the_stream_is_alive_as_often_as_the_setting_says() {
    let world = World::with(limited(|limits| limits.heartbeat = Duration::from_millis(20))).await;
    let share = share(&world).await;
    let mut open = world.request("GET", &format!("/api/share/{}/events", share.0)).send().await.unwrap();

    until(&mut open, "snapshot").await;
    let seen = until(&mut open, "alive").await;

    assert!(seen.contains(": alive"), "{seen}");
}

/// Values that arrive at the store without anybody being woken.
async fn sync_unheard(world: &World, (id, secret): &(String, String), title: &str) {
    let call = ShareCall {
        now: world.engine.clock().now(),
        actor: "test".to_owned(),
        transport: "test",
        address: String::new(),
        budget: None,
        limits: ShareLimits::default(),
    };
    let item = LegacyItem { kind: "session".to_owned(), data: json!({ "id": "ses_a", "title": title }) };
    let auth = ShareAuth::parse(secret);
    world.engine.store().sync_share(call, id.clone(), auth, vec![item]).await.unwrap();
}

/// T-VIEW-02
#[tokio::test]
async fn a_viewer_whose_wake_up_is_lost_still_sees_what_came() {
    let world = World::with(limited(|limits| limits.heartbeat = Duration::from_millis(20))).await;
    let share = share(&world).await;
    let mut open = world.request("GET", &format!("/api/share/{}/events", share.0)).send().await.unwrap();
    until(&mut open, "snapshot").await;

    sync_unheard(&world, &share, "nobody was told").await;

    until(&mut open, "nobody was told").await;
}

/// T-VIEW-03
#[tokio::test]
async fn a_viewer_that_does_not_read_holds_nobody_up_and_catches_up() {
    let world = World::with(limited(|limits| limits.batches_per_second = 0)).await;
    let share = share(&world).await;
    let mut slow = world.request("GET", &format!("/api/share/{}/events", share.0)).send().await.unwrap();
    let long = "x".repeat(20_000);

    for count in 0..200 {
        let part = json!({ "id": format!("prt_{count}"), "messageID": "msg_1", "text": long });
        assert_eq!(sync(&world, &share, json!([{ "type": "part", "data": part }])).await.status, 200);
    }
    sync(&world, &share, json!([{ "type": "session", "data": { "id": "ses_a", "title": "the end" } }])).await;

    let seen = until(&mut slow, "the end").await;
    for count in 0..200 {
        assert!(seen.contains(&format!("part/msg_1/prt_{count}\"")), "{count} is missing");
    }
}

/// T-SEC-01
#[tokio::test]
async fn hostile_headers_and_bodies_change_nothing() {
    let world = world().await;
    let made = world.request("POST", "/api/share").header("x-forwarded-host", "evil.example");
    let made = Answer::of(made.json(&json!({ "sessionID": "ses_a" })).send().await.unwrap()).await.json();
    assert!(made["url"].as_str().unwrap().starts_with("https://share.example/share/"));
    let share = (made["id"].as_str().unwrap().to_owned(), made["secret"].as_str().unwrap().to_owned());

    let path = format!("/api/share/{}/sync", share.0);
    let large = format!("{{\"secret\":\"x\",\"data\":[{}]}}", " ".repeat(17 * 1024 * 1024));
    let large = world.request("POST", &path).header("content-type", "application/json").body(large);
    assert_eq!(large.send().await.unwrap().status(), 413);
    let deep = format!("{{\"secret\":\"x\",\"data\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = world.request("POST", &path).header("content-type", "application/json").body(deep);
    assert_eq!(deep.send().await.unwrap().status(), 400);
    let data = world.get(&format!("/api/share/{}/data", share.0)).await;
    assert_eq!(data.both(), (200, json!([])));
}

/// A thousand viewers who are woken together cost the store one read, with or without a right of their own.
#[tokio::test]
async fn viewers_that_are_woken_together_read_the_store_once() {
    let world = World::with(limited(|limits| limits.heartbeat = Duration::from_secs(300))).await;
    let share = share(&world).await;
    let events = format!("/api/share/{}/events", share.0);
    let mut viewers = Vec::new();
    for number in 0..40 {
        let request = world.request("GET", &events);
        let request = if number % 2 == 0 { request } else { request.bearer_auth(&share.1) };
        let mut viewer = request.send().await.unwrap();
        until(&mut viewer, "snapshot").await;
        viewers.push(viewer);
    }
    let reads = &world.engine.store().meters().reads;

    for round in 1..=3 {
        let before = reads.get();
        let title = format!("round {round}");
        sync(&world, &share, json!([{ "type": "session", "data": { "id": "ses_a", "title": title } }])).await;
        for viewer in &mut viewers {
            until(viewer, &title).await;
        }
        assert_eq!(reads.get() - before, 1, "in round {round}");
    }
    world.close().await;
}
