//! Calls that a person refuses after a restart.

use crate::tools::{asked, call_of, check, permission, runs, world_with};
use serde_json::{Value, json};
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::turn::Answer;
use sturdy_session::types::ask::{PermissionReply, PermissionRequest};
use sturdy_session::types::tool::ToolState;
use sturdy_store::AskQuery;
use sturdy_testkit::world::scripted;
use sturdy_testkit::{Seen, World, answer};

/// Asks, restarts with rules that would allow the call by now, and gives the world that came back.
async fn restarted_while_asking(
    command: &str,
    asks: Value,
    calls: usize,
) -> (World, SessionId, PermissionRequest) {
    let world = world_with(asks).await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    for _ in 0..calls {
        world.provider.will(runs(command));
    }
    world.prompt(&session.id, "go").await.unwrap();
    let request = asked(&mut seen).await;
    let finished = |fact: &&Fact| matches!(fact, Fact::ModelFinished { .. });
    seen.until(|record| record.facts.iter().filter(finished).count() == calls).await;

    let world = world.reopen().await;
    let mut config = scripted(&world.provider.url());
    config["permission"] = json!("allow");
    world.disk.configure(&config);
    world.engine.dispose_all();
    (world, session.id, request)
}

// Was: the call was run again from its beginning, and the rules of that moment allowed it.
#[tokio::test]
async fn a_rejected_call_does_not_run_after_a_restart() {
    let (world, session, request) =
        restarted_while_asking("echo x >> marker", json!({ "bash": "ask" }), 1).await;
    let mut seen = Seen::from_now(world.engine.feed());

    world.engine.answer_ask(request.id.as_str(), permission(PermissionReply::Reject, None)).await.unwrap();
    seen.until(sturdy_testkit::seen::Record::is_idle).await;

    assert!(!world.disk.project().join("marker").exists());
    let messages = world.messages(&session).await;
    let ToolState::Error { error, .. } = &call_of(&messages).state else { panic!("{messages:?}") };
    assert!(error.contains("rejected permission"), "{error}");
    check(&world, &session).await;
}

#[tokio::test]
async fn a_repeated_call_that_is_rejected_does_not_run_after_a_restart() {
    let asks = json!({ "bash": "allow", "doom_loop": "ask" });
    let (world, session, request) = restarted_while_asking("echo x >> marker", asks, 3).await;
    assert_eq!(request.permission, "doom_loop");
    let mut seen = Seen::from_now(world.engine.feed());

    world.engine.answer_ask(request.id.as_str(), permission(PermissionReply::Reject, None)).await.unwrap();
    seen.until(sturdy_testkit::seen::Record::is_idle).await;

    let marker = std::fs::read_to_string(world.disk.project().join("marker")).unwrap();
    assert_eq!(marker, "x\nx\n", "the third call was rejected");
    check(&world, &session).await;
}

#[tokio::test]
async fn a_question_that_is_dismissed_after_a_restart_ends_its_call() {
    let world = world_with(json!("allow")).await;
    let session = world.session().await.id;
    let mut seen = Seen::from_now(world.engine.feed());
    let option = json!({ "label": "Blue", "description": "As the sky" });
    let question =
        json!({ "questions": [{ "question": "Which?", "header": "Colour", "options": [option] }] });
    world.provider.will(answer().call(0, "c1", "question", &question.to_string()).finish("tool_calls"));
    world.prompt(&session, "go").await.unwrap();
    let is_asked = |fact: &Fact| matches!(fact, Fact::QuestionAsked { .. });
    let is_said = |fact: &Fact| matches!(fact, Fact::ModelFinished { .. });
    seen.until(|record| record.facts.iter().any(is_asked) && record.facts.iter().any(is_said)).await;
    let world = world.reopen().await;
    let mut seen = Seen::from_now(world.engine.feed());
    let asks = world.engine.store().asks(AskQuery::default()).await.unwrap();

    world.engine.answer_ask(&asks[0].id, Answer::Dismissed).await.unwrap();
    seen.until(sturdy_testkit::seen::Record::is_idle).await;

    let messages = world.messages(&session).await;
    let ToolState::Error { error, .. } = &call_of(&messages).state else { panic!("{messages:?}") };
    assert!(error.contains("user dismissed"), "{error}");
    assert_eq!(world.provider.requests().len(), 1, "nothing is started for it");
    check(&world, &session).await;
}
