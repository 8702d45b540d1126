//! Every tool, in every way it can be allowed, asked about and refused.
//!
//! What is called stands in `table.rs`; the tests say what has to hold of all of them.

use crate::table::{Case, Needs, Pages, Setup, Wants, cases};
use crate::tools::{call_of, check};
use serde_json::json;
use sturdy_engine::EngineError;
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::types::ask::PermissionReply;
use sturdy_session::types::tool::ToolState;
use sturdy_testkit::{Seen, World, answer};

/// The call, then whatever is said after it: a sub-agent's words, and the end.
fn will_call(world: &World, case: &Case) {
    world.provider.will(case.call());
    will_end(world, case);
}

fn will_end(world: &World, case: &Case) {
    if case.tool == "task" {
        world.provider.will(answer().text("I looked.").finish("stop"));
    }
    world.provider.will(answer().text("Done.").finish("stop"));
}

async fn state(world: &World, session: &SessionId) -> ToolState {
    call_of(&world.messages(session).await).state.clone()
}

async fn assert_done(world: &World, session: &SessionId, case: &Case) {
    let state = state(world, session).await;
    let ToolState::Completed { output, .. } = &state else { panic!("{}: {state:?}", case.tool) };
    assert!(output.contains(case.tells), "{}: {output}", case.tool);
    let told = world.provider.requests().pop().unwrap()["messages"].to_string();
    assert!(told.contains(&json!(output).to_string()), "{}: {told}", case.tool);
    assert_eq!(case.was_made(world), case.makes.is_some(), "{}", case.tool);
    check(world, session).await;
}

async fn assert_not_done(world: &World, session: &SessionId, case: &Case, words: &str) {
    let state = state(world, session).await;
    let ToolState::Error { error, .. } = &state else { panic!("{}: {state:?}", case.tool) };
    assert!(error.contains(words), "{}: {error}", case.tool);
    assert!(!case.was_made(world), "{}", case.tool);
    check(world, session).await;
}

fn was_asked(fact: &Fact) -> bool {
    matches!(fact, Fact::PermissionAsked { .. })
}

#[tokio::test]
async fn every_tool_there_is_stands_in_the_table() {
    let cases = cases(&Pages::start().await);
    let needs = vec![Needs::McpServer, Needs::Languages];
    let (world, _) = Setup { needs, ..Setup::of(&cases[0], json!("allow")) }.open().await;

    let tools = world.engine.instance(&world.directory()).await.unwrap().all_tools().await;

    // One of an MCP server stands for all of them.
    let is_spare = |name: &String| name.starts_with("my_server_") && name != "my_server_echo";
    let mut names: Vec<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    names.retain(|name| !is_spare(name));
    names.sort();
    let mut tried: Vec<&str> = cases.iter().map(|case| case.tool).collect();
    tried.sort_unstable();
    assert_eq!(names, tried);
}

#[tokio::test]
async fn an_allowed_call_runs_without_a_question() {
    let pages = Pages::start().await;
    for case in cases(&pages).into_iter().filter(|case| case.wants != Wants::Words) {
        let (world, session) = Setup::of(&case, json!("allow")).open().await;
        will_call(&world, &case);

        world.ask(&session, "go").await.unwrap();

        assert_done(&world, &session, &case).await;
        assert!(!world.log(&session).await.iter().any(was_asked), "{}", case.tool);
    }
}

#[tokio::test]
async fn a_call_that_is_asked_about_waits_for_once_or_always() {
    let pages = Pages::start().await;
    for reply in [PermissionReply::Once, PermissionReply::Always] {
        for case in cases(&pages).into_iter().filter(Case::asks) {
            let (world, session) = Setup::of(&case, json!("ask")).open().await;
            let mut seen = Seen::from_now(world.engine.feed());
            will_call(&world, &case);
            let prompted = world.prompt(&session, "go").await.unwrap();

            let (request, about) = case.asked(&mut seen).await;
            let wanted = if case.wants == Wants::Words { "" } else { case.key() };
            assert_eq!((about.as_str(), case.was_made(&world)), (wanted, false), "{}", case.tool);
            world.engine.answer_ask(&request, case.yes(reply)).await.unwrap();
            world.engine.answer(&session, &prompted).await.unwrap();

            assert_done(&world, &session, &case).await;
            let kept = world.engine.store().approvals(None).await.unwrap();
            let is_kept = reply == PermissionReply::Always && case.wants != Wants::Words;
            assert_eq!(!kept.is_empty(), is_kept, "{}", case.tool);
        }
    }
}

#[tokio::test]
async fn a_rejected_call_does_nothing() {
    let pages = Pages::start().await;
    for case in cases(&pages).into_iter().filter(Case::asks) {
        let (world, session) = Setup::of(&case, json!("ask")).open().await;
        let mut seen = Seen::from_now(world.engine.feed());
        world.provider.will(case.call());
        let prompted = world.prompt(&session, "go").await.unwrap();
        let (request, _) = case.asked(&mut seen).await;

        let (no, words) = case.no();
        world.engine.answer_ask(&request, no).await.unwrap();
        world.engine.answer(&session, &prompted).await.unwrap();

        assert_not_done(&world, &session, &case, words).await;
        assert_eq!(world.provider.requests().len(), 1, "{}: the turn went on", case.tool);
    }
}

#[tokio::test]
async fn a_denied_call_does_nothing_and_the_turn_goes_on() {
    let pages = Pages::start().await;
    for case in cases(&pages).into_iter().filter(|case| matches!(case.wants, Wants::Permission(_))) {
        // With a later rule for something else, so that the tool is still offered.
        let setting = json!({ "*": "deny", "something else": "ask" });
        let (world, session) = Setup::of(&case, setting).open().await;
        world.provider.will(case.call());
        world.provider.will(answer().text("I see.").finish("stop"));

        world.ask(&session, "go").await.unwrap();

        assert_not_done(&world, &session, &case, "specified a rule").await;
        assert_eq!(world.provider.requests().len(), 2, "{}", case.tool);
    }
}

#[tokio::test]
async fn a_tool_that_is_denied_altogether_is_not_understood() {
    let pages = Pages::start().await;
    for case in cases(&pages) {
        let (world, session) = Setup::of(&case, json!("deny")).open().await;
        world.provider.will(case.call());
        world.provider.will(answer().text("I see.").finish("stop"));

        world.ask(&session, "go").await.unwrap();

        let messages = world.messages(&session).await;
        let call = call_of(&messages);
        assert_eq!(call.tool, "invalid", "{}: {:?}", case.tool, call.state);
        assert!(matches!(call.state, ToolState::Completed { .. }), "{}: {:?}", case.tool, call.state);
        assert!(!case.was_made(&world), "{}", case.tool);
        check(&world, &session).await;
    }
}

#[tokio::test]
async fn an_abort_takes_the_request_back_and_a_late_answer_runs_nothing() {
    let pages = Pages::start().await;
    for case in cases(&pages).into_iter().filter(Case::asks) {
        let (world, session) = Setup::of(&case, json!("ask")).open().await;
        let mut seen = Seen::from_now(world.engine.feed());
        world.provider.will(case.call());
        let prompted = world.prompt(&session, "go").await.unwrap();
        let (request, _) = case.asked(&mut seen).await;

        world.engine.abort(&session).await.unwrap();
        world.engine.answer(&session, &prompted).await.unwrap();
        let late = world.engine.answer_ask(&request, case.yes(PermissionReply::Once)).await;

        assert!(matches!(late, Err(EngineError::Refused(_))), "{}: {late:?}", case.tool);
        assert_not_done(&world, &session, &case, "").await;
        assert!(state(&world, &session).await.is_interrupted(), "{}", case.tool);
    }
}

#[tokio::test]
async fn a_restart_keeps_the_request_and_its_answer_runs_the_call_once() {
    let pages = Pages::start().await;
    for case in cases(&pages).into_iter().filter(Case::asks) {
        let setup = Setup::of(&case, json!("ask"));
        let (world, session) = setup.open().await;
        let mut seen = Seen::from_now(world.engine.feed());
        world.provider.will(case.call());
        world.prompt(&session, "go").await.unwrap();
        let (request, _) = case.asked(&mut seen).await;
        seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::ModelFinished { .. }))).await;

        let world = setup.reopen(world).await;
        assert!(!case.was_made(&world), "{}", case.tool);
        let mut seen = Seen::from_now(world.engine.feed());
        will_end(&world, &case);
        world.engine.answer_ask(&request, case.yes(PermissionReply::Once)).await.unwrap();
        let ended = |fact: &Fact| matches!(fact, Fact::SessionIdled { .. });
        let wanted = if case.tool == "task" { 2 } else { 1 };
        seen.until(|record| record.facts.iter().filter(|fact| ended(fact)).count() >= wanted).await;

        assert_done(&world, &session, &case).await;
    }
}
