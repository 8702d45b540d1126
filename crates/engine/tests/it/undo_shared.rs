//! Whose a change is when several sessions, or a session and its sub-agents, work in one tree.

use crate::tools::runs;
use crate::undo::{put, read, repository, revert, says, writes};
use serde_json::json;
use sturdy_engine::RevertRequest;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_testkit::{Answer, World, answer};

/// A command that writes a file and goes on until `go` is there.
fn waits(file: &str) -> Answer {
    runs(&format!("echo 1 > {file}; while [ ! -e go ]; do sleep 0.02; done"))
}

async fn until_there(world: &World, file: &str) {
    while read(world, file).is_none() {
        tokio::task::yield_now().await;
    }
}

async fn plan(world: &World, session: &SessionId, to: &MessageId) -> Vec<(String, &'static str)> {
    let request = RevertRequest { message: Some(to.clone()), ..RevertRequest::default() };
    let plan = world.engine.revert_plan(session, request).await.unwrap();
    plan.files.into_iter().map(|file| (file.file, file.action)).collect()
}

#[tokio::test]
async fn what_commands_of_two_sessions_saw_change_is_a_conflict_for_both_and_can_be_forced() {
    let world = repository().await;
    let slow = world.session().await;
    let quick = world.session().await;
    world.provider.will(waits("slow.txt"));
    let asked_slow = world.prompt(&slow.id, "go").await.unwrap();
    until_there(&world, "slow.txt").await;
    world.provider.will(runs("echo 2 > quick.txt"));
    world.provider.will(says("Quick."));
    let asked_quick = world.prompt(&quick.id, "go").await.unwrap();
    world.engine.answer(&quick.id, &asked_quick).await.unwrap();
    world.provider.will(says("Slow."));
    put(&world, "go", "");
    world.engine.answer(&slow.id, &asked_slow).await.unwrap();

    let named = |file: &str, action| (file.to_owned(), action);
    assert_eq!(plan(&world, &quick.id, &asked_quick).await, [named("quick.txt", "conflict")]);
    let planned = plan(&world, &slow.id, &asked_slow).await;
    assert_eq!(planned, [named("go", "delete"), named("quick.txt", "conflict"), named("slow.txt", "delete")]);

    let undone = revert(&world, &slow.id, &asked_slow).await;
    let conflicts = undone.revert.unwrap().conflicts;
    assert_eq!(conflicts[0].why, "may have been changed by another session's command");
    assert_eq!((read(&world, "slow.txt"), read(&world, "quick.txt").as_deref()), (None, Some("2\n")));
    let force = vec!["quick.txt".to_owned()];
    let request = RevertRequest { message: Some(asked_quick), force, ..RevertRequest::default() };
    world.engine.revert(&quick.id, request).await.unwrap();
    assert_eq!(read(&world, "quick.txt"), None);
}

#[tokio::test]
async fn commands_of_two_sessions_that_do_not_run_at_the_same_time_share_nothing() {
    let world = repository().await;
    let one = world.session().await;
    let other = world.session().await;
    let first = crate::undo::turn(&world, &one.id, runs("echo 1 > one.txt")).await;
    let second = crate::undo::turn(&world, &other.id, runs("echo 2 > other.txt")).await;

    revert(&world, &one.id, &first).await;
    revert(&world, &other.id, &second).await;

    assert_eq!((read(&world, "one.txt"), read(&world, "other.txt")), (None, None));
}

#[tokio::test]
async fn commands_of_two_sessions_that_died_together_share_what_both_saw() {
    let world = repository().await;
    let one = world.session().await;
    let other = world.session().await;
    world.provider.will(waits("one.txt"));
    let first = world.prompt(&one.id, "go").await.unwrap();
    until_there(&world, "one.txt").await;
    world.provider.will(waits("other.txt"));
    let second = world.prompt(&other.id, "go").await.unwrap();
    until_there(&world, "other.txt").await;

    let world = world.reopen().await;

    let named = |file: &str, action| (file.to_owned(), action);
    let planned = plan(&world, &one.id, &first).await;
    assert_eq!(planned, [named("one.txt", "delete"), named("other.txt", "conflict")]);
    assert_eq!(plan(&world, &other.id, &second).await, [named("other.txt", "conflict")]);
}

/// A call that gives work to a sub-agent.
fn delegates() -> Answer {
    let task = json!({ "description": "Work", "prompt": "work", "subagent_type": "general" });
    answer().call(0, "call_1", "task", &task.to_string()).finish("tool_calls")
}

#[tokio::test]
async fn an_undo_takes_back_what_sub_agents_of_sub_agents_did() {
    let world = repository().await;
    let mut config = sturdy_testkit::world::scripted(&world.provider.url());
    config["subagent_depth"] = json!(2);
    config["permission"] = json!({ "task": "allow" });
    config["agent"] = json!({ "general": { "permission": { "task": "allow" } } });
    world.disk.configure(&config);
    world.engine.dispose_all();
    let session = world.session().await;
    put(&world, "a.txt", "0");
    world.provider.will(delegates());
    world.provider.will(delegates());
    world.provider.will(writes("b.txt", "by the sub-agent of a sub-agent"));
    world.provider.will(says("Written."));
    world.provider.will(says("Passed on."));
    world.provider.will(says("Done."));
    let prompt = world.prompt(&session.id, "go").await.unwrap();
    world.engine.answer(&session.id, &prompt).await.unwrap();
    assert_eq!(read(&world, "b.txt").as_deref(), Some("by the sub-agent of a sub-agent"));

    revert(&world, &session.id, &prompt).await;

    assert_eq!(read(&world, "b.txt"), None);
    world.engine.unrevert(&session.id).await.unwrap();
    assert_eq!(read(&world, "b.txt").as_deref(), Some("by the sub-agent of a sub-agent"));
}
