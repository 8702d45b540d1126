//! Large values as links: where they are put, who gets what they stand for, and what is refused.

use crate::stream::Stream;
use crate::world::{Answer, NO_SESSION, World, no_such_session, prompt};
use reqwest::header::HeaderValue;
use serde_json::{Value, json};
use sturdy_server::{Password, ServerOptions};

const MEBIBYTE: usize = 1024 * 1024;
const CALL: &str = "prt_0123456789abLargeCallAAAAA";
const FILE: &str = "prt_0123456789abLargeFileAAAAA";

/// A session with a call that answered much and a picture.
struct Large {
    session: String,
    message: String,
    output: String,
    picture: String,
}

impl Large {
    async fn write(world: &World, session: &str) -> Self {
        let mut quiet = prompt("look at this");
        quiet["noReply"] = json!(true);
        let path = format!("/session/{session}/message");
        let message = own(world, "POST", &path, Some(&quiet)).await.json();
        let message = message["info"]["id"].as_str().unwrap().to_owned();
        let output = "all of it\n".repeat(MEBIBYTE / 10);
        let picture = format!("data:image/png;base64,{}", "A".repeat(MEBIBYTE));
        let large = Self { session: session.to_owned(), message, output, picture };
        large.put(world, CALL, &large.call(large.output.as_str())).await;
        large.put(world, FILE, &large.file(large.picture.as_str())).await;
        large
    }

    async fn put(&self, world: &World, id: &str, part: &Value) {
        let path = format!("/session/{}/message/{}/part/{id}", self.session, self.message);
        let written = own(world, "PATCH", &path, Some(part)).await;
        assert_eq!(written.status, 200, "{}", written.text);
    }

    fn call(&self, output: impl Into<Value>) -> Value {
        json!({ "id": CALL, "sessionID": self.session, "messageID": self.message, "type": "tool", "callID": "c1",
            "tool": "notes_all", "state": { "status": "completed", "input": { "of": "everything" },
            "output": output.into(), "title": "All notes", "metadata": {}, "time": { "start": 1, "end": 2 } } })
    }

    fn file(&self, url: impl Into<Value>) -> Value {
        json!({ "id": FILE, "sessionID": self.session, "messageID": self.message, "type": "file",
            "mime": "image/png", "filename": "a.png", "url": url.into() })
    }

    fn linked_parts(&self) -> Value {
        json!([self.call(link(&self.output)), self.file(link(&self.picture))])
    }

    fn path(&self, text: &str) -> String {
        format!("/sturdy/blob/{}?session={}&part={CALL}", hash(text), self.session)
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

fn link(text: &str) -> Value {
    json!({ "$blob": hash(text), "bytes": text.len() })
}

/// As somebody who knows the password, where there is one. What is linked is not in the words of the document.
async fn own(world: &World, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let mut request = world.request(method, path).basic_auth("ada", Some("hush"));
    if let Some(body) = body {
        request = request.json(body);
    }
    Answer::of(request.send().await.unwrap()).await
}

async fn read(world: &World, path: &str) -> Value {
    let answer = own(world, "GET", path, None).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.json()
}

/// The parts but for the words of the prompt.
fn parts_of(message: &Value) -> Value {
    message["parts"].as_array().unwrap()[1..].iter().cloned().collect()
}

#[tokio::test]
async fn every_read_of_a_conversation_has_links_where_they_are_asked_for() {
    let world = World::new().await;
    let session = world.session().await;
    let large = Large::write(&world, &session).await;
    let list = format!("/session/{session}/message");
    let one = format!("{list}/{}", large.message);

    let opened = read(&world, &format!("/sturdy/session/{session}?large=link")).await;
    let page = read(&world, &format!("{list}?limit=10&large=link")).await;
    let long = read(&world, &format!("{list}?large=link")).await;
    let single = read(&world, &format!("{one}?large=link")).await;
    let whole = read(&world, &one).await;

    assert_eq!(parts_of(&opened["messages"][0]), large.linked_parts());
    assert_eq!(parts_of(&page[0]), large.linked_parts());
    assert_eq!(parts_of(&long[0]), large.linked_parts());
    assert_eq!(parts_of(&single), large.linked_parts());
    assert_eq!(
        parts_of(&whole),
        json!([large.call(large.output.as_str()), large.file(large.picture.as_str())])
    );
}

#[tokio::test]
async fn a_page_that_would_be_too_large_to_be_read_at_once_is_not_with_links() {
    let world = World::new().await;
    let session = world.session().await;
    let large = Large::write(&world, &session).await;
    for count in 0..8 {
        let id = format!("prt_0123456789abLargeFileAAAA{count}");
        let mut file = large.file(large.picture.as_str());
        file["id"] = json!(id);
        large.put(&world, &id, &file).await;
    }
    let mut quiet = prompt("and then");
    quiet["noReply"] = json!(true);
    own(&world, "POST", &format!("/session/{session}/message"), Some(&quiet)).await;
    let path = format!("/session/{session}/message?limit=10");

    let whole = own(&world, "GET", &path, None).await;
    let linked = own(&world, "GET", &format!("{path}&large=link"), None).await;

    // Only what is read at one moment can say at which.
    assert_eq!(whole.header("x-sturdy-position"), None);
    assert!(linked.header("x-sturdy-position").is_some());
    assert!(linked.text.len() < 16 * 1024, "{}", linked.text.len());
    assert_eq!(linked.json().as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn streams_and_the_log_have_links_where_they_are_asked_for() {
    let world = World::new().await;
    let session = world.session().await;
    let mut linked = Stream::undescribed(&world, "/global/event?sturdy=1&large=link").await;
    let mut whole = Stream::open(&world, "/event").await;
    let large = Large::write(&world, &session).await;

    let is_file = |frame: &crate::stream::Frame| frame.event()["properties"]["part"]["id"] == FILE;
    let told = linked.until(is_file).await.pop().unwrap().event();
    let told_whole = whole.until(is_file).await.pop().unwrap().event();
    let log = read(&world, &format!("/sturdy/session/{session}/entries?large=link")).await;

    assert_eq!(told["properties"]["part"], large.file(link(&large.picture)));
    assert_eq!(told_whole["properties"]["part"], large.file(large.picture.as_str()));
    assert_eq!(told["id"], told_whole["id"]);
    let entries = log["entries"].as_array().unwrap();
    let mut events = entries.iter().flat_map(|entry| entry["events"].as_array().unwrap());
    let written = events.find(|event| event["properties"]["part"]["id"] == CALL).unwrap();
    assert_eq!(written["properties"]["part"], large.call(link(&large.output)));
}

#[tokio::test]
async fn a_link_is_followed_and_what_it_leads_to_is_kept_for_ever_and_never_run() {
    let world = World::new().await;
    let session = world.session().await;
    let large = Large::write(&world, &session).await;
    let path = large.path(&large.output);

    let value = world.get(&path).await;
    let tag = value.header("etag").unwrap().to_owned();
    let again = world.request("GET", &path).header("if-none-match", &tag).send().await.unwrap();

    assert_eq!((value.status, value.text.as_str()), (200, large.output.as_str()));
    for (name, expected) in [
        ("content-type", "text/plain; charset=utf-8"),
        ("content-disposition", "attachment"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; sandbox"),
        ("cache-control", "private, max-age=31536000, immutable"),
        ("etag", &format!("\"{}\"", hash(&large.output))),
    ] {
        assert_eq!(value.header(name), Some(expected), "{name}");
    }
    // Was: a value that a browser takes packed ended its connection.
    let packed = world.request("GET", &path).header("accept-encoding", "gzip").send().await.unwrap();
    assert_eq!(
        (packed.status().as_u16(), &packed.headers()["content-encoding"]),
        (200, &HeaderValue::from_static("gzip"))
    );
    assert!(packed.bytes().await.unwrap().len() < large.output.len() / 10);
    assert_eq!(again.status(), 304);
    assert_eq!(again.text().await.unwrap(), "");
}

#[tokio::test]
async fn an_invalid_request_for_a_large_value_names_the_wrong_parameter() {
    let world = World::new().await;
    let session = world.session().await;
    let large = Large::write(&world, &session).await;
    let right = hash(&large.output);
    let query = format!("session={session}&part={CALL}");

    for (path, at) in [
        (format!("/sturdy/blob/short?{query}"), "hash"),
        (format!("/sturdy/blob/{}?{query}", right.to_uppercase()), "hash"),
        (format!("/sturdy/blob/{right}?part={CALL}"), "session"),
        (format!("/sturdy/blob/{right}?session=other&part={CALL}"), "session"),
        (format!("/sturdy/blob/{right}?session={session}"), "part"),
        (format!("/sturdy/blob/{right}?session={session}&part=x"), "part"),
        (format!("/sturdy/session/{session}?large=1"), "large"),
        (format!("/session/{session}/message?large=whole"), "large"),
        (format!("/session/{session}/message/{}?large=", large.message), "large"),
        (format!("/sturdy/session/{session}/entries?large=yes"), "large"),
    ] {
        let refused = world.get(&path).await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.text);
        assert!(refused.text.contains(&format!("at [\\\"{at}\\\"]")), "{path}: {}", refused.text);
    }
    let stream = world.request("GET", "/event?large=1").send().await.unwrap();
    assert_eq!(stream.status(), 400);
}

#[tokio::test]
async fn a_value_is_had_only_of_the_part_that_has_it_now() {
    let world = World::new().await;
    let session = world.session().await;
    let other = world.session().await;
    let large = Large::write(&world, &session).await;
    let right = hash(&large.output);
    let gone = json!({ "name": "NotFoundError",
        "data": { "message": "No such value, or it was changed or removed" } });

    for path in [
        large.path("something else"),
        large.path("everything"),
        format!("/sturdy/blob/{right}?session={session}&part={FILE}"),
        format!("/sturdy/blob/{right}?session={session}&part=prt_0123456789abNobodyAAAAAAAA"),
        format!("/sturdy/blob/{right}?session={other}&part={CALL}"),
    ] {
        assert_eq!(world.get(&path).await.both(), (404, gone.clone()), "{path}");
    }
    let path = format!("/sturdy/blob/{right}?session={NO_SESSION}&part={CALL}");
    assert_eq!(world.get(&path).await.both(), no_such_session());
    large.put(&world, CALL, &large.call("rewritten")).await;
    assert_eq!(world.get(&large.path(&large.output)).await.both(), (404, gone));
}

#[tokio::test]
async fn a_value_is_for_those_who_may_read_its_session() {
    let password = Some(Password::new("ada", "hush".to_owned()));
    let world = World::with(ServerOptions { password, ..ServerOptions::default() }).await;
    let make = async || {
        let made = own(&world, "POST", "/session", Some(&json!({}))).await.json();
        made["id"].as_str().unwrap().to_owned()
    };
    let session = make().await;
    let other = make().await;
    let large = Large::write(&world, &session).await;
    let path = large.path(&large.output);
    let grant = async |session: &str, right: &str| {
        let wanted = json!({ "sessionID": session, "rights": [right] });
        own(&world, "POST", "/sturdy/grant", Some(&wanted)).await.json()["reference"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let token = async |scope: &str| {
        let wanted = json!({ "name": "ci", "scopes": [scope] });
        own(&world, "POST", "/sturdy/token", Some(&wanted)).await.json()["secret"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let asked = async |secret: &str, path: &str| {
        world.request("GET", path).bearer_auth(secret).send().await.unwrap().status().as_u16()
    };
    let reader = grant(&session, "read").await;
    let elsewhere = grant(&other, "read").await;

    assert_eq!(world.request("GET", &path).send().await.unwrap().status(), 401);
    assert_eq!(asked(&reader, &path).await, 200);
    assert_eq!(asked(&token("read").await, &path).await, 200);
    assert_eq!(asked(&grant(&session, "prompt").await, &path).await, 403);
    assert_eq!(asked(&token("metrics").await, &path).await, 403);
    // The session it may read, and a part of one it may not.
    assert_eq!(asked(&elsewhere, &path).await, 403);
    assert_eq!(asked(&elsewhere, &path.replace(&session, &other)).await, 404);
    assert_eq!(asked(&elsewhere, &format!("{path}&session={other}")).await, 403);
}

#[tokio::test]
async fn of_large_values_so_many_are_sent_at_once_and_no_more() {
    let world = World::new().await;
    let session = world.session().await;
    let large = Large::write(&world, &session).await;
    // More than the buffers between two sockets hold.
    let long = "x".repeat(24 * MEBIBYTE);
    large.put(&world, CALL, &large.call(long.as_str())).await;
    let path = large.path(&long);

    let mut unread = Vec::new();
    for _ in 0..8 {
        unread.push(world.request("GET", &path).send().await.unwrap());
    }
    let refused = world.get(&path).await;

    assert_eq!((refused.status, refused.json()["name"].clone()), (503, json!("OverloadedError")));
    assert!(refused.header("retry-after").is_some());
    // Whoever has read to the end makes room for the next.
    let first = unread.remove(0);
    assert_eq!(first.text().await.unwrap().len(), long.len());
    assert_eq!(world.get(&path).await.status, 200);
}
