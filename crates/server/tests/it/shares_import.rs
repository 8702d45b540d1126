//! Shares of old stores over HTTP: who may import them, what is refused, and what the old secret is worth afterwards.

use crate::world::{Answer, World};
use serde_json::{Value, json};
use sturdy_server::{Password, ServerOptions, ShareOptions};

const IMPORT: &str = "/sturdy/share/import";
const SECRET: &str = "a-secret-that-was-kept-in-clear";

fn old() -> Value {
    json!({
        "id": "abcd1234",
        "sessionID": "ses_old",
        "secret": SECRET,
        "data": [{ "type": "session", "data": { "id": "ses_old", "title": "Old" } }],
    })
}

async fn world() -> World {
    let share = ShareOptions::at("https://share.example");
    World::with(ServerOptions { share: Some(share), ..ServerOptions::default() }).await
}

async fn sync(world: &World, secret: &str, title: &str) -> Answer {
    let data = json!([{ "type": "session", "data": { "id": "ses_old", "title": title } }]);
    world.send("POST", "/api/share/abcd1234/sync", &json!({ "secret": secret, "data": data })).await
}

async fn title(world: &World) -> Value {
    world.get("/api/share/abcd1234/data").await.json()[0]["data"]["title"].clone()
}

/// T-LEG-04
#[tokio::test]
async fn an_imported_share_keeps_its_link_and_its_secret_until_that_is_replaced() {
    let world = world().await;

    let first = world.send("POST", IMPORT, &old()).await;
    let again = world.send("POST", IMPORT, &old()).await;

    assert_eq!(first.both(), (200, json!({ "id": "abcd1234", "isNew": true, "cursor": 1 })));
    assert_eq!(again.both(), (200, json!({ "id": "abcd1234", "isNew": false, "cursor": 1 })));
    assert_eq!(sync(&world, SECRET, "Synced").await.status, 200);
    assert_eq!(title(&world).await, "Synced");
    let narrowed = world.request("POST", "/api/share/abcd1234/capabilities");
    let narrowed = narrowed.bearer_auth(SECRET).json(&json!({ "scope": ["viewer"] })).send().await.unwrap();
    let narrowed = Answer::of(narrowed).await;
    assert_eq!((narrowed.status, narrowed.json()["error"]["code"].clone()), (403, json!("must_rotate")));

    let mut rotate = old();
    rotate["rotate"] = json!(true);
    let rotated = world.send("POST", IMPORT, &rotate).await.json();

    let fresh = rotated["secret"].as_str().unwrap();
    assert_eq!(sync(&world, SECRET, "With the old one").await.status, 403);
    assert_eq!(sync(&world, fresh, "With the new one").await.status, 200);
    assert_eq!(title(&world).await, "With the new one");
    // A list of shares may be imported again after it broke off; the new secret is not shown again.
    let again = world.send("POST", IMPORT, &rotate).await;
    assert_eq!(
        again.both(),
        (200, json!({ "id": "abcd1234", "isNew": false, "cursor": 3, "isRotated": true }))
    );
    world.close().await;
}

#[tokio::test]
async fn a_bad_import_is_refused_whole_and_another_share_is_never_taken_over() {
    let world = world().await;
    world.send("POST", IMPORT, &old()).await;
    let with = |name: &str, value: Value| {
        let mut body = old();
        body[name] = value;
        body
    };
    let refusals = [
        (with("id", json!("../abcd1234")), 400),
        (with("id", json!("")), 400),
        (with("id", json!("a".repeat(65))), 400),
        (with("secret", json!("short")), 400),
        (with("secret", json!("stdy1.abcd1234.cap.secret")), 400),
        (with("secret", json!("a-secret-of-somebody-else")), 409),
        (with("data", json!("none")), 400),
        (with("data", json!([{ "type": "message", "data": {} }])), 400),
        (with("more", json!(1)), 400),
        (json!([]), 400),
    ];

    for (body, status) in refusals {
        let mut body = body;
        // A bad one under another id leaves nothing behind either.
        if status == 400 && body["id"] == "abcd1234" {
            body["id"] = json!("other123");
        }
        let refused = world.send("POST", IMPORT, &body).await;
        assert_eq!(refused.status, status, "{body}: {}", refused.text);
        assert!(!refused.text.contains("somebody-else"), "{}", refused.text);
    }

    assert_eq!(world.get("/api/share/other123/data").await.status, 404);
    assert_eq!(title(&world).await, "Old");
    world.close().await;
}

#[tokio::test]
async fn only_who_runs_the_server_imports_shares() {
    let share = ShareOptions::at("https://share.example");
    let password = Some(Password::new("ada", "hush-hush"));
    let world = World::with(ServerOptions { share: Some(share), password, ..ServerOptions::default() }).await;

    let stranger = world.send("POST", IMPORT, &old()).await;
    let known = world.request("POST", IMPORT).basic_auth("ada", Some("hush-hush")).json(&old());
    let known = Answer::of(known.send().await.unwrap()).await;

    assert_eq!(stranger.status, 401);
    assert_eq!(known.status, 200, "{}", known.text);
    world.close().await;
}
