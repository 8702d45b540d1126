//! Providers that misbehave: too much, twice the same, half a word, no reason, no end. Nothing is lost, nothing
//! is stuck.

use crate::turns::{assistant, texts};
use serde_json::{Value, json};
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::oracle;
use sturdy_session::types::failure::Failure;
use sturdy_session::types::part::{PartBody, ToolPart};
use sturdy_session::types::tool::ToolState;
use sturdy_testkit::seen::Record;
use sturdy_testkit::{Seen, World, answer};

async fn check(world: &World, session: &SessionId) {
    let summary = oracle::check(&world.log(session).await).unwrap();
    assert!(!summary.is_busy && summary.waiting.is_empty());
}

async fn calls(world: &World, session: &SessionId) -> Vec<ToolPart> {
    let parts = world.messages(session).await.into_iter().flat_map(|message| message.parts);
    let tool = |body| match body {
        PartBody::Tool(tool) => Some(tool),
        _ => None,
    };
    parts.filter_map(|part| tool(part.body)).collect()
}

/// The results that a request carries.
fn results(request: &Value) -> Vec<&Value> {
    request["messages"].as_array().unwrap().iter().filter(|turn| turn["role"] == "tool").collect()
}

#[tokio::test]
async fn a_delta_of_three_megabytes_is_stored_whole() {
    let world = World::new().await;
    let session = world.session().await;
    let long = "0123456789abcde\n".repeat(3 * 1024 * 1024 / 16);
    world.provider.will(answer().text("before ").text(&long).text(" after").finish("stop"));

    let reply = world.ask(&session.id, "all of it").await.unwrap();

    let text = texts(&reply).concat();
    assert_eq!(text.len(), long.len() + "before  after".len());
    assert!(text.starts_with("before 0123") && text.ends_with("abcde\n after"));
    check(&world, &session.id).await;
}

#[tokio::test]
async fn of_a_thousand_calls_at_once_some_run_and_each_is_answered() {
    let world = World::new().await;
    let session = world.session().await;
    let thousand = (0..1000).fold(answer(), |said, number| {
        // Each another: the same three times in a row is asked about.
        let arguments = json!({ "pattern": format!("*.{number}") }).to_string();
        said.call(number, &format!("c{number}"), "glob", &arguments)
    });
    world.provider.will(thousand.finish("tool_calls"));
    world.provider.will(answer().text("That was much.").finish("stop"));

    let reply = world.ask(&session.id, "go").await.unwrap();

    assert_eq!(texts(&reply), ["That was much."]);
    let requests = world.provider.requests();
    let told = results(&requests[1]);
    assert_eq!(told.len(), 1000);
    let refused = told.iter().filter(|result| result["content"].to_string().contains("more than 128 calls"));
    assert_eq!(refused.count(), 1000 - 128);
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_provider_that_uses_its_ids_again_is_understood() {
    let world = World::new().await;
    let session = world.session().await;
    let list = |path: &str| json!({ "command": format!("echo {path}") }).to_string();
    // Twice in one answer, under another number; and again in the next.
    world.provider.will(
        answer().call(0, "c1", "bash", &list("one")).call(1, "c1", "bash", &list("two")).finish("tool_calls"),
    );
    world.provider.will(answer().call(0, "c1", "bash", &list("three")).finish("tool_calls"));
    world.provider.will(answer().text("Done.").finish("stop"));

    let reply = world.ask(&session.id, "go").await.unwrap();

    assert_eq!(texts(&reply), ["Done."]);
    let calls = calls(&world, &session.id).await;
    assert!(calls.iter().all(|call| matches!(call.state, ToolState::Completed { .. })), "{calls:?}");
    assert!(calls.len() >= 2);
    let requests = world.provider.requests();
    for request in &requests[1..] {
        let asked = request["messages"].as_array().unwrap().iter();
        let asked = asked.filter_map(|turn| turn["tool_calls"].as_array()).map(Vec::len).sum::<usize>();
        assert_eq!(asked, results(request).len(), "a call without an answer, or an answer without a call");
    }
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_provider_that_never_says_why_it_stops_is_given_up() {
    let world = World::new().await;
    let session = world.session().await;
    for _ in 0..4 {
        world.provider.will(answer().text("Hm.").raw("data: [DONE]\n\n"));
    }

    let reply = world.ask(&session.id, "go").await.unwrap();

    let error = assistant(&reply).error.as_ref().unwrap();
    assert!(matches!(error, Failure::Unknown { message, .. } if message.contains("in a row")), "{error:?}");
    assert_eq!(world.provider.requests().len(), 3);
    check(&world, &session.id).await;
}

#[tokio::test]
async fn half_a_word_of_json_is_tried_again_and_what_was_said_before_is_kept() {
    let world = World::new().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(answer().text("Good so far.").raw("data: {\"choices\":[{\"del\n\n"));

    world.prompt(&session.id, "go").await.unwrap();
    let is_retry = |fact: &Fact| matches!(fact, Fact::StepDelayed { note: Some(_), .. });
    seen.until(|record| record.facts.iter().any(is_retry)).await;
    world.engine.abort(&session.id).await.unwrap();

    seen.until(Record::is_idle).await;
    let messages = world.messages(&session.id).await;
    assert_eq!(texts(&messages[1]), ["Good so far."]);
    assert!(matches!(assistant(&messages[1]).error, Some(Failure::Aborted { .. })));
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_provider_that_hangs_can_be_aborted_before_and_after_its_first_word() {
    for said in [answer().hang(), answer().text("Well").hang()] {
        let world = World::new().await;
        let session = world.session().await;
        let mut seen = Seen::from_now(world.engine.feed());
        world.provider.will(said);

        world.prompt(&session.id, "go").await.unwrap();
        world.provider.wait_for_requests(1).await;
        world.engine.abort(&session.id).await.unwrap();

        seen.until(Record::is_idle).await;
        check(&world, &session.id).await;
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_the_tool_are_told_to_the_model_and_the_turn_goes_on() {
    let world = World::new().await;
    let session = world.session().await;
    let wrong = answer()
        .call(0, "c1", "bash", r#"{"command":7}"#)
        .call(1, "c2", "bash", r#"["ls"]"#)
        .call(2, "c3", "bash", "{\"command\":\"ls")
        .finish("tool_calls");
    world.provider.will(wrong);
    world.provider.will(answer().text("I see.").finish("stop"));

    let reply = world.ask(&session.id, "go").await.unwrap();

    assert_eq!(texts(&reply), ["I see."]);
    let requests = world.provider.requests();
    let told = results(&requests[1]);
    assert_eq!(told.len(), 3);
    assert!(told.iter().all(|result| !result["content"].as_str().unwrap().is_empty()), "{told:?}");
    check(&world, &session.id).await;
}
