//! Tokens of programs, over HTTP: what they open, what they do not, and the id every request has.

use crate::world::{Answer, World};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use sturdy_server::{Password, ServerOptions};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

async fn world() -> World {
    let password = Some(Password::new("ada", "hush".to_owned()));
    World::with(ServerOptions { password, ..ServerOptions::default() }).await
}

async fn made(world: &World, body: &Value) -> Value {
    let request = world.request("POST", "/sturdy/token").basic_auth("ada", Some("hush")).json(body);
    let answer = Answer::of(request.send().await.unwrap()).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

async fn asked(world: &World, method: &str, path: &str, secret: &str) -> Answer {
    let request = world.request(method, path).bearer_auth(secret);
    Answer::of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn a_token_opens_what_its_scope_says_until_it_is_revoked() {
    let world = world().await;
    let reader = made(&world, &json!({ "name": "dashboard", "scopes": ["read"] })).await;
    let secret = reader["secret"].as_str().unwrap();

    assert_eq!(world.get("/session").await.status, 401);
    assert_eq!(asked(&world, "GET", "/session", secret).await.status, 200);
    let refused = asked(&world, "POST", "/session", secret).await;
    let body = json!({ "name": "ForbiddenError", "data": { "message": "The scopes of this token do not allow this request" } });
    assert_eq!(refused.both(), (403, body));
    assert_eq!(asked(&world, "GET", "/sturdy/token", secret).await.status, 403);
    // Where a client knows only a password, the token is one.
    let basic = world.request("GET", "/session").basic_auth("whoever", Some(secret)).send().await.unwrap();
    assert_eq!(basic.status(), 200);

    let list = world.request("GET", "/sturdy/token").basic_auth("ada", Some("hush")).send().await.unwrap();
    let list = Answer::of(list).await;
    assert!(!list.text.contains(secret) && !list.text.contains("hash"), "{}", list.text);
    let path = format!("/sturdy/token/{}", reader["id"].as_str().unwrap());
    let revoked = world.request("DELETE", &path).basic_auth("ada", Some("hush")).send().await.unwrap();
    assert_eq!(Answer::of(revoked).await.both(), (200, json!(true)));
    assert_eq!(asked(&world, "GET", "/session", secret).await.status, 401);
}

/// Reads a WebSocket to its end, which is near; gives the code with which it was closed.
async fn closed(
    world: &World,
    path: &str,
    secret: Option<&str>,
) -> impl Future<Output = Option<u16>> + use<> {
    let mut request = format!("{}{path}", world.url.replacen("http", "ws", 1)).into_client_request().unwrap();
    if let Some(secret) = secret {
        request.headers_mut().insert("authorization", format!("Bearer {secret}").parse().unwrap());
    }
    let (mut socket, _) = connect_async(request).await.unwrap();
    async move {
        let rest = async {
            while let Some(Ok(message)) = socket.next().await {
                if let Message::Close(frame) = message {
                    return frame.map(|frame| frame.code.into());
                }
            }
            None
        };
        tokio::time::timeout(Duration::from_secs(120), rest).await.expect("the WebSocket goes on")
    }
}

#[tokio::test]
async fn what_a_token_has_open_ends_when_it_is_revoked() {
    let world = world().await;
    let token = made(&world, &json!({ "name": "robot", "scopes": ["write"] })).await;
    let secret = token["secret"].as_str().unwrap();
    let request = |method: &str, path: &str| world.request(method, path).bearer_auth(secret);
    let idle = json!({ "command": "/bin/sh", "args": ["-c", "read line"] });
    let terminal = Answer::of(request("POST", "/pty").json(&idle).send().await.unwrap()).await.json();
    let terminal = format!("/pty/{}", terminal["id"].as_str().unwrap());
    let ticket = request("POST", &format!("{terminal}/connect-token")).header("x-opencode-ticket", "1");
    let ticket = Answer::of(ticket.send().await.unwrap()).await.json();
    let by_ticket = format!("{terminal}/connect?ticket={}", ticket["ticket"].as_str().unwrap());
    let mut events = request("GET", "/global/event").send().await.unwrap();
    assert!(events.chunk().await.unwrap().is_some());
    let rpc = closed(&world, "/rpc", Some(secret)).await;
    let shell = closed(&world, &format!("{terminal}/connect"), Some(secret)).await;
    let shell_by_ticket = closed(&world, &by_ticket, None).await;

    let path = format!("/sturdy/token/{}", token["id"].as_str().unwrap());
    let revoked = world.request("DELETE", &path).basic_auth("ada", Some("hush")).send().await.unwrap();
    assert_eq!(revoked.status(), 200);

    // Was: whoever had a stream, a connection or a shell open with it kept it.
    let rest = async { while events.chunk().await.unwrap().is_some() {} };
    tokio::time::timeout(Duration::from_secs(120), rest).await.expect("the stream goes on");
    rpc.await;
    assert_eq!((shell.await, shell_by_ticket.await), (Some(1008), Some(1008)));
}

#[tokio::test]
async fn a_wrong_token_is_refused_and_not_taken_for_a_guess_at_the_password() {
    let world = world().await;
    for _ in 0..20 {
        assert_eq!(asked(&world, "GET", "/session", "sturdy_0123").await.status, 401);
    }
    let v2 = asked(&world, "GET", "/api/session", "sturdy_0123").await;
    assert_eq!((v2.status, &v2.json()["_tag"]), (401, &json!("UnauthorizedError")));

    let right = world.request("GET", "/session").basic_auth("ada", Some("hush")).send().await.unwrap();

    assert_eq!(right.status(), 200);
}

#[tokio::test]
async fn a_token_that_asks_too_often_is_told_when_to_come_back() {
    let world = world().await;
    let rare = made(&world, &json!({ "name": "rare", "scopes": ["read"], "rate": 1 })).await;
    let secret = rare["secret"].as_str().unwrap();

    assert_eq!(asked(&world, "GET", "/session", secret).await.status, 200);
    let refused = asked(&world, "GET", "/session", secret).await;

    assert_eq!((refused.status, &refused.json()["name"]), (429, &json!("TooManyRequestsError")));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=61).contains(&wait), "{wait}");
}

#[tokio::test]
async fn a_token_counts_where_there_is_no_password_too() {
    let world = World::new().await;
    let answer = world.send("POST", "/sturdy/token", &json!({ "name": "x", "scopes": ["metrics"] })).await;
    let secret = answer.json()["secret"].as_str().unwrap().to_owned();

    assert_eq!(world.get("/session").await.status, 200);
    assert_eq!(asked(&world, "GET", "/session", &secret).await.status, 403);
    assert_eq!(asked(&world, "GET", "/global/health", &secret).await.status, 200);
    let bad = world.send("POST", "/sturdy/token", &json!({ "name": "x", "scopes": ["everything"] })).await;
    assert_eq!((bad.status, &bad.json()["name"]), (400, &json!("BadRequest")));
    let bad = world.send("POST", "/sturdy/token", &json!({ "name": "", "scopes": ["read"] })).await;
    assert_eq!(bad.json()["data"]["message"], "A token needs a name of at most 80 letters");
}

#[tokio::test]
async fn what_a_token_changes_carries_its_id() {
    let world = world().await;
    let writer = made(&world, &json!({ "name": "ci", "scopes": ["write"] })).await;
    let secret = writer["secret"].as_str().unwrap();
    let request = world.request("POST", "/session").bearer_auth(secret).json(&json!({ "title": "by ci" }));
    let session = Answer::of(request.send().await.unwrap()).await.json();

    let actor = format!("token:{}", writer["id"].as_str().unwrap());
    let path = format!("/sturdy/session/{}/entries", session["id"].as_str().unwrap());
    let own = asked(&world, "GET", &format!("{path}?actor={actor}"), secret).await;
    let others = asked(&world, "GET", &format!("{path}?actor=user:ada"), secret).await;

    assert!(own.text.contains("session.created"), "{}", own.text);
    assert!(!others.text.contains("session.created"), "{}", others.text);
    assert!(!own.text.contains(secret));
}

/// A path of the document with something in the place of what it takes.
fn filled(path: &str) -> String {
    path.split('/')
        .map(|segment| if segment.starts_with('{') { "x" } else { segment })
        .collect::<Vec<_>>()
        .join("/")
}

/// Generated from what the router describes, so that a route that is added is asked too.
#[tokio::test]
async fn no_route_that_changes_something_is_open_to_a_token_that_only_reads() {
    let world = world().await;
    let reader = made(&world, &json!({ "name": "dashboard", "scopes": ["read", "metrics"] })).await;
    let secret = reader["secret"].as_str().unwrap();
    let document = asked(&world, "GET", "/doc", secret).await.json();

    let mut open = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys().filter(|method| *method != "get") {
            let method = method.to_uppercase();
            let answer = asked(&world, &method, &filled(path), secret).await;
            if (answer.status, answer.text.contains("The scopes of this token")) != (403, true) {
                open.insert(format!("{method} {path}"));
            }
        }
    }
    // Those of shares ask for a right of their own, and a token is none.
    open.retain(|operation| !operation.contains(" /api/share") && operation != "POST /rpc/share");

    // A ticket opens what its owner may read; a code for a browser is a login and asks for no other.
    assert_eq!(open, BTreeSet::from(["POST /sturdy/login/once", "POST /sturdy/ticket"].map(str::to_owned)));
    // These carry whatever is sent through them, or take away what is meant for another.
    for path in ["/pty/pty_x/connect", "/api/pty/pty_x/connect", "/rpc"] {
        let upgrade = world.request("GET", path).bearer_auth(secret).header("upgrade", "websocket");
        let upgrade = upgrade.header("connection", "upgrade").send().await.unwrap();
        assert_eq!(upgrade.status(), 403, "{path}");
    }
    // Was: a token that only reads took what was meant for the terminal.
    assert_eq!(asked(&world, "GET", "/tui/control/next", secret).await.status, 403);
}

#[tokio::test]
async fn a_token_that_writes_does_not_decide_who_else_may() {
    let world = world().await;
    let writer = made(&world, &json!({ "name": "ci", "scopes": ["write"] })).await;
    let secret = writer["secret"].as_str().unwrap();
    let document = asked(&world, "GET", "/doc", secret).await.json();
    let of_admins = [
        "/sturdy/grant",
        "/sturdy/token",
        "/sturdy/devices",
        "/sturdy/login",
        "/sturdy/share/import",
        "/sturdy/trust",
        "/auth",
        "/api/credential",
        "/api/integration",
        "/config",
        "/global",
        "/instance/dispose",
    ];

    for (path, operations) in document["paths"].as_object().unwrap() {
        let of_admins = of_admins
            .iter()
            .any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
        for method in operations.as_object().unwrap().keys().filter(|method| *method != "get") {
            // Those that are open to a token wait, or end something; they are asked elsewhere.
            if of_admins && path != "/sturdy/login/once" {
                let answer = asked(&world, &method.to_uppercase(), &filled(path), secret).await;
                assert_eq!(answer.status, 403, "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn every_answer_names_its_request() {
    let world = world().await;
    let own = world.get("/global/health").await;
    let given = world.request("GET", "/nowhere").header("x-request-id", "build-7.3_a").send().await.unwrap();
    let hostile = world.request("GET", "/nowhere").header("x-request-id", "a b;c").send().await.unwrap();
    let page = world.request("POST", "/session").header("origin", "https://evil.example");
    let turned_away = page.header("x-request-id", "page-1").send().await.unwrap();
    let asked_first = world.request("OPTIONS", "/session").header("origin", "http://localhost:3000");
    let asked_first = asked_first.header("x-request-id", "page-2").send().await.unwrap();

    assert_eq!(own.status, 401);
    assert!(own.header("x-request-id").unwrap().starts_with("req_"));
    assert_eq!(given.headers()["x-request-id"], "build-7.3_a");
    assert!(hostile.headers()["x-request-id"].to_str().unwrap().starts_with("req_"));
    // Was: those that were turned away at the door had none.
    assert_eq!(
        (turned_away.status().as_u16(), &turned_away.headers()["x-request-id"]),
        (403, &"page-1".parse().unwrap())
    );
    assert_eq!(
        (asked_first.status().as_u16(), &asked_first.headers()["x-request-id"]),
        (204, &"page-2".parse().unwrap())
    );
}
