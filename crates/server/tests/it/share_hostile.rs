//! Texts, headers and bodies that mean harm, on every route of the share service: they are refused or are plain texts, and
//! the share stays as it was.

use crate::shares::{code, share, sync, with_right, world};
use crate::world::{Answer, World};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

const HOSTILE: [&str; 9] = [
    "' OR '1'='1",
    "\"; DROP TABLE share; --",
    "x' UNION SELECT secret_hash FROM share_capability --",
    "%",
    "_",
    "\\",
    "../../etc/passwd",
    "\u{202e}\u{1F600}",
    "null\u{0}byte",
];

fn in_path(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// A share that shows one session.
async fn filled(world: &World) -> (String, String) {
    let share = share(world).await;
    let data = json!([{ "type": "session", "data": { "id": "ses_a", "title": "as it was" } }]);
    assert_eq!(sync(world, &share, data).await.status, 200);
    share
}

async fn is_as_it_was(world: &World, id: &str) {
    let shown = world.get(&format!("/api/share/{id}/data")).await;
    let session = json!({ "type": "session", "data": { "id": "ses_a", "title": "as it was" } });
    assert_eq!(shown.both(), (200, json!([session])));
}

/// T-SQL-01: ids, names and filters of every route.
#[tokio::test]
async fn hostile_texts_on_the_routes_of_shares_are_texts() {
    let world = world().await;
    let (id, owner) = filled(&world).await;
    let at = |rest: &str| format!("/api/share/{id}/{rest}");
    for hostile in HOSTILE {
        let text = in_path(hostile);
        for rest in ["data", "ops", "events", "capabilities", "audit", "readers"] {
            let unknown = with_right(&world, "GET", &format!("/api/share/{text}/{rest}"), &owner, None).await;
            assert!([400, 401, 404].contains(&unknown.status), "{hostile:?} {rest}: {}", unknown.text);
        }
        for list in ["capabilities", "audit"] {
            let of_nobody =
                with_right(&world, "GET", &at(&format!("{list}?actor={text}")), &owner, None).await;
            assert_eq!(of_nobody.both(), (200, json!([])), "{hostile:?} {list}");
        }
        for number in ["audit?after", "ops?after", "ops?limit", "events?after"] {
            let refused = with_right(&world, "GET", &at(&format!("{number}={text}")), &owner, None).await;
            assert_eq!(refused.status, 400, "{hostile:?} {number}: {}", refused.text);
        }
        let revoked = with_right(&world, "DELETE", &at(&format!("capabilities/{text}")), &owner, None).await;
        assert_eq!(revoked.status, 404, "{hostile:?}: {}", revoked.text);
        let stranger = json!({ "secret": format!("stdy1.{id}.{hostile}.{hostile}") });
        let refused = world.send("POST", &at("redeem"), &stranger).await;
        assert_eq!(code(&refused), (401, "unauthorized".to_owned()), "{hostile:?}");
        let writer = json!({ "writer_id": hostile });
        let redeemed = with_right(&world, "POST", &at("redeem"), &owner, Some(&writer)).await;
        assert_eq!(redeemed.json()["writer"]["applied_seq"], 0, "{hostile:?}: {}", redeemed.text);
        let narrow = json!({ "scope": ["viewer"], "label": hostile });
        let narrowed = with_right(&world, "POST", &at("capabilities"), &owner, Some(&narrow)).await;
        assert!([200, 201, 400].contains(&narrowed.status), "{hostile:?}: {}", narrowed.text);
        is_as_it_was(&world, &id).await;
    }

    let kept = with_right(&world, "GET", &at("capabilities"), &owner, None).await.json();
    let labels: Vec<&str> = kept.as_array().unwrap().iter().filter_map(|one| one["label"].as_str()).collect();
    assert!(labels.contains(&HOSTILE[0]), "{labels:?}");
    world.close().await;
}

/// The routes of a share that take a body.
fn with_bodies(id: &str) -> Vec<(&'static str, String)> {
    let at = |rest: &str| format!("/api/share/{id}{rest}");
    vec![
        ("POST", "/api/share".to_owned()),
        ("POST", at("/sync")),
        ("POST", at("/ops")),
        ("POST", at("/redeem")),
        ("POST", at("/capabilities")),
        ("PUT", at("/visibility")),
        ("POST", at("/rotate")),
        ("DELETE", at("")),
        ("POST", "/rpc/share".to_owned()),
    ]
}

async fn send_text(world: &World, method: &str, path: &str, body: String) -> Answer {
    let request = world.request(method, path).header("content-type", "application/json").body(body);
    Answer::of(request.send().await.unwrap()).await
}

/// T-SEC-01
#[tokio::test]
async fn bodies_that_are_too_large_or_too_deep_are_refused_on_every_route_of_a_share() {
    let world = world().await;
    let (id, _) = filled(&world).await;
    for (method, path) in with_bodies(&id) {
        let large =
            send_text(&world, method, &path, format!("{{\"secret\":\"{}\"}}", "x".repeat(33 << 20))).await;
        assert!([400, 401, 413].contains(&large.status), "{method} {path}: {} {}", large.status, large.text);
        let deep = format!("{{\"secret\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let deep = send_text(&world, method, &path, deep).await;
        let is_ended = path == "/rpc/share" && deep.text.starts_with("[\"abort\"");
        assert!(
            is_ended || [400, 401].contains(&deep.status),
            "{method} {path}: {} {}",
            deep.status,
            deep.text
        );
    }
    is_as_it_was(&world, &id).await;
    world.close().await;
}

/// T-SEC-01: a link is made of the address that was configured, whatever a request says of its host.
#[tokio::test]
async fn no_header_changes_the_address_of_a_link() {
    let world = world().await;
    let (id, owner) = filled(&world).await;
    let headers =
        ["x-forwarded-host", "forwarded", "x-forwarded-proto", "x-original-host", "x-forwarded-port"];
    for header in headers {
        let body = json!({ "sessionID": "ses_b" });
        let made = world.request("POST", "/api/share").header(header, "host=evil.example").json(&body);
        let made = Answer::of(made.send().await.unwrap()).await;
        let url = made.json()["url"].as_str().unwrap().to_owned();
        assert!(url.starts_with("https://share.example/share/"), "{header}: {url}");

        let narrow =
            world.request("POST", &format!("/api/share/{id}/capabilities")).header(header, "evil.example");
        let narrow = narrow.bearer_auth(&owner).json(&json!({ "scope": ["viewer"] }));
        let narrowed = Answer::of(narrow.send().await.unwrap()).await;
        assert!(!narrowed.text.contains("evil"), "{header}: {}", narrowed.text);
    }
    world.close().await;
}

/// T-CRT-02
#[tokio::test]
async fn a_deleted_share_is_not_called_unchanged_to_whoever_has_seen_it() {
    let world = world().await;
    let (id, owner) = filled(&world).await;
    let path = format!("/api/share/{id}/data");
    let seen = world.get(&path).await;
    let tag = seen.header("etag").unwrap().to_owned();
    let again = async || {
        let request = world.request("GET", &path).header("if-none-match", &tag);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(again().await, 304);

    let delete =
        async || world.send("DELETE", &format!("/api/share/{id}"), &json!({ "secret": owner })).await;
    let deleted: [(u16, Value); 2] = [delete().await.both(), delete().await.both()];

    assert_eq!(deleted, [(200, json!({ "success": true })), (200, json!({ "success": true }))]);
    assert_eq!(again().await, 410);
    world.close().await;
}
