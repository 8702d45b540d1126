//! How much a turn leaves in the log. The numbers of docs/benchmarks.md are printed here.

use serde_json::json;
use std::fs;
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
