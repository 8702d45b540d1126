//! Answers that must fit a schema.

use crate::turns::assistant;
use serde_json::{Value, json};
use sturdy_engine::PromptRequest;
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::oracle;
use sturdy_session::talk::FinishReason;
use sturdy_session::types::failure::Failure;
use sturdy_session::types::format::OutputFormat;
use sturdy_session::types::message::{Message, MessageWithParts};
use sturdy_session::types::part::PartBody;
use sturdy_session::types::tool::ToolState;
use sturdy_testkit::world::prompt;
use sturdy_testkit::{Answer, World, answer};

fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": { "answer": { "type": "number" } },
        "required": ["answer"],
    })
}

fn gives(arguments: Value) -> Answer {
    answer().call(0, "call_1", "StructuredOutput", &arguments.to_string()).finish("tool_calls")
}

async fn ask(world: &World, session: &SessionId, schema: Value, retry_count: u32) -> MessageWithParts {
    let Value::Object(schema) = schema else { panic!("a schema is an object") };
    let format = Some(OutputFormat::JsonSchema { schema, retry_count });
    let message =
        world.engine.prompt(session, PromptRequest { format, ..prompt("how many?") }).await.unwrap();
    world.engine.answer(session, &message).await.unwrap();
    world.messages(session).await.pop().unwrap()
}

async fn check(world: &World, session: &SessionId) {
    let log = world.log(session).await;
    let summary = oracle::check(&log).unwrap();
    assert!(!summary.is_busy && summary.waiting.is_empty());
}

fn given_up(message: &MessageWithParts) -> Option<u32> {
    match &assistant(message).error {
        Some(Failure::StructuredOutput { retries, .. }) => Some(*retries),
        _ => None,
    }
}

fn call_of(message: &MessageWithParts) -> &ToolState {
    let state = message.parts.iter().find_map(|part| match &part.body {
        PartBody::Tool(tool) => Some(&tool.state),
        _ => None,
    });
    state.expect("no call")
}

#[tokio::test]
async fn an_object_that_fits_is_on_the_message_and_can_be_listed() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(gives(json!({ "answer": 42 })));

    let reply = ask(&world, &session.id, schema(), 2).await;

    let info = assistant(&reply);
    assert_eq!(info.structured, Some(json!({ "answer": 42 })));
    assert_eq!((info.finish.map(FinishReason::as_str), &info.error), (Some("tool-calls"), &None));
    let ToolState::Completed { output, title, metadata, .. } = call_of(&reply) else {
        panic!("not completed")
    };
    assert_eq!(
        (output.as_str(), title.as_str()),
        ("Structured output captured successfully.", "Structured Output")
    );
    assert_eq!(metadata.get("valid"), Some(&json!(true)));
    let messages = world.messages(&session.id).await;
    let Message::User(user) = &messages[0].info else { panic!("not a prompt") };
    assert!(matches!(user.format, Some(OutputFormat::JsonSchema { retry_count: 2, .. })));
    check(&world, &session.id).await;
}

#[tokio::test]
async fn the_model_is_offered_the_tool_and_must_call_one() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(gives(json!({ "answer": 42 })));

    ask(&world, &session.id, schema(), 2).await;

    let request = &world.provider.requests()[0];
    assert_eq!(request["tool_choice"], "required");
    let tools = request["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    let tool = &tools[names.iter().position(|name| *name == "StructuredOutput").unwrap()];
    assert!(tool["function"]["parameters"].get("$schema").is_none());
    assert!(names.contains(&"bash"), "{names:?}");
    assert!(request["messages"][0]["content"].as_str().unwrap().contains("StructuredOutput"));
}

#[tokio::test]
async fn an_object_that_does_not_fit_is_handed_back_with_the_reason() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(gives(json!({ "answer": "many" })));
    world.provider.will(gives(json!({ "answer": 3 })));

    let reply = ask(&world, &session.id, schema(), 2).await;

    assert_eq!(assistant(&reply).structured, Some(json!({ "answer": 3 })));
    let messages = world.messages(&session.id).await;
    let ToolState::Error { error, .. } = call_of(&messages[1]) else { panic!("not failed") };
    assert!(error.contains("/answer") && error.contains("number"), "{error}");
    assert!(world.provider.requests()[1]["messages"].to_string().contains("does not fit"));
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_model_that_never_fits_is_given_up_after_its_retries() {
    for retries in [0, 2] {
        let world = World::new().await;
        let session = world.session().await;
        for _ in 0..=retries {
            world.provider.will(gives(json!({})));
        }

        let reply = ask(&world, &session.id, schema(), retries).await;

        assert_eq!(given_up(&reply), Some(retries));
        assert_eq!(world.provider.requests().len() as u32, retries + 1);
        let log = world.log(&session.id).await;
        assert!(!log.iter().any(|fact| matches!(fact, Fact::SessionFailed { .. })));
        check(&world, &session.id).await;
    }
}

#[tokio::test]
async fn words_in_place_of_the_object_are_a_failed_try() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().text("Three, I think.").finish("stop"));
    world.provider.will(gives(json!({ "answer": 3 })));

    let reply = ask(&world, &session.id, schema(), 1).await;

    assert_eq!(assistant(&reply).structured, Some(json!({ "answer": 3 })));
    let requests = world.provider.requests();
    assert_eq!(requests[1]["messages"].as_array().unwrap().last().unwrap()["role"], "user");
}

#[tokio::test]
async fn a_schema_that_is_none_fails_the_prompt_before_anybody_is_asked() {
    let world = World::new().await;
    let session = world.session().await;

    ask(&world, &session.id, json!({ "type": "no such type" }), 2).await;

    assert!(world.provider.requests().is_empty());
    let log = world.log(&session.id).await;
    assert!(log.iter().any(|fact| matches!(fact, Fact::SessionFailed { .. })));
    check(&world, &session.id).await;
}
