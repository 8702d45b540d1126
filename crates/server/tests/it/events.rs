//! The two event streams: order, cursors, filters, ends.

use crate::stream::{Frame, Stream, ascend, place};
use crate::world::{World, prompt};
use serde_json::{Value, json};
use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;
use sturdy_server::ServerOptions;

fn kinds(frames: &[Frame]) -> Vec<String> {
    frames.iter().map(Frame::kind).collect()
}

#[tokio::test]
async fn a_stream_begins_with_its_headers_and_a_greeting() {
    let world = World::new().await;

    let mut stream = Stream::open(&world, "/event").await;
    let mut global = Stream::open(&world, "/global/event").await;

    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache, no-transform"),
        ("x-accel-buffering", "no"),
        ("x-content-type-options", "nosniff"),
        ("transfer-encoding", "chunked"),
        ("vary", "Origin"),
    ] {
        assert_eq!(stream.response.headers().get(name).unwrap(), value, "{name}");
        assert_eq!(global.response.headers().get(name).unwrap(), value, "{name}");
    }
    let first = stream.next().await.unwrap();
    assert_eq!(first.kind(), "server.connected");
    assert_eq!(first.json()["properties"], json!({}));
    assert!(first.json()["id"].as_str().unwrap().starts_with("evt_"));
    let first = global.next().await.unwrap().json();
    assert_eq!(first.as_object().unwrap().keys().collect::<Vec<_>>(), ["payload"]);
}

#[tokio::test]
async fn a_silent_stream_beats() {
    let heartbeat = Duration::from_millis(20);
    let world = World::with(ServerOptions { heartbeat, ..ServerOptions::default() }).await;
    for path in ["/event", "/global/event"] {
        let mut stream = Stream::open(&world, path).await;
        stream.next().await.unwrap();

        let one = stream.next().await.unwrap();
        let two = stream.next().await.unwrap();

        for beat in [&one, &two] {
            assert_eq!((beat.id(), beat.kind().as_str()), (None, "server.heartbeat"));
        }
        assert_ne!(one.event()["id"], two.event()["id"]);
    }
}

#[tokio::test]
async fn a_turn_is_shown_in_the_order_clients_rely_on() {
    let world = World::new().await;
    let session = world.session_with(&json!({ "title": "mine" })).await["id"].as_str().unwrap().to_owned();
    let mut stream = Stream::open(&world, "/event").await;
    stream.next().await;

    world.ask(&session, "hello").await;
    let frames = stream.until(Frame::is_idle).await;

    let kinds = kinds(&frames);
    let place =
        |kind: &str| kinds.iter().position(|known| known == kind).unwrap_or_else(|| panic!("no {kind}"));
    assert!(place("message.updated") < place("message.part.updated"));
    assert!(place("message.part.updated") < place("session.status"));
    assert!(place("session.status") < place("message.part.delta"));
    let status: Vec<_> = frames
        .iter()
        .filter(|frame| frame.kind() == "session.status")
        .map(|frame| frame.json()["properties"]["status"]["type"].clone())
        .collect();
    assert_eq!(status.last().unwrap(), "idle");
    assert!(status[..status.len() - 1].iter().all(|status| status == "busy"));

    let text: String = frames
        .iter()
        .filter(|frame| frame.kind() == "message.part.delta")
        .map(|frame| frame.json()["properties"]["delta"].as_str().unwrap().to_owned())
        .collect();
    assert!(text.ends_with("hello"), "{text}");
    let closed = frames
        .iter()
        .rev()
        .find(|frame| frame.json()["properties"]["part"]["type"] == "text")
        .unwrap()
        .json();
    assert_eq!(closed["properties"]["part"]["text"], "hello");
    assert!(closed["properties"]["part"]["time"]["end"].is_u64() && closed["properties"]["time"].is_u64());
    for frame in &frames {
        assert_eq!(frame.json()["properties"]["sessionID"], session, "{}", frame.raw);
    }
}

#[tokio::test]
async fn ids_grow_and_event_ids_are_unique() {
    let world = World::new().await;
    let session = world.session().await;
    let mut stream = Stream::open(&world, "/event").await;
    stream.next().await;
    world.ask(&session, "one").await;

    let frames = stream.until(Frame::is_idle).await;

    let ids: Vec<String> = frames.iter().map(|frame| frame.id().expect("stored")).collect();
    assert!(ascend(&ids), "{ids:?}");
    let mut events: Vec<_> =
        frames.iter().map(|frame| frame.json()["id"].as_str().unwrap().to_owned()).collect();
    assert!(events.iter().all(|id| id.len() == 30));
    assert!(events.is_sorted(), "{events:?}");
    events.dedup();
    assert_eq!(events.len(), frames.len());
}

/// The frames of a turn that talks, one that works and one that fails, read without a break.
#[tokio::test]
async fn a_stream_shows_its_own_directory_and_the_global_one_all() {
    let world = World::new().await;
    let other = world.other().display().to_string();
    let mut here = Stream::open(&world, "/event").await;
    let mut there = Stream::open(&world, &format!("/event?directory={other}")).await;
    let mut global = Stream::open(&world, "/global/event").await;
    for stream in [&mut here, &mut there, &mut global] {
        stream.next().await;
    }

    let first = world.send("POST", &format!("/session?directory={other}"), &json!({})).await.json();
    let second = world.session_with(&json!({})).await;

    assert_eq!(there.next().await.unwrap().json()["properties"]["info"], first);
    assert_eq!(here.next().await.unwrap().json()["properties"]["info"], second);
    for (session, directory) in [(&first, other), (&second, world.project().display().to_string())] {
        let frame = global.until(|frame| frame.kind() == "session.created").await.pop().unwrap().json();
        assert_eq!(frame["payload"]["properties"]["info"], *session);
        assert_eq!((&frame["directory"], &frame["project"]), (&json!(directory), &json!("global")));
    }
}

#[tokio::test]
async fn entries_of_other_directories_do_not_hold_a_cursor_back() {
    let world = World::new().await;
    let other = world.other().display().to_string();
    let mut here = Stream::open(&world, "/event").await;
    here.next().await;
    for _ in 0..3 {
        world.send("POST", &format!("/session?directory={other}"), &json!({})).await;
    }
    let mine = world.session().await;

    let frame = here.next().await.unwrap();

    let position = frame.id().map(|id| place(&id).0);
    assert_eq!((position, &frame.json()["properties"]["sessionID"]), (Some(4), &json!(mine)));
}

#[tokio::test]
async fn a_stream_ends_with_its_instance_and_the_global_one_goes_on() {
    let world = World::new().await;
    let mut here = Stream::open(&world, "/event").await;
    let other = world.other().display().to_string();
    let mut there = Stream::open(&world, &format!("/event?directory={other}")).await;
    let mut global = Stream::open(&world, "/global/event").await;

    let disposed = world.call("POST", "/instance/dispose").await;
    let everything = world.call("POST", "/global/dispose").await;

    assert_eq!((disposed.both(), everything.both()), ((200, json!(true)), (200, json!(true))));
    let frames = here.until(|frame| frame.kind() == "server.instance.disposed").await;
    let last = frames.last().unwrap();
    assert_eq!((last.id(), &last.json()["properties"]), (None, &json!({ "directory": world.project() })));
    assert!(here.next().await.is_none());
    let frames = global.until(|frame| frame.kind() == "global.disposed").await;
    assert_eq!(frames.last().unwrap().json()["directory"], "global");
    there.next().await;
    let session = world.send("POST", &format!("/session?directory={other}"), &json!({})).await.json();
    assert_eq!(there.next().await.unwrap().json()["properties"]["info"], session);
}

#[tokio::test]
async fn streams_end_when_the_server_does() {
    let world = World::new().await;
    let mut stream = Stream::open(&world, "/event").await;
    stream.next().await;

    world.close().await;

    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn a_reader_that_stalls_misses_nothing_and_holds_nobody_up() {
    let world = World::new().await;
    let session = world.session().await;
    let mut quick = Stream::open(&world, "/event").await;
    let slow = Stream::open(&world, "/event").await;
    // One that never reads at all, not even the head.
    let mut dead = TcpStream::connect(world.url.strip_prefix("http://").unwrap()).unwrap();
    dead.write_all(b"GET /event HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();

    // More than all the buffers between two sockets hold.
    let text = "x".repeat(200 * 1024);
    for _ in 0..60 {
        let body = json!({ "noReply": true, "parts": [{ "type": "text", "text": text }] });
        assert_eq!(world.send("POST", &format!("/session/{session}/message"), &body).await.status, 200);
    }
    world.send("PATCH", &format!("/session/{session}"), &json!({ "title": "the end" })).await;
    let is_end = |frame: &Frame| frame.raw.contains("\"title\":\"the end\"");
    let frames = quick.until(is_end).await;
    let mut slow = slow;
    let late = slow.until(is_end).await;

    // The greeting and the beats are each stream's own.
    let stored = |frames: Vec<Frame>| frames.into_iter().filter(Frame::is_stored).collect::<Vec<_>>();
    assert!(stored(late) == stored(frames), "the two readers saw different frames");
    drop(dead);
}

#[tokio::test]
async fn what_a_client_tells_a_terminal_reaches_its_stream() {
    let world = World::new().await;
    let session = world.session().await;
    let mut stream = Stream::open(&world, "/event").await;
    stream.next().await;
    let cases: [(&str, Value, &str, Value); 8] = [
        ("append-prompt", json!({ "text": "hi" }), "tui.prompt.append", json!({ "text": "hi" })),
        ("submit-prompt", json!({}), "tui.command.execute", json!({ "command": "prompt.submit" })),
        ("open-models", json!({}), "tui.command.execute", json!({ "command": "model.list" })),
        (
            "execute-command",
            json!({ "command": "agent_cycle" }),
            "tui.command.execute",
            json!({ "command": "agent.cycle" }),
        ),
        ("execute-command", json!({ "command": "unheard_of" }), "tui.command.execute", json!({})),
        (
            "show-toast",
            json!({ "message": "m", "variant": "info" }),
            "tui.toast.show",
            json!({ "message": "m", "variant": "info", "duration": 5000 }),
        ),
        (
            "publish",
            json!({ "type": "tui.prompt.append", "properties": { "text": "p" } }),
            "tui.prompt.append",
            json!({ "text": "p" }),
        ),
        (
            "select-session",
            json!({ "sessionID": session }),
            "tui.session.select",
            json!({ "sessionID": session }),
        ),
    ];
    for (route, body, kind, properties) in cases {
        let told = world.send("POST", &format!("/tui/{route}"), &body).await;
        assert_eq!(told.both(), (200, json!(true)), "{route}");
        let frame = stream.next().await.unwrap();
        assert_eq!(
            (frame.id(), frame.kind().as_str(), &frame.json()["properties"]),
            (None, kind, &properties)
        );
    }
    let bad = world.send("POST", "/tui/publish", &json!({ "type": "session.idle", "properties": {} })).await;
    assert_eq!(bad.status, 400);
    let missing =
        world.send("POST", "/tui/select-session", &json!({ "sessionID": crate::world::NO_SESSION })).await;
    assert_eq!(missing.both(), crate::world::no_such_session());
}

#[tokio::test]
async fn a_failed_turn_shows_its_error_before_it_is_idle() {
    let world = World::new().await;
    let session = world.session().await;
    let mut stream = Stream::open(&world, "/event").await;
    world.send("POST", &format!("/session/{session}/prompt_async"), &prompt("/demo error 400 bad")).await;

    let frames = stream.until(Frame::is_idle).await;

    let error = frames.iter().find(|frame| frame.kind() == "session.error").unwrap().json();
    assert_eq!(error["properties"]["error"]["name"], "APIError");
}
