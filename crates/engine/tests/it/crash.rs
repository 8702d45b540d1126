//! Not a crash: every crash. The same scenario dies before and after each of its commits; what is left
//! is opened again and judged by the oracle.

use crate::turns::{assistant, texts};
use serde_json::json;
use sturdy_engine::{PromptRequest, verify};
use sturdy_session::fact::Fact;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::oracle;
use sturdy_session::types::message::Message;
use sturdy_session::types::part::{PartBody, SubtaskPart};
use sturdy_session::types::session::Session;
use sturdy_session::types::tool::ToolState;
use sturdy_store::{CrashPlan, SessionQuery};
use sturdy_testkit::seen::Record;
use sturdy_testkit::world::{Disk, prompt};
use sturdy_testkit::{Answer, Provider, Seen, World, answer};

/// What the client of a dying process knew.
#[derive(Debug, Default)]
struct Known {
    session: Option<SessionId>,
    acknowledged: Vec<MessageId>,
    seen: Record,
}

/// What happens until the process dies, and what should have happened.
#[derive(Clone, Copy, Debug)]
enum Script {
    /// Two prompts, the second after a failure that passes.
    TwoPrompts,
    /// Calls that leave a trace in a file, two at once and one after them.
    Calls,
    /// A window that is full, and a request that is too long.
    Compactions,
    /// Failures that pass, and one that does not.
    Retries,
    /// Work that is done in a session of its own.
    Subtask,
}

/// Where `Script::Calls` leaves its trace: a line per run.
const TRACE: &str = "trace";

impl Script {
    fn prompts(self) -> Vec<PromptRequest> {
        match self {
            Self::TwoPrompts | Self::Compactions | Self::Retries => vec![prompt("one"), prompt("two")],
            Self::Calls => vec![prompt("go")],
            Self::Subtask => {
                let prompt = "go".to_owned();
                let description = "Go".to_owned();
                let agent = "general".to_owned();
                let part =
                    SubtaskPart { prompt, description, agent, model: None, command: Some("look".to_owned()) };
                let parts = vec![(None, PartBody::Subtask(part))];
                vec![PromptRequest { parts, ..PromptRequest::default() }]
            }
        }
    }

    fn answers(self) -> Vec<Answer> {
        let says = |text: &str| answer().text_in_chunks(text, 3).finish("stop");
        let later = || Answer::error(503, "later").header("retry-after-ms", "1");
        let leaves = |said: Answer, index: u32, call: &str| {
            let arguments = json!({ "command": format!("echo {call} >> {TRACE}") });
            said.call(index, call, "bash", &arguments.to_string())
        };
        match self {
            Self::TwoPrompts => vec![
                answer().reasoning("First thoughts.").text_in_chunks("The first answer.", 3).finish("stop"),
                later(),
                says("The second answer."),
            ],
            Self::Calls => vec![
                leaves(leaves(answer().text("Look."), 0, "c1"), 1, "c2").finish("tool_calls"),
                leaves(answer(), 0, "c3").finish("tool_calls"),
                says("Done."),
            ],
            Self::Compactions => {
                let usage =
                    json!({ "prompt_tokens": 199_000, "completion_tokens": 7, "total_tokens": 199_007 });
                let too_long = "This model's maximum context length is 200000 tokens, and you asked for more";
                vec![
                    answer().text("As much as fits.").finish_with("stop", usage),
                    says("## Objective\nThe first summary."),
                    says("Going on."),
                    Answer::error(400, too_long),
                    says("## Objective\nThe second summary."),
                    says("The second answer."),
                ]
            }
            Self::Retries => vec![later(), later(), says("At last."), later(), Answer::error(401, "no")],
            Self::Subtask => vec![says("Found."), says("Told.")],
        }
    }

    /// What a run of it leaves in the log when nobody dies.
    fn is_played_out(self, log: &[Fact]) -> bool {
        let count = |is: fn(&Fact) -> bool| log.iter().filter(|fact| is(fact)).count();
        match self {
            Self::TwoPrompts => count(|fact| matches!(fact, Fact::StepEnded { .. })) == 2,
            Self::Calls => count(|fact| matches!(fact, Fact::ToolEnded { .. })) == 3,
            Self::Compactions => count(|fact| matches!(fact, Fact::SessionCompacted)) == 2,
            Self::Retries => count(|fact| matches!(fact, Fact::StepDelayed { .. })) == 3,
            Self::Subtask => count(|fact| matches!(fact, Fact::ToolEnded { .. })) == 1,
        }
    }
}

/// Plays a script, as far as the process lives.
async fn play(world: &World, script: Script) -> Known {
    let mut seen = Seen::from_now(world.engine.feed());
    let mut known = Known::default();
    script.answers().into_iter().for_each(|answer| {
        world.provider.will(answer);
    });
    if let Ok(session) = world.try_session().await {
        known.session = Some(session.id.clone());
        for request in script.prompts() {
            let Ok(prompt) = world.engine.prompt(&session.id, request).await else { break };
            known.acknowledged.push(prompt.clone());
            if world.engine.answer(&session.id, &prompt).await.is_err() {
                break;
            }
        }
    }
    let head = world.engine.store().head();
    known.seen = if world.engine.store().was_crashed() {
        seen.record()
    } else {
        seen.until(|record| record.positions.last().copied().unwrap_or(0) >= head).await
    };
    known
}

/// Dies before and after every commit of a script. What it wants done is done between two commits, so these
/// are all the moments before and after everything it does.
async fn dies_at_every_commit(script: Script, crashes_min: u32) {
    let quiet = World::new().await;
    let known = Box::pin(play(&quiet, script)).await;
    assert_eq!(known.acknowledged.len(), script.prompts().len());
    let log = quiet.log(known.session.as_ref().unwrap()).await;
    assert!(script.is_played_out(&log), "{script:?} is not played to its end: {log:#?}");

    let mut crashes = 0;
    let mut survived = 0;
    for n in 1.. {
        for plan in [CrashPlan::BeforeCommit(n), CrashPlan::AfterCommit(n)] {
            let world = World::open(Disk::new(), Provider::start().await, plan).await;
            let known = Box::pin(play(&world, script)).await;
            if !world.engine.store().was_crashed() {
                survived += 1;
                continue;
            }
            crashes += 1;
            survived = 0;
            let world = world.reopen().await;
            world.provider.forget_answers();
            check(&world, &known, &format!("{script:?} {plan:?}")).await;
        }
        // Commits are gathered as they fall, so one run has a few more or less than the next.
        if survived >= 6 {
            break;
        }
    }
    assert!(crashes >= crashes_min, "only {crashes} crashes were tried");
}

#[tokio::test]
async fn no_crash_loses_what_was_acknowledged_or_seen() {
    dies_at_every_commit(Script::TwoPrompts, 20).await;
}

#[tokio::test]
async fn no_crash_repeats_a_call_or_leaves_one_open() {
    dies_at_every_commit(Script::Calls, 16).await;
}

#[tokio::test]
async fn no_crash_loses_a_conversation_that_is_being_summarised() {
    dies_at_every_commit(Script::Compactions, 24).await;
}

#[tokio::test]
async fn no_crash_leaves_a_retry_behind() {
    dies_at_every_commit(Script::Retries, 16).await;
}

#[tokio::test]
async fn no_crash_leaves_a_subtask_or_its_session_open() {
    dies_at_every_commit(Script::Subtask, 16).await;
}

/// Runs that left a trace, and calls that were announced before they ran.
async fn runs_and_starts(world: &World, id: &SessionId) -> (usize, usize) {
    let trace = std::fs::read_to_string(world.disk.project().join(TRACE)).unwrap_or_default();
    let log = world.log(id).await;
    let started = log.iter().filter(|fact| matches!(fact, Fact::ToolStarted { .. }));
    (trace.lines().count(), started.count())
}

async fn check(world: &World, known: &Known, plan: &str) {
    assert_every_promise_is_kept(world, plan).await;
    let Some(id) = &known.session else { return };
    let log = world.log(id).await;
    let summary = oracle::check(&log).unwrap_or_else(|broken| panic!("{plan}: {broken}"));
    assert!(!summary.is_busy, "{plan}: busy after a restart");
    for prompt in &known.acknowledged {
        assert!(summary.prompts.contains(prompt), "{plan}: an acknowledged prompt is gone");
    }
    let stored = stored_texts(world).await;
    for text in known.seen.texts.values() {
        assert!(stored.contains(text.as_str()), "{plan}: a client saw {text:?}, and it is gone");
    }
    let messages = world.messages(id).await;
    for message in &messages {
        if let Message::Assistant(info) = &message.info {
            assert!(info.time.completed.is_some(), "{plan}: an open message after a restart");
        }
    }
    let calls = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match &part.body {
        PartBody::Tool(tool) => Some(&tool.state),
        _ => None,
    });
    assert!(calls.into_iter().all(ToolState::is_over), "{plan}: an open call after a restart");
    assert_children_are_settled(world, plan).await;
    // Invariant I5: what acted was announced; and a restart repeats nothing.
    let (runs, starts) = runs_and_starts(world, id).await;
    assert!(runs <= starts, "{plan}: {runs} runs, {starts} of them announced");

    world.provider.will(answer().text("Still here.").finish("stop"));
    world.provider.will(answer().text("Still here.").finish("stop"));
    world.provider.will(answer().text("Still here.").finish("stop"));
    let reply = world.ask(id, "are you there?").await.unwrap_or_else(|cause| panic!("{plan}: {cause}"));
    assert!(!texts(&reply).is_empty() && assistant(&reply).error.is_none(), "{plan}: the next prompt fails");
    let summary = oracle::check(&world.log(id).await).unwrap_or_else(|broken| panic!("{plan}: {broken}"));
    assert!(summary.waiting.is_empty(), "{plan}: somebody waits behind a normal end");
    assert_eq!(runs_and_starts(world, id).await.0, runs, "{plan}: a call was repeated");
    assert_every_promise_is_kept(world, plan).await;
}

async fn sessions(world: &World) -> Vec<Session> {
    let records = world.engine.store().sessions(SessionQuery::default()).await.unwrap();
    records.iter().map(|record| serde_json::from_str(record).unwrap()).collect()
}

/// Every text and thought of every session.
async fn stored_texts(world: &World) -> String {
    let mut stored = String::new();
    for session in sessions(world).await {
        for part in world.messages(&session.id).await.into_iter().flat_map(|message| message.parts) {
            match part.body {
                PartBody::Text(text) => stored.push_str(&text.text),
                PartBody::Reasoning(reasoning) => stored.push_str(&reasoning.text),
                _ => {}
            }
            stored.push('\u{0}');
        }
    }
    stored
}

async fn assert_children_are_settled(world: &World, plan: &str) {
    for session in sessions(world).await {
        let log = world.log(&session.id).await;
        let summary = oracle::check(&log).unwrap_or_else(|broken| panic!("{plan}: {broken}"));
        assert!(!summary.is_busy, "{plan}: {} is busy after a restart", session.title);
    }
}

/// Everything that `sturdy verify` looks at: the file, the log, every row of every session against its log.
async fn assert_every_promise_is_kept(world: &World, plan: &str) {
    // Work behind a turn may commit while it is read; what is found twice is not that.
    for _ in 0..3 {
        let head = world.engine.store().head();
        let verified = verify::everything(world.engine.store()).await.unwrap();
        if verified.findings.is_empty() {
            return;
        }
        assert_ne!(world.engine.store().head(), head, "{plan}: {:#?}", verified.findings);
    }
    panic!("{plan}: the log grows without end");
}
