//! What the owner of a share may do with it over HTTP, and what that does to whoever watches.

use crate::relay::{Fault, Relay};
use crate::share_pair::{receiving, sender_to, share as share_session};
use crate::share_sending::agree;
use crate::shares::{code, limited, share, sync, until, with_right, world};
use crate::world::World;
use serde_json::{Value, json};
use std::time::Duration;

async fn watch(world: &World, id: &str) -> reqwest::Response {
    let mut watching = world.request("GET", &format!("/api/share/{id}/events")).send().await.unwrap();
    until(&mut watching, "snapshot").await;
    watching
}

/// Was: the plain link of a share could not be taken back but by deleting the share.
#[tokio::test]
async fn an_open_viewer_of_the_plain_link_stops_when_the_share_becomes_private() {
    let world = world().await;
    let (id, owner) = share(&world).await;
    let mut watching = watch(&world, &id).await;

    let path = format!("/api/share/{id}/visibility");
    let private = json!({ "visibility": "private" });
    let set = with_right(&world, "PUT", &path, &owner, Some(&private)).await;
    let last = until(&mut watching, "closed").await;

    assert_eq!(set.both(), (200, json!({ "epoch": 2, "visibility": "private" })));
    assert!(last.contains(r#"{"code":"unauthorized"}"#), "{last}");
    assert_eq!(watching.chunk().await.unwrap(), None);
    assert_eq!(code(&world.get(&format!("/api/share/{id}/data")).await), (401, "unauthorized".to_owned()));
    assert_eq!(with_right(&world, "GET", &format!("/api/share/{id}/data"), &owner, None).await.status, 200);

    let open = json!({ "visibility": "link" });
    assert_eq!(with_right(&world, "PUT", &path, &owner, Some(&open)).await.status, 200);
    watch(&world, &id).await;
    let nonsense = json!({ "visibility": "secret" });
    assert_eq!(with_right(&world, "PUT", &path, &owner, Some(&nonsense)).await.status, 400);
    assert_eq!(world.send("PUT", &path, &private).await.status, 401);
}

#[tokio::test]
async fn an_owner_may_name_a_share_when_it_is_made() {
    let world = world().await;
    let named = json!({ "sessionID": "ses_1", "title": "For the team" });
    let made = world.send("POST", "/api/share", &named).await.json();
    let id = made["id"].as_str().unwrap();

    let path = format!("/api/share/{id}/capabilities");
    let listed = with_right(&world, "GET", &path, made["secret"].as_str().unwrap(), None).await.json();
    assert!(listed.to_string().contains(r#""label":"For the team""#), "{listed}");
    for title in ["x".repeat(201), "two\nlines".to_owned()] {
        let refused =
            world.send("POST", "/api/share", &json!({ "sessionID": "ses_1", "title": title })).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
    }
}

#[tokio::test]
async fn revoking_all_stops_the_viewers_of_the_plain_link_too() {
    let world = world().await;
    let (id, owner) = share(&world).await;
    let mut watching = watch(&world, &id).await;

    let path = format!("/api/share/{id}/capabilities/all");
    let revoked = with_right(&world, "DELETE", &path, &owner, None).await;

    assert_eq!(revoked.both(), (200, json!({ "epoch": 2 })));
    until(&mut watching, "closed").await;
    assert_eq!(world.get(&format!("/api/share/{id}/events")).await.status, 401);
}

#[tokio::test]
async fn the_audit_says_who_read_and_who_wrote() {
    let world = world().await;
    let (id, owner) = share(&world).await;
    let made = json!({ "scope": ["viewer"], "label": "for bob" });
    let made =
        with_right(&world, "POST", &format!("/api/share/{id}/capabilities"), &owner, Some(&made)).await;
    let made = made.json();
    let link = made["sturdy_ref"].as_str().unwrap().to_owned();
    let bob = format!("cap:{}", made["cap_id"].as_str().unwrap());

    sync(&world, &(id.clone(), owner.clone()), json!([{ "type": "session", "data": { "id": "ses_a" } }]))
        .await;
    for path in ["data", "ops", "data"] {
        let read = with_right(&world, "GET", &format!("/api/share/{id}/{path}"), &link, None).await;
        assert_eq!(read.status, 200);
    }
    // Whoever has no right of their own is nobody in particular.
    world.get(&format!("/api/share/{id}/data")).await;

    let audit = format!("/api/share/{id}/audit");
    let all = with_right(&world, "GET", &audit, &owner, None).await.json();
    let lines: Vec<(Value, bool)> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["method"].clone(), row["actor_id"] == json!(bob)))
        .collect();
    let expected = [("create", false), ("attenuate", false), ("sync", false), ("read", true)];
    assert_eq!(lines, expected.map(|(method, is_bob)| (json!(method), is_bob)));
    assert_eq!(all[0]["actor_id"], "local");
    assert!(all[2]["actor_id"].as_str().unwrap().starts_with("cap:"), "{all}");
    let of_bob = with_right(&world, "GET", &format!("{audit}?actor={bob}"), &owner, None).await.json();
    assert_eq!(of_bob, json!([all[3]]));
    let listed = format!("/api/share/{id}/capabilities?actor=local");
    let listed = with_right(&world, "GET", &listed, &owner, None).await.json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn a_narrowing_whose_answer_was_lost_is_asked_for_again_with_its_secret() {
    let world = world().await;
    let (id, owner) = share(&world).await;
    let path = format!("/api/share/{id}/capabilities");
    let wanted = json!({ "scope": ["viewer"], "secret": "a-secret-that-the-owner-made-up-0123456789" });

    let first = with_right(&world, "POST", &path, &owner, Some(&wanted)).await;
    let again = with_right(&world, "POST", &path, &owner, Some(&wanted)).await;
    let short = json!({ "scope": ["viewer"], "secret": "short" });
    let short = with_right(&world, "POST", &path, &owner, Some(&short)).await;

    assert_eq!(first.status, 201, "{}", first.text);
    assert_eq!(first.both(), again.both());
    assert_eq!(short.status, 400);
    let link = first.json()["sturdy_ref"].as_str().unwrap().to_owned();
    assert_eq!(with_right(&world, "GET", &format!("/api/share/{id}/data"), &link, None).await.status, 200);
}

#[tokio::test]
async fn shares_answer_under_the_name_for_organisations_as_well() {
    let world = world().await;
    let made = world.send("POST", "/api/shares", &json!({ "sessionID": "ses_a" })).await.json();
    let id = made["id"].as_str().unwrap();
    let data = json!([{ "type": "session", "data": { "id": "ses_a" } }]);

    let body = json!({ "secret": made["secret"], "data": data });
    let synced = world.send("POST", &format!("/api/shares/{id}/sync"), &body).await;

    assert_eq!(synced.status, 200, "{}", synced.text);
    assert_eq!(world.get(&format!("/api/shares/{id}/data")).await.json(), data);
    assert_eq!(world.get(&format!("/api/share/{id}/data")).await.json(), data);
}

/// Was: one read that failed told every viewer that the share had ended.
#[tokio::test]
async fn a_viewer_whose_store_does_not_answer_is_not_told_that_the_share_has_ended() {
    let world = World::with(limited(|limits| limits.heartbeat = Duration::from_secs(300))).await;
    let (id, _) = share(&world).await;
    let mut watching = watch(&world, &id).await;

    world.engine.store().clone().die().await;
    world.engine.share_wakes().wake(&id);

    let mut seen = String::new();
    while let Some(chunk) = watching.chunk().await.unwrap() {
        seen.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(seen.contains("reconnect") && !seen.contains("event: closed"), "{seen}");
    world.close().await;
}

#[tokio::test]
async fn a_sender_is_told_how_many_watch() {
    let world = world().await;
    let (id, owner) = share(&world).await;
    let watching = watch(&world, &id).await;
    let op = json!({ "op_id": "op_1", "seq": 1, "kind": "session", "key": "session", "payload_json": "{}" });
    let op: sturdy_store::share::Operation = serde_json::from_value(op).unwrap();
    let start = sturdy_store::share::chain_start(&id, "wr_1");
    let batch = sturdy_store::share::Batch {
        writer_id: "wr_1".to_owned(),
        batch_id: "bt_1".to_owned(),
        first_seq: 1,
        last_seq: 1,
        chain_before: start.to_string(),
        chain_after: start.after(&op).to_string(),
        expected_cursor: None,
        capability_epoch: 1,
        ops: vec![op],
    };
    let batch = serde_json::to_value(&batch).unwrap();

    let sent = with_right(&world, "POST", &format!("/api/share/{id}/ops"), &owner, Some(&batch)).await;

    assert_eq!((sent.status, sent.header("x-sturdy-share-viewers")), (200, Some("1")), "{}", sent.text);
    drop(watching);
}

/// A page cannot ask another origin, so its server asks the service.
#[tokio::test]
async fn an_owner_asks_the_service_that_keeps_a_share_through_the_server() {
    let receiver = World::with(receiving()).await;
    let relay = Relay::to(&receiver.url).await;
    let sender = sender_to(&relay).await;
    let session = sender.session().await;
    let id = share_session(&sender, &session).await;
    agree(&sender, &session, &receiver, &id).await;
    let at = format!("/sturdy/session/{session}/share/owner");
    let ask = async |method: &str, path: &str, body: Value| {
        sender.send("POST", &at, &json!({ "method": method, "path": path, "body": body })).await
    };

    let made = ask("POST", "/capabilities", json!({ "scope": ["viewer"], "label": "reader" })).await;
    let reader = made.json()["sturdy_ref"].as_str().unwrap().to_owned();
    let all = ask("GET", "/capabilities", Value::Null).await.json();
    let data = format!("/api/share/{id}/data");

    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(all[1]["label"], "reader");
    assert_eq!(with_right(&receiver, "GET", &data, &reader, None).await.status, 200);
    let one = format!("/capabilities/{}", all[1]["cap_id"].as_str().unwrap());
    assert_eq!(ask("DELETE", &one, Value::Null).await.both(), (200, json!({ "epoch": 2 })));
    assert_eq!(with_right(&receiver, "GET", &data, &reader, None).await.status, 403);
    let private = json!({ "visibility": "private" });
    assert_eq!(ask("PUT", "/visibility", private).await.json()["visibility"], "private");
    assert_eq!(receiver.get(&data).await.status, 401);
    assert_eq!(ask("POST", "/rotate", Value::Null).await.json(), json!({ "epoch": 4 }));
    let rows = ask("GET", "/audit?after=0", Value::Null).await.json();
    let did = |verb: &str| rows.as_array().unwrap().iter().any(|row| row["method"] == verb);
    assert!(["attenuate", "revoke", "visibility", "rotate"].into_iter().all(did), "{rows}");
    assert_eq!(ask("GET", "/readers", Value::Null).await.json(), json!([]));

    // What the service refuses is refused with its words, and what is no wish of an owner does not reach it.
    let wider = ask("POST", "/capabilities", json!({ "scope": ["nonsense"] })).await;
    assert_eq!(wider.status, 400, "{}", wider.text);
    let asked = relay.paths().len();
    for path in ["/data", "/../../global/health", "/capabilities/a/b", ""] {
        assert_eq!(ask("GET", path, Value::Null).await.status, 400, "{path}");
    }
    assert!(!relay.paths()[asked..].iter().any(|path| path.contains("health") || path.ends_with("/data")));
    relay.fail(Fault::Down);
    assert_eq!(ask("GET", "/readers", Value::Null).await.status, 502);
    relay.fail(Fault::None);
    let unshared = sender.session().await;
    let nowhere = format!("/sturdy/session/{unshared}/share/owner");
    let wish = json!({ "method": "GET", "path": "/readers" });
    // Was: a message that did not say what was missing.
    let refused = sender.send("POST", &nowhere, &wish).await;
    assert_eq!(refused.status, 404);
    assert_eq!(refused.json()["data"]["message"], format!("Session is not shared: {unshared}"));
    let own = receiver.session().await;
    share_session(&receiver, &own).await;
    let own = format!("/sturdy/session/{own}/share/owner");
    assert_eq!(receiver.send("POST", &own, &wish).await.status, 400);
    sender.close().await;
    receiver.close().await;
}

/// T-CTX-01
#[tokio::test]
async fn links_are_listed_by_who_made_them() {
    let world = world().await;
    let session = world.session().await;
    share_session(&world, &session).await;

    let all = world.get("/sturdy/share").await.json();
    let local = world.get("/sturdy/share?actor=local").await.json();
    let nobody = world.get("/sturdy/share?actor=user:nobody").await.json();

    assert_eq!(all[0]["actor"], "local");
    assert_eq!(local, all);
    assert_eq!(nobody, json!([]));
}
