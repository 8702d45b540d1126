//! Undo and redo through whole turns: what a model's calls did to files goes back, and comes again.

use crate::tools::{asked, permission, runs, world_with};
use crate::turns::texts;
use serde_json::{Value, json};
use std::fs;
use sturdy_engine::{EngineError, RevertRequest};
use sturdy_session::fact::Fact;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::oracle;
use sturdy_session::turn::Refusal;
use sturdy_session::types::ask::PermissionReply;
use sturdy_session::types::message::{Message, MessageWithParts};
use sturdy_session::types::part::PartBody;
use sturdy_session::types::session::Session;
use sturdy_testkit::script::Gate;
use sturdy_testkit::{Answer, Seen, World, answer};

/// A world whose project is a git repository.
pub(crate) async fn repository() -> World {
    let world = World::new().await;
    init(&world);
    world
}

pub(crate) fn init(world: &World) {
    let done = std::process::Command::new("git")
        .args(["init", "--quiet"])
        .current_dir(world.disk.project())
        .status();
    assert!(done.unwrap().success());
    world.engine.dispose_all();
}

pub(crate) fn writes(file: &str, text: &str) -> Answer {
    let input = json!({ "filePath": file, "content": text });
    answer().call(0, "call_1", "write", &input.to_string()).finish("tool_calls")
}

pub(crate) fn says(text: &str) -> Answer {
    answer().text(text).finish("stop")
}

pub(crate) fn read(world: &World, file: &str) -> Option<String> {
    fs::read_to_string(world.disk.project().join(file)).ok()
}

pub(crate) fn put(world: &World, file: &str, text: &str) {
    fs::write(world.disk.project().join(file), text).unwrap();
}

/// A turn that acts once and then says that it did.
pub(crate) async fn turn(world: &World, session: &SessionId, act: Answer) -> MessageId {
    world.provider.will(act);
    world.provider.will(says("Done."));
    let prompt = world.prompt(session, "go").await.unwrap();
    world.engine.answer(session, &prompt).await.unwrap();
    prompt
}

pub(crate) async fn revert(world: &World, session: &SessionId, to: &MessageId) -> Session {
    let request = RevertRequest { message: Some(to.clone()), ..RevertRequest::default() };
    world.engine.revert(session, request).await.unwrap()
}

pub(crate) fn parts_of(messages: &[MessageWithParts]) -> Vec<Value> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts.map(|part| serde_json::to_value(part).unwrap()).collect()
}

/// Waits until what a turn changed was worked out.
async fn summed(world: &World, seen: &mut Seen, prompt: &MessageId) -> Vec<Value> {
    let is_it = |fact: &Fact| matches!(fact, Fact::TurnDiffed { diffed, .. } if diffed.prompt.id == *prompt);
    seen.until(|record| record.facts.iter().any(is_it)).await;
    let messages = world.messages(&world_session(world).await).await;
    let found = messages.iter().find(|one| one.info.id() == prompt).unwrap();
    let Message::User(user) = &found.info else { panic!("not a prompt") };
    let diffs = user.summary.as_ref().unwrap().diffs.iter();
    diffs.map(|diff| serde_json::to_value(diff).unwrap()).collect()
}

async fn world_session(world: &World) -> SessionId {
    let sessions = world.engine.store().sessions(sturdy_store::SessionQuery::default()).await.unwrap();
    let session: Session = serde_json::from_str(&sessions[0]).unwrap();
    session.id
}

#[tokio::test]
async fn a_step_says_what_it_changed_and_the_turn_is_summed_up() {
    let world = repository().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    put(&world, "old.txt", "one\n");

    let prompt = turn(&world, &session.id, runs("echo two >> old.txt; echo new > made.txt")).await;

    let parts = parts_of(&world.messages(&session.id).await);
    let kinds: Vec<&str> = parts.iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["text", "step-start", "tool", "step-finish", "patch", "step-start", "text", "step-finish"]
    );
    let project = world.disk.project().canonicalize().unwrap();
    let files: Vec<String> = ["made.txt", "old.txt"]
        .iter()
        .map(|file| project.join(file).to_string_lossy().into_owned())
        .collect();
    assert_eq!(parts[4]["files"], json!(files));
    assert_eq!(parts[5]["snapshot"], parts[3]["snapshot"], "the next step begins where this one ended");
    assert_ne!(parts[1]["snapshot"], parts[3]["snapshot"]);
    let diffs = summed(&world, &mut seen, &prompt).await;
    let short: Vec<_> =
        diffs.iter().map(|d| (d["file"].clone(), d["status"].clone(), d["additions"].clone())).collect();
    assert_eq!(
        short,
        [(json!("made.txt"), json!("added"), json!(1)), (json!("old.txt"), json!("modified"), json!(1)),]
    );
    oracle::check(&world.log(&session.id).await).unwrap();
}

#[tokio::test]
async fn an_undo_takes_files_back_and_a_redo_brings_them_again() {
    let world = repository().await;
    let session = world.session().await;
    put(&world, "a.txt", "0");
    let first = turn(&world, &session.id, runs("echo 1 > a.txt; rm -f gone.txt; echo x > b.txt")).await;
    let second = turn(&world, &session.id, runs("echo 2 > a.txt; rm b.txt")).await;

    let undone = revert(&world, &session.id, &second).await;
    assert_eq!(
        (read(&world, "a.txt").as_deref(), read(&world, "b.txt").as_deref()),
        (Some("1\n"), Some("x\n"))
    );
    let mark = undone.revert.unwrap();
    assert_eq!(mark.message_id, second);
    assert!(mark.diff.unwrap().contains("-2\n+1\n"));
    assert_eq!(undone.summary.unwrap().files.0, 2.0);

    let further = revert(&world, &session.id, &first).await;
    assert_eq!((read(&world, "a.txt").as_deref(), read(&world, "b.txt")), (Some("0"), None));
    assert_eq!(further.revert.unwrap().message_id, first);

    revert(&world, &session.id, &second).await;
    assert_eq!(
        (read(&world, "a.txt").as_deref(), read(&world, "b.txt").as_deref()),
        (Some("1\n"), Some("x\n"))
    );

    let redone = world.engine.unrevert(&session.id).await.unwrap();
    assert_eq!((read(&world, "a.txt").as_deref(), read(&world, "b.txt")), (Some("2\n"), None));
    assert_eq!((redone.session.revert, redone.conflicts), (None, Vec::new()));
    assert_eq!(world.messages(&session.id).await.len(), 6, "nothing was removed");
}

#[tokio::test]
async fn the_next_prompt_removes_what_was_undone_and_the_model_does_not_see_it() {
    let world = repository().await;
    let session = world.session().await;
    let first = turn(&world, &session.id, runs("echo 1 > a.txt")).await;
    let second = turn(&world, &session.id, runs("echo 2 > a.txt")).await;
    let mut seen = Seen::from_now(world.engine.feed());
    revert(&world, &session.id, &second).await;

    world.provider.will(says("Again."));
    let reply = world.ask(&session.id, "something else").await.unwrap();

    assert_eq!(texts(&reply), ["Again."]);
    let messages = world.messages(&session.id).await;
    let ids: Vec<&MessageId> = messages.iter().map(|one| one.info.id()).collect();
    assert!(ids.contains(&&first) && !ids.contains(&&second));
    assert_eq!(messages.len(), 5);
    let record =
        seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::SessionIdled { .. }))).await;
    let removed = record.facts.iter().filter(|fact| matches!(fact, Fact::MessageRemoved { .. })).count();
    assert_eq!(removed, 3);
    assert_eq!(read(&world, "a.txt").as_deref(), Some("1\n"), "files stay as the undo left them");
    let asked = world.provider.requests().last().unwrap().to_string();
    assert_eq!(asked.matches("echo 2").count(), 0);
    let info: Session =
        serde_json::from_str(&world.engine.store().session(&session.id).await.unwrap().unwrap()).unwrap();
    assert_eq!(info.revert, None);
    oracle::check(&world.log(&session.id).await).unwrap();
}

#[tokio::test]
async fn a_file_that_a_person_changed_is_reported_and_left_alone_until_it_is_forced() {
    let world = repository().await;
    let session = world.session().await;
    put(&world, "a.txt", "0");
    let prompt = turn(&world, &session.id, runs("echo 1 > a.txt; echo 1 > b.txt")).await;
    put(&world, "a.txt", "a person's work");

    let request = RevertRequest { message: Some(prompt.clone()), ..RevertRequest::default() };
    let plan = world.engine.revert_plan(&session.id, request.clone()).await.unwrap();
    assert_eq!(read(&world, "b.txt").as_deref(), Some("1\n"), "a plan changes nothing");
    let actions: Vec<_> = plan.files.iter().map(|file| (file.file.as_str(), file.action)).collect();
    assert_eq!(actions, [("a.txt", "conflict"), ("b.txt", "delete")]);

    let undone = world.engine.revert(&session.id, request.clone()).await.unwrap();
    assert_eq!(read(&world, "a.txt").as_deref(), Some("a person's work"));
    assert_eq!(read(&world, "b.txt"), None);
    let conflicts = undone.revert.unwrap().conflicts;
    assert_eq!(conflicts.iter().map(|one| one.file.as_str()).collect::<Vec<_>>(), ["a.txt"]);

    let force = vec!["a.txt".to_owned()];
    world.engine.revert(&session.id, RevertRequest { force, ..request }).await.unwrap();
    assert_eq!(read(&world, "a.txt").as_deref(), Some("0"));
    world.engine.unrevert(&session.id).await.unwrap();
    assert_eq!(read(&world, "a.txt").as_deref(), Some("a person's work"));
}

#[tokio::test]
async fn the_plan_of_a_redo_names_every_file_and_what_a_person_changed_since_the_undo() {
    let world = repository().await;
    let session = world.session().await;
    put(&world, "a.txt", "0");
    put(&world, "gone.txt", "0");
    let first = turn(&world, &session.id, runs("echo 1 > a.txt; rm gone.txt; echo 1 > b.txt")).await;
    let second = turn(&world, &session.id, runs("echo 2 > a.txt; echo 2 > c.txt")).await;
    let actions = async |to: Option<&MessageId>| -> Vec<(String, &'static str)> {
        let plan = world.engine.unrevert_plan(&session.id, to.cloned()).await.unwrap();
        plan.files.into_iter().map(|file| (file.file, file.action)).collect()
    };
    let named = |rows: &[(&str, &'static str)]| -> Vec<(String, &'static str)> {
        rows.iter().map(|(file, action)| ((*file).to_owned(), *action)).collect()
    };
    assert_eq!(actions(None).await, [], "nothing is undone");
    revert(&world, &session.id, &first).await;
    put(&world, "b.txt", "a person's work");

    let one = actions(Some(&second)).await;
    let all = actions(None).await;

    assert_eq!(
        one,
        named(&[("a.txt", "change"), ("b.txt", "conflict"), ("c.txt", "nothing"), ("gone.txt", "delete")])
    );
    assert_eq!(
        all,
        named(&[("a.txt", "change"), ("b.txt", "conflict"), ("c.txt", "create"), ("gone.txt", "delete")])
    );
    assert_eq!(read(&world, "a.txt").as_deref(), Some("0"), "a plan changes nothing");
    world.engine.unrevert(&session.id).await.unwrap();
    assert_eq!(read(&world, "a.txt").as_deref(), Some("2\n"));
    assert_eq!(read(&world, "b.txt").as_deref(), Some("a person's work"));
    assert_eq!(read(&world, "c.txt").as_deref(), Some("2\n"));
    assert_eq!(read(&world, "gone.txt"), None);
}

#[tokio::test]
async fn only_the_own_session_is_undone_when_two_work_in_one_tree() {
    let world = repository().await;
    let ours = world.session().await;
    let theirs = world.session().await;
    let prompt = turn(&world, &ours.id, writes("ours.txt", "ours")).await;
    turn(&world, &theirs.id, writes("theirs.txt", "theirs")).await;

    revert(&world, &ours.id, &prompt).await;

    assert_eq!(read(&world, "ours.txt"), None);
    assert_eq!(read(&world, "theirs.txt").as_deref(), Some("theirs"));
}

#[tokio::test]
async fn what_a_person_does_while_a_command_waits_for_permission_is_not_undone() {
    let world = world_with(json!({ "bash": "ask" })).await;
    init(&world);
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    put(&world, "mine.txt", "before");
    world.provider.will(runs("echo 1 > made.txt"));
    world.provider.will(says("Done."));
    let prompt = world.prompt(&session.id, "go").await.unwrap();
    let request = asked(&mut seen).await;
    put(&world, "mine.txt", "a person's work, while the agent waits");
    world.engine.answer_ask(request.id.as_str(), permission(PermissionReply::Once, None)).await.unwrap();
    world.engine.answer(&session.id, &prompt).await.unwrap();

    revert(&world, &session.id, &prompt).await;

    assert_eq!(read(&world, "made.txt"), None);
    assert_eq!(read(&world, "mine.txt").as_deref(), Some("a person's work, while the agent waits"));
}

#[tokio::test]
async fn a_busy_session_refuses_and_an_unknown_message_changes_nothing() {
    let world = repository().await;
    let session = world.session().await;
    let gate = Gate::new();
    world.provider.will(answer().gate(&gate).text("late").finish("stop"));
    let prompt = world.prompt(&session.id, "go").await.unwrap();

    let request = RevertRequest { message: Some(prompt.clone()), ..RevertRequest::default() };
    let refused = world.engine.revert(&session.id, request).await;
    assert!(matches!(refused, Err(EngineError::Refused(Refusal::Busy))), "{refused:?}");
    assert!(matches!(world.engine.unrevert(&session.id).await, Err(EngineError::Refused(Refusal::Busy))));
    gate.open();
    world.engine.answer(&session.id, &prompt).await.unwrap();

    let nowhere = RevertRequest { message: MessageId::parse("msg_unknown").ok(), ..RevertRequest::default() };
    let same = world.engine.revert(&session.id, nowhere).await.unwrap();
    assert_eq!(same.revert, None);
}

#[tokio::test]
async fn an_undo_survives_a_restart_and_a_lost_tree_is_an_error() {
    let world = repository().await;
    let session = world.session().await;
    put(&world, "a.txt", "0");
    let prompt = turn(&world, &session.id, runs("echo 1 > a.txt")).await;
    revert(&world, &session.id, &prompt).await;

    let world = world.reopen().await;
    world.engine.unrevert(&session.id).await.unwrap();
    assert_eq!(read(&world, "a.txt").as_deref(), Some("1\n"));

    let trees = world.disk.data().join("trees");
    world.engine.close().await;
    fs::remove_dir_all(&trees).unwrap();
    let world = world.reopen().await;
    let request = RevertRequest { message: Some(prompt), ..RevertRequest::default() };
    let lost = world.engine.revert(&session.id, request).await;
    assert!(matches!(lost, Err(EngineError::Trees(_))), "{lost:?}");
    assert_eq!(read(&world, "a.txt").as_deref(), Some("1\n"));
}

#[tokio::test]
async fn an_undo_that_a_dead_process_left_half_done_is_settled_at_the_next_start() {
    let world = repository().await;
    let session = world.session().await;
    put(&world, "a.txt", "0");
    let prompt = turn(&world, &session.id, runs("echo 1 > a.txt; echo 1 > b.txt")).await;
    let undone = revert(&world, &session.id, &prompt).await;
    world.engine.unrevert(&session.id).await.unwrap();
    // As if the process had died after the first file: the note is there, the record says nothing.
    let note = world.disk.data().join("trees/pending").join(format!("{}.json", session.id));
    fs::write(&note, json!({ "session": session.id, "wanted": undone.revert }).to_string()).unwrap();
    put(&world, "a.txt", "0");

    let world = world.reopen().await;

    assert_eq!(
        (read(&world, "a.txt").as_deref(), read(&world, "b.txt").as_deref()),
        (Some("1\n"), Some("1\n"))
    );
    assert!(!note.exists());
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_undone_too() {
    let world = repository().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(runs("echo 1 > made.txt; trap '' TERM; while true; do sleep 0.05; done"));
    let prompt = world.prompt(&session.id, "go").await.unwrap();
    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::ToolStarted { .. }))).await;
    while read(&world, "made.txt").is_none() {
        tokio::task::yield_now().await;
    }
    world.engine.abort(&session.id).await.unwrap();
    world.engine.answer(&session.id, &prompt).await.unwrap();

    let undone = revert(&world, &session.id, &prompt).await;

    assert_eq!(read(&world, "made.txt"), None, "{undone:?}");
    let messages = world.messages(&session.id).await;
    let has_patch =
        messages.iter().flat_map(|one| &one.parts).any(|part| matches!(part.body, PartBody::Patch(_)));
    assert!(has_patch);
}

#[tokio::test]
async fn an_undo_goes_on_when_whoever_asked_has_gone_away() {
    let world = repository().await;
    let session = world.session().await;
    put(&world, "a.txt", "0");
    let prompt = turn(&world, &session.id, runs("echo 1 > a.txt")).await;
    let mut seen = Seen::from_now(world.engine.feed());

    let request = RevertRequest { message: Some(prompt.clone()), ..RevertRequest::default() };
    let engine = world.engine.clone();
    let id = session.id.clone();
    #[allow(clippy::disallowed_methods, reason = "a client that hangs up")]
    let asking = tokio::spawn(async move { engine.revert(&id, request).await });
    tokio::task::yield_now().await;
    asking.abort();

    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::SessionReverted { .. }))).await;
    assert_eq!(read(&world, "a.txt").as_deref(), Some("0"));
}
