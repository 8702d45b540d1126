//! Requests that no client of ours would send: each has its answer, none breaks anything.

use crate::world::{Answer, World};
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Long enough for a slow machine; a test that waits for it has failed.
const WAIT_MAX: Duration = Duration::from_secs(120);

/// Sends bytes as they are, and gives everything that comes back until the server closes.
async fn exchanged(world: &World, request: &[u8]) -> String {
    let address = world.url.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    tokio::time::timeout(WAIT_MAX, socket.read_to_end(&mut answer)).await.expect("an end").unwrap();
    String::from_utf8(answer).unwrap()
}

async fn posted(world: &World, path: &str, body: &str) -> Answer {
    let request = world.request("POST", path).header("content-type", "application/json");
    Answer::of(request.body(body.to_owned()).send().await.unwrap()).await
}

#[tokio::test]
async fn a_key_that_is_sent_twice_is_refused_and_nothing_is_made() {
    let world = World::new().await;

    let created = posted(&world, "/session", "{\"title\":\"one\",\"title\":\"two\"}").await;
    let second = posted(&world, "/api/session", "{\"agent\":\"build\",\"agent\":\"plan\"}").await;

    assert_eq!(created.both(), (400, json!({ "_tag": "BadRequest" })));
    assert_eq!((second.status, &second.json()["_tag"]), (400, &json!("InvalidRequestError")));
    assert_eq!(world.get("/session").await.json(), json!([]));
}

#[tokio::test]
async fn empty_segments_of_a_path_are_passed_over() {
    let world = World::new().await;
    let session = world.session().await;

    // A client that was given an address with a slash at its end asks like this.
    for (path, plain) in [
        ("//session".to_owned(), "/session".to_owned()),
        ("/session/?limit=1".to_owned(), "/session?limit=1".to_owned()),
        (format!("//session///{session}/"), format!("/session/{session}")),
        ("/api//session/".to_owned(), "/api/session".to_owned()),
        ("//".to_owned(), "/".to_owned()),
    ] {
        assert_eq!(world.get(&path).await.both(), world.get(&plain).await.both(), "{path}");
    }
    assert_eq!(world.get("//session").await.json()[0]["id"], session.as_str());
    // The path is judged as it is understood.
    assert_eq!(world.get("//api//nothing").await.json()["_tag"], "NotFoundError");
}

#[tokio::test]
async fn a_client_of_http_1_0_is_answered_and_the_connection_closed() {
    let world = World::new().await;
    let host = world.url.strip_prefix("http://").unwrap().to_owned();

    let answer =
        exchanged(&world, format!("GET /global/health HTTP/1.0\r\nHost: {host}\r\n\r\n").as_bytes()).await;

    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
    assert!(answer.contains("\"healthy\":true"), "{answer}");
    assert!(!answer.to_ascii_lowercase().contains("transfer-encoding"), "{answer}");
}

#[tokio::test]
async fn numbers_that_no_type_holds_are_refused_or_cut_and_never_an_error_of_ours() {
    let world = World::new().await;
    let session = world.session().await;
    let huge = "9".repeat(400);

    for number in ["1e400", "-1", "NaN", "0x10", "1.5", huge.as_str()] {
        for path in [
            format!("/session?limit={number}"),
            format!("/session/{session}/message?limit={number}"),
            format!("/api/session?limit={number}"),
            format!("/api/session/{session}/history?after={number}"),
        ] {
            let answer = world.get(&path).await;
            assert_eq!(answer.status, 400, "{path}: {}", answer.text);
        }
    }
    // A whole number, and more than anybody has.
    assert_eq!(world.get("/session?limit=18446744073709551615").await.status, 200);
    for body in [
        format!("{{\"size\":{{\"rows\":{huge},\"cols\":1}}}}"),
        "{\"size\":{\"rows\":1e400,\"cols\":1}}".to_owned(),
    ] {
        let request = world.request("PUT", "/pty/pty_0123456789abABCDEFGHIJKLMN");
        let request = request.header("content-type", "application/json").body(body.clone());
        let answer = Answer::of(request.send().await.unwrap()).await;
        assert_eq!((answer.status, &answer.json()["name"]), (400, &json!("BadRequest")), "{body}");
    }
}

#[tokio::test]
async fn text_that_is_not_utf_8_is_refused_in_a_path_and_replaced_in_a_query() {
    let world = World::new().await;
    let host = world.url.strip_prefix("http://").unwrap().to_owned();

    let path = world.get("/session/ses_%FF%FE").await;
    let message = json!({ "message": "The path is not valid UTF-8", "kind": "Params" });
    assert_eq!(path.both(), (400, json!({ "name": "BadRequest", "data": message })));
    let query = world.get("/session?search=%FF%FE").await;
    assert_eq!(query.both(), (200, json!([])));
    // Not even encoded.
    let head = [
        b"GET /session/\xff\xfe HTTP/1.1\r\nConnection: close\r\nHost: ".as_slice(),
        host.as_bytes(),
        b"\r\n\r\n",
    ];
    let raw = exchanged(&world, &head.concat()).await;
    assert!(raw.starts_with("HTTP/1.1 4"), "{raw}");
    assert_eq!(world.get("/global/health").await.status, 200);
}
