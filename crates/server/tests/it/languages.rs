//! Language servers, from the configuration to the answer of a tool.

use crate::stream::Stream;
use crate::world::{World, prompt};
use serde_json::{Value, json};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../worktree/tests/it/lsp.sh");

fn configure(world: &World, lsp: &Value) {
    let config = json!({ "lsp": lsp }).to_string();
    std::fs::write(world.project().join("opencode.json"), config).unwrap();
}

fn script() -> Value {
    json!({ "script": { "command": ["/bin/sh", SCRIPT], "extensions": [".lang"] } })
}

const BAD: &str = r#"/demo tool write {"filePath":"x.lang","content":"one\n  BAD\n"}"#;

async fn tool_state(world: &World, session: &str) -> Value {
    let list = world.get(&format!("/session/{session}/message")).await.json();
    let messages = list.as_array().unwrap().clone();
    let mut parts = messages.iter().flat_map(|message| message["parts"].as_array().unwrap());
    parts.find(|part| part["type"] == "tool").unwrap()["state"].clone()
}

#[tokio::test]
async fn without_a_setting_no_server_is_started() {
    for setting in [json!(false), json!({ "script": { "disabled": true } })] {
        let world = World::new().await;
        configure(&world, &setting);
        let session = world.session().await;

        world.ask(&session, BAD).await;

        assert_eq!(tool_state(&world, &session).await["metadata"]["diagnostics"], json!({}));
        assert_eq!(world.get("/lsp").await.both(), (200, json!([])));
        assert!(!world.project().join("starts").exists());
    }
}

#[tokio::test]
async fn a_servers_words_stand_in_the_answer_of_the_tool() {
    let world = World::new().await;
    configure(&world, &script());
    let session = world.session().await;
    let mut stream = Stream::open(&world, "/event").await;

    world.send("POST", &format!("/session/{session}/prompt_async"), &prompt(BAD)).await;
    let frames = stream.until(crate::stream::Frame::is_idle).await;

    assert!(frames.iter().any(|frame| frame.kind() == "lsp.updated"));
    let state = tool_state(&world, &session).await;
    assert!(state["output"].as_str().unwrap().contains("ERROR [2:3] this is bad"), "{state}");
    let file = world.project().canonicalize().unwrap().join("x.lang");
    assert_eq!(state["metadata"]["diagnostics"][file.to_str().unwrap()][0]["severity"], 1);
    let connected = json!([{ "id": "script", "name": "script", "root": "", "status": "connected" }]);
    assert_eq!(world.get("/lsp").await.both(), (200, connected));
    let found = world.get("/find/symbol?query=thing").await.json();
    assert_eq!((found.as_array().unwrap().len(), &found[0]["name"]), (1, &json!("thing")));
}

#[tokio::test]
async fn a_broken_server_is_shown_and_the_edit_stands() {
    let world = World::new().await;
    configure(&world, &json!({ "gone": { "command": ["no-such-program"], "extensions": [".lang"] } }));
    let session = world.session().await;

    world.ask(&session, BAD).await;

    assert_eq!(tool_state(&world, &session).await["status"], "completed");
    let broken = json!([{ "id": "gone", "name": "gone", "root": "", "status": "error" }]);
    assert_eq!(world.get("/lsp").await.both(), (200, broken));
    world.call("POST", "/instance/dispose").await;
    assert_eq!(world.get("/lsp").await.both(), (200, json!([])));
}

#[tokio::test]
async fn a_server_that_announces_a_huge_message_is_shown_as_broken_and_the_edit_stands() {
    let world = World::new().await;
    configure(&world, &script());
    std::fs::write(
        world.project().join("first"),
        r"printf 'Content-Length: 900000000000\r\n\r\n'; sleep 600",
    )
    .unwrap();
    let session = world.session().await;

    world.ask(&session, BAD).await;

    // Was: room was made for as much as was announced, and the program ended.
    assert_eq!(tool_state(&world, &session).await["status"], "completed");
    let broken = json!([{ "id": "script", "name": "script", "root": "", "status": "error" }]);
    assert_eq!(world.get("/lsp").await.both(), (200, broken));
}
