//! Long conversations: summarised on request, when the window is full, when the provider says so; what
//! stays, what is said again, what is no longer sent.

use crate::turns::{assistant, texts};
use crate::verify::findings;
use serde_json::{Value, json};
use sturdy_engine::EngineError;
use sturdy_session::fact::Fact;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::oracle;
use sturdy_session::rows::fold;
use sturdy_session::talk::FinishReason;
use sturdy_session::turn::State;
use sturdy_session::types::failure::Failure;
use sturdy_session::types::message::{Message, MessageWithParts};
use sturdy_session::types::part::{CompactionPart, PartBody};
use sturdy_session::types::tool::ToolState;
use sturdy_store::CrashPlan;
use sturdy_testkit::script::Gate;
use sturdy_testkit::world::{Disk, scripted};
use sturdy_testkit::{Answer, Provider, Seen, World, answer};

/// A world whose `compaction` settings are these.
async fn world_with(compaction: Value) -> World {
    let disk = Disk::new();
    let provider = Provider::start().await;
    let world = World::open(disk, provider, CrashPlan::Never).await;
    let mut config = scripted(&world.provider.url());
    config["compaction"] = compaction;
    world.disk.configure(&config);
    world.engine.dispose_all();
    world
}

/// An answer after which nothing more fits.
fn full(text: &str) -> Answer {
    let usage = json!({ "prompt_tokens": 199_000, "completion_tokens": 7, "total_tokens": 199_007 });
    answer().text(text).finish_with("stop", usage)
}

fn too_long() -> Answer {
    Answer::error(400, "This model's maximum context length is 200000 tokens, however you requested more")
}

fn summary() -> Answer {
    answer().text("## Objective\nThe story so far.").finish("stop")
}

fn compaction_of(message: &MessageWithParts) -> Option<&CompactionPart> {
    message.parts.iter().find_map(|part| match &part.body {
        PartBody::Compaction(part) => Some(part),
        _ => None,
    })
}

fn text_of_request(request: &Value) -> String {
    request["messages"].to_string()
}

/// Role and beginning of each message of a request, without the system text.
fn told(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap().iter();
    let line = |message: &Value| {
        let content =
            message["content"].as_str().map_or_else(|| message["content"].to_string(), str::to_owned);
        format!("{}: {}", message["role"].as_str().unwrap(), content.chars().take(24).collect::<String>())
    };
    messages.filter(|message| message["role"] != "system").map(line).collect()
}

async fn check(world: &World, session: &SessionId) {
    let (log, rows) = world.log_and_rows(session).await;
    let summary = oracle::check(&log).unwrap();
    assert!(!summary.is_busy && summary.waiting.is_empty());
    assert_eq!(findings(world).await, [""; 0]);
    // Invariant I10: the rows are what the log says.
    let folded = fold(&mut State::default(), log, 0, 0);
    for write in folded.rows {
        if let sturdy_session::row::RowChange::Part(row) = write.change {
            let stored = rows.parts.iter().find(|part| part.id == row.id);
            assert_eq!(stored.map(|part| part.data.as_str()), Some(row.data.as_str()));
        }
    }
}

#[tokio::test]
async fn a_person_asks_for_a_summary_and_the_model_goes_on_from_it() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().text("One.").finish("stop"));
    world.provider.will(summary());
    world.provider.will(answer().text("Two.").finish("stop"));
    world.ask(&session.id, "first").await.unwrap();

    world.engine.summarize(&session.id, "acme", "main").await.unwrap();
    world.ask(&session.id, "second").await.unwrap();

    let messages = world.messages(&session.id).await;
    assert_eq!(compaction_of(&messages[2]).map(|part| (part.auto, part.overflow)), Some((false, None)));
    let info = assistant(&messages[3]);
    assert_eq!(
        (info.summary, info.agent.as_str(), info.mode.as_str()),
        (Some(true), "compaction", "compaction")
    );
    assert_eq!(
        (info.parent_id.as_str(), info.finish.map(FinishReason::as_str)),
        (messages[2].info.id().as_str(), Some("stop"))
    );
    let requests = world.provider.requests();
    assert!(requests[1].get("tools").is_none() && text_of_request(&requests[1]).contains("[User]: first"));
    let told = told(&requests[2]);
    assert_eq!(told[1..], ["assistant: ## Objective\nThe story s", "user: second"], "{told:?}");
    check(&world, &session.id).await;
}

#[tokio::test]
async fn an_unknown_model_or_session_is_refused_and_nothing_is_written() {
    let world = World::new().await;
    let session = world.session().await;

    let refused = world.engine.summarize(&session.id, "acme", "mian").await;

    assert!(matches!(refused, Err(EngineError::Unknown(_))), "{refused:?}");
    assert!(world.messages(&session.id).await.is_empty());
    let nobody = SessionId::parse("ses_nobody").unwrap();
    let refused = world.engine.summarize(&nobody, "acme", "main").await;
    assert!(matches!(refused, Err(EngineError::NoSession(_))), "{refused:?}");
}

#[tokio::test]
async fn an_empty_conversation_is_not_summarised() {
    let world = World::new().await;
    let session = world.session().await;

    world.engine.summarize(&session.id, "acme", "main").await.unwrap();

    assert!(world.provider.requests().is_empty());
    let told = world.log(&session.id).await.into_iter().find_map(|fact| match fact {
        Fact::SessionFailed { error: Failure::Unknown { message, .. } } => Some(message),
        _ => None,
    });
    assert!(told.unwrap().contains("nothing to summarise"));
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_full_window_is_summarised_and_the_model_told_to_go_on() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(full("A long answer."));
    world.provider.will(summary());
    world.provider.will(answer().text("Nothing more to do.").finish("stop"));

    let reply = world.ask(&session.id, "work").await.unwrap();

    assert_eq!(texts(&reply), ["Nothing more to do."]);
    let messages = world.messages(&session.id).await;
    let part = compaction_of(&messages[2]).unwrap();
    assert_eq!((part.auto, part.overflow), (true, Some(false)));
    let go_on = serde_json::to_value(&messages[4].parts[0]).unwrap();
    assert_eq!(
        (&go_on["synthetic"], &go_on["metadata"]["compaction_continue"]),
        (&json!(true), &json!(true))
    );
    let log = world.log(&session.id).await;
    assert!(log.contains(&Fact::SessionCompacted));
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_request_the_provider_finds_too_long_is_summarised_and_the_prompt_said_again() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().text("One.").finish("stop"));
    world.provider.will(too_long());
    world.provider.will(summary());
    world.provider.will(answer().text("It fits.").finish("stop"));
    world.ask(&session.id, "first").await.unwrap();

    let reply = world.ask(&session.id, "second").await.unwrap();

    assert_eq!(texts(&reply), ["It fits."]);
    let messages = world.messages(&session.id).await;
    let refused = assistant(&messages[3]);
    assert!(refused.error.is_none() && refused.finish.is_none() && refused.time.completed.is_some());
    assert_eq!(compaction_of(&messages[4]).unwrap().overflow, Some(true));
    assert_eq!(texts(&messages[6]), ["second"]);
    let shown = |fact: &Fact| matches!(fact, Fact::SessionFailed { error: Failure::ContextOverflow { .. } });
    assert!(world.log(&session.id).await.iter().any(shown));
    check(&world, &session.id).await;
}

#[tokio::test]
async fn with_automatic_compaction_off_the_error_stands_on_the_message() {
    let world = world_with(json!({ "auto": false })).await;
    let session = world.session().await;
    world.provider.will(full("A long answer."));
    world.provider.will(too_long());
    world.ask(&session.id, "first").await.unwrap();

    let reply = world.ask(&session.id, "second").await.unwrap();

    assert!(matches!(assistant(&reply).error, Some(Failure::ContextOverflow { .. })));
    assert_eq!(assistant(&reply).finish.map(FinishReason::as_str), Some("error"));
    assert_eq!(world.provider.requests().len(), 2);
    check(&world, &session.id).await;
}

#[tokio::test]
async fn summaries_that_make_no_room_end_the_turn() {
    let world = World::new().await;
    let session = world.session().await;
    for _ in 0..3 {
        world.provider.will(full("Still full."));
        world.provider.will(summary());
    }
    world.provider.will(full("Still full."));

    let reply = world.ask(&session.id, "work").await.unwrap();

    let Some(Failure::ContextOverflow { message, .. }) = &assistant(&reply).error else { panic!("no error") };
    assert!(message.contains("larger window"), "{message}");
    assert_eq!(world.provider.requests().len(), 7);
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_summary_that_fails_leaves_the_conversation_as_it_was() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().text("One.").finish("stop"));
    world.provider.will(too_long());
    world.provider.will(answer().text("Two.").finish("stop"));
    world.ask(&session.id, "first").await.unwrap();

    world.engine.summarize(&session.id, "acme", "main").await.unwrap();
    world.ask(&session.id, "second").await.unwrap();

    let messages = world.messages(&session.id).await;
    let failed = assistant(&messages[3]);
    assert!(matches!(failed.error, Some(Failure::ContextOverflow { .. })));
    assert_eq!(failed.finish.map(FinishReason::as_str), Some("error"));
    let requests = world.provider.requests();
    assert_eq!(told(&requests[2]), ["user: first", "assistant: One.", "user: second"]);
    check(&world, &session.id).await;
}

#[tokio::test]
async fn recent_turns_stay_word_for_word_behind_the_summary() {
    let world = World::new().await;
    let session = world.session().await;
    let long = "much work ".repeat(8000);
    world.provider.will(answer().text(&long).finish("stop"));
    world.provider.will(answer().text("Short.").finish("stop"));
    world.provider.will(summary());
    world.provider.will(answer().text("Three.").finish("stop"));
    world.ask(&session.id, "first").await.unwrap();
    world.ask(&session.id, "second").await.unwrap();

    world.engine.summarize(&session.id, "acme", "main").await.unwrap();
    world.ask(&session.id, "third").await.unwrap();

    let messages = world.messages(&session.id).await;
    assert_eq!(compaction_of(&messages[4]).unwrap().tail_start_id.as_ref(), Some(messages[2].info.id()));
    let requests = world.provider.requests();
    assert!(!text_of_request(&requests[2]).contains("second"));
    let told = told(&requests[3]);
    assert_eq!(
        told[1..],
        ["assistant: ## Objective\nThe story s", "user: second", "assistant: Short.", "user: third"],
    );
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_prompt_that_waits_is_answered_behind_the_compaction_and_in_full() {
    let world = World::new().await;
    let session = world.session().await;
    let gate = Gate::new();
    world.provider.will(answer().text("One.").gate(&gate).finish("stop"));
    world.provider.will(summary());
    world.provider.will(answer().text("Both.").finish("stop"));
    let first = world.prompt(&session.id, "first").await.unwrap();
    world.provider.wait_for_requests(1).await;
    let second = world.prompt(&session.id, "second").await.unwrap();
    let engine = world.engine.clone();
    let id = session.id.clone();
    let mut seen = Seen::from_now(world.engine.feed());
    #[allow(clippy::disallowed_methods, reason = "a second client of a test")]
    let asked = tokio::spawn(async move { engine.summarize(&id, "acme", "main").await });
    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::CompactionWanted { .. }))).await;

    gate.open();
    asked.await.unwrap().unwrap();

    let messages = world.messages(&session.id).await;
    let answered: Vec<&MessageId> = messages
        .iter()
        .filter_map(|message| match &message.info {
            Message::Assistant(info) => Some(&info.parent_id),
            Message::User(_) => None,
        })
        .collect();
    assert_eq!((answered[0], answered[2]), (&first, &second));
    let requests = world.provider.requests();
    assert!(!text_of_request(&requests[1]).contains("second"));
    assert_eq!(told(&requests[2]).last().unwrap(), "user: second");
    check(&world, &session.id).await;
}

#[tokio::test]
async fn old_outputs_are_not_sent_again_but_stay_stored() {
    let world = world_with(json!({ "prune": true })).await;
    let session = world.session().await;
    let command = json!({ "command": "head -c 45000 /dev/zero | tr '\\0' x" }).to_string();
    let mut seen = Seen::from_now(world.engine.feed());
    // The seventh turn is the first with enough to prune; the one after it has too little.
    for turn in 0..7 {
        world.provider.will(answer().call(0, &format!("call_{turn}"), "bash", &command).finish("tool_calls"));
        world.provider.will(answer().text("Done.").finish("stop"));
        world.ask(&session.id, "go").await.unwrap();
    }

    let pruned = |fact: &Fact| matches!(fact, Fact::ToolCompacted { .. });
    seen.until(|record| record.facts.iter().any(pruned)).await;
    world.ask(&session.id, "and now?").await.unwrap();

    let messages = world.messages(&session.id).await;
    let calls = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match &part.body {
        PartBody::Tool(tool) => Some(tool),
        _ => None,
    });
    let marks: Vec<bool> = calls
        .map(|call| match &call.state {
            ToolState::Completed { time, output, .. } => {
                assert!(output.len() > 10_000);
                time.compacted.is_some()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(marks, [true, true, false, false, false, false, false]);
    let sent = world.provider.requests().pop().unwrap()["messages"].as_array().unwrap().clone();
    let sent: Vec<bool> = sent
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message.to_string().contains("xxx"))
        .collect();
    assert_eq!(sent, marks.iter().map(|is_marked| !is_marked).collect::<Vec<_>>());
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_restart_in_the_middle_of_a_compaction_leaves_the_conversation_whole() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().text("One.").finish("stop"));
    world.provider.will(answer().text("## Obj").hang());
    world.ask(&session.id, "first").await.unwrap();
    let mut seen = Seen::from_now(world.engine.feed());
    let engine = world.engine.clone();
    let id = session.id.clone();
    #[allow(clippy::disallowed_methods, reason = "a client that goes down with the server")]
    let asked = tokio::spawn(async move { engine.summarize(&id, "acme", "main").await });
    seen.until(|record| record.texts.values().any(|text| text == "## Obj")).await;
    asked.abort();
    let _ = asked.await;

    let world = world.reopen().await;
    world.provider.will(answer().text("Two.").finish("stop"));
    world.ask(&session.id, "second").await.unwrap();

    let messages = world.messages(&session.id).await;
    assert!(matches!(assistant(&messages[3]).error, Some(Failure::Aborted { .. })));
    let requests = world.provider.requests();
    assert_eq!(told(requests.last().unwrap()), ["user: first", "assistant: One.", "user: second"]);
    check(&world, &session.id).await;
}
