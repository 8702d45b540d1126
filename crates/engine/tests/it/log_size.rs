//! How much a turn leaves in the log. The numbers of docs/benchmarks.md are printed here.

use crate::tools::runs;
use crate::undo::{repository, turn, writes};
use crate::verify::findings;
use serde_json::json;
use std::fs;
use std::time::Duration;
use sturdy_engine::PromptRequest;
use sturdy_engine::task::PanicPlan;
use sturdy_session::fact::Fact;
use sturdy_session::id::MessageId;
use sturdy_session::types::part::{PartBody, TextPart};
use sturdy_testkit::world::prompt;
use sturdy_testkit::{World, answer};

/// What one short turn may become; it is twelve today.
const ENTRIES_MAX: usize = 14;

#[tokio::test]
async fn a_two_word_answer_is_at_most_fourteen_entries() {
    let world = World::new().await;
    let session = world.session().await;
    let created = world.log(&session.id).await.len();
    world.provider.will(answer().text("Hello ").text("you").finish("stop"));

    world.ask(&session.id, "hi").await.unwrap();

    let entries = world.log(&session.id).await.len() - created;
    println!("a two-word answer: {entries} entries");
    assert!(entries <= ENTRIES_MAX, "{entries} entries");
}

/// Twenty turns, each with one call: two steps, a call and the end of the turn.
#[tokio::test]
async fn twenty_turns_with_a_call_each_are_at_most_five_hundred_entries() {
    let world = World::new().await;
    let session = world.session().await;
    let path = world.disk.project().join("note.txt");
    fs::write(&path, "remember the milk\n").unwrap();
    let input = json!({ "filePath": path }).to_string();
    for _ in 0..20 {
        let look = answer().text("Let me look.").call(0, "c1", "read", &input).finish("tool_calls");
        world.provider.will(look);
        world.provider.will(answer().text("You should remember the milk.").finish("stop"));
        world.ask(&session.id, "What does the note say?").await.unwrap();
    }

    let entries = world.engine.store().entries_of(&session.id).await.unwrap();
    let log: usize = entries.iter().map(|entry| entry.data.len()).sum();
    println!("twenty turns: {} entries, {log} bytes of log text", entries.len());
    assert!(entries.len() <= 500, "{} entries", entries.len());
}

/// That a call may act is a fact before it acts; reading is not acting, and costs no commit of its own.
#[tokio::test]
async fn a_call_that_writes_is_allowed_by_a_fact_and_one_that_reads_does_without() {
    let world = World::new().await;
    let session = world.session().await;
    let path = world.disk.project().join("note.txt");
    let write = json!({ "filePath": path, "content": "remember the milk\n" }).to_string();
    let read = json!({ "filePath": path }).to_string();
    world.provider.will(answer().call(0, "c1", "write", &write).finish("tool_calls"));
    world.provider.will(answer().call(0, "c2", "read", &read).finish("tool_calls"));
    world.provider.will(answer().text("Noted.").finish("stop"));

    world.ask(&session.id, "Write it down and look.").await.unwrap();

    let log = world.log(&session.id).await;
    let moved = log
        .iter()
        .map(Fact::kind)
        .filter(|kind| ["tool.started.1", "tool.allowed.1", "tool.ended.1"].contains(kind));
    let expected = ["tool.started.1", "tool.allowed.1", "tool.ended.1", "tool.started.1", "tool.ended.1"];
    assert_eq!(moved.collect::<Vec<_>>(), expected);
}

// Was: every report was kept for ever, thirty thousand letters five times a second.
#[tokio::test]
async fn a_command_that_prints_for_a_while_adds_little_and_its_reports_are_folded() {
    let world = World::new().await;
    let session = world.session().await.id;
    let before = world.engine.store().sizes().await.unwrap().database_bytes;
    let command = "for i in $(seq 25); do head -c 30000 /dev/zero | tr '\\0' x; echo; sleep 0.2; done";
    world.provider.will(runs(command));
    world.provider.will(answer().text("Done.").finish("stop"));
    world.ask(&session, "go").await.unwrap();
    let reports = async || {
        let log = world.log(&session).await;
        let reports = log.iter().filter(|fact| matches!(fact, Fact::ToolProgressed { .. }));
        reports.map(|fact| fact.data().len()).collect::<Vec<_>>()
    };

    let told = reports().await;
    let after = world.engine.store().sizes().await.unwrap().database_bytes;
    world.engine.store().fold(u64::MAX).await.unwrap();

    assert!(told.len() > 3, "nobody could follow it: {told:?}");
    // The allowance of a call, and not what it printed.
    let bytes: usize = told.iter().sum();
    assert!(bytes < 300 * 1024, "{bytes} bytes in {} reports", told.len());
    let grown = after.saturating_sub(before) / 1024;
    assert!(grown < 600, "the store has grown by {grown} KiB");
    assert_eq!(reports().await, [0; 0], "the end of the call says all of it");
    assert_eq!(findings(&world).await, [""; 0]);
}

/// Does this while the clock stands still: only what the test says moves it. A runtime with nothing to do would.
async fn by_the_tests_clock<F: Future>(work: F) -> F::Output {
    let never_idle = async {
        loop {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        done = work => done,
        never = never_idle => never,
    }
}

/// What a removed session has left.
async fn leave_a_blob(world: &World) {
    let session = world.session().await;
    let text = TextPart { text: "secret ".repeat(100_000), ..TextPart::default() };
    let parts = vec![(None, PartBody::Text(text))];
    let request = PromptRequest { parts, no_reply: true, ..PromptRequest::default() };
    world.engine.prompt(&session.id, request).await.unwrap();
    world.engine.remove_session(&session.id).await.unwrap();
    assert_eq!(world.engine.store().sizes().await.unwrap().blobs, 1);
}

// Was: nothing was ever collected.
#[tokio::test]
async fn what_a_removed_session_kept_is_collected_within_ten_minutes() {
    let world = World::new().await;
    leave_a_blob(&world).await;

    tokio::time::pause();
    by_the_tests_clock(async {
        tokio::time::advance(Duration::from_secs(600)).await;
        loop {
            let sizes = world.engine.store().sizes().await.unwrap();
            if (sizes.blobs, sizes.free_bytes) == (0, 0) {
                return;
            }
        }
    })
    .await;
}

// Was: upkeep that panicked once was not done again until the next start.
#[tokio::test]
async fn upkeep_that_panicked_is_done_again() {
    let panics = PanicPlan::first("upkeep");
    let plan = panics.clone();
    let world = World::with(|options| options.panics = plan).await;
    leave_a_blob(&world).await;

    tokio::time::pause();
    let blobs = by_the_tests_clock(async {
        let mut blobs = 1;
        for _ in 0..2_000 {
            tokio::time::advance(Duration::from_secs(1)).await;
            blobs = world.engine.store().sizes().await.unwrap().blobs;
            if blobs == 0 {
                break;
            }
        }
        blobs
    });

    assert_eq!(blobs.await, 0);
    assert!(panics.is_over(), "nothing panicked");
}

#[tokio::test]
async fn of_what_a_turn_changed_only_the_last_sum_is_kept_when_the_log_is_folded() {
    let world = repository().await;
    let session = world.session().await.id;
    for number in 0..4 {
        world.provider.will(writes("a.txt", &format!("{number}\n")));
    }
    world.provider.will(answer().text("Done.").finish("stop"));
    world.ask(&session, "go").await.unwrap();
    let prompts = turn(&world, &session, writes("b.txt", "1")).await;
    let sums = async || {
        let log = world.log(&session).await;
        let sum = |fact: &Fact| match fact {
            Fact::TurnDiffed { diffed, .. } => Some(diffed.prompt.id.clone()),
            _ => None,
        };
        log.iter().filter_map(sum).collect::<Vec<_>>()
    };
    assert_eq!(sums().await.len(), 5);

    world.engine.store().fold(u64::MAX).await.unwrap();

    let kept = sums().await;
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert_eq!(kept[1], prompts);
    assert_eq!(findings(&world).await, [""; 0]);
}

// Was: the sum of the first session was folded away for that of the second, and the store was called damaged.
#[tokio::test]
async fn what_turns_of_two_sessions_changed_is_kept_although_their_prompts_have_one_id() {
    let world = repository().await;
    let id = MessageId::parse("msg_shared").unwrap();
    for file in ["a.txt", "b.txt"] {
        let session = world.session().await.id;
        world.provider.will(writes(file, "1\n"));
        world.provider.will(answer().text("Done.").finish("stop"));
        let request = PromptRequest { message: Some(id.clone()), ..prompt("go") };
        let asked = world.engine.prompt(&session, request).await.unwrap();
        world.engine.answer(&session, &asked).await.unwrap();
    }

    world.engine.store().fold(u64::MAX).await.unwrap();

    assert_eq!(findings(&world).await, [""; 0]);
}
