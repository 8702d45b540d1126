//! Whole turns: a prompt goes in, a provider answers over a socket, rows and log fit together.

use serde_json::{Value, json};
use sturdy_engine::{EngineError, PromptRequest};
use sturdy_session::fact::{Edit, Fact};
use sturdy_session::oracle;
use sturdy_session::stamp::Stamp;
use sturdy_session::talk::FinishReason;
use sturdy_session::types::failure::Failure;
use sturdy_session::types::message::{AssistantMessage, Message, MessageWithParts};
use sturdy_session::types::part::PartBody;
use sturdy_session::types::session::Session;
use sturdy_testkit::script::Gate;
use sturdy_testkit::world::prompt;
use sturdy_testkit::{Answer, Seen, World, answer};

/// The texts of a message, in order.
pub(crate) fn texts(message: &MessageWithParts) -> Vec<&str> {
    let texts = message.parts.iter().filter_map(|part| match &part.body {
        PartBody::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
}

pub(crate) fn assistant(message: &MessageWithParts) -> &AssistantMessage {
    match &message.info {
        Message::Assistant(info) => info,
        Message::User(_) => panic!("not an answer"),
    }
}

#[tokio::test]
async fn a_prompt_is_answered_and_the_log_keeps_its_promises() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().reasoning("Let me think.").text("Hello ").text("you").finish("stop"));

    let reply = world.ask(&session.id, "hi").await.unwrap();

    assert_eq!(texts(&reply), ["Hello you"]);
    let info = assistant(&reply);
    assert_eq!(info.finish.map(FinishReason::as_str), Some("stop"));
    assert_eq!(info.cost.0, 0.000114);
    assert!(info.time.completed.is_some() && info.error.is_none());
    let kinds: Vec<_> =
        reply.parts.iter().map(|part| serde_json::to_value(part).unwrap()["type"].clone()).collect();
    assert_eq!(kinds, ["step-start", "reasoning", "text", "step-finish"]);
    let summary = oracle::check(&world.log(&session.id).await).unwrap();
    assert!(!summary.is_busy && summary.waiting.is_empty());
}

#[tokio::test]
async fn the_provider_is_sent_the_conversation_so_far() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().text("One.").finish("stop"));
    world.provider.will(answer().text("Two.").finish("stop"));
    world.ask(&session.id, "first").await.unwrap();
    world.ask(&session.id, "second").await.unwrap();

    let requests = world.provider.requests();

    let messages = requests[1]["messages"].as_array().unwrap();
    let without_system: Vec<_> = messages.iter().filter(|message| message["role"] != "system").collect();
    assert_eq!(
        without_system,
        [
            &json!({ "role": "user", "content": "first" }),
            &json!({ "role": "assistant", "content": "One." }),
            &json!({ "role": "user", "content": "second" }),
        ]
    );
    assert_eq!(requests[1]["stream"], true);
    assert_eq!(requests[1]["max_tokens"], 8192);
}

#[tokio::test]
async fn a_session_counts_what_its_steps_used() {
    let world = World::new().await;
    let session = world.session().await;
    world.ask(&session.id, "one").await.unwrap();
    world.ask(&session.id, "two").await.unwrap();

    let record: Session =
        serde_json::from_str(&world.engine.session_record(&session.id).await.unwrap()).unwrap();

    assert_eq!(record.cost.0, 0.000228);
    assert_eq!(record.tokens.input.0, 200.0);
    assert_eq!(record.model.unwrap().variant.as_deref(), Some("default"));
}

#[tokio::test]
async fn a_prompt_sent_while_busy_waits_and_both_callers_get_the_last_answer() {
    let world = World::new().await;
    let session = world.session().await;
    let gate = Gate::new();
    world.provider.will(answer().text("Slow").gate(&gate).finish("stop"));
    world.provider.will(answer().text("Both").finish("stop"));
    let first = world.prompt(&session.id, "first").await.unwrap();
    world.provider.wait_for_requests(1).await;
    let second = world.prompt(&session.id, "second").await.unwrap();

    gate.open();
    let (one, two) =
        tokio::join!(world.engine.answer(&session.id, &first), world.engine.answer(&session.id, &second));

    assert_eq!(one.unwrap().id, two.unwrap().id);
    let messages = world.messages(&session.id).await;
    assert_eq!(assistant(&messages[3]).parent_id, second);
    oracle::check(&world.log(&session.id).await).unwrap();
}

#[tokio::test]
async fn an_abort_in_the_middle_keeps_the_text_and_the_next_prompt_works() {
    let world = World::new().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(answer().text("Half an ans").hang());
    let prompted = world.prompt(&session.id, "go").await.unwrap();
    seen.until(|record| record.texts.values().any(|text| text == "Half an ans")).await;

    world.engine.abort(&session.id).await.unwrap();
    let raw = world.engine.answer(&session.id, &prompted).await.unwrap();

    let info: AssistantMessage = serde_json::from_str(&raw.info).unwrap();
    assert_eq!(info.error, Some(Failure::aborted()));
    assert!(raw.parts.iter().any(|part| part.contains("Half an ans")));
    world.provider.will(answer().text("Fine.").finish("stop"));
    let next = world.ask(&session.id, "again").await.unwrap();
    assert_eq!(texts(&next), ["Fine."]);
}

#[tokio::test]
async fn a_failure_that_passes_is_tried_again() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(Answer::error(500, "Internal hiccup").header("retry-after-ms", "1"));
    world.provider.will(answer().text("Now.").finish("stop"));

    let reply = world.ask(&session.id, "hi").await.unwrap();

    assert_eq!(texts(&reply), ["Now."]);
    let log = world.log(&session.id).await;
    let retried = log.iter().any(|fact| matches!(fact, Fact::StepDelayed { attempt: 1, .. }));
    assert!(retried, "the wait was not shown");
}

#[tokio::test]
async fn a_failure_that_does_not_pass_stands_on_the_message() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(Answer::error(401, "Bad key"));

    let reply = world.ask(&session.id, "hi").await.unwrap();

    let Some(Failure::Api(error)) = &assistant(&reply).error else { panic!("no error on the message") };
    assert_eq!((error.status_code, error.is_retryable), (Some(401), false));
    assert_eq!(error.message, "Bad key");
    assert!(!format!("{error:?}").contains("key-of-a-test"));
}

#[tokio::test]
async fn a_stream_that_breaks_off_keeps_what_was_said_and_is_tried_again() {
    let world = World::new().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    let gate = Gate::new();
    world.provider.will(answer().text("Half an ans").gate(&gate).break_off());
    world.provider.will(answer().text("Whole.").finish("stop"));

    let prompted = world.prompt(&session.id, "hi").await.unwrap();
    seen.until(|record| record.texts.values().any(|text| text == "Half an ans")).await;
    gate.open();
    world.engine.answer(&session.id, &prompted).await.unwrap();

    let messages = world.messages(&session.id).await;
    // One answer to read; what the attempt said that failed stands beside it.
    assert_eq!(texts(&messages[1]), ["", "Whole."]);
    let kept = serde_json::to_value(&messages[1].parts[1]).unwrap();
    assert_eq!(kept["metadata"]["sturdy"]["failedAttempt"], "Half an ans");
    assert!(assistant(&messages[1]).error.is_none());
    oracle::check(&world.log(&session.id).await).unwrap();

    world.provider.will(answer().text("Yes.").finish("stop"));
    world.ask(&session.id, "sure?").await.unwrap();
    let sent = world.provider.requests().last().unwrap()["messages"].to_string();
    assert!(sent.contains("Whole.") && !sent.contains("Half an ans"), "{sent}");
}

#[tokio::test]
async fn an_abort_while_a_retry_waits_leaves_what_was_said_to_be_read() {
    let world = World::new().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    let gate = Gate::new();
    world.provider.will(answer().text("Half an ans").gate(&gate).break_off());

    world.prompt(&session.id, "hi").await.unwrap();
    seen.until(|record| record.texts.values().any(|text| text == "Half an ans")).await;
    gate.open();
    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::StepDelayed { .. }))).await;
    world.engine.abort(&session.id).await.unwrap();

    let messages = world.messages(&session.id).await;
    assert_eq!(texts(&messages[1]), ["Half an ans"]);
}

/// What the first call has of its arguments while they stream.
async fn raw_of(world: &World, session: &Session) -> Option<String> {
    let messages = world.messages(&session.id).await;
    let parts = messages.iter().flat_map(|message| &message.parts);
    let part = parts.into_iter().find(|part| matches!(part.body, PartBody::Tool(_)))?;
    let state = serde_json::to_value(part).unwrap()["state"].clone();
    Some(state["raw"].as_str()?.to_owned())
}

#[tokio::test]
async fn arguments_are_there_while_they_stream_and_stay_with_a_call_that_was_aborted() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().call(0, "call_1", "bash", "{\"command\": \"rm -r").hang());
    world.prompt(&session.id, "go").await.unwrap();
    let expected = Some("{\"command\": \"rm -r".to_owned());
    while raw_of(&world, &session).await != expected {
        tokio::task::yield_now().await;
    }

    world.engine.abort(&session.id).await.unwrap();

    assert_eq!(raw_of(&world, &session).await, expected);
    oracle::check(&world.log(&session.id).await).unwrap();
}

#[tokio::test]
async fn arguments_that_streamed_are_there_after_a_restart() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().call(0, "call_1", "bash", "{\"command\": \"rm -r").hang());
    world.prompt(&session.id, "go").await.unwrap();
    let expected = Some("{\"command\": \"rm -r".to_owned());
    while raw_of(&world, &session).await != expected {
        tokio::task::yield_now().await;
    }

    let world = world.reopen().await;

    let messages = world.messages(&session.id).await;
    let call = messages[1].parts.iter().map(|part| serde_json::to_value(part).unwrap());
    let call = call.into_iter().find(|part| part["type"] == "tool").unwrap();
    assert_eq!(call["state"]["status"], "error");
    assert_eq!(raw_of(&world, &session).await, expected);
}

#[tokio::test]
async fn an_unknown_model_is_refused_and_nothing_has_changed() {
    let world = World::new().await;
    let session = world.session().await;
    let before = world.engine.session_record(&session.id).await.unwrap();
    let wrong = PromptRequest { model: Some(("acme".to_owned(), "mian".to_owned())), ..prompt("hi") };

    let refused = world.engine.prompt(&session.id, wrong).await;

    let Err(EngineError::Unknown(text)) = refused else { panic!("not refused: {refused:?}") };
    assert!(text.contains("acme/mian"), "{text}");
    assert_eq!(world.engine.session_record(&session.id).await.unwrap(), before);
    assert!(world.messages(&session.id).await.is_empty());
}

#[tokio::test]
async fn an_unknown_agent_is_refused_with_the_names_there_are() {
    let world = World::new().await;
    let session = world.session().await;
    let wrong = PromptRequest { agent: Some("biuld".to_owned()), ..prompt("hi") };

    let refused = world.engine.prompt(&session.id, wrong).await;

    let Err(EngineError::Unknown(text)) = refused else { panic!("not refused: {refused:?}") };
    assert!(text.contains("biuld") && text.contains("build"), "{text}");
}

#[tokio::test]
async fn a_fresh_session_is_given_a_title_by_the_model() {
    let world = World::new().await;
    let instance = world.engine.instance(&world.directory()).await.unwrap();
    let session = world.engine.create_session(&instance, Default::default()).await.unwrap();
    let mut seen = Seen::from_now(world.engine.feed());
    // Whichever of the two requests comes first gets the first answer.
    world.provider.will(answer().text("A fine title").finish("stop"));
    world.provider.will(answer().text("A fine title").finish("stop"));

    world.ask(&session.id, "please name this").await.unwrap();

    let named = |fact: &Fact| matches!(fact, Fact::SessionEdited { edit: Edit::Titled { title } } if title == "A fine title");
    seen.until(|record| record.facts.iter().any(named)).await;
}

#[tokio::test]
async fn a_removed_session_is_gone_with_its_children() {
    let world = World::new().await;
    let parent = world.session().await;
    let instance = world.engine.instance(&world.directory()).await.unwrap();
    let child = sturdy_engine::NewSession { parent: Some(parent.id.clone()), ..Default::default() };
    let child = world.engine.create_session(&instance, child).await.unwrap();

    world.engine.remove_session(&parent.id).await.unwrap();

    for id in [&parent.id, &child.id] {
        assert!(matches!(world.engine.session_record(id).await, Err(EngineError::NoSession(_))));
        let prompted = world.prompt(id, "anyone?").await;
        assert!(matches!(prompted, Err(EngineError::NoSession(_))), "{prompted:?}");
    }
}

#[tokio::test]
async fn an_agent_that_only_plans_is_reminded_of_it_and_its_end_is_told() {
    // Was: the texts were there and nobody sent them.
    let world = World::new().await;
    let session = world.session().await;
    let say = |agent: &str| PromptRequest { agent: Some(agent.to_owned()), ..prompt("go") };
    for request in [say("plan"), say("build")] {
        world.provider.will(answer().text("Well.").finish("stop"));
        let message = world.engine.prompt(&session.id, request).await.unwrap();
        world.engine.answer(&session.id, &message).await.unwrap();
    }

    let newest = |request: &Value| request["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let [planning, building] = &world.provider.requests()[..] else { panic!("not two requests") };
    let texts = |content: Value| content.as_array().expect("text and reminder").clone();
    assert_eq!(texts(newest(planning))[0]["text"], "go");
    assert!(texts(newest(planning))[1]["text"].as_str().unwrap().starts_with("<system-reminder>"));
    assert_ne!(texts(newest(planning))[1], texts(newest(building))[1]);
}

// Was: a clock that was once ahead stuck to the store, and everything stored for years carried the same time.
#[tokio::test]
async fn a_store_with_times_far_ahead_gives_new_ids_and_times_of_now() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().text("One.").finish("stop"));
    let before = world.ask(&session.id, "first").await.unwrap();
    let now = world.engine.clock().now();
    let years = 2 * 365 * 24 * 60 * 60 * 1000_u64;

    let world = world.reopen_damaged(&format!("UPDATE head SET at = at + {years}")).await;
    assert!(
        world.engine.store().last_time().await.unwrap() > now + years / 2,
        "the store is as it should be"
    );
    world.provider.will(answer().text("Two.").finish("stop"));
    let after = world.ask(&session.id, "second").await.unwrap();
    let fresh = world.session().await;

    let soon = now + 10 * 60 * 1000;
    assert!((now..soon).contains(&assistant(&after).time.created), "{after:?}");
    assert!((now..soon).contains(&fresh.time.created), "{fresh:?}");
    let id = after.info.id().as_str();
    assert!(before.info.id().as_str() < id, "ids ascend");
    assert!(id < Stamp::new(soon, [0; 32]).message_id().as_str(), "{id} is not of now");
}
