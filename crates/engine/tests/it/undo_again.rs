//! Undo upon undo: what stands, what was forced, what remains of it in the session's totals, and what cannot be removed
//! meanwhile.

use crate::tools::runs;
use crate::undo::{put, read, repository, revert, says, turn, writes};
use serde_json::json;
use std::fs;
use sturdy_engine::{EngineError, RevertRequest};
use sturdy_session::fact::Fact;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::oracle;
use sturdy_session::types::part::{Part, PartBody, TextPart};
use sturdy_session::types::session::Session;
use sturdy_testkit::{Seen, World};

fn to(message: &MessageId) -> RevertRequest {
    RevertRequest { message: Some(message.clone()), ..RevertRequest::default() }
}

fn to_without_files(message: &MessageId) -> RevertRequest {
    RevertRequest { keeps_files: true, ..to(message) }
}

async fn record(world: &World, session: &SessionId) -> Session {
    serde_json::from_str(&world.engine.store().session(session).await.unwrap().unwrap()).unwrap()
}

#[tokio::test]
async fn a_forced_file_is_not_put_back_when_the_process_dies_behind_the_undo() {
    let world = repository().await;
    let session = world.session().await;
    put(&world, "a.txt", "0");
    let prompt = turn(&world, &session.id, runs("echo 1 > a.txt")).await;
    put(&world, "a.txt", "a person's work");
    let force = vec!["a.txt".to_owned()];
    let undone = world.engine.revert(&session.id, RevertRequest { force, ..to(&prompt) }).await.unwrap();
    assert_eq!(undone.revert.as_ref().unwrap().forced, ["a.txt"]);
    // As if the process had died before the note was removed.
    let note = world.disk.data().join("trees/pending").join(format!("{}.json", session.id));
    fs::write(&note, json!({ "session": session.id, "wanted": undone.revert }).to_string()).unwrap();

    let world = world.reopen().await;

    assert!(!note.exists());
    assert_eq!(read(&world, "a.txt").as_deref(), Some("0"));
    world.engine.unrevert(&session.id).await.unwrap();
    assert_eq!(read(&world, "a.txt").as_deref(), Some("a person's work"));
}

#[tokio::test]
async fn a_file_that_was_forced_stays_so_when_the_cut_moves() {
    let world = repository().await;
    let session = world.session().await;
    put(&world, "a.txt", "0");
    let first = turn(&world, &session.id, runs("echo 1 > a.txt")).await;
    let second = turn(&world, &session.id, runs("echo 2 > a.txt")).await;
    put(&world, "a.txt", "a person's work");
    let force = vec!["a.txt".to_owned()];
    world.engine.revert(&session.id, RevertRequest { force, ..to(&second) }).await.unwrap();
    assert_eq!(read(&world, "a.txt").as_deref(), Some("1\n"));

    revert(&world, &session.id, &first).await;

    assert_eq!(read(&world, "a.txt").as_deref(), Some("0"));
    world.engine.unrevert(&session.id).await.unwrap();
    assert_eq!(read(&world, "a.txt").as_deref(), Some("a person's work"));
}

#[tokio::test]
async fn a_second_cut_that_keeps_files_touches_none_and_the_first_can_be_taken_back() {
    let world = repository().await;
    let session = world.session().await;
    put(&world, "a.txt", "0");
    let first = turn(&world, &session.id, runs("echo 1 > a.txt")).await;
    let second = turn(&world, &session.id, runs("echo 2 > a.txt")).await;

    // Was: the second of two cuts that keep files took the files back.
    world.engine.revert(&session.id, to_without_files(&second)).await.unwrap();
    world.engine.revert(&session.id, to_without_files(&first)).await.unwrap();
    assert_eq!(read(&world, "a.txt").as_deref(), Some("2\n"));
    world.engine.unrevert(&session.id).await.unwrap();

    revert(&world, &session.id, &second).await;
    let cut = world.engine.revert(&session.id, to_without_files(&first)).await.unwrap();
    assert_eq!(read(&world, "a.txt").as_deref(), Some("1\n"), "as the undo before it left it");
    let mark = cut.revert.unwrap();
    assert_eq!((mark.message_id, mark.files_from.unwrap().message_id), (first.clone(), second.clone()));

    let world = world.reopen().await;
    world.engine.unrevert(&session.id).await.unwrap();
    assert_eq!(read(&world, "a.txt").as_deref(), Some("2\n"));
    revert(&world, &session.id, &second).await;
    world.engine.revert(&session.id, to_without_files(&first)).await.unwrap();
    revert(&world, &session.id, &first).await;
    assert_eq!(read(&world, "a.txt").as_deref(), Some("0"), "files follow a cut that takes them along");
    oracle::check(&world.log(&session.id).await).unwrap();
}

#[tokio::test]
async fn what_is_undone_cannot_be_removed_until_it_is_final() {
    let world = repository().await;
    let session = world.session().await;
    let first = turn(&world, &session.id, writes("a.txt", "1")).await;
    let second = turn(&world, &session.id, writes("a.txt", "2")).await;
    revert(&world, &session.id, &second).await;
    let messages = world.messages(&session.id).await;
    let is_patch = |part: &&Part| matches!(part.body, PartBody::Patch(_));
    let patch = messages.iter().flat_map(|one| &one.parts).rfind(is_patch).unwrap();

    // Was: the cut had nothing behind it any more, and no file came back.
    for message in [&second, &patch.message_id] {
        let refused = world.engine.remove_message(&session.id, message).await;
        assert!(matches!(refused, Err(EngineError::Trees(_))), "{refused:?}");
    }
    let refused = world.engine.remove_part(&session.id, &patch.message_id, &patch.id).await;
    assert!(matches!(refused, Err(EngineError::Trees(_))), "{refused:?}");
    assert!(world.engine.remove_message(&session.id, &first).await.unwrap(), "what is not undone can go");

    let mut rewritten = patch.clone();
    rewritten.body = PartBody::Text(TextPart::default());
    let refused = world.engine.write_part(&session.id, &patch.message_id, rewritten).await;
    assert!(matches!(refused, Err(EngineError::Bad(_))), "{refused:?}");

    world.engine.unrevert(&session.id).await.unwrap();
    assert_eq!(read(&world, "a.txt").as_deref(), Some("2"));
    assert!(world.engine.remove_message(&session.id, &second).await.unwrap());
}

#[tokio::test]
async fn a_redo_names_what_it_left_alone() {
    let world = repository().await;
    let session = world.session().await;
    let prompt = turn(&world, &session.id, runs("echo 1 > a.txt; echo 1 > b.txt")).await;
    revert(&world, &session.id, &prompt).await;
    put(&world, "a.txt", "a person's work");

    let redone = world.engine.unrevert(&session.id).await.unwrap();

    let left: Vec<_> = redone.conflicts.iter().map(|one| (one.file.as_str(), one.why.as_str())).collect();
    assert_eq!(left, [("a.txt", "changed since the undo")]);
    assert_eq!(read(&world, "a.txt").as_deref(), Some("a person's work"));
    assert_eq!(read(&world, "b.txt").as_deref(), Some("1\n"));
}

/// The totals of the record, and the last that was said of the session's changes, are what remains.
async fn assert_told(world: &World, seen: &mut Seen, session: &SessionId, files: &[&str]) {
    let remaining = world.engine.session_diff(session).await.unwrap();
    let names: Vec<_> = remaining.iter().filter_map(|one| one.file.as_deref()).collect();
    assert_eq!(names, files);
    let summary = record(world, session).await.summary.unwrap();
    let added: f64 = remaining.iter().map(|one| one.additions.0).sum();
    let deleted: f64 = remaining.iter().map(|one| one.deletions.0).sum();
    assert_eq!(
        (summary.files.0, summary.additions.0, summary.deletions.0),
        (files.len() as f64, added, deleted)
    );
    let told = seen
        .until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::SessionReverted { .. })))
        .await;
    let last = told.facts.iter().rev().find_map(|fact| match fact {
        Fact::SessionReverted { totals, .. } => Some(totals.as_ref().map(|totals| totals.session.clone())),
        _ => None,
    });
    if let Some(Some(session)) = last {
        assert_eq!(session, remaining);
    }
}

#[tokio::test]
async fn the_totals_of_a_session_are_what_remains_after_an_undo_a_redo_and_the_next_prompt() {
    let world = repository().await;
    let session = world.session().await;
    put(&world, "a.txt", "0\n");
    turn(&world, &session.id, runs("echo 1 >> a.txt")).await;
    let second = turn(&world, &session.id, runs("echo 2 >> a.txt; echo 2 > b.txt; echo 2 > c.txt")).await;

    let mut seen = Seen::from_now(world.engine.feed());
    revert(&world, &session.id, &second).await;
    assert_told(&world, &mut seen, &session.id, &["a.txt"]).await;

    let mut seen = Seen::from_now(world.engine.feed());
    world.engine.unrevert(&session.id).await.unwrap();
    assert_told(&world, &mut seen, &session.id, &["a.txt", "b.txt", "c.txt"]).await;

    revert(&world, &session.id, &second).await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(says("Again."));
    world.ask(&session.id, "something else").await.unwrap();
    assert_told(&world, &mut seen, &session.id, &["a.txt"]).await;

    // What a cut that keeps files removes from the conversation is not counted any more either.
    let third = turn(&world, &session.id, writes("d.txt", "3")).await;
    world.engine.revert(&session.id, to_without_files(&third)).await.unwrap();
    let mut seen = Seen::from_now(world.engine.feed());
    world.engine.commit_revert(&session.id).await.unwrap();
    assert_told(&world, &mut seen, &session.id, &["a.txt"]).await;
    assert_eq!(read(&world, "d.txt").as_deref(), Some("3"));
}
