//! Viewers over server-sent events, a WebSocket and Cap'n Web that come and go: all end with what the share shows, and
//! none has a gap.

use crate::shares::{limited, share, sync, with_right};
use crate::world::World;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use sturdy_capnweb::{Call, Interface, Options, Stub, from_value, ws};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::connect_async;

/// Long enough for a slow machine; a test that waits for it has failed.
const WAIT_MAX: Duration = Duration::from_secs(120);
const UPDATES: u64 = 60;

/// What somebody who watches knows, and how far.
#[derive(Debug, Default, PartialEq)]
struct Known {
    cursor: u64,
    /// By key, as text.
    values: BTreeMap<String, String>,
}

impl Known {
    /// Takes an event in: everything, or one operation that follows what is known.
    fn take(&mut self, event: &Value) {
        let cursor = event["cursor"].as_u64().unwrap();
        if event["kind"] == "snapshot" {
            self.values.clear();
            for item in event["items"].as_array().unwrap() {
                self.put(item);
            }
        } else {
            assert_eq!(cursor, self.cursor + 1, "a gap before {event}");
            self.put(event);
        }
        self.cursor = cursor;
    }

    fn put(&mut self, item: &Value) {
        self.values.insert(item["key"].as_str().unwrap().to_owned(), item["data"].to_string());
    }

    fn after(&self) -> String {
        if self.cursor == 0 { String::new() } else { format!("?after={}", self.cursor) }
    }
}

/// How many events somebody reads before the connection is lost: a row of numbers that looks random.
fn reads(round: u64) -> usize {
    usize::try_from((round * 7 + 3) % 9 + 1).unwrap()
}

async fn over_events(world: &World, id: &str, known: &mut Known, most: usize) {
    let path = format!("/api/share/{id}/events{}", known.after());
    let mut response = world.request("GET", &path).send().await.unwrap();
    let mut text = String::new();
    let mut read = 0;
    while read < most && known.cursor < UPDATES {
        let chunk = timeout(WAIT_MAX, response.chunk()).await.expect("an event").unwrap().unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        while let Some(end) = text.find("\n\n") {
            let frame: String = text.drain(..end + 2).collect();
            let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
            let Some(data) = field("data: ") else { continue };
            let mut event: Value = serde_json::from_str(data).unwrap();
            if field("event: ") == Some("snapshot") {
                event["kind"] = json!("snapshot");
            }
            known.take(&event);
            read += 1;
        }
    }
}

async fn over_socket(world: &World, id: &str, known: &mut Known, most: usize) {
    let url = format!("{}/api/share/{id}/ws{}", world.url.replace("http://", "ws://"), known.after());
    let (mut socket, _) = connect_async(url).await.unwrap();
    let mut read = 0;
    while read < most && known.cursor < UPDATES {
        let message = timeout(WAIT_MAX, socket.next()).await.expect("an event").unwrap().unwrap();
        if let Ok(text) = message.to_text()
            && message.is_text()
        {
            known.take(&serde_json::from_str(text).unwrap());
            read += 1;
        }
    }
}

async fn over_capnweb(world: &World, (id, owner): &(String, String), known: &mut Known, most: usize) {
    let url = format!("{}/rpc/share", world.url.replace("http://", "ws://"));
    let client = ws::connect(&url, &[], None, Options::default()).await.unwrap();
    let (told, mut events) = mpsc::channel(64);
    let sink = Interface::named("Sink")
        .method("event", move |_, mut call: Call| {
            let told = told.clone();
            async move {
                let event: Value = call.parse()?;
                // Whoever has seen enough does not listen any more.
                let _ = told.send(event).await;
                Ok(true.into())
            }
        })
        .build();
    let sink: Stub = sink.stub(());
    let following = async {
        let redeemed = client.root.call("redeemShare", [id.as_str().into(), owner.as_str().into()]);
        let after =
            if known.cursor == 0 { sturdy_capnweb::Value::Null } else { (known.cursor as f64).into() };
        let begun = redeemed.get("share").call("subscribe", [after, sink.into()]).await.unwrap();
        let _: Value = from_value(begun).unwrap();
        let mut read = 0;
        while read < most && known.cursor < UPDATES {
            let event = timeout(WAIT_MAX, events.recv()).await.expect("an event").unwrap();
            known.take(&payloads_parsed(event));
            read += 1;
        }
    };
    tokio::select! {
        () = following => {}
        ended = client.run => panic!("{ended:?}"),
    }
}

/// Over Cap'n Web a payload is text.
fn payloads_parsed(mut event: Value) -> Value {
    let parse = |item: &mut Value| {
        if let Some(text) = item["payload_json"].as_str() {
            item["data"] = serde_json::from_str(text).unwrap();
        }
    };
    parse(&mut event);
    if let Some(items) = event["items"].as_array_mut() {
        items.iter_mut().for_each(parse);
    }
    event
}

/// T-VIEW-01
#[tokio::test]
async fn viewers_that_come_and_go_over_three_channels_end_with_the_same_and_have_no_gap() {
    let world = World::with(limited(|limits| limits.batches_per_second = 0)).await;
    let made = share(&world).await;
    let writing = async {
        for number in 1..=UPDATES {
            // Each its own: of one that is written again only the newest value is told.
            let message = json!({ "id": format!("msg_{number}"), "text": format!("text {number}") });
            let sent = sync(&world, &made, json!([{ "type": "message", "data": message }])).await;
            assert_eq!(sent.status, 200, "{}", sent.text);
        }
    };
    let events = async {
        let mut known = Known::default();
        for round in 0.. {
            over_events(&world, &made.0, &mut known, reads(round)).await;
            if known.cursor >= UPDATES {
                break;
            }
        }
        known
    };
    let socket = async {
        let mut known = Known::default();
        for round in 1.. {
            over_socket(&world, &made.0, &mut known, reads(round)).await;
            if known.cursor >= UPDATES {
                break;
            }
        }
        known
    };
    let capnweb = async {
        let mut known = Known::default();
        for round in 2.. {
            over_capnweb(&world, &made, &mut known, reads(round)).await;
            if known.cursor >= UPDATES {
                break;
            }
        }
        known
    };

    let ((), events, socket, capnweb) = tokio::join!(writing, events, socket, capnweb);

    let shown = with_right(&world, "GET", &format!("/api/share/{}/data", made.0), &made.1, None).await.json();
    let wanted: BTreeMap<String, String> = shown
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (format!("message/{}", item["data"]["id"].as_str().unwrap()), item["data"].to_string()))
        .collect();
    let wanted = Known { cursor: UPDATES, values: wanted };
    assert_eq!(events, wanted);
    assert_eq!(socket, wanted);
    assert_eq!(capnweb, wanted);
    world.close().await;
}
