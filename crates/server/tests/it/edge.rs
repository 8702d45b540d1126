//! What every request passes: password, cross-origin rules, compression, unknown routes.

use crate::world::{Answer, World};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use std::collections::BTreeSet;
use sturdy_server::{Password, ServerOptions};

async fn locked() -> World {
    let password = Some(Password::new("ada", "open sesame: now".to_owned()));
    World::with(ServerOptions { password, ..ServerOptions::default() }).await
}

fn token(pair: &str) -> String {
    BASE64_STANDARD.encode(pair)
}

#[tokio::test]
async fn without_the_password_nobody_is_let_in() {
    let world = locked().await;
    for path in ["/session", "/doc", "/event", "/nosuch", "/global/health"] {
        let answer = world.get(path).await;
        assert_eq!((answer.status, answer.text.as_str()), (401, ""), "{path}");
        assert_eq!(answer.header("www-authenticate"), Some("Basic realm=\"Secure Area\""));
        assert_eq!(answer.header("content-type"), None);
    }
    let second = world.get("/api/health").await;
    assert_eq!(
        second.both(),
        (401, json!({ "_tag": "UnauthorizedError", "message": "Authentication required" }))
    );
    assert_eq!(second.header("www-authenticate"), Some("Basic realm=\"Secure Area\""));
}

#[tokio::test]
async fn the_password_is_taken_from_the_header_or_the_query() {
    let world = locked().await;
    let right = token("ada:open sesame: now");
    let status = |header: Option<String>, query: &str| {
        let mut request = world.request("GET", &format!("/global/health{query}"));
        if let Some(header) = header {
            request = request.header("authorization", header);
        }
        async move { request.send().await.unwrap().status().as_u16() }
    };

    assert_eq!(status(Some(format!("Basic {right}")), "").await, 200);
    assert_eq!(status(Some(format!("bAsIc {right}")), "").await, 200);
    assert_eq!(status(None, &format!("?auth_token={right}")).await, 200);
    assert_eq!(status(Some(format!("Bearer {right}")), "").await, 401);
    assert_eq!(status(Some(format!("Basic {}", token("ada:open sesame"))), "").await, 401);
    assert_eq!(status(Some(format!("Basic {}", token("eve:open sesame: now"))), "").await, 401);
    assert_eq!(status(Some("Basic ***".to_owned()), "").await, 401);
    // The query wins.
    assert_eq!(status(Some(format!("Basic {right}")), "?auth_token=no").await, 401);
    // An empty one says nothing.
    assert_eq!(status(Some(format!("Basic {right}")), "?auth_token=").await, 200);
}

#[tokio::test]
async fn whoever_guesses_too_often_is_told_to_wait() {
    let world = locked().await;
    let guess = |number: usize| {
        let header = format!("Basic {}", token(&format!("ada:{number}")));
        let request = world.request("GET", "/global/health").header("authorization", header);
        async move { request.send().await.unwrap() }
    };
    for number in 0..5 {
        assert_eq!(guess(number).await.status().as_u16(), 401);
    }

    // Those that wait for their turn are given up; the one that finds no place is answered at once.
    let mut all = FuturesUnordered::new();
    for number in 0..20 {
        all.push(guess(number));
    }
    let refused = loop {
        let answer = all.next().await.unwrap();
        if answer.status().as_u16() != 401 {
            break Answer::of(answer).await;
        }
    };

    assert_eq!((refused.status, &refused.json()["name"]), (429, &json!("TooManyAttemptsError")));
    assert_eq!(refused.header("retry-after"), Some("1"));
    // Who asks without a password is no guesser.
    assert_eq!(world.get("/global/health").await.status, 401);
}

#[tokio::test]
async fn a_browser_may_ask_without_a_password_whether_it_may_ask() {
    let world = locked().await;
    let ask = |origin: &'static str| {
        let request = world.request("OPTIONS", "/session").header("origin", origin);
        let request = request.header("access-control-request-headers", "content-type,x-opencode-directory");
        async move { Answer::of(request.send().await.unwrap()).await }
    };

    let allowed = ask("http://localhost:3000").await;
    let other = ask("https://evil.example").await;

    for answer in [&allowed, &other] {
        assert_eq!((answer.status, answer.text.as_str()), (204, ""));
        let methods = "GET, HEAD, PUT, PATCH, POST, DELETE";
        assert_eq!(answer.header("access-control-allow-methods"), Some(methods));
        assert_eq!(answer.header("access-control-allow-headers"), Some("content-type,x-opencode-directory"));
        assert_eq!(answer.header("access-control-max-age"), Some("86400"));
    }
    assert_eq!(allowed.header("access-control-allow-origin"), Some("http://localhost:3000"));
    assert_eq!(allowed.header("vary"), Some("Access-Control-Request-Headers, Origin"));
    assert_eq!(other.header("access-control-allow-origin"), None);
    assert_eq!(other.header("vary"), Some("Access-Control-Request-Headers"));
}

#[tokio::test]
async fn only_known_origins_may_read_answers() {
    let world = World::with(ServerOptions {
        cors: vec!["https://tools.example".to_owned()],
        ..ServerOptions::default()
    })
    .await;
    let get = |origin: &'static str| {
        let request = world.request("GET", "/global/health").header("origin", origin);
        async move { Answer::of(request.send().await.unwrap()).await }
    };
    for origin in [
        "http://localhost",
        "http://localhost:1",
        "http://[::1]:1",
        "http://127.0.0.1:5173",
        "oc://renderer",
        "tauri://localhost",
        "http://tauri.localhost",
        "https://tauri.localhost",
        "https://opencode.ai",
        "https://app.opencode.ai",
        "https://tools.example",
    ] {
        let answer = get(origin).await;
        assert_eq!(
            (answer.header("access-control-allow-origin"), answer.header("vary")),
            (Some(origin), Some("Origin"))
        );
    }
    for origin in [
        "http://localhost:1/",
        "http://localhost:1.evil.example",
        "http://localhost.evil.example",
        "oc://renderer.evil.example",
        "http://opencode.ai",
        "https://notopencode.ai",
        "https://opencode.ai:444",
        "https://opencode.ai.evil.example",
        "https://evil.example/.opencode.ai",
        "https://tools.example.evil.example",
        "null",
    ] {
        let answer = get(origin).await;
        assert_eq!(answer.status, 403, "{origin}");
        assert_eq!((answer.header("access-control-allow-origin"), answer.header("vary")), (None, None));
    }
    assert_eq!(world.get("/global/health").await.header("vary"), Some("Origin"));
}

#[tokio::test]
async fn long_answers_are_packed_for_those_who_can_unpack() {
    let world = World::new().await;
    let session = world.session().await;
    let accept = |path: String, encodings: &'static str| {
        let request = world.request("GET", &path).header("accept-encoding", encodings);
        async move { request.send().await.unwrap() }
    };
    let encoding = |response: &reqwest::Response| {
        response.headers().get("content-encoding").map(|value| value.to_str().unwrap().to_owned())
    };

    let packed = accept("/provider".to_owned(), "gzip, deflate, br, zstd").await;
    assert_eq!(encoding(&packed).as_deref(), Some("gzip"));
    assert_eq!(packed.headers()["vary"], "Origin, Accept-Encoding");
    assert_eq!(encoding(&accept("/provider".to_owned(), "deflate").await).as_deref(), Some("deflate"));
    assert_eq!(encoding(&accept("/provider".to_owned(), "br, zstd").await), None);
    assert_eq!(encoding(&accept(format!("/session/{session}"), "gzip").await), None);
    assert_eq!(encoding(&accept("/event".to_owned(), "gzip").await), None);

    let body = crate::world::prompt(&"long ".repeat(1000));
    let waited =
        world.request("POST", &format!("/session/{session}/message")).header("accept-encoding", "gzip");
    let waited = waited.json(&body).send().await.unwrap();
    assert_eq!((waited.status().as_u16(), encoding(&waited)), (200, None));
    let listed = accept(format!("/session/{session}/message"), "gzip").await;
    assert_eq!(encoding(&listed).as_deref(), Some("gzip"));
}

#[tokio::test]
async fn what_is_not_a_route_says_so_in_json() {
    let world = World::new().await;
    let missing = |what: &str| {
        (404, json!({ "name": "NotFoundError", "data": { "message": format!("There is no {what}") } }))
    };
    assert_eq!(world.get("/nosuch").await.both(), missing("GET /nosuch"));
    assert_eq!(world.get("/").await.both(), missing("GET /"));
    assert_eq!(world.call("POST", "/session/status").await.both(), missing("POST /session/status"));
    assert_eq!(world.call("DELETE", "/global/health").await.both(), missing("DELETE /global/health"));
    let second = json!({ "_tag": "NotFoundError", "message": "There is no GET /api/nosuch" });
    assert_eq!(world.get("/api/nosuch").await.both(), (404, second));
}

#[tokio::test]
async fn the_document_describes_every_route_and_claims_none_that_is_absent() {
    let world = World::new().await;

    let document = world.get("/doc").await.json();

    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    let mut operations = Vec::new();
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            operations.push(operation["operationId"].as_str().unwrap().to_owned());
            let url = path.replace("{sessionID}", "ses_x").replace("{messageID}", "msg_x");
            let waits = url.ends_with("/event") || url == "/tui/control/next";
            if method == "get" && !url.contains('{') && !waits {
                let status = world.get(&url).await.status;
                // Some want a query; none is broken or missing.
                let is_known = status == 200 || (status == 404 && url.contains("ses_x")) || status == 400;
                assert!(is_known, "{url} {status}");
            }
        }
    }
    let count = operations.len();
    operations.sort();
    operations.dedup();
    assert_eq!(operations.len(), count, "an operation id stands twice");
    for path in ["/session", "/session/{sessionID}/message", "/event", "/global/event", "/api/session"] {
        assert!(paths.contains_key(path), "{path}");
    }
}

/// docs/routes.md is a page for people: it names just what the router describes.
#[tokio::test]
async fn the_page_of_routes_lists_every_route_and_method_and_no_other() {
    let world = World::new().await;
    let document = world.get("/doc").await.json();
    let mut described = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            described.insert(format!("{} {}", method.to_uppercase(), path.replace("{*", "{")));
        }
    }

    let page = include_str!("../../../../docs/routes.md");
    let mut listed = BTreeSet::new();
    for row in page.lines().filter_map(|line| line.strip_prefix("| `")) {
        let (path, rest) = row.split_once('`').unwrap();
        for method in rest.split_whitespace().filter(|word| *word != "|") {
            listed.insert(format!("{method} {path}"));
        }
    }

    let missing: Vec<_> = described.difference(&listed).collect();
    let surplus: Vec<_> = listed.difference(&described).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "not on the page: {missing:?}\nno routes: {surplus:?}");
}
