//! Every tool, stopped and killed while it runs.
//!
//! A tool that waits for something is caught while it waits. All of them are also caught at the last moment: they
//! have acted, and their result is in nobody's hands yet. A crash is a commit that does not happen: behind the
//! fact that a call runs, and before the fact that it ended.

use crate::table::{Case, Needs, Pages, Setup, Wants, cases};
use crate::tools::call_of;
use crate::turns::{assistant, texts};
use futures_util::future::{BoxFuture, join_all};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, mpsc};
use sturdy_engine::extension::{Extension, ToolMoment};
use sturdy_session::fact::{Fact, Outcome};
use sturdy_session::id::SessionId;
use sturdy_session::oracle;
use sturdy_session::types::ask::PermissionReply;
use sturdy_session::types::failure::Failure;
use sturdy_session::types::message::MessageWithParts;
use sturdy_session::types::session::Session;
use sturdy_session::types::tool::ToolState;
use sturdy_store::{AskQuery, CrashPlan, SessionQuery};
use sturdy_testkit::{Seen, World, answer};
use tokio::sync::watch;

const INTERRUPTED: &str = "Tool execution aborted";

/// Keeps the result of the model's call back until it is let go.
#[derive(Debug)]
struct Hold {
    holds: watch::Sender<bool>,
    let_go: Mutex<mpsc::Receiver<()>>,
}

impl Hold {
    fn new() -> (Arc<Self>, mpsc::SyncSender<()>) {
        let (go, let_go) = mpsc::sync_channel(1);
        (Arc::new(Self { holds: watch::Sender::new(false), let_go: Mutex::new(let_go) }), go)
    }
}

impl Extension for Hold {
    fn after_tool<'a>(&'a self, _: ToolMoment<'a>, _: &'a mut Outcome) -> BoxFuture<'a, ()> {
        Box::pin(async {
            self.holds.send_replace(true);
            // An error means that the test is over, and with it the wait.
            let _ = tokio::task::block_in_place(|| self.let_go.lock().unwrap().recv());
        })
    }
}

async fn sessions(world: &World) -> Vec<Session> {
    let records = world.engine.store().sessions(SessionQuery::default()).await.unwrap();
    records.iter().map(|record| serde_json::from_str(record).unwrap()).collect()
}

/// The session that was made for the call.
async fn child_of(world: &World, session: &SessionId) -> SessionId {
    let children = sessions(world).await;
    children.into_iter().find(|one| one.parent_id.as_ref() == Some(session)).expect("a child").id
}

fn count(log: &[Fact], is: fn(&Fact) -> bool) -> usize {
    log.iter().filter(|fact| is(fact)).count()
}

/// Calls of the conversation that were sent to the model without a result.
fn unanswered(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    let results: Vec<&Value> = messages.iter().map(|message| &message["tool_call_id"]).collect();
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    calls.filter(|call| !results.contains(&&call["id"])).map(|call| call["id"].to_string()).collect()
}

/// Nothing runs, nobody is asked, the log keeps its promises, and the session goes on.
async fn assert_goes_on(world: &World, session: &SessionId, what: &str) {
    assert_eq!(world.engine.statuses(), [], "{what}");
    assert_eq!(world.engine.store().asks(AskQuery::default()).await.unwrap(), [], "{what}");
    world.provider.forget_answers();
    world.provider.will(answer().text("Still here.").finish("stop"));
    let reply = world.ask(session, "are you there?").await.unwrap();

    assert_eq!(texts(&reply), ["Still here."], "{what}");
    assert!(assistant(&reply).error.is_none(), "{what}");
    let request = world.provider.requests().pop().unwrap();
    assert!(request["messages"].to_string().contains("call_1"), "{what}: {request}");
    assert_eq!(unanswered(&request), Vec::<String>::new(), "{what}");
    for one in sessions(world).await {
        let log = world.log(&one.id).await;
        let summary = oracle::check(&log).unwrap_or_else(|broken| panic!("{what}: {broken}"));
        assert!(!summary.is_busy && summary.waiting.is_empty(), "{what}: {}", one.title);
    }
    let log = world.log(session).await;
    let started = count(&log, |fact| matches!(fact, Fact::ToolStarted { .. }));
    let ended = count(&log, |fact| matches!(fact, Fact::ToolEnded { .. }));
    assert_eq!((started, ended), (1, 1), "{what}");
}

fn assert_interrupted(messages: &[MessageWithParts], what: &str) {
    let state = &call_of(messages).state;
    let ToolState::Error { error, .. } = state else { panic!("{what}: {state:?}") };
    assert_eq!((error.as_str(), state.is_interrupted()), (INTERRUPTED, true), "{what}");
    assert!(assistant(&messages[1]).error.as_ref().is_some_and(Failure::is_aborted), "{what}");
}

/// What is stored from the stop on, in this order and nothing else.
async fn assert_stopped_in_order(world: &World, session: &SessionId, what: &str) {
    let log = world.log(session).await;
    let kinds: Vec<&str> = log.iter().map(Fact::kind).collect();
    let stopping = kinds.iter().position(|kind| *kind == "turn.stopping.1").expect("nobody stopped it");
    let rest: Vec<&str> =
        kinds[stopping + 1..].iter().copied().filter(|kind| !is_report(kind) && !is_of_files(kind)).collect();
    let order = ["tool.ended.1", "session.failed.1", "step.ended.1", "session.idled.1"];
    assert_eq!(rest, order, "{what}");
}

/// What a call reports last may come before or behind the stop.
fn is_report(kind: &str) -> bool {
    kind == "tool.progressed.1"
}

/// What it had changed on the disk is told too, if it had time to change something.
fn is_of_files(kind: &str) -> bool {
    matches!(kind, "files.changed.1" | "turn.diffed.1" | "part.written.1")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abort_at_the_last_moment_interrupts_the_call_and_drops_its_result() {
    let pages = Pages::start().await;
    join_all(cases(&pages).into_iter().map(stopped_at_the_last_moment)).await;
}

async fn stopped_at_the_last_moment(case: Case) {
    let (hold, go) = Hold::new();
    let mut holds = hold.holds.subscribe();
    let (world, session) = Setup { extensions: vec![hold], ..Setup::of(&case, json!("allow")) }.open().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(case.call());
    world.provider.will(answer().text("I looked.").finish("stop"));
    let prompted = world.prompt(&session, "go").await.unwrap();
    if case.wants == Wants::Words {
        let (question, _) = case.asked(&mut seen).await;
        world.engine.answer_ask(&question, case.yes(PermissionReply::Once)).await.unwrap();
    }
    holds.wait_for(|holds| *holds).await.unwrap();

    world.engine.abort(&session).await.unwrap();
    world.engine.answer(&session, &prompted).await.unwrap();
    drop(go);

    assert_interrupted(&world.messages(&session).await, case.tool);
    assert_stopped_in_order(&world, &session, case.tool).await;
    assert_eq!(case.was_made(&world), case.makes.is_some(), "{}: it has acted", case.tool);
    assert_goes_on(&world, &session, case.tool).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_comes_while_a_call_is_stopped_is_answered() {
    let pages = Pages::start().await;
    let (hold, _go) = Hold::new();
    let mut holds = hold.holds.subscribe();
    let setup = Setup { extensions: vec![hold], ..Setup::of(&cases(&pages)[0], json!("allow")) };
    let (world, session) = setup.open().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(cases(&pages)[0].call());
    world.provider.will(answer().text("Now this.").finish("stop"));
    world.prompt(&session, "go").await.unwrap();
    holds.wait_for(|holds| *holds).await.unwrap();

    let stopping = |fact: &Fact| matches!(fact, Fact::TurnStopping);
    let prompt = async {
        seen.until(|record| record.facts.iter().any(stopping)).await;
        world.ask(&session, "something else").await
    };
    let (stopped, reply) = tokio::join!(world.engine.abort(&session), prompt);

    stopped.unwrap();
    assert_eq!(texts(&reply.unwrap()), ["Now this."]);
}

#[tokio::test]
async fn behind_an_abort_nothing_runs_any_more() {
    // Was: it was said before the command had ended, and a prompt that followed at once was left waiting.
    let input =
        json!({ "command": "trap '' TERM; echo $$ > starting; mv starting pid; sleep 600; sleep 600" });
    let (world, session, _seen) = calling(Needs::Nothing, "bash", input).await;
    world.prompt(&session, "go").await.unwrap();
    let pid = pid_in(&world).await;

    world.engine.abort(&session).await.unwrap();

    assert_eq!(world.engine.statuses(), []);
    assert_goes_on(&world, &session, "bash").await;
    ends(pid).await;
}

/// A world in which everything is allowed, and a turn that has called this.
async fn calling(needs: Needs, tool: &'static str, input: Value) -> (World, SessionId, Seen) {
    let pages = Pages::start().await;
    let setup = Setup { needs: vec![needs], ..Setup::of(&cases(&pages)[0], json!("allow")) };
    let (world, session) = setup.open().await;
    let seen = Seen::from_now(world.engine.feed());
    world.provider.will(answer().call(0, "call_1", tool, &input.to_string()).finish("tool_calls"));
    (world, session, seen)
}

async fn stop(world: &World, session: &SessionId) -> Vec<MessageWithParts> {
    world.engine.abort(session).await.unwrap();
    world.messages(session).await
}

#[tokio::test]
async fn an_abort_ends_a_command_with_what_it_had_printed() {
    let input = json!({ "command": "echo $$; sleep 600" });
    let (world, session, mut seen) = calling(Needs::Nothing, "bash", input).await;
    world.prompt(&session, "go").await.unwrap();
    let printed = |fact: &Fact| match fact {
        Fact::ToolProgressed { metadata: Some(map), .. } => {
            map["output"].as_str()?.trim().parse::<u32>().ok()
        }
        _ => None,
    };
    let record = seen.until(|record| record.facts.iter().any(|fact| printed(fact).is_some())).await;
    let pid = record.facts.iter().find_map(printed).unwrap();

    let messages = stop(&world, &session).await;

    // It ended by itself when it was told to: what it printed is its result.
    let state = &call_of(&messages).state;
    let ToolState::Completed { output, metadata, .. } = state else { panic!("{state:?}") };
    assert_eq!(
        output,
        &format!("{pid}\n\n\n<shell_metadata>\nThe user stopped the command.\n</shell_metadata>")
    );
    assert_eq!((&metadata["output"], &metadata["exit"]), (&json!(format!("{pid}\n")), &Value::Null));
    assert!(assistant(&messages[1]).error.as_ref().is_some_and(Failure::is_aborted));
    assert_stopped_in_order(&world, &session, "bash").await;
    assert_goes_on(&world, &session, "bash").await;
    ends(pid).await;
}

/// Waits until no such process runs.
async fn ends(pid: u32) {
    let is_over = || match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X'])),
        Err(_) => true,
    };
    while !is_over() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_abort_ends_a_fetch_whose_page_does_not_come() {
    let mut pages = Pages::start().await;
    let input = json!({ "url": format!("{}/hangs", pages.url) });
    let (world, session, _seen) = calling(Needs::Nothing, "webfetch", input).await;
    world.prompt(&session, "go").await.unwrap();
    pages.hanging.wait_for(|count| *count == 1).await.unwrap();

    let messages = stop(&world, &session).await;

    assert_interrupted(&messages, "webfetch");
    assert_stopped_in_order(&world, &session, "webfetch").await;
    assert_goes_on(&world, &session, "webfetch").await;
    // The connection is closed.
    pages.hanging.wait_for(|count| *count == 0).await.unwrap();
}

#[tokio::test]
async fn an_abort_ends_the_wait_for_an_mcp_server() {
    let (world, session, _seen) = calling(Needs::McpServer, "my_server_waits", json!({})).await;
    world.prompt(&session, "go").await.unwrap();
    world.noted("called waits").await;

    let messages = stop(&world, &session).await;

    assert_interrupted(&messages, "my_server_waits");
    assert_stopped_in_order(&world, &session, "my_server_waits").await;
    world.noted("cancelled").await;
    assert_goes_on(&world, &session, "my_server_waits").await;
}

#[tokio::test]
async fn an_abort_ends_the_wait_for_a_language_server() {
    let input = json!({ "operation": "hover", "filePath": "x.lang", "line": 1, "character": 1 });
    let (world, session, _seen) = calling(Needs::Languages, "lsp", input).await;
    std::fs::write(world.disk.project().join("silent"), "").unwrap();
    world.prompt(&session, "go").await.unwrap();
    while !world.disk.project().join("starts").exists() {
        tokio::task::yield_now().await;
    }

    let messages = stop(&world, &session).await;

    assert_interrupted(&messages, "lsp");
    assert_stopped_in_order(&world, &session, "lsp").await;
    assert_goes_on(&world, &session, "lsp").await;
}

#[tokio::test]
async fn an_abort_ends_a_formatter_and_leaves_the_whole_file() {
    let input = json!({ "filePath": "new.txt", "content": "x\n" });
    let (world, session, _seen) = calling(Needs::Formatter, "write", input).await;
    world.prompt(&session, "go").await.unwrap();
    let pid = pid_in(&world).await;

    let messages = stop(&world, &session).await;

    // The change was made, and that is what is told of it.
    assert!(matches!(call_of(&messages).state, ToolState::Completed { .. }), "{:?}", call_of(&messages));
    assert!(assistant(&messages[1]).error.as_ref().is_some_and(Failure::is_aborted));
    assert_stopped_in_order(&world, &session, "write").await;
    assert_eq!(std::fs::read_to_string(world.disk.project().join("new.txt")).unwrap(), "x\n");
    ends(pid).await;
    assert_goes_on(&world, &session, "write").await;
}

/// Waits until a process has said who it is, in the file `pid`.
async fn pid_in(world: &World) -> u32 {
    loop {
        if let Ok(text) = std::fs::read_to_string(world.disk.project().join("pid")) {
            return text.trim().parse().unwrap();
        }
        tokio::task::yield_now().await;
    }
}

fn delegates() -> Value {
    json!({ "description": "Look", "prompt": "look", "subagent_type": "general" })
}

#[tokio::test]
async fn an_abort_ends_the_sub_agent_before_the_call_that_waits_for_it() {
    let (world, session, mut seen) = calling(Needs::Nothing, "task", delegates()).await;
    world.provider.will(answer().text("Looking around").hang());
    world.prompt(&session, "go").await.unwrap();
    seen.until(|record| record.texts.values().any(|text| text == "Looking around")).await;

    let messages = stop(&world, &session).await;

    assert_interrupted(&messages, "task");
    assert_stopped_in_order(&world, &session, "task").await;
    let child = child_of(&world, &session).await;
    let ToolState::Error { metadata: Some(metadata), .. } = &call_of(&messages).state else { panic!() };
    assert_eq!(metadata["sessionId"], json!(child));
    let spoken = world.messages(&child).await;
    assert_eq!(texts(&spoken[1]), ["Looking around"]);
    assert!(assistant(&spoken[1]).error.as_ref().is_some_and(Failure::is_aborted));
    let shown: Vec<Fact> = seen.until(|record| idled(&record.facts) == 2).await.facts;
    let ended = |fact: &Fact| matches!(fact, Fact::ToolEnded { .. });
    let first_idle = shown.iter().position(|fact| matches!(fact, Fact::SessionIdled { .. })).unwrap();
    assert!(first_idle < shown.iter().position(ended).unwrap(), "the child is done before its caller");
    assert_goes_on(&world, &session, "task").await;
}

fn idled(facts: &[Fact]) -> usize {
    count(facts, |fact| matches!(fact, Fact::SessionIdled { .. }))
}

#[tokio::test]
async fn an_abort_ends_what_a_sub_agent_runs() {
    let (world, session, mut seen) = calling(Needs::Nothing, "task", delegates()).await;
    let command = json!({ "command": "echo $$ > pid; echo begin; sleep 600" }).to_string();
    world.provider.will(answer().call(0, "call_2", "bash", &command).finish("tool_calls"));
    world.prompt(&session, "go").await.unwrap();
    let printed = |fact: &Fact| matches!(fact, Fact::ToolProgressed { metadata: Some(map), .. } if map.get("output") == Some(&json!("begin\n")));
    seen.until(|record| record.facts.iter().any(printed)).await;
    let pid = std::fs::read_to_string(world.disk.project().join("pid")).unwrap().trim().parse().unwrap();

    let messages = stop(&world, &session).await;

    assert_interrupted(&messages, "task");
    let child = child_of(&world, &session).await;
    world.engine.session(&child).await.unwrap().idle().await;
    ends(pid).await;
    assert_goes_on(&world, &session, "task").await;
}

/// A sub-agent whose command is asked about.
async fn child_that_asks() -> (Setup, World, SessionId, String) {
    let pages = Pages::start().await;
    let bash = cases(&pages).into_iter().find(|case| case.tool == "bash").unwrap();
    let setup = Setup::of(&bash, json!("ask"));
    let (world, session) = setup.open().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(answer().call(0, "call_1", "task", &delegates().to_string()).finish("tool_calls"));
    world.provider.will(bash.call());
    world.prompt(&session, "go").await.unwrap();
    let (request, _) = bash.asked(&mut seen).await;
    let finished = |fact: &Fact| matches!(fact, Fact::ModelFinished { .. });
    seen.until(|record| record.facts.iter().filter(|fact| finished(fact)).count() == 2).await;
    (setup, world, session, request)
}

#[tokio::test]
async fn an_abort_takes_back_what_a_sub_agent_asks() {
    let (_, world, session, request) = child_that_asks().await;

    let messages = stop(&world, &session).await;

    assert_interrupted(&messages, "task");
    let child = child_of(&world, &session).await;
    assert_interrupted(&world.messages(&child).await, "bash");
    let late = sturdy_session::turn::Answer::Permission { reply: PermissionReply::Once, message: None };
    world.engine.answer_ask(&request, late).await.unwrap_err();
    assert!(!world.disk.project().join("made").exists());
    assert_goes_on(&world, &session, "task").await;
}

#[tokio::test]
async fn a_restart_takes_back_what_a_sub_agent_asks_for_a_call_that_is_over() {
    // Was: the sub-agent went on waiting, and an answer made it work for a call that had ended.
    let (setup, world, session, request) = child_that_asks().await;

    let world = setup.reopen(world).await;

    assert_interrupted(&world.messages(&session).await, "task");
    let child = child_of(&world, &session).await;
    assert_interrupted(&world.messages(&child).await, "bash");
    let late = sturdy_session::turn::Answer::Permission { reply: PermissionReply::Once, message: None };
    world.engine.answer_ask(&request, late).await.unwrap_err();
    assert!(!world.disk.project().join("made").exists());
    assert_goes_on(&world, &session, "task").await;
}

const STARTED: CrashPlan = CrashPlan::AfterKind("tool.started.1");
const ENDED: CrashPlan = CrashPlan::BeforeKind("tool.ended.1");

#[tokio::test]
async fn a_call_that_was_to_begin_when_the_server_was_killed_has_done_nothing() {
    let pages = Pages::start().await;
    join_all(cases(&pages).into_iter().map(|case| killed(case, STARTED))).await;
}

#[tokio::test]
async fn a_call_that_had_acted_when_the_server_was_killed_is_interrupted_and_not_repeated() {
    let pages = Pages::start().await;
    join_all(cases(&pages).into_iter().map(|case| killed(case, ENDED))).await;
}

async fn killed(case: Case, crash: CrashPlan) {
    let setup = Setup::of(&case, json!("allow"));
    let (world, session) = Setup { crash, ..setup.clone() }.open().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(case.call());
    world.provider.will(answer().text("I looked.").finish("stop"));
    let prompted = world.prompt(&session, "go").await.unwrap();
    if (case.wants, crash) == (Wants::Words, ENDED) {
        let (question, _) = case.asked(&mut seen).await;
        world.engine.answer_ask(&question, case.yes(PermissionReply::Once)).await.unwrap();
    }
    world.engine.answer(&session, &prompted).await.unwrap_err();
    assert!(world.engine.store().was_crashed(), "{}", case.tool);

    let world = setup.reopen(world).await;

    let acted = crash == ENDED;
    let what = format!("{} {crash:?}", case.tool);
    assert_interrupted(&world.messages(&session).await, &what);
    let project = world.disk.project();
    let made = case.makes.map(|file| std::fs::read_to_string(project.join(file)).unwrap_or_default());
    assert_eq!(made, case.makes.map(|_| if acted { "x\n" } else { "" }.to_owned()), "{what}");
    let todos = world.engine.store().todos(&session).await.unwrap();
    let todos = todos.map(|text| serde_json::from_str::<Value>(&text).unwrap());
    assert_eq!(todos, (case.tool == "todowrite" && acted).then(|| case.input["todos"].clone()), "{what}");
    assert_goes_on(&world, &session, &what).await;
}

#[tokio::test]
async fn a_sub_agent_that_was_speaking_when_the_server_was_killed_is_settled_with_its_call() {
    let pages = Pages::start().await;
    let setup = Setup::of(&cases(&pages)[0], json!("allow"));
    let (world, session) =
        Setup { crash: CrashPlan::AfterKind("text.started.1"), ..setup.clone() }.open().await;
    world.provider.will(answer().call(0, "call_1", "task", &delegates().to_string()).finish("tool_calls"));
    world.provider.will(answer().text("Looking around").hang());
    let prompted = world.prompt(&session, "go").await.unwrap();
    world.engine.answer(&session, &prompted).await.unwrap_err();

    let world = setup.reopen(world).await;

    assert_interrupted(&world.messages(&session).await, "task");
    let child = child_of(&world, &session).await;
    assert!(assistant(&world.messages(&child).await[1]).error.as_ref().is_some_and(Failure::is_aborted));
    assert_goes_on(&world, &session, "task").await;
}

#[tokio::test]
async fn a_question_of_an_answer_that_was_cut_off_by_a_kill_is_taken_back() {
    let pages = Pages::start().await;
    let case = cases(&pages).into_iter().find(|case| case.wants == Wants::Words).unwrap();
    let setup = Setup::of(&case, json!("allow"));
    let (world, session) =
        Setup { crash: CrashPlan::AfterKind("question.asked.1"), ..setup.clone() }.open().await;
    world.provider.will(answer().call(0, "call_1", case.tool, &case.input.to_string()).hang());
    let prompted = world.prompt(&session, "go").await.unwrap();
    world.engine.answer(&session, &prompted).await.unwrap_err();

    let world = setup.reopen(world).await;

    assert_interrupted(&world.messages(&session).await, "question");
    let log = world.log(&session).await;
    assert_eq!(count(&log, |fact| matches!(fact, Fact::QuestionRejected { .. })), 1);
    assert_goes_on(&world, &session, "question").await;
}
