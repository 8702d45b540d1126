//! A reader that comes back: what it missed, and what it is told when that is not known any more.

use crate::stream::{Frame, Stream, place};
use crate::world::World;
use serde_json::json;

async fn three_turns(world: &World, path: &str) -> Vec<Frame> {
    let session = world.session().await;
    let mut stream = Stream::open(world, path).await;
    stream.next().await;
    world.ask(&session, "/demo long 40").await;
    world.send("PATCH", &format!("/session/{session}"), &json!({ "title": "renamed" })).await;
    world.ask(&session, r#"/demo tool bash {"command":"echo one; echo two","description":"Prints"}"#).await;
    world.ask(&session, "/demo error 400 refused").await;
    let mut frames = Vec::new();
    for _ in 0..3 {
        frames.extend(stream.until(Frame::is_idle).await);
    }
    frames
}

async fn resumes_anywhere(world: &World, path: &str, frames: &[Frame]) {
    for (index, seen) in frames.iter().enumerate().step_by(5) {
        let mut again = Stream::after(world, path, seen.id().as_deref()).await;
        assert_eq!(again.next().await.unwrap().kind(), "server.connected");
        for wanted in &frames[index + 1..] {
            assert_eq!(again.next().await.as_ref(), Some(wanted), "after {:?}", seen.id());
        }
    }
}

#[tokio::test]
async fn a_reader_that_comes_back_gets_exactly_what_it_missed() {
    let world = World::new().await;
    let frames = three_turns(&world, "/event").await;

    resumes_anywhere(&world, "/event", &frames).await;

    let last = frames[frames.len() - 2].id().unwrap();
    for path in [format!("/event?lastEventId={last}"), format!("/event?last_event_id={last}")] {
        let mut again = Stream::open(&world, &path).await;
        again.next().await;
        assert_eq!(again.next().await.as_ref(), frames.last());
    }
}

#[tokio::test]
async fn a_reader_that_comes_back_after_a_restart_gets_the_same_bytes() {
    let world = World::new().await;
    let frames = three_turns(&world, "/global/event").await;

    let world = world.reopened().await;

    resumes_anywhere(&world, "/global/event", &frames).await;
}

#[tokio::test]
async fn a_cursor_that_means_nothing_here_is_answered_with_a_resync() {
    let world = World::new().await;
    world.session().await;
    let mut stream = Stream::open(&world, "/event").await;
    stream.next().await;
    world.session().await;
    let last = stream.next().await.unwrap().id().unwrap();
    let epoch = last.split('.').next().unwrap().to_owned();
    let cases = [
        ("000000000000.1".to_owned(), "epoch"),
        ("7".to_owned(), "malformed"),
        (format!("{epoch}.1.0"), "malformed"),
        (format!("{epoch}.1.2.3"), "malformed"),
        (format!("{epoch}.-1"), "malformed"),
        (format!("{epoch}.1000000"), "future"),
    ];
    for (cursor, reason) in cases {
        let mut stream = Stream::after(&world, "/event", Some(&cursor)).await;
        stream.next().await;
        let frame = stream.next().await.unwrap();
        let properties = json!({ "reason": reason, "cursor": last });
        assert_eq!(
            (frame.kind().as_str(), &frame.json()["properties"]),
            ("sturdy.resync", &properties),
            "{cursor}"
        );
        assert_eq!(frame.id().as_ref(), Some(&last));
    }

    let mut stream = Stream::after(&world, "/event", Some("nonsense")).await;
    stream.next().await;
    stream.next().await;
    let session = world.session().await;
    let frame = stream.next().await.unwrap();
    let shown = (frame.kind(), frame.json()["properties"]["sessionID"].clone());
    assert_eq!(shown, ("session.created".to_owned(), json!(session)));
}

#[tokio::test]
async fn a_cursor_of_before_the_store_was_put_back_is_answered_with_a_resync() {
    let world = World::new().await;
    let mut stream = Stream::open(&world, "/event").await;
    stream.next().await;
    world.session().await;
    let last = stream.next().await.unwrap().id().unwrap();

    world.engine.store().renew_epoch().await.unwrap();

    let mut again = Stream::after(&world, "/event", Some(&last)).await;
    again.next().await;
    let frame = again.next().await.unwrap();
    assert_eq!(
        (frame.kind().as_str(), &frame.json()["properties"]["reason"]),
        ("sturdy.resync", &json!("epoch"))
    );
    // And it is kept.
    let epoch = world.engine.store().epoch();
    let world = world.reopened().await;
    assert_eq!(world.engine.store().epoch(), epoch);
}

#[tokio::test]
async fn a_cursor_older_than_what_is_kept_is_answered_with_a_resync() {
    let world = World::new().await;
    let session = world.session().await;
    let mut stream = Stream::open(&world, "/event").await;
    stream.next().await;
    world.ask(&session, "/demo long 40").await;
    let frames = stream.until(Frame::is_idle).await;
    let store = world.engine.store();
    store.fold(u64::MAX).await.unwrap();
    let horizon = store.horizon().await.unwrap();
    let first = frames[0].id().unwrap();
    assert!(place(&first).0 + 1 < horizon);
    // Opened anew, so that nothing of it is in memory.
    let world = world.reopened().await;

    let mut again = Stream::after(&world, "/event", Some(&first)).await;
    again.next().await;
    let frame = again.next().await.unwrap();
    assert_eq!(
        (frame.kind().as_str(), &frame.json()["properties"]["reason"]),
        ("sturdy.resync", &json!("horizon"))
    );
}
