//! MCP servers over HTTP: their status, adding and connecting, their prompts and resources.

use crate::world::World;
use serde_json::{Value, json};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/mcp/server.sh");

fn local(mode: &str) -> Value {
    json!({ "type": "local", "command": ["bash", SCRIPT, mode] })
}

async fn world(servers: Value) -> World {
    let world = World::new().await;
    std::fs::write(world.project().join("opencode.json"), json!({ "mcp": servers }).to_string()).unwrap();
    world
}

#[tokio::test]
async fn servers_stand_as_they_stand() {
    let world = world(json!({
        "good": local("well"), "off": { "type": "remote", "url": "http://127.0.0.1:9/mcp", "enabled": false },
        "ends": local("ends"), "switch": { "enabled": false },
    }))
    .await;

    let before = world.get("/mcp").await.json();
    world.session().await;
    let status = world.get("/mcp").await;

    assert_eq!(before["good"], json!({ "status": "disabled" }), "whoever looks connects nothing");
    assert_eq!(
        status.both(),
        (
            200,
            json!({
                "good": { "status": "connected" }, "off": { "status": "disabled" },
                "ends": { "status": "failed", "error": "The program ended with code 3: the database is locked" },
            })
        )
    );
    world.close().await;
}

#[tokio::test]
async fn a_server_is_added_disconnected_and_connected() {
    let world = World::new().await;

    let added = world.send("POST", "/mcp", &json!({ "name": "late", "config": local("well") })).await;
    let off = world.call("POST", "/mcp/late/disconnect").await;
    let after = world.get("/mcp").await;
    let on = world.call("POST", "/mcp/late/connect").await;
    let broken = world.send("POST", "/mcp", &json!({ "name": "broken", "config": local("ends") })).await;

    assert_eq!(added.both(), (200, json!({ "late": { "status": "connected" } })));
    assert_eq!(off.both(), (200, json!(true)));
    assert_eq!(after.json(), json!({ "late": { "status": "disabled" } }));
    assert_eq!(on.both(), (200, json!(true)));
    assert_eq!((broken.status, &broken.json()["broken"]["status"]), (200, &json!("failed")));
    assert_eq!(broken.json()["late"], json!({ "status": "connected" }));
    world.close().await;
}

#[tokio::test]
async fn a_server_nobody_knows_is_not_found() {
    let world = World::new().await;
    let body = json!({ "_tag": "McpServerNotFoundError", "name": "x", "message": "MCP server not found: x" });
    for (method, path) in [
        ("POST", "/mcp/x/connect"),
        ("POST", "/mcp/x/disconnect"),
        ("POST", "/mcp/x/auth"),
        ("POST", "/mcp/x/auth/authenticate"),
        ("DELETE", "/mcp/x/auth"),
    ] {
        assert_eq!(world.call(method, path).await.both(), (404, body.clone()), "{method} {path}");
    }
    let callback = world.send("POST", "/mcp/x/auth/callback", &json!({ "code": "c" })).await;
    assert_eq!(callback.both(), (404, body));
}

#[tokio::test]
async fn an_invalid_mcp_server_configuration_is_refused_with_the_reason() {
    let world = World::new().await;
    for (body, wanted) in [
        (json!({ "name": "a" }), "config"),
        (json!({ "name": "a", "config": {} }), "\"a\" cannot be used: its type"),
        (
            json!({ "name": "a", "config": { "type": "local", "command": "ls" } }),
            "its \"command\" is not a list",
        ),
        (json!({ "name": "a", "config": { "type": "remote" } }), "its \"url\" is missing"),
        (json!({ "name": "a", "config": { "type": "remote", "url": "x", "timeout": 0 } }), "its \"timeout\""),
        (json!({ "name": "a", "config": { "type": "remote", "url": "x", "oauth": true } }), "its \"oauth\""),
    ] {
        let answer = world.send("POST", "/mcp", &body).await;
        assert_eq!((answer.status, &answer.json()["name"]), (400, &json!("BadRequest")), "{body}");
        assert!(answer.text.contains(&wanted.replace('"', "\\\"")), "{wanted} in {}", answer.text);
    }
    assert_eq!(world.get("/mcp").await.json(), json!({}));
}

#[tokio::test]
async fn a_program_has_no_login() {
    let world = world(json!({ "here": local("well"), "open": { "type": "remote", "url": "http://127.0.0.1:9/", "oauth": false, "enabled": false } })).await;
    for name in ["here", "open"] {
        for path in ["auth", "auth/authenticate"] {
            let answer = world.call("POST", &format!("/mcp/{name}/{path}")).await;
            let error = format!("MCP server {name} does not support OAuth");
            assert_eq!(answer.both(), (400, json!({ "error": error })));
        }
        assert_eq!(
            world.call("DELETE", &format!("/mcp/{name}/auth")).await.both(),
            (200, json!({ "success": true }))
        );
    }
    world.close().await;
}

#[tokio::test]
async fn prompts_resources_and_tools_of_servers_are_listed() {
    let world = world(json!({ "a:b": local("well") })).await;

    world.session().await;
    let commands = world.get("/command").await.json();
    let resources = world.get("/experimental/resource").await.json();
    let ids = world.get("/experimental/tool/ids").await.json();

    let greet = commands.as_array().unwrap().iter().find(|command| command["source"] == "mcp").unwrap();
    assert_eq!((&greet["name"], &greet["hints"]), (&json!("a_b:greet"), &json!(["$1", "$2"])));
    assert_eq!(
        resources,
        json!({
            "a%3Ab:mem://note": { "name": "note", "uri": "mem://note", "description": "A note", "mimeType": "text/plain", "client": "a:b" },
            "a%3Ab:mem://dot": { "name": "dot", "uri": "mem://dot", "mimeType": "image/png", "client": "a:b" },
        })
    );
    assert!(ids.as_array().unwrap().contains(&json!("a_b_echo")), "{ids}");
    world.close().await;
}

#[tokio::test]
async fn a_wrong_entry_of_the_configuration_says_where_it_stands() {
    let world = world(json!({ "bad": { "type": "local", "command": "not a list" } })).await;
    let (status, body) = world.get("/mcp").await.both();
    assert_eq!((status, &body["name"]), (400, &json!("ConfigInvalidError")));
    assert_eq!(body["data"]["issues"][0]["path"], json!(["mcp", "bad", "command"]), "{body}");
}
