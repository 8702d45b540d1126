//! Undo where not everything can be captured, and what is said of it.

use crate::tools::runs;
use crate::undo::{parts_of, put, read, repository, revert, says, turn, writes};
use serde_json::json;
use std::collections::HashMap;
use sturdy_engine::{Environment, RevertRequest};
use sturdy_session::fact::Fact;
use sturdy_session::oracle;
use sturdy_session::types::part::{Part, PartBody};
use sturdy_testkit::{Seen, World, answer};

/// A world whose environment says this besides where its home is.
async fn world_where(name: &str, value: &str) -> World {
    World::with(|options| {
        let home = options.environment.home.to_string_lossy().into_owned();
        let variables = [("HOME".to_owned(), home), (name.to_owned(), value.to_owned())];
        options.environment = Environment::new(HashMap::from(variables)).trusting_all();
    })
    .await
}

#[tokio::test]
async fn a_directory_without_git_is_undone_too() {
    let world = World::new().await;
    let session = world.session().await;
    put(&world, "a.txt", "0");
    let prompt = turn(&world, &session.id, runs("echo 1 > a.txt; echo 1 > b.txt")).await;

    let undone = revert(&world, &session.id, &prompt).await;
    assert_eq!((read(&world, "a.txt").as_deref(), read(&world, "b.txt")), (Some("0"), None));
    assert_eq!(undone.revert.unwrap().uncaptured, []);

    world.engine.unrevert(&session.id).await.unwrap();
    let again = (read(&world, "a.txt"), read(&world, "b.txt"));
    assert_eq!(again, (Some("1\n".to_owned()), Some("1\n".to_owned())));
}

#[tokio::test]
async fn without_git_edits_are_undone_and_a_command_says_that_it_was_not_captured() {
    let world = world_where("PATH", "/nowhere").await;
    let session = world.session().await;
    put(&world, "made.txt", "0");
    let first = turn(&world, &session.id, writes("new.txt", "1")).await;
    turn(&world, &session.id, runs("echo 1 > made.txt")).await;

    let request = RevertRequest { message: Some(first.clone()), ..RevertRequest::default() };
    let plan = world.engine.revert_plan(&session.id, request).await.unwrap();
    let undone = revert(&world, &session.id, &first).await;

    assert_eq!(read(&world, "new.txt"), None);
    assert_eq!(read(&world, "made.txt").as_deref(), Some("1\n"), "nobody knows what it was before");
    let said: Vec<_> = plan.uncaptured.iter().map(|one| (one.tool.as_str(), one.why.as_str())).collect();
    assert_eq!(said, [("bash", "git was not found")]);
    assert_eq!(undone.revert.unwrap().uncaptured, plan.uncaptured);
    let parts = parts_of(&world.messages(&session.id).await);
    let call = parts.iter().find(|part| part["tool"] == "bash").unwrap();
    assert_eq!(call["state"]["metadata"]["uncaptured"], "git was not found");
}

#[tokio::test]
async fn a_full_budget_is_said_and_a_file_that_was_not_captured_is_left_alone() {
    let world = world_where("STURDY_CAPTURE_MAX_MB", "0").await;
    let session = world.session().await;
    put(&world, "a.txt", "0");
    let prompt = turn(&world, &session.id, runs("echo 1 > a.txt")).await;

    let undone = revert(&world, &session.id, &prompt).await;

    assert_eq!(read(&world, "a.txt").as_deref(), Some("1\n"));
    let said = undone.revert.unwrap().uncaptured;
    assert!(said[0].why.contains("of the 0 MB they may take"), "{said:?}");
}

#[tokio::test]
async fn a_call_that_died_with_its_process_is_undone_too() {
    let world = repository().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    put(&world, "a.txt", "0");
    put(&world, "other.txt", "a person's");
    let command = "echo 1 > made.txt; echo 1 > a.txt; trap '' TERM; while true; do sleep 0.05; done";
    world.provider.will(runs(command));
    let prompt = world.prompt(&session.id, "go").await.unwrap();
    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::ToolStarted { .. }))).await;
    while read(&world, "a.txt").as_deref() != Some("1\n") {
        tokio::task::yield_now().await;
    }

    let world = world.reopen().await;

    let kinds = parts_of(&world.messages(&session.id).await);
    let kinds: Vec<&str> = kinds.iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "step-start", "tool", "snapshot", "patch"]);
    assert!(world.disk.data().join("trees/acting").read_dir().unwrap().next().is_none());
    revert(&world, &session.id, &prompt).await;
    assert_eq!((read(&world, "a.txt").as_deref(), read(&world, "made.txt")), (Some("0"), None));
    assert_eq!(read(&world, "other.txt").as_deref(), Some("a person's"));
    oracle::check(&world.log(&session.id).await).unwrap();
}

#[tokio::test]
async fn what_a_step_has_told_is_not_told_again_after_a_crash() {
    let world = repository().await;
    let session = world.session().await;
    let prompt = turn(&world, &session.id, writes("new.txt", "1")).await;
    let step = world.messages(&session.id).await[1].info.id().clone();
    // As if the process had died after the commit and before the note was removed.
    let acting = world.disk.data().join("trees/acting");
    let note = acting.join(format!("{}.json", session.id));
    let file = (b"new.txt".to_vec(), "absent");
    let text = json!({ "session": session.id, "step": step, "scanned": null, "files": [file] });
    std::fs::write(&note, text.to_string()).unwrap();
    let before = parts_of(&world.messages(&session.id).await).len();

    let world = world.reopen().await;

    assert_eq!(parts_of(&world.messages(&session.id).await).len(), before);
    assert!(!note.exists());
    revert(&world, &session.id, &prompt).await;
    assert_eq!(read(&world, "new.txt"), None);
}

#[tokio::test]
async fn what_a_person_changes_after_a_call_was_cut_off_is_not_undone() {
    let world = repository().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    put(&world, "a.txt", "0");
    world.provider.will(runs("echo 1 > a.txt; trap '' TERM; while true; do sleep 0.05; done"));
    let prompt = world.prompt(&session.id, "go").await.unwrap();
    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::ToolStarted { .. }))).await;
    while read(&world, "a.txt").as_deref() != Some("1\n") {
        tokio::task::yield_now().await;
    }
    world.engine.abort(&session.id).await.unwrap();
    world.engine.answer(&session.id, &prompt).await.unwrap();
    let request = RevertRequest { message: Some(prompt.clone()), ..RevertRequest::default() };
    // Waits until the call is over.
    revert(&world, &session.id, &prompt).await;
    world.engine.unrevert(&session.id).await.unwrap();
    put(&world, "a.txt", "a person's work");

    let undone = world.engine.revert(&session.id, request).await.unwrap();

    assert_eq!(read(&world, "a.txt").as_deref(), Some("a person's work"));
    assert_eq!(undone.revert.unwrap().conflicts.len(), 1);
    world.provider.will(says("Fine."));
    world.ask(&session.id, "go on").await.unwrap();
}

#[tokio::test]
async fn a_cut_inside_an_answer_takes_back_what_is_behind_it_and_can_be_made_final() {
    let world = repository().await;
    let session = world.session().await;
    let second = json!({ "filePath": "two.txt", "content": "2" }).to_string();
    world.provider.will(writes("one.txt", "1"));
    world.provider.will(answer().text("Now two.").call(0, "call_2", "write", &second).finish("tool_calls"));
    world.provider.will(says("Done."));
    world.ask(&session.id, "go").await.unwrap();
    let messages = world.messages(&session.id).await;
    let is_second = |part: &&Part| matches!(&part.body, PartBody::Tool(call) if call.call_id == "call_2");
    let part = messages.iter().flat_map(|one| &one.parts).find(is_second).unwrap().clone();

    let request = RevertRequest {
        message: Some(part.message_id.clone()),
        part: Some(part.id.clone()),
        ..RevertRequest::default()
    };
    let cut = world.engine.revert(&session.id, request).await.unwrap();

    assert_eq!(cut.revert.unwrap().part_id, Some(part.id.clone()));
    assert_eq!((read(&world, "one.txt").as_deref(), read(&world, "two.txt")), (Some("1"), None));

    world.engine.commit_revert(&session.id).await.unwrap();
    let left = world.messages(&session.id).await;
    let last = left.last().unwrap();
    assert_eq!(*last.info.id(), part.message_id);
    assert!(
        last.parts.iter().any(|one| matches!(&one.body, PartBody::Text(text) if text.text == "Now two."))
    );
    assert!(!last.parts.iter().any(|one| one.id == part.id), "what is behind the cut is gone");
    assert_eq!((read(&world, "one.txt").as_deref(), read(&world, "two.txt")), (Some("1"), None));
}

#[tokio::test]
async fn a_call_that_died_and_was_not_captured_says_so_after_the_restart() {
    let world = world_where("PATH", "/nowhere").await;
    let session = world.session().await;
    let command = "echo 1 > made.txt; trap '' TERM; while true; do :; done";
    world.provider.will(runs(command));
    let prompt = world.prompt(&session.id, "go").await.unwrap();
    while read(&world, "made.txt").as_deref() != Some("1\n") {
        tokio::task::yield_now().await;
    }

    let world = world.reopen().await;

    // Was: nothing was said, and the undo looked whole.
    let undone = revert(&world, &session.id, &prompt).await;
    let said = undone.revert.unwrap().uncaptured;
    let said: Vec<_> = said.iter().map(|one| (one.tool.as_str(), one.why.as_str())).collect();
    assert_eq!(said, [("bash", "git was not found")]);
    assert!(world.disk.data().join("trees/acting").read_dir().unwrap().next().is_none());
    oracle::check(&world.log(&session.id).await).unwrap();
}

#[tokio::test]
async fn a_call_that_was_stopped_and_not_captured_says_so_in_the_undo() {
    let world = world_where("PATH", "/nowhere").await;
    let session = world.session().await;
    world.provider.will(runs("echo 1 > made.txt; trap '' TERM; while true; do :; done"));
    let prompt = world.prompt(&session.id, "go").await.unwrap();
    while read(&world, "made.txt").as_deref() != Some("1\n") {
        tokio::task::yield_now().await;
    }
    world.engine.abort(&session.id).await.unwrap();
    world.engine.answer(&session.id, &prompt).await.unwrap();

    let undone = revert(&world, &session.id, &prompt).await;

    let said = undone.revert.unwrap().uncaptured;
    assert_eq!(said.iter().map(|one| one.why.as_str()).collect::<Vec<_>>(), ["git was not found"]);
}

#[tokio::test]
async fn a_step_does_not_wait_for_a_git_that_hangs() {
    let bin = tempfile::tempdir().unwrap();
    let program = bin.path().join("git");
    std::fs::write(&program, "#!/bin/sh\nexec /bin/sleep 600\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let world = world_where("PATH", &bin.path().display().to_string()).await;
    let session = world.session().await;
    world.provider.will(says("Hello."));

    let reply = world.ask(&session.id, "hi").await.unwrap();

    let start = reply.parts.iter().find_map(|part| match &part.body {
        PartBody::StepStart(start) => Some(start.snapshot.clone()),
        _ => None,
    });
    assert_eq!(start, Some(None), "the step began without a tree");
}
