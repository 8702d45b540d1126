//! What routes show of settings that hold secrets.

use crate::world::World;
use serde_json::{Value, json};

/// Every one of these stands in the configuration below, in a place of its own.
const SECRETS: [&str; 14] = [
    "key-in-a-file",
    "header-of-a-provider",
    "header-of-a-model",
    "option-with-a-telling-name",
    "user-of-a-url",
    "password-of-a-url",
    "query-of-a-url",
    "argument-of-a-server",
    "variable-of-a-server",
    "header-of-a-server",
    "option-of-a-language-server",
    "token-in-a-path",
    "text-from-a-file",
    "variable-of-a-language-server",
];

fn configuration() -> Value {
    json!({
        "model": "{file:~/model}",
        "provider": { "mine": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Mine",
            "options": {
                "apiKey": "{file:~/key}",
                "baseURL": "https://user-of-a-url:password-of-a-url@gate.example/v1?x=query-of-a-url",
                "headers": { "x-plain": "header-of-a-provider" },
                "accessToken": "option-with-a-telling-name",
                "organisation": "{file:~/key}",
            },
            "models": { "one": {
                "name": "One",
                "headers": { "x-plain": "header-of-a-model" },
                "options": { "extra": "{file:~/key}" },
            } },
        }, "gate": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "apiKey": "x", "baseURL": "https://gate.example/{file:~/token}/v1" },
            "models": { "two": {} },
        } },
        "agent": { "review": {
            "prompt": "{file:~/text}",
            "description": "Reviews",
            "options": { "extra": "Bearer {file:~/key}" },
        }, "spy": { "description": "Knows {file:~/text}" } },
        "command": { "look": { "template": "Look at {file:~/text}", "description": "Looks" } },
        "mcp": {
            "near": {
                "type": "local",
                "command": ["no-such-program", "argument-of-a-server"],
                "environment": { "NAME": "variable-of-a-server" },
                "enabled": false,
            },
            "far": {
                "type": "remote",
                "url": "http://127.0.0.1:1/{file:~/token}",
                "headers": { "x-plain": "header-of-a-server" },
                "oauth": false,
            },
        },
        "lsp": { "mine": {
            "command": ["no-such-server"],
            "extensions": [".mine"],
            "env": { "NAME": "variable-of-a-language-server" },
            "initialization": { "licence": "option-of-a-language-server" },
        } },
    })
}

#[tokio::test]
async fn no_route_shows_a_secret_of_the_configuration() {
    let world = World::new().await;
    let home = world.root.path().join("home");
    for (name, text) in [
        ("key", "key-in-a-file"),
        ("token", "token-in-a-path"),
        ("text", "text-from-a-file"),
        ("model", "mine/one"),
    ] {
        std::fs::write(home.join(name), text).unwrap();
    }
    std::fs::create_dir_all(home.join(".config/opencode")).unwrap();
    std::fs::write(home.join(".config/opencode/opencode.json"), configuration().to_string()).unwrap();

    for path in [
        "/config",
        "/global/config",
        "/config/providers",
        "/provider",
        "/agent",
        "/command",
        "/skill",
        "/mcp",
        "/lsp",
        "/formatter",
        "/api/agent",
        "/api/command",
        "/api/model",
        "/api/provider",
        "/api/provider/mine",
        "/api/provider/gate",
        "/api/integration",
        "/api/skill",
        "/experimental/tool?provider=mine&model=one",
    ] {
        let answer = world.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        for secret in SECRETS {
            assert!(!answer.text.contains(secret), "{path} shows {secret}: {}", answer.text);
        }
    }

    // And what is no secret is there.
    let config = world.get("/config").await.json();
    assert_eq!(config["model"], "mine/one");
    assert_eq!(config["mcp"]["near"]["command"], json!(["no-such-program", "***"]));
    assert_eq!(config["mcp"]["far"]["url"], "http://127.0.0.1:1/");
    assert_eq!(config["agent"]["review"]["description"], "Reviews");
    let providers = world.get("/config/providers").await.json();
    let mine = providers["providers"].as_array().unwrap().iter().find(|one| one["id"] == "mine").unwrap();
    assert_eq!(mine["options"]["baseURL"], "https://gate.example/v1");
    assert_eq!(mine["models"]["one"]["headers"], json!({ "x-plain": "***" }));
    assert_eq!(providers["default"]["mine"], "one");
    let commands = world.get("/command").await.json();
    let look = commands.as_array().unwrap().iter().find(|one| one["name"] == "look").unwrap();
    assert_eq!((&look["template"], &look["description"]), (&json!("***"), &json!("Looks")));
}

#[tokio::test]
async fn a_link_to_the_next_page_does_not_repeat_the_password() {
    let world = World::new().await;
    let session = world.session().await;
    for text in ["one", "two"] {
        world.ask(&session, text).await;
    }

    let page = world.get(&format!("/session/{session}/message?auth_token=hush&limit=2&directory=x")).await;

    let link = page.header("link").unwrap();
    assert!(link.contains("limit=2&directory=x&before=") && !link.contains("hush"), "{link}");
}

#[tokio::test]
async fn titles_and_errors_have_nothing_a_terminal_would_obey() {
    let world = World::new().await;
    let wild = "red\u{1b}[31m\u{0}\u{7f}\u{9b}\nalert\u{7}";

    let session = world.session_with(&json!({ "title": wild })).await;
    let path = format!("/session/{}", session["id"].as_str().unwrap());
    let renamed = world.send("PATCH", &path, &json!({ "title": format!("{wild}!") })).await;
    let error = world.send("POST", &path.replace("ses_", "ses\u{1b}"), &json!({})).await;
    let refused = world.send("POST", "/log", &json!({ "service": "x", "level": wild, "message": "" })).await;

    assert_eq!(session["title"], "red[31m alert");
    assert_eq!(renamed.json()["title"], "red[31m alert!");
    assert!(error.status == 404 && refused.status == 400);
    for text in [error.text, refused.json()["data"]["message"].as_str().unwrap().to_owned()] {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
    }
}

#[tokio::test]
async fn a_title_has_at_most_a_kilobyte() {
    let world = World::new().await;
    let fits = "x".repeat(1024);
    let long = format!("{fits}x");
    let refused = (
        400,
        json!({ "name": "BadRequest", "data": {
        "message": "A title has at most 1024 bytes, and this one has 1025", "kind": "Payload" } }),
    );

    let session = world.session_with(&json!({ "title": fits })).await;
    let path = format!("/session/{}", session["id"].as_str().unwrap());

    assert_eq!(world.send("POST", "/session", &json!({ "title": long })).await.both(), refused);
    assert_eq!(world.send("PATCH", &path, &json!({ "title": long })).await.both(), refused);
    assert_eq!(world.get(&path).await.json()["title"], fits);
}
