//! Nothing hangs: a refused commit, a panic, a damaged session.

use crate::turns::{assistant, texts};
use serde_json::json;
use std::path::Path;
use sturdy_engine::task::PanicPlan;
use sturdy_engine::{Damage, EngineError, PromptRequest};
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::oracle;
use sturdy_session::types::part::{PartBody, SubtaskPart};
use sturdy_session::types::session::Session;
use sturdy_session::types::status::Status;
use sturdy_store::{CommitError, CrashPlan, MessageQuery, ReadError};
use sturdy_testkit::script::Gate;
use sturdy_testkit::world::Disk;
use sturdy_testkit::{Answer, Provider, Seen, World, answer};

/// The tries the store gives a group of commits.
const TRIES: u64 = 60;

fn says(text: &str) -> Answer {
    answer().text_in_chunks(text, 3).finish("stop")
}

/// Nothing is open, on disk and in memory, and the next prompt is answered.
async fn assert_at_rest(world: &World, session: &SessionId) {
    let summary = oracle::check(&world.log(session).await).unwrap();
    assert!(!summary.is_busy, "busy on disk");
    assert_eq!(world.engine.statuses(), [], "busy in memory");
    world.provider.forget_answers();
    world.provider.will(says("Here."));
    let reply = world.ask(session, "are you there?").await.unwrap();
    assert_eq!(texts(&reply), ["Here."]);
}

#[tokio::test]
async fn a_disk_that_is_full_for_a_moment_costs_no_turn() {
    let full = CrashPlan::DiskFull { first: 3, tries: TRIES - 1 };
    let world = World::open(Disk::new(), Provider::start().await, full).await;
    let session = world.session().await;
    world.provider.will(says("The whole answer."));

    let reply = world.ask(&session.id, "go").await.unwrap();

    // Was: the turn ended and the session stayed busy, on disk and for every client.
    assert_eq!(texts(&reply), ["The whole answer."]);
    assert!(assistant(&reply).error.is_none());
    assert_at_rest(&world, &session.id).await;
}

#[tokio::test]
async fn a_turn_that_cannot_be_stored_is_settled_as_soon_as_it_can_be_and_clients_are_told() {
    let full = CrashPlan::DiskFull { first: 4, tries: TRIES + 3 };
    let world = World::open(Disk::new(), Provider::start().await, full).await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(says("Never seen whole."));

    world.prompt(&session.id, "go").await.unwrap();
    let record = seen.until(|record| record.is_idle() && !record.failures.is_empty()).await;

    let told = record.failures.iter().any(|text| text.contains("no space left on the disk"));
    assert!(told, "{:?}", record.failures);
    assert_at_rest(&world, &session.id).await;
}

#[tokio::test]
async fn a_prompt_that_cannot_be_stored_is_refused_and_leaves_the_session_usable() {
    let full = CrashPlan::DiskFull { first: 2, tries: TRIES };
    let world = World::open(Disk::new(), Provider::start().await, full).await;
    let session = world.session().await;

    let refused = world.prompt(&session.id, "go").await;

    assert!(matches!(refused, Err(EngineError::Commit(CommitError::Unavailable(_)))), "{refused:?}");
    assert_at_rest(&world, &session.id).await;
}

/// One effect panics. Its session says that the turn failed, and goes on.
async fn an_effect_panics(effect: &'static str, scripted: Vec<Answer>) {
    let world = World::with(|options| options.panics = PanicPlan::first(effect)).await;
    let session = world.session().await;
    for answer in scripted {
        world.provider.will(answer);
    }

    world.prompt(&session.id, "go").await.unwrap();

    assert_told_and_at_rest(&world, &session.id, effect).await;
}

/// The log says that something inside the server failed, and the session goes on.
async fn assert_told_and_at_rest(world: &World, session: &SessionId, effect: &str) {
    world.engine.session(session).await.unwrap().idle().await;
    let log = world.log(session).await;
    let told = log.iter().any(|fact| fact.data().contains("An error inside the server ended this"));
    assert!(told, "{effect}: nobody was told: {log:#?}");
    assert_at_rest(world, session).await;
}

#[tokio::test]
async fn a_panic_while_a_step_is_prepared_fails_the_prompt() {
    an_effect_panics("prepare", vec![]).await;
}

#[tokio::test]
async fn a_panic_while_a_model_speaks_fails_the_step() {
    an_effect_panics("model", vec![]).await;
}

#[tokio::test]
async fn a_panic_in_the_middle_of_an_answer_keeps_what_was_said_and_fails_the_step() {
    let plan = PanicPlan::later("stream");
    let world = World::with(|options| options.panics = plan.clone()).await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    let gate = Gate::new();
    world.provider.will(answer().text("The first half").gate(&gate).text(" and the second.").finish("stop"));
    let prompted = world.prompt(&session.id, "go").await.unwrap();
    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::TextStarted { .. }))).await;

    plan.arm();
    gate.open();
    world.engine.answer(&session.id, &prompted).await.unwrap();

    let messages = world.messages(&session.id).await;
    assert_eq!(texts(&messages[1]), ["The first half"]);
    assert!(assistant(&messages[1]).error.is_some());
    assert_told_and_at_rest(&world, &session.id, "stream").await;
}

#[tokio::test]
async fn a_panic_while_a_subtask_is_prepared_fails_the_prompt() {
    let world = World::with(|options| options.panics = PanicPlan::first("subtask")).await;
    let session = world.session().await;
    let part = SubtaskPart {
        prompt: "go".to_owned(),
        description: "Go".to_owned(),
        agent: "general".to_owned(),
        model: None,
        command: Some("look".to_owned()),
    };
    let parts = vec![(None, PartBody::Subtask(part))];
    let request = PromptRequest { parts, ..PromptRequest::default() };
    world.engine.prompt(&session.id, request).await.unwrap();

    assert_told_and_at_rest(&world, &session.id, "subtask").await;
}

#[tokio::test]
async fn a_panic_while_a_conversation_is_summarised_fails_the_summary() {
    let world = World::with(|options| options.panics = PanicPlan::first("compact")).await;
    let session = world.session().await;
    world.provider.will(says("One."));
    world.ask(&session.id, "first").await.unwrap();
    // What it says does not matter here: the session says it too.
    let _ = world.engine.summarize(&session.id, "acme", "main").await;

    assert_told_and_at_rest(&world, &session.id, "compact").await;
}

#[tokio::test]
async fn a_panic_in_a_tool_fails_the_call() {
    let call = answer().call(0, "c1", "glob", r#"{"pattern":"*"}"#).finish("tool_calls");
    an_effect_panics("tool", vec![call, says("It failed.")]).await;
}

#[tokio::test]
async fn a_panic_in_the_task_of_a_session_stops_its_command_and_settles_it() {
    let plan = PanicPlan::later("session");
    let world = World::with(|options| options.panics = plan.clone()).await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    let pid = world.disk.project().join("pid");
    let arguments = json!({ "command": "echo $$ > pid.new; mv pid.new pid; exec sleep 1000" }).to_string();
    world.provider.will(answer().call(0, "c1", "bash", &arguments).finish("tool_calls"));
    world.prompt(&session.id, "go").await.unwrap();
    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::ToolStarted { .. }))).await;
    until(|| pid.exists()).await;
    let process = format!("/proc/{}", std::fs::read_to_string(&pid).unwrap().trim());
    assert!(Path::new(&process).exists());

    plan.arm();
    let lost = world.prompt(&session.id, "and you?").await;
    seen.until(sturdy_testkit::seen::Record::is_idle).await;

    // A report of the command may have met the panic before the prompt did.
    assert!(matches!(lost, Err(EngineError::Lost(_)) | Ok(_)), "{lost:?}");
    // Then the prompt has a turn of its own, which ends first.
    world.engine.session(&session.id).await.unwrap().idle().await;
    assert_at_rest(&world, &session.id).await;
    // Was: the command ran on without anybody.
    until(|| !Path::new(&process).exists()).await;
}

/// Looks again and again; a test that waits for ever is ended by the runner.
async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_panic_of_the_writing_thread_is_heard_of() {
    let world = World::open(Disk::new(), Provider::start().await, CrashPlan::Panic(2)).await;
    let session = world.session().await;
    assert!(world.engine.is_healthy());

    let met = world.prompt(&session.id, "go").await;
    world.engine.broke().await;

    assert!(matches!(met, Err(EngineError::Commit(CommitError::Unknown(_)))), "{met:?}");
    assert!(!world.engine.is_healthy());
    let record = world.engine.session_record(&session.id).await.unwrap();
    assert!(record.contains("A test"), "reading goes on");
}

/// A world with two sessions that died in the middle of an answer; the first is then damaged by this statement.
async fn damaged(statement: impl Fn(&SessionId) -> String) -> (World, SessionId, SessionId) {
    let gate = Gate::new();
    let world = World::new().await;
    let one = world.session().await;
    let two = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    for session in [&one, &two] {
        world.provider.will(answer().text("So far.").gate(&gate).finish("stop"));
        world.prompt(&session.id, "go").await.unwrap();
    }
    seen.until(|record| record.texts.values().filter(|text| *text == "So far.").count() == 2).await;
    let world = world.reopen_damaged(&statement(&one.id)).await;
    (world, one.id, two.id)
}

#[tokio::test]
async fn a_damaged_session_is_listed_and_removable_and_keeps_nobody_else_from_being_served() {
    let statements: [fn(&SessionId) -> String; 4] = [
        |id| format!("UPDATE session SET machine = '{{' WHERE id = '{id}'"),
        |id| format!("UPDATE session SET data = '' WHERE id = '{id}'"),
        |id| format!("UPDATE log SET data = '{{' WHERE session_id = '{id}' AND kind = 'text.grew.1'"),
        |id| format!("DELETE FROM message WHERE session_id = '{id}'"),
    ];
    for statement in statements {
        let (world, broken, whole) = damaged(statement).await;

        // Was: one broken entry of an open session kept the server from starting.
        let list = world.engine.damaged();
        let named: Vec<&SessionId> = list.iter().map(|Damage { session, .. }| session).collect();
        assert_eq!(named, [&broken], "{}", statement(&broken));
        assert!(!list[0].what.is_empty() && !list[0].place.is_empty(), "{list:?}");
        let refused = world.prompt(&broken, "go").await;
        assert!(matches!(refused, Err(EngineError::Damaged { .. } | EngineError::Read(_))), "{refused:?}");
        assert_at_rest(&world, &whole).await;
        // As far as it can be read, it is: so it can be exported.
        let record = world.engine.session_record(&broken).await.unwrap();
        assert!(serde_json::from_str::<Session>(&record).is_ok(), "{record}");
        let read = world.engine.store().messages(&broken, MessageQuery::default()).await.unwrap();
        let texts: String = read.items.iter().flat_map(|message| message.parts.clone()).collect();
        match statement(&broken).contains("text.grew") {
            true => assert!(texts.contains("A piece of this text is damaged"), "{texts}"),
            false => assert_eq!(texts.contains("So far."), !read.items.is_empty(), "{texts}"),
        }

        let mut seen = Seen::from_now(world.engine.feed());
        world.engine.remove_session(&broken).await.unwrap();
        seen.until(|record| matches!(record.facts.last(), Some(Fact::SessionRemoved { .. }))).await;
        assert_eq!(world.engine.damaged(), []);
        assert!(matches!(world.engine.session_record(&broken).await, Err(EngineError::NoSession(_))));
        let world = world.reopen().await;
        assert_eq!(world.engine.damaged(), []);
        let statuses: Vec<(SessionId, Status)> = world.engine.statuses();
        assert_eq!(statuses, []);
    }
}

#[tokio::test]
async fn a_session_whose_record_is_damaged_is_not_said_to_be_gone() {
    let world = World::new().await;
    let id = world.session().await.id;
    let world = world.reopen_damaged(&format!("UPDATE session SET data = '{{}}' WHERE id = '{id}'")).await;

    // Was: there was no such session.
    let engine = &world.engine;
    for refused in [
        engine.fork(&id, None).await.unwrap_err(),
        engine.session_diff(&id).await.unwrap_err(),
        engine.context(&id).await.unwrap_err(),
    ] {
        let EngineError::Read(ReadError::Broken { place, .. }) = &refused else { panic!("{refused:?}") };
        assert_eq!(*place, format!("session {id}"));
    }
    let named: Vec<SessionId> = engine.damaged().into_iter().map(|damage| damage.session).collect();
    assert_eq!(named, [id]);
}

#[tokio::test]
async fn a_thousand_sessions_are_not_all_kept_awake_and_each_still_answers() {
    const AWAKE_MAX: usize = 256;
    let world = World::new().await;
    let mut sessions = Vec::new();
    for _ in 0..1000 {
        sessions.push(world.session().await.id);
    }

    // Was: whoever was ever asked for stayed in memory.
    until(|| world.engine.awake() <= AWAKE_MAX).await;

    for id in [&sessions[0], &sessions[500], &sessions[999]] {
        assert_at_rest(&world, id).await;
    }
    let (one, two) = tokio::join!(world.engine.session(&sessions[1]), world.engine.session(&sessions[1]));
    assert_eq!(one.unwrap().id(), two.unwrap().id());
}

#[tokio::test]
async fn a_load_that_fails_while_others_wait_for_it_leads_to_one_task_and_not_to_two() {
    let world = World::new().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    let gate = Gate::new();
    world.provider.will(answer().text("So far.").gate(&gate).finish("stop"));
    world.prompt(&session.id, "go").await.unwrap();
    seen.until(|record| record.texts.values().any(|text| text == "So far.")).await;
    let World { engine, disk, provider } = world;
    engine.close().await;
    drop(engine);

    // Loading settles, and settling is refused a number of times.
    let full = CrashPlan::DiskFull { first: 1, tries: TRIES + 20 };
    let world = World::open(disk, provider, full).await;
    let callers = (0..64).map(|_| async {
        loop {
            if let Ok(handle) = world.engine.session(&session.id).await {
                return handle;
            }
        }
    });
    let handles = futures_util::future::join_all(callers).await;

    assert_eq!(handles.len(), 64);
    assert_eq!(world.engine.awake(), 1);
    assert_at_rest(&world, &session.id).await;
}
