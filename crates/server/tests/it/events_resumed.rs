//! A reader that comes back: what it missed, and what it is told when that is not known any more.

use crate::stream::{Frame, Stream, place};
use crate::world::World;
use serde_json::json;
use std::time::Duration;
use sturdy_server::ServerOptions;

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
async fn a_reader_that_is_cut_off_before_its_first_event_misses_nothing() {
    for path in ["/event", "/global/event"] {
        let world = World::new().await;
        world.session().await;
        let mut stream = Stream::open(&world, path).await;
        let begins = stream.next().await.unwrap().id().expect("a place to come back to");
        drop(stream);
        let missed = world.session().await;

        let mut again = Stream::after(&world, path, Some(&begins)).await;
        let greeting = again.next().await.unwrap();
        let first = again.next().await.unwrap();

        assert_eq!((greeting.kind().as_str(), greeting.id()), ("server.connected", None), "it has a cursor");
        let told = first.event();
        let told = (&told["type"], &told["properties"]["info"]["id"]);
        assert_eq!(told, (&json!("session.created"), &json!(missed)), "{path}");
    }
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
    world.session().await;
    let root = world.close().await;
    let database = root.path().join("data/sturdy.db");
    let backup = root.path().join("backup.db");
    std::fs::copy(&database, &backup).unwrap();
    let world = World::open_again(root, ServerOptions::default()).await;
    let mut stream = Stream::open(&world, "/event").await;
    stream.next().await;
    world.session().await;
    let last = stream.next().await.unwrap().id().unwrap();
    drop(stream);
    let root = world.close().await;

    std::fs::copy(&backup, &database).unwrap();

    let world = World::open_again(root, ServerOptions::default()).await;
    // As far as the cursor, with other things.
    world.session().await;
    world.session().await;
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

/// Reads everything after a cursor from a server that was started anew; gives the frames and the reads of the store.
async fn caught_up(world: World, heartbeat: Duration, after: &str) -> (World, Vec<Frame>, u64) {
    let world = world.reopened_with(ServerOptions { heartbeat, ..ServerOptions::default() }).await;
    let before = world.engine.store().meters().reads.get();
    let mut stream = Stream::after(&world, "/event", Some(after)).await;
    let frames = stream.until(Frame::is_idle).await;
    let reads = world.engine.store().meters().reads.get() - before;
    (world, frames.into_iter().filter(Frame::is_stored).collect(), reads)
}

// Was: a beat in the middle of a read of the log dropped it, and it was begun anew.
#[tokio::test]
async fn heartbeats_do_not_begin_a_catch_up_anew() {
    let world = World::new().await;
    let session = world.session().await;
    let mut stream = Stream::open(&world, "/event").await;
    stream.next().await;
    world.ask(&session, "/demo long 3000").await;
    let first = stream.until(Frame::is_idle).await[0].id().unwrap();
    drop(stream);

    let (world, calm, reads_calm) = caught_up(world, Duration::from_secs(3600), &first).await;
    let (_world, beaten, reads_beaten) = caught_up(world, Duration::from_micros(1), &first).await;

    assert!(reads_calm > 1, "the log is read in pages");
    assert_eq!((beaten.len(), reads_beaten), (calm.len(), reads_calm));
}

/// Prompts that want no answer; how often the store was read for them.
async fn reads_of_notes(world: &World, session: &str) -> u64 {
    let before = world.engine.store().meters().reads.get();
    for _ in 0..NOTES {
        let note = json!({ "noReply": true, "parts": [{ "type": "text", "text": "a note" }] });
        let kept = world.request("POST", &format!("/session/{session}/message")).json(&note).send().await;
        assert_eq!(kept.unwrap().status(), 200);
    }
    world.engine.store().meters().reads.get() - before
}

const NOTES: u64 = 50;

#[tokio::test]
async fn a_stream_of_a_quiet_directory_reads_nothing_for_what_happens_elsewhere() {
    let world = World::new().await;
    let session = world.session().await;
    let there = format!("?directory={}", world.other().display());
    world.send("POST", &format!("/session{there}"), &json!({})).await;
    reads_of_notes(&world, &session).await;
    let alone = reads_of_notes(&world, &session).await;
    let mut quiet = Vec::new();
    for _ in 0..4 {
        let mut stream = Stream::open(&world, &format!("/event{there}")).await;
        stream.next().await;
        quiet.push(stream);
    }

    let watched = reads_of_notes(&world, &session).await;
    let made = world.send("POST", &format!("/session{there}"), &json!({})).await.json();

    // Each of them would read once for every note.
    assert!(watched < alone + NOTES, "{watched} reads, {alone} when nobody watches");
    for stream in &mut quiet {
        let first = stream.next().await.unwrap();
        assert_eq!(first.kind(), "session.created", "nothing of the other directory is sent");
        assert_eq!(first.json()["properties"]["info"]["id"], made["id"]);
    }
}

#[tokio::test]
async fn a_stream_of_a_quiet_directory_catches_up_over_a_long_log_in_a_read_or_two() {
    let world = World::new().await;
    let session = world.session().await;
    let there = format!("?directory={}", world.other().display());
    let mut stream = Stream::open(&world, &format!("/event{there}")).await;
    stream.next().await;
    world.send("POST", &format!("/session{there}"), &json!({})).await;
    let cursor = stream.next().await.unwrap().id().unwrap();
    drop(stream);
    for _ in 0..12 {
        reads_of_notes(&world, &session).await;
    }
    let made = world.send("POST", &format!("/session{there}"), &json!({})).await.json();
    let long = world.engine.store().head() - place(&cursor).0;
    // Started anew, so that nothing of it is in memory.
    let world = world.reopened().await;

    let before = world.engine.store().meters().reads.get();
    let mut again = Stream::after(&world, &format!("/event{there}"), Some(&cursor)).await;
    let frames = again.until(|frame| frame.kind() == "session.created").await;
    let reads = world.engine.store().meters().reads.get() - before;

    assert_eq!(frames.last().unwrap().json()["properties"]["info"]["id"], made["id"]);
    assert!(long > 2 * 256, "{long} entries are less than the pages of a reader of everything");
    assert!(reads <= 8, "{reads} reads to pass over {long} entries of another directory");
}
