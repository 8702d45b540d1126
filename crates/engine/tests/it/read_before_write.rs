//! A file is changed after it was read: also when the reading was before a restart, or in another session of which
//! this one is a copy.

use crate::tools::check;
use serde_json::{Value, json};
use std::fs;
use sturdy_engine::PromptRequest;
use sturdy_session::id::SessionId;
use sturdy_session::types::part::{FilePart, PartBody};
use sturdy_session::types::tool::ToolState;
use sturdy_testkit::world::scripted;
use sturdy_testkit::{Answer, World, answer};

fn calls(tool: &str, input: &Value) -> Answer {
    answer().call(0, "call_1", tool, &input.to_string()).finish("tool_calls")
}

fn reads(path: &str) -> Answer {
    calls("read", &json!({ "filePath": path }))
}

fn writes(path: &str, text: &str) -> Answer {
    calls("write", &json!({ "filePath": path, "content": text }))
}

/// Plays a turn of one call, and gives what came of it.
async fn outcome_of(world: &World, session: &SessionId, call: Answer) -> Result<String, String> {
    world.provider.will(call);
    world.provider.will(answer().text("Done.").finish("stop"));
    world.ask(session, "go").await.unwrap();
    let messages = world.messages(session).await;
    let mut calls = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match &part.body {
        PartBody::Tool(tool) => Some(&tool.state),
        _ => None,
    });
    match calls.next_back().unwrap() {
        ToolState::Completed { output, .. } => Ok(output.clone()),
        ToolState::Error { error, .. } => Err(error.clone()),
        ToolState::Pending { .. } | ToolState::Running { .. } => panic!("the call is open"),
    }
}

async fn world_with_a_file() -> World {
    let world = World::new().await;
    fs::write(world.disk.project().join("a.txt"), "first\n").unwrap();
    world
}

fn text_of(world: &World) -> String {
    fs::read_to_string(world.disk.project().join("a.txt")).unwrap()
}

#[tokio::test]
async fn a_file_that_was_read_before_a_kill_is_changed_after_it() {
    // Was: what a session had read was forgotten with its process, and every file had to be read again.
    let world = world_with_a_file().await;
    let session = world.session().await.id;
    outcome_of(&world, &session, reads("a.txt")).await.unwrap();
    let world = world.reopen().await;

    let written = outcome_of(&world, &session, writes("a.txt", "second\n")).await;

    assert!(written.is_ok(), "{written:?}");
    // And what it wrote itself counts as seen behind the next kill.
    let world = world.reopen().await;
    outcome_of(&world, &session, writes("a.txt", "third\n")).await.unwrap();
    assert_eq!(text_of(&world), "third\n");
    check(&world, &session).await;
}

#[tokio::test]
async fn a_file_that_changed_while_the_server_was_down_is_not_overwritten() {
    let world = world_with_a_file().await;
    let session = world.session().await.id;
    outcome_of(&world, &session, reads("a.txt")).await.unwrap();
    let world = world.reopen().await;
    fs::write(world.disk.project().join("a.txt"), "by a person\n").unwrap();

    let written = outcome_of(&world, &session, writes("a.txt", "second\n")).await;

    assert!(written.unwrap_err().contains("has changed since you read it"));
    assert_eq!(text_of(&world), "by a person\n");
}

#[tokio::test]
async fn a_copy_of_a_session_may_change_what_the_session_has_read() {
    let world = world_with_a_file().await;
    let session = world.session().await.id;
    let before = outcome_of(&world, &session, writes("a.txt", "blind\n")).await;
    assert!(before.unwrap_err().contains("has to be read in this session"));
    outcome_of(&world, &session, reads("a.txt")).await.unwrap();

    let copy = world.engine.fork(&session, None).await.unwrap().id;

    outcome_of(&world, &copy, writes("a.txt", "second\n")).await.unwrap();
    assert_eq!(text_of(&world), "second\n");
    // The origin has not seen that.
    let stale = outcome_of(&world, &session, writes("a.txt", "third\n")).await;
    assert!(stale.unwrap_err().contains("has changed since you read it"));
}

#[tokio::test]
async fn a_file_that_came_with_a_prompt_counts_as_read_also_after_a_kill() {
    let world = world_with_a_file().await;
    let session = world.session().await.id;
    let url = format!("file://{}/a.txt", world.directory());
    let file = FilePart { mime: "text/plain".to_owned(), filename: None, url, source: None };
    let parts = vec![(None, PartBody::File(file))];
    world.provider.will(answer().text("I see.").finish("stop"));
    let prompt = PromptRequest { parts, ..PromptRequest::default() };
    let prompted = world.engine.prompt(&session, prompt).await.unwrap();
    world.engine.answer(&session, &prompted).await.unwrap();
    let world = world.reopen().await;

    let written = outcome_of(&world, &session, writes("a.txt", "second\n")).await;

    assert!(written.is_ok(), "{written:?}");
    assert_eq!(text_of(&world), "second\n");
}

#[tokio::test]
async fn a_setting_lets_files_be_changed_unread() {
    let world = world_with_a_file().await;
    let mut config = scripted(&world.provider.url());
    config["experimental"] = json!({ "read_before_write": false });
    world.disk.configure(&config);
    world.engine.dispose_all();
    let session = world.session().await.id;

    let written = outcome_of(&world, &session, writes("a.txt", "second\n")).await;

    assert!(written.is_ok(), "{written:?}");
    assert_eq!(text_of(&world), "second\n");
}
