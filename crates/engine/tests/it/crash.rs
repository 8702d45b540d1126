//! Not a crash: every crash. The same scenario dies before and after each of its commits; what is left
//! is opened again and judged by the oracle.

use crate::turns::{assistant, texts};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::oracle;
use sturdy_session::rows::fold;
use sturdy_session::turn::State;
use sturdy_session::types::message::Message;
use sturdy_session::types::session::Session;
use sturdy_store::CrashPlan;
use sturdy_testkit::seen::Record;
use sturdy_testkit::world::Disk;
use sturdy_testkit::{Answer, Provider, Seen, World, answer};

/// What the client of a dying process knew.
#[derive(Debug, Default)]
struct Known {
    session: Option<SessionId>,
    acknowledged: Vec<MessageId>,
    seen: Record,
}

/// Two prompts, the second after a failure that passes.
async fn two_prompts(world: &World) -> Known {
    let mut seen = Seen::from_now(world.engine.feed());
    let mut known = Known::default();
    world
        .provider
        .will(answer().reasoning("First thoughts.").text_in_chunks("The first answer.", 3).finish("stop"));
    world.provider.will(Answer::error(503, "later").header("retry-after-ms", "1"));
    world.provider.will(answer().text_in_chunks("The second answer.", 3).finish("stop"));
    if let Ok(session) = world.try_session().await {
        known.session = Some(session.id.clone());
        for text in ["one", "two"] {
            let Ok(prompt) = world.prompt(&session.id, text).await else { break };
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

/// Commits the scenario makes when nothing goes wrong.
async fn commits_of_a_quiet_run() -> u64 {
    let world = World::new().await;
    let known = two_prompts(&world).await;
    assert_eq!(known.acknowledged.len(), 2);
    // A commit has at least one entry, so this is an upper bound that the loop below may overshoot.
    world.engine.store().head()
}

#[tokio::test]
async fn no_crash_loses_what_was_acknowledged_or_seen() {
    let most = commits_of_a_quiet_run().await;
    let mut crashes = 0;
    for n in 1..=most {
        for plan in [CrashPlan::BeforeCommit(n), CrashPlan::AfterCommit(n)] {
            let world = World::open(Disk::new(), Provider::start().await, plan).await;
            let known = two_prompts(&world).await;
            if !world.engine.store().was_crashed() {
                continue;
            }
            crashes += 1;
            let world = world.reopen().await;
            check(&world, &known, &format!("{plan:?}")).await;
        }
    }
    assert!(crashes >= 20, "only {crashes} crashes were tried");
}

async fn check(world: &World, known: &Known, plan: &str) {
    let Some(id) = &known.session else { return };
    let log = world.log(id).await;
    let summary = oracle::check(&log).unwrap_or_else(|broken| panic!("{plan}: {broken}"));
    assert!(!summary.is_busy, "{plan}: busy after a restart");
    for prompt in &known.acknowledged {
        assert!(summary.prompts.contains(prompt), "{plan}: an acknowledged prompt is gone");
    }
    let messages = world.messages(id).await;
    let stored: String =
        messages.iter().flat_map(|message| &message.parts).map(|part| format!("{part:?}")).collect();
    for text in known.seen.texts.values() {
        assert!(stored.contains(text.as_str()), "{plan}: a client saw {text:?}, and it is gone");
    }
    for message in &messages {
        if let Message::Assistant(info) = &message.info {
            assert!(info.time.completed.is_some(), "{plan}: an open message after a restart");
        }
    }
    assert_rows_are_the_fold(world, id, plan).await;

    world.provider.will(answer().text("Still here.").finish("stop"));
    world.provider.will(answer().text("Still here.").finish("stop"));
    world.provider.will(answer().text("Still here.").finish("stop"));
    let reply = world.ask(id, "are you there?").await.unwrap_or_else(|cause| panic!("{plan}: {cause}"));
    assert!(!texts(&reply).is_empty() && assistant(&reply).error.is_none(), "{plan}: the next prompt fails");
    let summary = oracle::check(&world.log(id).await).unwrap_or_else(|broken| panic!("{plan}: {broken}"));
    assert!(summary.waiting.is_empty(), "{plan}: somebody waits behind a normal end");
}

/// Invariant I10.
async fn assert_rows_are_the_fold(world: &World, id: &SessionId, plan: &str) {
    let (log, rows) = world.log_and_rows(id).await;
    let mut state = State::default();
    fold(&mut state, log, 0);
    let stored: Session = serde_json::from_str(&rows.session.unwrap().data).unwrap();
    assert_eq!(Some(Box::new(stored)), state.info, "{plan}: the session row is not the fold of the log");
}
