//! Room for everybody: idle connections, streams, slow and broken bodies.

use crate::shares;
use crate::stream::Stream;
use crate::world::{Answer, World, prompt};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use sturdy_server::ServerOptions;

async fn small() -> World {
    World::with(ServerOptions { connections_max: 4, streams_max: 2, ..ServerOptions::default() }).await
}

fn connect(world: &World) -> TcpStream {
    TcpStream::connect(world.url.strip_prefix("http://").unwrap()).unwrap()
}

/// Sends a text and reads the answer, status and body.
async fn raw(world: &World, text: &str) -> (u16, Value) {
    let mut socket = connect(world);
    let text = text.to_owned();
    let read = tokio::task::spawn_blocking(move || {
        socket.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        // Until there is a body: the server may wait for more of ours.
        let mut some = [0; 4096];
        while !answer.contains("\r\n\r\n") || !answer.ends_with('}') {
            let read = socket.read(&mut some).unwrap();
            assert!(read > 0, "{answer}");
            answer.push_str(std::str::from_utf8(&some[..read]).unwrap());
        }
        answer
    });
    let answer = read.await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
}

// Was: 1,024 sockets that said nothing stopped the server for everybody.
#[tokio::test]
async fn idle_connections_make_room_for_those_who_ask() {
    let world = small().await;
    let idle: Vec<_> = (0..20).map(|_| connect(&world)).collect();

    for _ in 0..3 {
        let health = raw(&world, "GET /global/health HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        assert_eq!(health, (200, json!({ "healthy": true, "version": "1.18.33" })));
    }
    drop(idle);
}

#[tokio::test]
async fn streams_have_a_number_of_their_own_and_leave_room_for_others() {
    let world = small().await;
    let first = Stream::open(&world, "/event").await;
    let _second = Stream::open(&world, "/global/event").await;

    let third = world.get("/event").await;
    let health = world.get("/global/health").await;

    assert_eq!((third.status, &third.json()["name"]), (503, &json!("OverloadedError")));
    assert_eq!(third.header("retry-after"), Some("1"));
    assert_eq!(health.status, 200);
    drop(first);
    // The server notices that a client has left when it looks at the socket again.
    while world.request("GET", "/event").send().await.unwrap().status() != 200 {}
}

// Was: those who follow a share took connections beside the streams, up to the last one.
#[tokio::test]
async fn streams_of_shares_are_counted_with_the_others() {
    let share = Some(shares::sharing());
    let world = World::with(ServerOptions { share, streams_max: 1, ..ServerOptions::default() }).await;
    let (id, _) = shares::share(&world).await;
    let path = format!("/api/share/{id}/events");
    let mut first = world.request("GET", &path).send().await.unwrap();
    shares::until(&mut first, "snapshot").await;

    let second = world.request("GET", &path).send().await.unwrap();
    let other = world.request("GET", "/event").send().await.unwrap();

    assert_eq!((second.status().as_u16(), other.status().as_u16()), (503, 503));
    assert_eq!(world.get("/global/health").await.status, 200);
}

#[tokio::test]
async fn large_bodies_have_a_number_of_their_own_and_leave_room_for_others() {
    let world = World::new().await;
    let session = world.session().await;
    let path = format!("/session/{session}/message");
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: 2000000\r\nexpect: 100-continue\r\n\r\n"
    );
    let mut senders = Vec::new();
    for _ in 0..16 {
        let mut socket = connect(&world);
        let head = head.clone();
        // "Continue" is said when the server begins to read.
        let begun = tokio::task::spawn_blocking(move || {
            socket.write_all(head.as_bytes()).unwrap();
            let mut answer = [0; 12];
            socket.read_exact(&mut answer).unwrap();
            (socket, String::from_utf8_lossy(&answer).into_owned())
        });
        let (socket, answer) = begun.await.unwrap();
        assert_eq!(answer, "HTTP/1.1 100");
        senders.push(socket);
    }

    let (status, body) = raw(&world, &head).await;
    let small = world.ask(&session, "small").await;

    assert_eq!((status, &body["name"]), (503, &json!("OverloadedError")));
    assert_eq!(small["info"]["role"], "assistant");
    drop(senders);
    // The server notices that a client has left when it looks at the socket again.
    let large = json!({ "noReply": true, "parts": [{ "type": "text", "text": "x".repeat(2_000_000) }] });
    while world.send("POST", &path, &large).await.status != 200 {}
}

// Was: a page of a hundred messages was held whole, however much they held.
#[tokio::test]
async fn a_short_page_of_large_messages_is_sent_as_it_is_read() {
    let world = World::new().await;
    let session = world.session().await;
    let path = format!("/session/{session}/message");
    for letter in ["a", "b", "c", "d", "e"] {
        let text = letter.repeat(3 * 1024 * 1024);
        let body = json!({ "noReply": true, "parts": [{ "type": "text", "text": text }] });
        assert_eq!(world.send("POST", &path, &body).await.status, 200);
    }

    let few = world.request("GET", &format!("{path}?limit=2")).send().await.unwrap();
    let many = world.request("GET", &format!("{path}?limit=4")).send().await.unwrap();

    assert!(few.content_length().is_some() && few.headers().contains_key("x-sturdy-position"));
    assert!(many.content_length().is_none() && !many.headers().contains_key("x-sturdy-position"));
    assert!(many.headers().contains_key("x-next-cursor"), "an older one remains");
    let many = Answer::of(many).await.json();
    let begins = |message: &Value| message["parts"][0]["text"].as_str().unwrap()[..1].to_owned();
    let letters: Vec<String> = many.as_array().unwrap().iter().map(begins).collect();
    assert_eq!(letters, ["b", "c", "d", "e"]);
    assert_eq!(Answer::of(few).await.json(), json!(many.as_array().unwrap()[2..]));
}

#[tokio::test]
async fn when_every_connection_is_busy_newcomers_are_told_so() {
    let options = ServerOptions { connections_max: 2, streams_max: 8, ..ServerOptions::default() };
    let world = World::with(options).await;
    let _streams = [Stream::open(&world, "/event").await, Stream::open(&world, "/event").await];

    let refused = raw(&world, "GET /global/health HTTP/1.1\r\nhost: localhost\r\n\r\n").await;

    let message = "Every connection is busy. Close one, or try again later.";
    assert_eq!(refused, (503, json!({ "name": "OverloadedError", "data": { "message": message } })));
}

// Was: 128 MB of it were read first.
#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_refused_before_it_is_sent() {
    let world = World::new().await;
    let head = "POST /session HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                content-length: 1000000000\r\n\r\n";

    let (status, body) = raw(&world, head).await;

    assert_eq!((status, &body["name"]), (413, &json!("PayloadTooLargeError")));
}

#[tokio::test]
async fn a_malformed_body_is_a_bad_request_and_not_a_large_one() {
    let world = World::new().await;
    let text = "POST /session HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                transfer-encoding: chunked\r\n\r\nnonsense\r\n";

    let (status, body) = raw(&world, text).await;

    let data = json!({ "message": "The body ended before it was complete", "kind": "Body" });
    assert_eq!((status, body), (400, json!({ "name": "BadRequest", "data": data })));
}

// Was: three prompts like this stopped the server for 22 seconds.
#[tokio::test]
async fn a_prompt_with_very_many_switches_or_parts_is_refused() {
    let world = World::new().await;
    let session = world.session().await;
    let path = format!("/session/{session}/message");
    let refused = |key: &str, what: &str| {
        let message = format!("Expected at most {what}\n  at [\"{key}\"]");
        (400, json!({ "name": "BadRequest", "data": { "message": message, "kind": "Payload" } }))
    };

    let mut many = prompt("hello");
    many["tools"] = (0..60_000).map(|number| (number.to_string(), json!(true))).collect();
    let switches = world.send("POST", &path, &many).await;
    let parts = json!({ "parts": vec![json!({ "type": "text", "text": "x" }); 1025] });
    let parts = world.send("POST", &path, &parts).await;

    assert_eq!(switches.both(), refused("tools", "512 keys, got 60000"));
    assert_eq!(parts.both(), refused("parts", "1024 parts, got 1025"));
    assert_eq!(world.get(&path).await.json(), json!([]));
}

// Was: only one of the doors for prompts counted.
#[tokio::test]
async fn a_prompt_of_the_v2_api_with_very_many_files_or_agents_is_refused() {
    let world = World::new().await;
    let session = world.session().await;
    let path = format!("/api/session/{session}/prompt");
    let agents = |count: usize| vec![json!({ "name": "general" }); count];
    let files = |count: usize| vec![json!({ "uri": "file:///nowhere" }); count];

    for (prompt, said) in [
        (json!({ "text": "x", "agents": agents(1025) }), "Expected at most 1024 parts, got 1025"),
        (json!({ "text": "x", "files": files(60_000) }), "Expected at most 1024 parts, got 60000"),
        // With its text it has one too many.
        (
            json!({ "text": "x", "agents": agents(1024) }),
            "A prompt has at most 1024 parts, this one has 1025",
        ),
    ] {
        let answer = world.send("POST", &path, &json!({ "prompt": prompt })).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert!(answer.text.contains(said), "{}", answer.text);
    }
    assert_eq!(world.get(&format!("/session/{session}/message")).await.json(), json!([]));
}

// Was: every change added its rules, and each turn wrote all of them again.
#[tokio::test]
async fn a_session_has_a_bounded_number_of_rules() {
    let world = World::new().await;
    let rules = |count: usize| -> Value {
        let rule = |number| json!({ "permission": "bash", "pattern": format!("{number}"), "action": "ask" });
        json!({ "permission": (0..count).map(rule).collect::<Vec<Value>>() })
    };
    let refused = json!({
        "name": "BadRequest",
        "data": { "message": "A session has at most 1000 rules of 131072 bytes together", "kind": "Payload" },
    });

    let created = world.send("POST", "/session", &rules(1001)).await;
    let session = world.session_with(&rules(400)).await["id"].as_str().unwrap().to_owned();
    let path = format!("/session/{session}");
    let first = world.send("PATCH", &path, &rules(600)).await;
    let second = world.send("PATCH", &path, &rules(1)).await;
    let renamed = world.send("PATCH", &path, &json!({ "title": "full" })).await;

    assert_eq!(created.both(), (400, refused.clone()));
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(second.both(), (400, refused));
    assert_eq!(renamed.json()["permission"].as_array().unwrap().len(), 1000);
}

// Was: a rule could be as long as a body, and a thousand of them stood in a record that every turn writes anew.
#[tokio::test]
async fn the_rules_of_a_session_are_bounded_in_bytes() {
    let world = World::new().await;
    let rule = |bytes: usize| json!({ "permission": [{ "permission": "bash", "pattern": "x".repeat(bytes), "action": "ask" }] });

    let created = world.send("POST", "/session", &rule(128 * 1024)).await;
    let session = world.session_with(&rule(100 * 1024)).await["id"].as_str().unwrap().to_owned();
    let path = format!("/session/{session}");
    let too_much = world.send("PATCH", &path, &rule(30 * 1024)).await;
    let little = world.send("PATCH", &path, &rule(20 * 1024)).await;

    assert_eq!((created.status, too_much.status, little.status), (400, 400, 200));
    assert!(too_much.text.contains("131072 bytes together"), "{}", too_much.text);
}

// Was: each of them was looked for among all others, which took minutes for a body of a megabyte.
#[tokio::test]
async fn a_change_of_very_many_settings_is_refused() {
    let world = World::new().await;
    let keys = |count: usize| -> Value {
        let inner: serde_json::Map<String, Value> =
            (0..count - 1).map(|number| (format!("key{number}"), json!({ "template": "x" }))).collect();
        json!({ "command": inner })
    };

    let many = world.send("PATCH", "/config", &keys(501)).await;
    let few = world.send("PATCH", "/config", &keys(400)).await;
    // Lists are compared with those of other layers, entry by entry.
    let listed: Vec<String> = (0..1000).map(|number| format!("{number}.md")).collect();
    let list = world.send("PATCH", "/config", &json!({ "instructions": listed })).await;

    assert_eq!(many.status, 400, "{}", many.text);
    assert!(many.text.contains("Expected at most 1000 keys and entries, got 1001"), "{}", many.text);
    assert_eq!(few.status, 200, "{}", few.text);
    assert_eq!(list.status, 400, "{}", list.text);
    assert!(list.text.contains("Expected at most 1000 keys and entries, got 1001"), "{}", list.text);
}

#[tokio::test]
async fn a_directory_has_a_bounded_number_of_mcp_servers() {
    let world = World::new().await;
    let add = async |number: usize| {
        let config = json!({ "type": "local", "command": ["true"], "enabled": false });
        world.send("POST", "/mcp", &json!({ "name": format!("server{number}"), "config": config })).await
    };

    for number in 0..128 {
        let added = add(number).await;
        assert_eq!(added.status, 200, "{}", added.text);
    }
    let surplus = add(128).await;
    let again = add(0).await;

    assert_eq!(surplus.status, 400, "{}", surplus.text);
    assert_eq!(again.status, 200, "one that is known may be put anew: {}", again.text);
    assert_eq!(world.get("/mcp").await.json().as_object().unwrap().len(), 128);
}

#[tokio::test]
async fn messages_are_sent_as_they_are_read_and_are_the_same() {
    let world = World::new().await;
    let session = world.session().await;
    for text in ["one", "two", "three"] {
        world.ask(&session, text).await;
    }
    let path = format!("/session/{session}/message");

    let response = world.request("GET", &path).send().await.unwrap();
    let length = response.content_length();
    let all = Answer::of(response).await.json();
    let newest = world.get(&format!("{path}?limit=2")).await.json();
    let empty = world.get(&format!("/session/{}/message", world.session().await)).await.json();

    assert_eq!(length, None, "it is not known when the answer begins");
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), 6);
    for message in all {
        let one = format!("{path}/{}", message["info"]["id"].as_str().unwrap());
        assert_eq!(world.get(&one).await.json(), *message);
    }
    assert_eq!(newest, json!(all[4..]));
    assert_eq!(empty, json!([]));
}

/// The numbers of the issue need more files than many a shell allows.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: now.maximum, maximum: now.maximum };
    setrlimit(Resource::Nofile, wanted).unwrap();
    let enough = now.maximum.is_none_or(|most| most >= 8192);
    assert!(enough, "this test needs 8,192 open files; the system allows {:?}", now.maximum);
}

// Was: 1,024 sockets that said nothing stopped the server for everybody.
#[tokio::test]
async fn more_idle_sockets_than_there_may_be_do_not_stop_a_server_with_the_usual_limits() {
    allow_many_files();
    let world = World::new().await;
    let address = world.url.strip_prefix("http://").unwrap();
    let mut idle = Vec::new();
    for _ in 0..2100 {
        idle.push(tokio::net::TcpStream::connect(address).await.unwrap());
    }

    let health = raw(&world, "GET /global/health HTTP/1.1\r\nhost: localhost\r\n\r\n").await;

    assert_eq!(health, (200, json!({ "healthy": true, "version": "1.18.33" })));
    assert_eq!(idle.len(), 2100);
}

#[tokio::test]
async fn more_streams_than_there_may_be_do_not_stop_a_server_with_the_usual_limits() {
    allow_many_files();
    let world = World::new().await;
    let mut statuses = Vec::new();
    let mut streams = Vec::new();
    for _ in 0..1600 {
        let stream = world.request("GET", "/event").send().await.unwrap();
        statuses.push(stream.status().as_u16());
        streams.push(stream);
    }

    let health = world.get("/global/health").await;

    assert_eq!(health.status, 200);
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1536);
    assert_eq!(statuses.iter().filter(|status| **status == 503).count(), 1600 - 1536);
}

#[tokio::test]
async fn a_server_that_cannot_store_anything_any_more_is_not_healthy() {
    let world = World::about_to_break().await;
    assert_eq!(world.get("/global/health").await.status, 200);

    let refused = world.send("POST", "/session", &json!({})).await;

    assert_eq!(refused.status, 503, "{}", refused.text);
    // The one who asked is answered while the writer falls; health follows when it has fallen.
    let unhealthy = async {
        loop {
            let health = world.get("/global/health").await;
            if health.status == 503 {
                return health;
            }
            tokio::task::yield_now().await;
        }
    };
    let health = tokio::time::timeout(std::time::Duration::from_secs(120), unhealthy).await.unwrap();
    assert_eq!(health.json()["healthy"], json!(false));
}
