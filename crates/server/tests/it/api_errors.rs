//! Refusals below `/api`: every route says them in the words of the v2 API.

use crate::world::{Answer, NO_SESSION, World};
use serde_json::{Value, json};
use sturdy_server::{Password, ServerOptions};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Every operation of the v2 API, as the document names it.
fn operations() -> Vec<(String, String, Value)> {
    let document = sturdy_server::document();
    let paths = document["paths"].as_object().unwrap();
    let second =
        paths.iter().filter(|(path, _)| path.starts_with("/api/") && !path.starts_with("/api/share"));
    let all = second.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap();
        let known = methods.iter().filter(|(method, _)| METHODS.contains(&method.as_str()));
        known.map(|(method, operation)| (method.to_uppercase(), path.clone(), operation.clone()))
    });
    all.collect()
}

/// A path with every name in it replaced.
fn filled(path: &str, value: &str) -> String {
    let mut filled = String::new();
    let mut rest = path;
    while let Some(start) = rest.find('{') {
        let end = rest.find('}').unwrap();
        filled.push_str(&rest[..start]);
        filled.push_str(value);
        rest = &rest[end + 1..];
    }
    filled + rest
}

fn expect_tagged(answer: &Answer, what: &str) -> Value {
    let body = answer.json();
    assert!(body["_tag"].is_string() && body["message"].is_string(), "{what}: {}", answer.text);
    assert!(body.get("name").is_none() && body.get("data").is_none(), "{what}: {}", answer.text);
    body
}

#[tokio::test]
async fn every_route_with_a_path_that_is_not_text_says_so() {
    let world = World::new().await;
    let named: Vec<_> = operations().into_iter().filter(|(_, path, _)| path.contains('{')).collect();
    assert!(named.len() > 20, "{}", named.len());

    for (method, path, _) in named {
        let broken = filled(&path, "%FF");
        let request = world.request(&method, &broken).json(&json!({}));
        let answer = Answer::of(request.send().await.unwrap()).await;
        let what = format!("{method} {broken}: {}", answer.text);
        assert_eq!(answer.status, 400, "{what}");
        assert_eq!(expect_tagged(&answer, &what)["_tag"], "InvalidRequestError", "{what}");
    }
}

#[tokio::test]
async fn every_route_with_a_body_refuses_one_that_does_not_fit() {
    let world = World::new().await;
    let session = world.session().await;
    let with_body: Vec<_> =
        operations().into_iter().filter(|(_, _, operation)| operation["requestBody"].is_object()).collect();
    assert!(with_body.len() > 8, "{}", with_body.len());

    for (method, path, _) in with_body {
        let there = path.replace("{sessionID}", &session);
        let there = filled(&there, "per_0123456789abABCDEFGHIJKLMN");
        for body in ["{", "[1]", "{\"unheard\":1}"] {
            let request = world.request(&method, &there).header("content-type", "application/json");
            let answer = Answer::of(request.body(body).send().await.unwrap()).await;
            let what = format!("{method} {there} {body}: {} {}", answer.status, answer.text);
            // Where everything may be left out, what nobody knows is left out too.
            if answer.status == 200 && body == "{\"unheard\":1}" {
                continue;
            }
            assert!((400..500).contains(&answer.status), "{what}");
            expect_tagged(&answer, &what);
        }
    }
}

#[tokio::test]
async fn general_errors_have_the_body_of_the_api_version_of_their_route() {
    let world = World::new().await;
    let session = world.session().await;

    let missing = json!({ "_tag": "NotFoundError", "message": "There is no GET /api/nosuch" });
    assert_eq!(world.get("/api/nosuch").await.both(), (404, missing));
    let missing = json!({ "name": "NotFoundError", "data": { "message": "There is no GET /nosuch" } });
    assert_eq!(world.get("/nosuch").await.both(), (404, missing));

    let large = "x".repeat(2 * 1024 * 1024);
    let path = format!("/api/session/{session}/agent");
    let large = world.send("POST", &path, &json!({ "agent": large })).await;
    assert_eq!(
        (large.status, &expect_tagged(&large, "large")["_tag"]),
        (413, &json!("PayloadTooLargeError"))
    );

    let find = world.get("/api/fs/find").await;
    let wanted =
        json!({ "_tag": "InvalidRequestError", "message": "Missing key\n  at [\"query\"]", "kind": "Query" });
    assert_eq!(find.both(), (400, wanted));
    let list = world.get("/api/fs/list?path=../..").await;
    assert_eq!(list.status, 400, "{}", list.text);
    expect_tagged(&list, "list");

    let missing = json!({ "_tag": "SessionNotFoundError", "sessionID": NO_SESSION,
        "message": format!("Session not found: {NO_SESSION}") });
    for (method, path) in [
        ("GET", format!("/api/session/{NO_SESSION}/context")),
        ("GET", format!("/api/session/{NO_SESSION}/prompt")),
        ("POST", format!("/api/session/{NO_SESSION}/wait")),
    ] {
        assert_eq!(world.call(method, &path).await.both(), (404, missing.clone()), "{method} {path}");
    }
}

#[tokio::test]
async fn a_terminal_that_is_not_there_and_a_token_without_its_header_are_told_as_clients_know_them() {
    let world = World::new().await;
    let id = "pty_0123456789abABCDEFGHIJKLMN";
    let missing =
        json!({ "_tag": "PtyNotFoundError", "ptyID": id, "message": format!("PTY session not found: {id}") });
    assert_eq!(world.get(&format!("/pty/{id}")).await.both(), (404, missing.clone()));
    assert_eq!(world.get(&format!("/api/pty/{id}")).await.both(), (404, missing));

    let message = "Invalid PTY connect token request";
    let first = world.call("POST", &format!("/pty/{id}/connect-token")).await;
    assert_eq!(first.both(), (403, json!({ "_tag": "PtyForbiddenError", "message": message })));
    let second = world.call("POST", &format!("/api/pty/{id}/connect-token")).await;
    assert_eq!(second.both(), (403, json!({ "_tag": "ForbiddenError", "message": message })));
}

#[tokio::test]
async fn a_token_that_may_not_ask_is_told_in_the_same_words() {
    let password = Some(Password::new("ada", "hush".to_owned()));
    let world = World::with(ServerOptions { password, ..ServerOptions::default() }).await;
    let wanted = json!({ "name": "reader", "scopes": ["read"] });
    let request = world.request("POST", "/sturdy/token").basic_auth("ada", Some("hush")).json(&wanted);
    let token = Answer::of(request.send().await.unwrap()).await.json();

    let request = world.request("POST", "/api/session").bearer_auth(token["secret"].as_str().unwrap());
    let refused = Answer::of(request.json(&json!({})).send().await.unwrap()).await;

    let message = "The scopes of this token do not allow this request";
    assert_eq!(refused.both(), (403, json!({ "_tag": "ForbiddenError", "message": message })));
}
