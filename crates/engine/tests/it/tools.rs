//! Calls of a model: allowed, asked about, refused, denied, stopped, and found again after a crash.

use crate::turns::{assistant, texts};
use crate::verify::findings;
use serde_json::{Value, json};
use sturdy_engine::EngineError;
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::oracle;
use sturdy_session::talk::FinishReason;
use sturdy_session::turn::Answer as Reply;
use sturdy_session::types::ask::{PermissionReply, PermissionRequest};
use sturdy_session::types::failure::Failure;
use sturdy_session::types::message::MessageWithParts;
use sturdy_session::types::part::{PartBody, ToolPart};
use sturdy_session::types::tool::ToolState;
use sturdy_store::{AskQuery, CrashPlan};
use sturdy_testkit::world::{Disk, scripted};
use sturdy_testkit::{Answer, Provider, Seen, World, answer};

/// An answer that runs one command.
pub(crate) fn runs(command: &str) -> Answer {
    answer().call(0, "call_1", "bash", &json!({ "command": command }).to_string()).finish("tool_calls")
}

/// A world with a `permission` setting.
pub(crate) async fn world_with(permission: Value) -> World {
    let disk = Disk::new();
    let provider = Provider::start().await;
    let world = World::open(disk, provider, CrashPlan::Never).await;
    let mut config = scripted(&world.provider.url());
    config["permission"] = permission;
    world.disk.configure(&config);
    world.engine.dispose_all();
    world
}

pub(crate) fn call_of(messages: &[MessageWithParts]) -> &ToolPart {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let mut calls = parts.filter_map(|part| match &part.body {
        PartBody::Tool(tool) => Some(tool),
        _ => None,
    });
    calls.next().expect("no call")
}

/// Waits until a person is asked, and gives the request.
pub(crate) async fn asked(seen: &mut Seen) -> PermissionRequest {
    let request = |fact: &Fact| match fact {
        Fact::PermissionAsked { request, .. } => Some((**request).clone()),
        _ => None,
    };
    let record = seen.until(|record| record.facts.iter().any(|fact| request(fact).is_some())).await;
    record.facts.iter().rev().find_map(request).unwrap()
}

pub(crate) fn permission(reply: PermissionReply, message: Option<&str>) -> Reply {
    Reply::Permission { reply, message: message.map(str::to_owned) }
}

async fn open_asks(world: &World) -> usize {
    world.engine.store().asks(AskQuery::default()).await.unwrap().len()
}

pub(crate) async fn check(world: &World, session: &SessionId) {
    let summary = oracle::check(&world.log(session).await).unwrap();
    assert!(!summary.is_busy && summary.waiting.is_empty());
    assert_eq!(open_asks(world).await, 0);
    assert_eq!(findings(world).await, [""; 0]);
}

#[tokio::test]
async fn an_allowed_call_runs_and_its_result_goes_to_the_model() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(runs("echo done"));
    world.provider.will(answer().text("It printed done.").finish("stop"));

    let reply = world.ask(&session.id, "go").await.unwrap();

    assert_eq!(texts(&reply), ["It printed done."]);
    let messages = world.messages(&session.id).await;
    assert_eq!(assistant(&messages[1]).finish.map(FinishReason::as_str), Some("tool-calls"));
    let call = call_of(&messages);
    let ToolState::Completed { output, metadata, .. } = &call.state else { panic!("{:?}", call.state) };
    assert_eq!(output, "done\n");
    assert_eq!((&metadata["output"], &metadata["exit"]), (&json!("done\n"), &json!(0)));
    let sent = &world.provider.requests()[1]["messages"];
    let result = sent.as_array().unwrap().iter().find(|message| message["role"] == "tool").unwrap();
    assert_eq!(result["content"], "done\n");
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_call_that_is_asked_about_runs_after_once() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(runs("echo yes"));
    world.provider.will(answer().text("Thanks.").finish("stop"));
    let prompted = world.prompt(&session.id, "go").await.unwrap();

    let request = asked(&mut seen).await;
    assert_eq!((request.permission.as_str(), &request.patterns[..]), ("bash", &["echo yes".to_owned()][..]));
    assert_eq!(request.always, ["echo *"]);
    world.engine.answer_ask(request.id.as_str(), permission(PermissionReply::Once, None)).await.unwrap();
    world.engine.answer(&session.id, &prompted).await.unwrap();

    assert!(matches!(call_of(&world.messages(&session.id).await).state, ToolState::Completed { .. }));
    let again = world.engine.answer_ask(request.id.as_str(), permission(PermissionReply::Once, None)).await;
    assert!(matches!(again, Err(EngineError::Refused(_))), "{again:?}");
    check(&world, &session.id).await;
}

#[tokio::test]
async fn always_is_not_asked_again() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    for _ in 0..2 {
        world.provider.will(runs("echo again"));
        world.provider.will(answer().text("Fine.").finish("stop"));
    }
    let prompted = world.prompt(&session.id, "go").await.unwrap();
    let request = asked(&mut seen).await;
    world.engine.answer_ask(request.id.as_str(), permission(PermissionReply::Always, None)).await.unwrap();
    world.engine.answer(&session.id, &prompted).await.unwrap();

    world.ask(&session.id, "and again").await.unwrap();

    let log = world.log(&session.id).await;
    assert_eq!(log.iter().filter(|fact| matches!(fact, Fact::PermissionAsked { .. })).count(), 1);
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_rejected_call_ends_the_turn_without_an_error() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(runs("echo no"));
    let prompted = world.prompt(&session.id, "go").await.unwrap();
    let request = asked(&mut seen).await;

    world.engine.answer_ask(request.id.as_str(), permission(PermissionReply::Reject, None)).await.unwrap();
    world.engine.answer(&session.id, &prompted).await.unwrap();

    let messages = world.messages(&session.id).await;
    let ToolState::Error { error, .. } = &call_of(&messages).state else { panic!("not an error") };
    assert!(error.contains("rejected permission"), "{error}");
    assert!(assistant(messages.last().unwrap()).error.is_none());
    assert_eq!(world.provider.requests().len(), 1);
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_rejection_with_words_goes_to_the_model() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(runs("echo no"));
    world.provider.will(answer().text("I see.").finish("stop"));
    let prompted = world.prompt(&session.id, "go").await.unwrap();
    let request = asked(&mut seen).await;

    let words = permission(PermissionReply::Reject, Some("use printf"));
    world.engine.answer_ask(request.id.as_str(), words).await.unwrap();
    world.engine.answer(&session.id, &prompted).await.unwrap();

    assert!(world.provider.requests()[1].to_string().contains("use printf"));
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_denied_call_is_told_to_the_model_and_the_turn_goes_on() {
    let world = world_with(json!({ "bash": { "*": "allow", "rm *": "deny" } })).await;
    let session = world.session().await;
    world.provider.will(runs("rm -rf ."));
    world.provider.will(answer().text("Not allowed.").finish("stop"));

    let reply = world.ask(&session.id, "go").await.unwrap();

    assert_eq!(texts(&reply), ["Not allowed."]);
    let messages = world.messages(&session.id).await;
    let ToolState::Error { error, .. } = &call_of(&messages).state else { panic!("not an error") };
    assert!(error.contains("specified a rule"), "{error}");
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_tool_that_does_not_exist_is_answered_by_invalid() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().call(0, "c1", "fly", "{}").finish("tool_calls"));
    world.provider.will(answer().text("I cannot fly.").finish("stop"));

    world.ask(&session.id, "go").await.unwrap();

    let messages = world.messages(&session.id).await;
    let call = call_of(&messages);
    assert_eq!(call.tool, "invalid");
    assert!(matches!(call.state, ToolState::Completed { .. }), "{:?}", call.state);
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_tool_that_is_denied_altogether_is_answered_by_invalid() {
    let world = world_with(json!({ "bash": "deny" })).await;
    let session = world.session().await;
    world.provider.will(runs("echo no"));
    world.provider.will(answer().text("There is none.").finish("stop"));

    world.ask(&session.id, "go").await.unwrap();

    let messages = world.messages(&session.id).await;
    assert_eq!(call_of(&messages).tool, "invalid");
    let offered = world.provider.requests()[0]["tools"].to_string();
    assert!(!offered.contains("\"bash\""), "{offered}");
    check(&world, &session.id).await;
}

#[tokio::test]
async fn what_a_command_printed_last_is_shown_before_it_ends() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(runs("echo done"));
    world.provider.will(answer().text("Done.").finish("stop"));

    world.ask(&session.id, "go").await.unwrap();

    let log = world.log(&session.id).await;
    let ended = log.iter().position(|fact| matches!(fact, Fact::ToolEnded { .. })).unwrap();
    let shown = log[..ended].iter().rev().find_map(|fact| match fact {
        Fact::ToolProgressed { metadata, .. } => metadata.clone(),
        _ => None,
    });
    assert_eq!(shown.unwrap()["output"], "done\n");
}

#[tokio::test]
async fn outputs_of_calls_with_one_id_are_saved_apart() {
    // Was: the second call of this name wrote over the first one's output.
    let world = World::new().await;
    let session = world.session().await;
    for command in ["seq 1 3000", "seq 2 3001"] {
        world.provider.will(runs(command));
    }
    world.provider.will(answer().text("Done.").finish("stop"));

    world.ask(&session.id, "go").await.unwrap();

    let messages = world.messages(&session.id).await;
    let parts = messages.iter().flat_map(|message| &message.parts);
    let saved: Vec<String> = parts
        .filter_map(|part| match &part.body {
            PartBody::Tool(ToolPart { state: ToolState::Completed { metadata, .. }, .. }) => {
                std::fs::read_to_string(metadata["outputPath"].as_str()?).ok()
            }
            _ => None,
        })
        .collect();
    assert_eq!(saved.len(), 2);
    assert!(saved[0].starts_with("1\n2\n") && saved[1].starts_with("2\n3\n"));
}

#[tokio::test]
async fn an_abort_stops_a_running_command_and_keeps_its_output() {
    let world = World::new().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(runs("echo begin; sleep 600"));
    let prompted = world.prompt(&session.id, "go").await.unwrap();
    let reported = |fact: &Fact| matches!(fact, Fact::ToolProgressed { metadata: Some(map), .. } if map["output"] == json!("begin\n"));
    seen.until(|record| record.facts.iter().any(reported)).await;

    world.engine.abort(&session.id).await.unwrap();
    world.engine.answer(&session.id, &prompted).await.unwrap();

    let messages = world.messages(&session.id).await;
    assert!(assistant(&messages[1]).error.as_ref().is_some_and(Failure::is_aborted));
    let kept = serde_json::to_string(&call_of(&messages).state).unwrap();
    assert!(kept.contains("begin"), "{kept}");
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_request_survives_a_restart_and_its_answer_runs_the_call() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let config = std::fs::read_to_string(world.disk.project().join("opencode.json")).unwrap();
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(runs("echo survived"));
    world.prompt(&session.id, "go").await.unwrap();
    let request = asked(&mut seen).await;
    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::ModelFinished { .. }))).await;

    let world = world.reopen().await;
    world.disk.configure(&serde_json::from_str(&config).unwrap());
    world.engine.dispose_all();
    assert_eq!(open_asks(&world).await, 1);
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(answer().text("After all.").finish("stop"));
    world.engine.answer_ask(request.id.as_str(), permission(PermissionReply::Once, None)).await.unwrap();
    seen.until(sturdy_testkit::seen::Record::is_idle).await;

    let messages = world.messages(&session.id).await;
    let ToolState::Completed { output, .. } = &call_of(&messages).state else { panic!("not run") };
    assert_eq!(output, "survived\n");
    assert_eq!(texts(messages.last().unwrap()), ["After all."]);
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_running_command_is_interrupted_by_a_restart_and_not_repeated() {
    let world = World::new().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(runs("echo once >> marker; sleep 600"));
    world.prompt(&session.id, "go").await.unwrap();
    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::ModelFinished { .. }))).await;
    // The shell makes the file before it writes to it.
    while std::fs::read(world.disk.project().join("marker")).unwrap_or_default().is_empty() {
        tokio::task::yield_now().await;
    }

    let world = world.reopen().await;

    let messages = world.messages(&session.id).await;
    let call = call_of(&messages);
    assert!(call.state.is_interrupted(), "{:?}", call.state);
    assert_eq!(std::fs::read_to_string(world.disk.project().join("marker")).unwrap(), "once\n");
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_sub_agent_works_in_a_session_of_its_own() {
    let world = World::new().await;
    let session = world.session().await;
    let task = json!({ "description": "Look", "prompt": "look around", "subagent_type": "explore" });
    world.provider.will(answer().call(0, "c1", "task", &task.to_string()).finish("tool_calls"));
    world.provider.will(answer().text("I looked.").finish("stop"));
    world.provider.will(answer().text("It looked.").finish("stop"));

    let reply = world.ask(&session.id, "delegate").await.unwrap();

    assert_eq!(texts(&reply), ["It looked."]);
    let messages = world.messages(&session.id).await;
    let ToolState::Completed { output, metadata, .. } = &call_of(&messages).state else { panic!("not run") };
    assert!(output.contains("<task_result>") && output.contains("I looked."), "{output}");
    let child = SessionId::parse(metadata["sessionId"].as_str().unwrap()).unwrap();
    let record: Value = serde_json::from_str(&world.engine.session_record(&child).await.unwrap()).unwrap();
    assert_eq!(record["parentID"], json!(session.id));
    assert_eq!(record["title"], "Look (@explore subagent)");
    check(&world, &session.id).await;
    check(&world, &child).await;
}

// Was: the sub-agent was told the name and had to read the file itself.
#[tokio::test]
async fn a_file_that_a_model_names_to_a_sub_agent_goes_along_if_that_may_read_it_unasked() {
    let world = World::new().await;
    std::fs::write(world.disk.project().join("notes.md"), "the hour is one\n").unwrap();
    std::fs::write(world.disk.project().join(".env"), "KEY=open-sesame\n").unwrap();
    let session = world.session().await;
    let prompt = "look at @notes.md and @.env and @/etc/hostname";
    let task = json!({ "description": "Look", "prompt": prompt, "subagent_type": "general" });
    world.provider.will(answer().call(0, "c1", "task", &task.to_string()).finish("tool_calls"));
    world.provider.will(answer().text("I looked.").finish("stop"));
    world.provider.will(answer().text("It looked.").finish("stop"));

    world.ask(&session.id, "delegate").await.unwrap();

    let messages = world.messages(&session.id).await;
    let ToolState::Completed { metadata, .. } = &call_of(&messages).state else { panic!("not run") };
    let child = SessionId::parse(metadata["sessionId"].as_str().unwrap()).unwrap();
    let asked = &world.messages(&child).await[0];
    let files: Vec<&str> = asked
        .parts
        .iter()
        .filter_map(|part| match &part.body {
            PartBody::File(file) => file.filename.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(files, ["notes.md"]);
    let request = world.provider.requests()[1].to_string();
    assert!(request.contains("the hour is one") && !request.contains("open-sesame"), "{request}");
    check(&world, &child).await;
}

#[tokio::test]
async fn a_todo_list_is_stored_and_shown() {
    let world = World::new().await;
    let session = world.session().await;
    let todos =
        json!({ "todos": [{ "content": "Write the test", "status": "pending", "priority": "high" }] });
    world.provider.will(answer().call(0, "c1", "todowrite", &todos.to_string()).finish("tool_calls"));
    world.provider.will(answer().text("Noted.").finish("stop"));

    world.ask(&session.id, "plan").await.unwrap();

    let stored = world.engine.store().todos(&session.id).await.unwrap().unwrap();
    assert_eq!(serde_json::from_str::<Value>(&stored).unwrap(), todos["todos"]);
}

// Was: providers that number their calls made two sessions write their outputs into one file.
#[tokio::test]
async fn long_outputs_of_two_sessions_do_not_share_a_file() {
    let world = World::new().await;
    let mut saved = Vec::new();
    for command in ["seq 1 3000", "seq 5001 8000"] {
        let session = world.session().await;
        world.provider.will(runs(command));
        world.provider.will(answer().text("Fine.").finish("stop"));
        world.ask(&session.id, "go").await.unwrap();
        let messages = world.messages(&session.id).await;
        let ToolState::Completed { metadata, .. } = &call_of(&messages).state else { panic!("not run") };
        saved.push(metadata["outputPath"].as_str().unwrap().to_owned());
    }

    let first = |path: &String| std::fs::read_to_string(path).unwrap().lines().next().unwrap().to_owned();

    assert_eq!(saved.iter().map(first).collect::<Vec<_>>(), ["1", "5001"]);
}

/// Parts that the store has read with their messages while an answer made so many calls at once.
async fn parts_read_for(world: &World, calls: u32) -> u64 {
    let session = world.session().await;
    let mut many = answer();
    for at in 0..calls {
        let pattern = json!({ "pattern": format!("*.{at}") });
        many = many.call(at, &format!("call_{at}"), "glob", &pattern.to_string());
    }
    world.provider.will(many.finish("tool_calls"));
    world.provider.will(answer().text("Done.").finish("stop"));
    let before = world.engine.store().meters().parts.get();

    let prompt = world.prompt(&session.id, "go").await.unwrap();
    world.engine.answer(&session.id, &prompt).await.unwrap();

    world.engine.store().meters().parts.get() - before
}

// Was: every call read all parts of its message to learn who makes it, so a step cost the square of its calls.
#[tokio::test]
async fn a_call_does_not_read_the_other_parts_of_its_message() {
    let world = World::new().await;
    parts_read_for(&world, 1).await;

    let few = parts_read_for(&world, 8).await;
    let many = parts_read_for(&world, 32).await;

    assert!(many <= 4 * few.max(32), "{few} parts were read for 8 calls, {many} for 32");
}
