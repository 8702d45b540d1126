//! Numbers for who watches over the server.

use crate::stream::Stream;
use crate::world::World;
use serde_json::json;
use sturdy_server::{Password, ServerOptions};

/// The value of a metric with these labels, as it is written.
fn value(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{text}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn what_was_done_is_counted_and_nobody_is_named() {
    let world = World::new().await;
    let before = world.get("/metrics").await;
    assert_eq!(
        before.header("content-type").unwrap(),
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    let session = world.session().await;
    let _stream = Stream::open(&world, "/event").await;
    world.ask(&session, "hello").await;

    let after = world.get("/metrics").await;

    let text = after.text;
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert!(value(&text, "sturdy_store_commits_total") > value(&before.text, "sturdy_store_commits_total"));
    assert!(value(&text, "sturdy_store_entries_total") >= value(&text, "sturdy_store_commits_total"));
    assert!(value(&text, "sturdy_store_sync_seconds_count") >= 1.0);
    assert_eq!(value(&text, "sturdy_turns_total{end=\"done\"}"), 1.0);
    assert_eq!(value(&text, "sturdy_steps_total{provider=\"demo\",model=\"echo\"}"), 1.0);
    assert!(value(&text, "sturdy_tokens_total{provider=\"demo\",model=\"echo\",kind=\"output\"}") > 0.0);
    assert_eq!(value(&text, "sturdy_cost_dollars_total{provider=\"demo\",model=\"echo\"}"), 0.0);
    assert_eq!((value(&text, "sturdy_event_streams"), value(&text, "sturdy_up")), (1.0, 1.0));
    assert_eq!(value(&text, "sturdy_log_head"), world.engine.store().head() as f64);
    assert!(!text.contains(&session) && !text.contains(world.root.path().to_str().unwrap()));
}

#[tokio::test]
async fn prompts_that_wait_are_counted() {
    let world = World::new().await;
    assert_eq!(value(&world.get("/metrics").await.text, "sturdy_prompts_waiting"), 0.0);

    for _ in 0..2 {
        let session = world.session().await;
        let held = json!({ "prompt": { "text": "not yet" }, "resume": false });
        assert_eq!(world.send("POST", &format!("/api/session/{session}/prompt"), &held).await.status, 200);
    }

    assert_eq!(value(&world.get("/metrics").await.text, "sturdy_prompts_waiting"), 2.0);
}

#[tokio::test]
async fn readers_and_how_far_the_slowest_is_behind_are_counted() {
    let world = World::new().await;
    let stalled = world.engine.feed().reader();
    let begun = world.engine.store().head();
    world.session().await;
    world.session().await;

    let text = world.get("/metrics").await.text;

    let behind = world.engine.store().head() - begun;
    assert!(behind >= 2, "{behind}");
    assert_eq!(value(&text, "sturdy_feed_readers"), 1.0);
    assert_eq!(value(&text, "sturdy_feed_lag"), behind as f64);
    assert_eq!(value(&text, "sturdy_store_queue"), 0.0);
    drop(stalled);
    let text = world.get("/metrics").await.text;
    assert_eq!((value(&text, "sturdy_feed_readers"), value(&text, "sturdy_feed_lag")), (0.0, 0.0));
}

#[tokio::test]
async fn metrics_stand_behind_the_same_door() {
    let password = Some(Password::new("ada", "hush".to_owned()));
    let world = World::with(ServerOptions { password, ..ServerOptions::default() }).await;
    assert_eq!(world.get("/metrics").await.status, 401);
    let inside = world.request("GET", "/metrics").basic_auth("ada", Some("hush")).send().await.unwrap();
    assert_eq!(inside.status(), 200);
}
