//! Commands by name, a person's own commands, and subtasks.

use crate::tools::{call_of, runs};
use crate::turns::{assistant, texts};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use sturdy_engine::{CommandRequest, EngineError, PromptRequest, ShellRequest};
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::oracle;
use sturdy_session::talk::FinishReason;
use sturdy_session::turn::Refusal;
use sturdy_session::types::failure::Failure;
use sturdy_session::types::message::{Message, MessageWithParts};
use sturdy_session::types::part::{AgentPart, PartBody, SubtaskPart, TextPart, ToolPart};
use sturdy_session::types::tool::ToolState;
use sturdy_store::{CrashPlan, RawMessage};
use sturdy_testkit::script::Gate;
use sturdy_testkit::world::{Disk, scripted};
use sturdy_testkit::{Provider, Seen, World, answer};

/// A world with settings of its own.
async fn world_with(key: &str, value: Value) -> World {
    let disk = Disk::new();
    let provider = Provider::start().await;
    let world = World::open(disk, provider, CrashPlan::Never).await;
    let mut config = scripted(&world.provider.url());
    config[key] = value;
    world.disk.configure(&config);
    world.engine.dispose_all();
    world
}

fn named(command: &str, arguments: &str) -> CommandRequest {
    let command = command.to_owned();
    let arguments = arguments.to_owned();
    CommandRequest { command, arguments, ..CommandRequest::default() }
}

fn shell(command: &str) -> ShellRequest {
    ShellRequest { command: command.to_owned(), agent: "build".to_owned(), ..ShellRequest::default() }
}

fn parsed(raw: &RawMessage) -> MessageWithParts {
    let parts = raw.parts.iter().map(|part| serde_json::from_str(part).unwrap()).collect();
    MessageWithParts { info: serde_json::from_str(&raw.info).unwrap(), parts }
}

fn calls(message: &MessageWithParts) -> Vec<&ToolPart> {
    let calls = message.parts.iter().filter_map(|part| match &part.body {
        PartBody::Tool(tool) => Some(tool),
        _ => None,
    });
    calls.collect()
}

async fn check(world: &World, session: &SessionId) {
    let summary = oracle::check(&world.log(session).await).unwrap();
    assert!(!summary.is_busy && summary.waiting.is_empty());
}

#[tokio::test]
async fn a_command_is_filled_in_run_and_noted_when_it_is_over() {
    let template = "Say $1 to $2. It is !`echo here; pwd; echo no >&2`. See @a.txt and @general.";
    let world = world_with("command", json!({ "greet": { "template": template } })).await;
    fs::write(world.disk.project().join("a.txt"), "attached\n").unwrap();
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(answer().text("Hello.").finish("stop"));

    let asked = world.engine.command(&session.id, named("greet", "hello the world")).await.unwrap();
    let reply = world.engine.answer(&session.id, &asked).await.unwrap();

    let message = world.messages(&session.id).await.remove(0);
    let said = texts(&message);
    let place = world.disk.project().canonicalize().unwrap();
    let wanted = format!("Say hello to the world. It is here\n{}\n.", place.display());
    assert!(said[0].starts_with(&wanted), "{}", said[0]);
    assert!(!said[0].contains("no"), "{}", said[0]);
    assert!(said.iter().any(|text| text.contains("1: attached")), "{said:?}");
    assert!(
        message
            .parts
            .iter()
            .any(|part| matches!(&part.body, PartBody::Agent(AgentPart { name, .. }) if name == "general"))
    );
    let executed = |fact: &Fact| matches!(fact, Fact::CommandExecuted { name, arguments, message } if name == "greet" && arguments == "hello the world" && *message == reply.id);
    seen.until(|record| record.facts.iter().any(executed)).await;
    check(&world, &session.id).await;
}

// It was read and judged as bash; another shell may understand something else by the same text.
#[tokio::test]
async fn another_shell_of_the_settings_does_not_run_what_a_model_wrote() {
    let world = World::new().await;
    let other = world.disk.home().join("other-shell");
    fs::write(&other, "#!/bin/sh\ntouch was-run\nexec /bin/sh \"$@\"\n").unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    let mut config = scripted(&world.provider.url());
    config["shell"] = json!(other);
    world.disk.configure(&config);
    world.engine.dispose_all();
    let session = world.session().await;
    let marker = world.disk.project().join("was-run");
    world.provider.will(runs("echo \"bash ${BASH_VERSION%%.*}\""));
    world.provider.will(answer().text("Done.").finish("stop"));

    world.ask(&session.id, "go").await.unwrap();

    let messages = world.messages(&session.id).await;
    let ToolState::Completed { output, .. } = &call_of(&messages).state else { panic!("{messages:?}") };
    assert!(output.starts_with("bash ") && output.trim().len() > "bash ".len(), "{output}");
    assert!(!marker.exists());
    // The user's own line is run by it.
    world.engine.shell(&session.id, shell("true")).await.unwrap();
    assert!(marker.exists());
}

#[tokio::test]
async fn an_unknown_command_is_refused_with_the_names_there_are() {
    let world = World::new().await;
    let session = world.session().await;

    let refused = world.engine.command(&session.id, named("nosuch", "")).await;

    let Err(EngineError::Unknown(text)) = refused else { panic!("not refused: {refused:?}") };
    assert!(text.contains("nosuch") && text.contains("init, review"), "{text}");
    assert!(world.messages(&session.id).await.is_empty());
}

#[tokio::test]
async fn a_command_chooses_its_agent_and_a_wrong_model_changes_nothing() {
    let entry = json!({ "template": "plan it", "agent": "plan" });
    let wrong = json!({ "template": "x", "model": "acme/nothing" });
    let world = world_with("command", json!({ "think": entry, "wrong": wrong })).await;
    let session = world.session().await;
    world.provider.will(answer().text("A plan.").finish("stop"));

    let asked = world.engine.command(&session.id, named("think", "")).await.unwrap();
    let reply = parsed(&world.engine.answer(&session.id, &asked).await.unwrap());

    assert_eq!(assistant(&reply).agent, "plan");
    let refused = world.engine.command(&session.id, named("wrong", "")).await;
    assert!(matches!(refused, Err(EngineError::Unknown(_))), "{refused:?}");
    assert_eq!(world.messages(&session.id).await.len(), 2);
}

#[tokio::test]
async fn a_skill_that_is_used_as_a_command_takes_its_arguments_where_it_wants_them() {
    let world = World::new().await;
    let place = world.disk.project().join(".opencode/skill");
    for (name, text) in [("fix", "Fix $ARGUMENTS, not $1 or !`touch marker`."), ("plain", "Costs $5.")] {
        fs::create_dir_all(place.join(name)).unwrap();
        let text = format!("---\nname: {name}\ndescription: d\n---\n{text}");
        fs::write(place.join(name).join("SKILL.md"), text).unwrap();
    }
    world.engine.dispose_all();
    let session = world.session().await;
    let mut told = Vec::new();

    for name in ["fix", "plain"] {
        world.provider.will(answer().text("Yes.").finish("stop"));
        let asked = world.engine.command(&session.id, named(name, "the $2 bug")).await.unwrap();
        world.engine.answer(&session.id, &asked).await.unwrap();
        let messages = world.messages(&session.id).await;
        told.push(texts(&messages[messages.len() - 2])[0].to_owned());
    }

    // Was: without the place of its files, which only whoever loaded it by the tool was told.
    let of = |name: &str| {
        let place = place.join(name);
        format!("\n\nBase directory: {}\nPaths in the skill are relative to it.", place.display())
    };
    let expected = [
        format!("Fix the $2 bug, not $1 or !`touch marker`.{}", of("fix")),
        format!("Costs $5.{}\n\nthe $2 bug", of("plain")),
    ];
    assert_eq!(told, expected);
    assert!(!world.disk.project().join("marker").exists());
}

#[tokio::test]
async fn a_command_that_is_a_subtask_runs_in_a_session_of_its_own() {
    let entry = json!({ "template": "look at $ARGUMENTS", "agent": "explore", "description": "Look" });
    let world = world_with("command", json!({ "look": entry })).await;
    let session = world.session().await;
    world.provider.will(answer().text("I looked.").finish("stop"));
    world.provider.will(answer().text("It looked.").finish("stop"));

    let asked = world.engine.command(&session.id, named("look", "the tree")).await.unwrap();
    let reply = parsed(&world.engine.answer(&session.id, &asked).await.unwrap());

    assert_eq!(texts(&reply), ["It looked."]);
    let messages = world.messages(&session.id).await;
    assert_eq!(messages.len(), 4, "{messages:#?}");
    let step = assistant(&messages[1]);
    assert_eq!((step.agent.as_str(), step.finish.map(FinishReason::as_str)), ("explore", Some("tool-calls")));
    assert!(step.time.completed.is_some() && step.error.is_none());
    let call = calls(&messages[1])[0];
    let ToolState::Completed { input, output, .. } = &call.state else { panic!("{:?}", call.state) };
    assert_eq!((&input["prompt"], &input["command"]), (&json!("look at the tree"), &json!("look")));
    assert!(output.contains("I looked."), "{output}");
    let Message::User(follow) = &messages[2].info else { panic!("no request to go on") };
    assert_eq!(follow.agent, "build");
    assert_eq!(assistant(&reply).parent_id, follow.id);
    check(&world, &session.id).await;
}

#[tokio::test]
async fn every_subtask_of_a_prompt_runs_once_and_the_model_is_told() {
    let world = World::new().await;
    let session = world.session().await;
    let subtask = |name: &str| {
        let prompt = format!("do {name}");
        let description = name.to_owned();
        let agent = "general".to_owned();
        (None, PartBody::Subtask(SubtaskPart { prompt, description, agent, model: None, command: None }))
    };
    for text in ["First.", "Second.", "Both."] {
        world.provider.will(answer().text(text).finish("stop"));
    }
    let parts = vec![subtask("one"), subtask("two")];

    let asked =
        world.engine.prompt(&session.id, PromptRequest { parts, ..PromptRequest::default() }).await.unwrap();
    let reply = parsed(&world.engine.answer(&session.id, &asked).await.unwrap());

    assert_eq!(texts(&reply), ["Both."]);
    let messages = world.messages(&session.id).await;
    assert_eq!(messages.len(), 4);
    let sent = world.provider.requests()[2]["messages"].to_string();
    assert!(sent.contains("First.") && sent.contains("Second."), "{sent}");
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_stopped_subtask_is_cancelled_with_its_child() {
    let world = World::new().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(answer().text("Half").hang());
    let prompt = "go".to_owned();
    let description = "Go".to_owned();
    let agent = "general".to_owned();
    let part = SubtaskPart { prompt, description, agent, model: None, command: None };
    let parts = vec![(None, PartBody::Subtask(part))];
    let asked =
        world.engine.prompt(&session.id, PromptRequest { parts, ..PromptRequest::default() }).await.unwrap();
    seen.until(|record| record.texts.values().any(|text| text == "Half")).await;

    world.engine.abort(&session.id).await.unwrap();
    world.engine.answer(&session.id, &asked).await.unwrap();

    let messages = world.messages(&session.id).await;
    let ToolState::Error { error, metadata, .. } = &calls(&messages[1])[0].state else {
        panic!("not an error")
    };
    assert_eq!(error, "Cancelled");
    let child = SessionId::parse(metadata.as_ref().unwrap()["sessionId"].as_str().unwrap()).unwrap();
    world.engine.session(&child).await.unwrap().idle().await;
    assert!(assistant(&world.messages(&child).await[1]).error.as_ref().is_some_and(Failure::is_aborted));
    check(&world, &session.id).await;
}

#[tokio::test]
async fn an_agent_the_user_named_is_given_work_without_asking() {
    let world = world_with("permission", json!({ "task": "deny" })).await;
    let session = world.session().await;
    let task = json!({ "description": "Look", "prompt": "look", "subagent_type": "general" }).to_string();
    world.provider.will(answer().call(0, "c1", "task", &task).finish("tool_calls"));
    world.provider.will(answer().text("Looked.").finish("stop"));
    world.provider.will(answer().text("Fine.").finish("stop"));
    let agent = PartBody::Agent(AgentPart { name: "general".to_owned(), source: None });
    let text = PartBody::Text(TextPart { text: "ask it".to_owned(), ..TextPart::default() });
    let parts = vec![(None, text), (None, agent)];

    let asked =
        world.engine.prompt(&session.id, PromptRequest { parts, ..PromptRequest::default() }).await.unwrap();
    world.engine.answer(&session.id, &asked).await.unwrap();

    let messages = world.messages(&session.id).await;
    let call = calls(&messages[1])[0];
    assert!(matches!(call.state, ToolState::Completed { .. }), "{:?}", call.state);
}

#[tokio::test]
async fn a_shell_command_runs_in_the_project_and_asks_nobody() {
    let world = world_with("permission", json!({ "bash": "deny" })).await;
    let session = world.session().await;
    let before = world.engine.session_record(&session.id).await.unwrap();

    let raw = world.engine.shell(&session.id, shell("echo out; echo err >&2; pwd; exit 3")).await.unwrap();

    let message = parsed(&raw);
    let place = world.disk.project().canonicalize().unwrap();
    let wanted = format!("out\nerr\n{}\n", place.display());
    let ToolState::Completed { output, title, metadata, .. } = &calls(&message)[0].state else {
        panic!("not done")
    };
    assert_eq!((output, title.as_str()), (&wanted, ""));
    assert_eq!(*metadata, json!({ "output": wanted }).as_object().cloned().unwrap());
    let info = assistant(&message);
    assert!(info.time.completed.is_some() && info.error.is_none() && info.finish.is_none());
    assert_eq!(world.engine.session_record(&session.id).await.unwrap(), before);
    assert!(world.provider.requests().is_empty());
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_shell_command_is_refused_while_busy_and_so_is_an_unknown_agent() {
    let world = World::new().await;
    let session = world.session().await;
    let gate = Gate::new();
    world.provider.will(answer().text("Slow").gate(&gate).finish("stop"));
    let asked = world.prompt(&session.id, "go").await.unwrap();

    let busy = world.engine.shell(&session.id, shell("echo no")).await;

    assert!(matches!(busy, Err(EngineError::Refused(Refusal::Busy))), "{busy:?}");
    gate.open();
    world.engine.answer(&session.id, &asked).await.unwrap();
    let nobody = ShellRequest { agent: "nobody".to_owned(), ..shell("echo no") };
    let unknown = world.engine.shell(&session.id, nobody).await;
    assert!(matches!(unknown, Err(EngineError::Unknown(_))), "{unknown:?}");
    assert_eq!(world.messages(&session.id).await.len(), 2);
}

#[tokio::test]
async fn a_stopped_shell_command_keeps_its_output_and_whoever_waits_goes_on_waiting() {
    let world = World::new().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    let reported = |fact: &Fact| matches!(fact, Fact::ToolProgressed { metadata: Some(map), .. } if map["output"] == json!("begin\n"));
    let stop = async {
        seen.until(|record| record.facts.iter().any(reported)).await;
        let waiting = world.prompt(&session.id, "meanwhile").await.unwrap();
        world.engine.abort(&session.id).await.unwrap();
        waiting
    };

    let (raw, waiting) = tokio::join!(world.engine.shell(&session.id, shell("echo begin; sleep 600")), stop);

    let message = parsed(&raw.unwrap());
    let ToolState::Completed { output, .. } = &calls(&message)[0].state else { panic!("not done") };
    assert!(output.starts_with("begin\n") && output.contains("stopped"), "{output}");
    assert!(assistant(&message).error.is_none());
    let inbox = world.engine.waiting(&session.id).await.unwrap();
    assert_eq!(inbox.iter().map(|raw| raw.id.clone()).collect::<Vec<_>>(), [waiting]);
}

#[tokio::test]
async fn a_prompt_sent_during_a_shell_command_is_answered_after_it() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().text("After it.").finish("stop"));
    let gate = world.disk.project().join("gate");
    let command = format!("echo begin; while [ ! -e {} ]; do sleep 0.05; done; echo end", gate.display());
    let mut seen = Seen::from_now(world.engine.feed());
    let reported = |fact: &Fact| matches!(fact, Fact::ToolProgressed { metadata: Some(map), .. } if map["output"] == json!("begin\n"));
    let meanwhile = async {
        seen.until(|record| record.facts.iter().any(reported)).await;
        let asked = world.prompt(&session.id, "what came out?").await.unwrap();
        assert!(world.provider.requests().is_empty());
        fs::write(&gate, "").unwrap();
        world.engine.answer(&session.id, &asked).await.unwrap()
    };

    let (shell, reply) = tokio::join!(world.engine.shell(&session.id, shell(&command)), meanwhile);

    assert_eq!(calls(&parsed(&shell.unwrap())).len(), 1);
    assert_eq!(texts(&parsed(&reply)), ["After it."]);
    assert!(world.provider.requests()[0]["messages"].to_string().contains("begin\\nend"));
    check(&world, &session.id).await;
}

#[tokio::test]
async fn a_shell_command_is_interrupted_by_a_restart_and_not_repeated() {
    let world = World::new().await;
    let session = world.session().await;
    let engine = world.engine.clone();
    let marker = world.disk.project().join("marker");
    let run = engine.shell(&session.id, shell("echo once >> marker; sleep 600"));
    let ran = async {
        // Made and then written: a file that is there may still be empty.
        while !fs::read(&marker).is_ok_and(|text| !text.is_empty()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        ended = run => panic!("ended by itself: {ended:?}"),
        () = ran => {}
    }
    drop(engine);

    let world = world.reopen().await;

    let messages = world.messages(&session.id).await;
    assert!(calls(&messages[1])[0].state.is_interrupted());
    assert!(assistant(&messages[1]).time.completed.is_some());
    assert_eq!(fs::read_to_string(world.disk.project().join("marker")).unwrap(), "once\n");
    check(&world, &session.id).await;
}

/// A shell command, then a prompt with a subtask; as far as the process lives.
async fn busy_day(world: &World) -> Option<SessionId> {
    for text in ["Found.", "Told."] {
        world.provider.will(answer().text(text).finish("stop"));
    }
    let session = world.try_session().await.ok()?;
    let prompt = "go".to_owned();
    let description = "Go".to_owned();
    let agent = "general".to_owned();
    let part = SubtaskPart { prompt, description, agent, model: None, command: Some("look".to_owned()) };
    let parts = vec![(None, PartBody::Subtask(part))];
    let request = PromptRequest { parts, ..PromptRequest::default() };
    if world.engine.shell(&session.id, shell("echo done")).await.is_ok()
        && let Ok(asked) = world.engine.prompt(&session.id, request).await
    {
        // A process that dies answers nobody.
        let _ = world.engine.answer(&session.id, &asked).await;
    }
    Some(session.id)
}

#[tokio::test]
async fn no_crash_leaves_a_command_open_or_runs_a_subtask_twice() {
    let quiet = World::new().await;
    busy_day(&quiet).await.unwrap();
    let most = quiet.engine.store().head();
    let mut crashes = 0;
    let mut survived = 0;
    for n in 1..=most {
        // Entries are more than commits: behind the last one nobody dies any more.
        if survived >= 6 {
            break;
        }
        for plan in [CrashPlan::BeforeCommit(n), CrashPlan::AfterCommit(n)] {
            let world = World::open(Disk::new(), Provider::start().await, plan).await;
            let session = busy_day(&world).await;
            if !world.engine.store().was_crashed() {
                survived += 1;
                continue;
            }
            crashes += 1;
            survived = 0;
            let world = world.reopen().await;
            let Some(session) = session else { continue };
            settled(&world, &session, &format!("{plan:?}")).await;
        }
    }
    assert!(crashes >= 10, "only {crashes} crashes were tried");
}

/// Nothing is open, and going on runs what nobody has begun and nothing else.
async fn settled(world: &World, session: &SessionId, plan: &str) {
    let tasks = |log: &[Fact]| {
        let is_task = |fact: &&Fact| matches!(fact, Fact::ToolCalled { tool, .. } if tool == "task");
        log.iter().filter(is_task).count()
    };
    let log = world.log(session).await;
    let summary = oracle::check(&log).unwrap_or_else(|broken| panic!("{plan}: {broken}"));
    assert!(!summary.is_busy, "{plan}: busy after a restart");
    for message in world.messages(session).await {
        assert!(calls(&message).iter().all(|call| call.state.is_over()), "{plan}: an open call");
        if let Message::Assistant(info) = &message.info {
            assert!(info.time.completed.is_some(), "{plan}: an open message");
        }
    }
    let begun = tasks(&log);
    for _ in 0..3 {
        world.provider.will(answer().text("Still here.").finish("stop"));
    }
    world.ask(session, "are you there?").await.unwrap_or_else(|cause| panic!("{plan}: {cause}"));
    let log = world.log(session).await;
    let ran = tasks(&log);
    assert!(ran <= 1 && ran >= begun, "{plan}: the subtask ran {ran} times");
    let summary = oracle::check(&log).unwrap_or_else(|broken| panic!("{plan}: {broken}"));
    assert!(summary.waiting.is_empty(), "{plan}: somebody waits behind a normal end");
}
