//! Every tool that asks, in every way it can be answered.
//!
//! The table says what each is called with, what it asks for and what it leaves behind; the tests say
//! what has to hold of all of them.

use crate::tools::{asked, call_of, check, permission, world_with};
use serde_json::{Value, json};
use sturdy_engine::EngineError;
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::types::ask::PermissionReply;
use sturdy_session::types::tool::ToolState;
use sturdy_testkit::{Answer, Seen, World, answer};

/// A tool, its arguments, the permission it asks for, and the file it makes.
type Case = (&'static str, Value, &'static str, Option<&'static str>);

fn cases() -> Vec<Case> {
    let todo = json!([{ "content": "x", "status": "pending", "priority": "low" }]);
    let task = json!({ "description": "Look", "prompt": "look", "subagent_type": "explore" });
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+x\n*** End Patch";
    vec![
        ("read", json!({ "filePath": "a.txt" }), "read", None),
        ("write", json!({ "filePath": "new.txt", "content": "x" }), "edit", Some("new.txt")),
        (
            "edit",
            json!({ "filePath": "new.txt", "oldString": "", "newString": "x" }),
            "edit",
            Some("new.txt"),
        ),
        ("apply_patch", json!({ "patchText": patch }), "edit", Some("new.txt")),
        ("list", json!({ "path": "." }), "list", None),
        ("glob", json!({ "pattern": "*.txt" }), "glob", None),
        ("grep", json!({ "pattern": "one" }), "grep", None),
        ("bash", json!({ "command": "touch made" }), "bash", Some("made")),
        ("todowrite", json!({ "todos": todo }), "todowrite", None),
        ("task", task, "task", None),
        ("skill", json!({ "name": "knitting" }), "skill", None),
    ]
}

/// A world in which the case's permission has this setting.
async fn world_of(case: &Case, setting: Value) -> (World, SessionId) {
    let world = world_with(json!({ case.2: setting })).await;
    let project = world.disk.project();
    std::fs::write(project.join("a.txt"), "one\n").unwrap();
    let skill = project.join(".opencode/skills/knitting");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(skill.join("SKILL.md"), "---\nname: knitting\ndescription: Knits\n---\nKnit one.\n")
        .unwrap();
    world.engine.dispose_all();
    let session = world.session().await.id;
    (world, session)
}

fn calls(case: &Case) -> Answer {
    answer().call(0, "call_1", case.0, &case.1.to_string()).finish("tool_calls")
}

/// The call, then whatever is said after it: a sub-agent's words, and the end.
fn will_call(world: &World, case: &Case) {
    world.provider.will(calls(case));
    will_end(world, case);
}

fn will_end(world: &World, case: &Case) {
    if case.0 == "task" {
        world.provider.will(answer().text("I looked.").finish("stop"));
    }
    world.provider.will(answer().text("Done.").finish("stop"));
}

fn was_made(world: &World, case: &Case) -> bool {
    case.3.is_some_and(|file| world.disk.project().join(file).exists())
}

async fn state(world: &World, session: &SessionId) -> ToolState {
    call_of(&world.messages(session).await).state.clone()
}

async fn assert_done(world: &World, session: &SessionId, case: &Case) {
    let state = state(world, session).await;
    assert!(matches!(state, ToolState::Completed { .. }), "{}: {state:?}", case.0);
    assert_eq!(was_made(world, case), case.3.is_some(), "{}", case.0);
    check(world, session).await;
}

async fn assert_not_done(world: &World, session: &SessionId, case: &Case, words: &str) {
    let state = state(world, session).await;
    let ToolState::Error { error, .. } = &state else { panic!("{}: {state:?}", case.0) };
    assert!(error.contains(words), "{}: {error}", case.0);
    assert!(!was_made(world, case), "{}", case.0);
    check(world, session).await;
}

#[tokio::test]
async fn an_allowed_call_runs_without_a_question() {
    for case in cases() {
        let (world, session) = world_of(&case, json!("allow")).await;
        will_call(&world, &case);

        world.ask(&session, "go").await.unwrap();

        assert_done(&world, &session, &case).await;
        let log = world.log(&session).await;
        assert!(!log.iter().any(|fact| matches!(fact, Fact::PermissionAsked { .. })), "{}", case.0);
    }
}

#[tokio::test]
async fn a_call_that_is_asked_about_waits_for_once_or_always() {
    for reply in [PermissionReply::Once, PermissionReply::Always] {
        for case in cases() {
            let (world, session) = world_of(&case, json!("ask")).await;
            let mut seen = Seen::from_now(world.engine.feed());
            will_call(&world, &case);
            let prompted = world.prompt(&session, "go").await.unwrap();

            let request = asked(&mut seen).await;
            assert_eq!((request.permission.as_str(), was_made(&world, &case)), (case.2, false), "{}", case.0);
            world.engine.answer_ask(request.id.as_str(), permission(reply, None)).await.unwrap();
            world.engine.answer(&session, &prompted).await.unwrap();

            assert_done(&world, &session, &case).await;
            let kept = world.engine.store().approvals(None).await.unwrap();
            assert_eq!(kept.is_empty(), reply == PermissionReply::Once, "{}", case.0);
        }
    }
}

#[tokio::test]
async fn a_rejected_call_does_nothing() {
    for case in cases() {
        let (world, session) = world_of(&case, json!("ask")).await;
        let mut seen = Seen::from_now(world.engine.feed());
        world.provider.will(calls(&case));
        let prompted = world.prompt(&session, "go").await.unwrap();
        let request = asked(&mut seen).await;

        let no = permission(PermissionReply::Reject, None);
        world.engine.answer_ask(request.id.as_str(), no).await.unwrap();
        world.engine.answer(&session, &prompted).await.unwrap();

        assert_not_done(&world, &session, &case, "rejected permission").await;
    }
}

#[tokio::test]
async fn a_denied_call_does_nothing_and_the_turn_goes_on() {
    for case in cases() {
        // With a later rule for something else, so that the tool is still offered.
        let (world, session) = world_of(&case, json!({ "*": "deny", "something else": "ask" })).await;
        world.provider.will(calls(&case));
        world.provider.will(answer().text("I see.").finish("stop"));

        world.ask(&session, "go").await.unwrap();

        assert_not_done(&world, &session, &case, "specified a rule").await;
        assert_eq!(world.provider.requests().len(), 2, "{}", case.0);
    }
}

#[tokio::test]
async fn an_abort_takes_the_request_back_and_a_late_answer_runs_nothing() {
    for case in cases() {
        let (world, session) = world_of(&case, json!("ask")).await;
        let mut seen = Seen::from_now(world.engine.feed());
        world.provider.will(calls(&case));
        let prompted = world.prompt(&session, "go").await.unwrap();
        let request = asked(&mut seen).await;

        world.engine.abort(&session).await.unwrap();
        world.engine.answer(&session, &prompted).await.unwrap();
        let late =
            world.engine.answer_ask(request.id.as_str(), permission(PermissionReply::Once, None)).await;

        assert!(matches!(late, Err(EngineError::Refused(_))), "{}: {late:?}", case.0);
        assert_not_done(&world, &session, &case, "").await;
        assert!(state(&world, &session).await.is_interrupted(), "{}", case.0);
    }
}

#[tokio::test]
async fn a_restart_keeps_the_request_and_its_answer_runs_the_call_once() {
    for case in cases() {
        let (world, session) = world_of(&case, json!("ask")).await;
        let config = std::fs::read_to_string(world.disk.project().join("opencode.json")).unwrap();
        let mut seen = Seen::from_now(world.engine.feed());
        world.provider.will(calls(&case));
        world.prompt(&session, "go").await.unwrap();
        let request = asked(&mut seen).await;
        seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::ModelFinished { .. }))).await;

        let world = world.reopen().await;
        world.disk.configure(&serde_json::from_str(&config).unwrap());
        world.engine.dispose_all();
        assert!(!was_made(&world, &case), "{}", case.0);
        let mut seen = Seen::from_now(world.engine.feed());
        will_end(&world, &case);
        let once = permission(PermissionReply::Once, None);
        world.engine.answer_ask(request.id.as_str(), once).await.unwrap();
        let ended = |fact: &Fact| matches!(fact, Fact::SessionIdled);
        let wanted = if case.0 == "task" { 2 } else { 1 };
        seen.until(|record| record.facts.iter().filter(|fact| ended(fact)).count() >= wanted).await;

        assert_done(&world, &session, &case).await;
    }
}
