//! Dies before and after every commit of turns that change files and of undoing them. After the next start the files
//! fit what the session says, and whatever was there can be brought back.

use crate::tools::runs;
use crate::undo::{put, read, says, writes};
use std::process::Command;
use sturdy_engine::RevertRequest;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::oracle;
use sturdy_session::types::session::Session;
use sturdy_store::CrashPlan;
use sturdy_testkit::world::Disk;
use sturdy_testkit::{Provider, World};

type Files = [Option<String>; 3];

/// Two turns, then back, forth, further back, and on from there.
async fn play(world: &World) -> Option<(SessionId, Vec<MessageId>)> {
    for act in [runs("echo 1 > a.txt; echo 1 > b.txt"), writes("c.txt", "2")] {
        world.provider.will(act);
        world.provider.will(says("Done."));
    }
    world.provider.will(says("Again."));
    let session = world.try_session().await.ok()?;
    let mut prompts = Vec::new();
    let ended = async {
        for _ in 0..2 {
            let prompt = world.prompt(&session.id, "go").await.ok()?;
            prompts.push(prompt.clone());
            world.engine.answer(&session.id, &prompt).await.ok()?;
        }
        let to =
            |prompt: &MessageId| RevertRequest { message: Some(prompt.clone()), ..RevertRequest::default() };
        world.engine.revert(&session.id, to(&prompts[1])).await.ok()?;
        world.engine.unrevert(&session.id).await.ok()?;
        world.engine.revert(&session.id, to(&prompts[1])).await.ok()?;
        world.engine.revert(&session.id, to(&prompts[0])).await.ok()?;
        world.engine.revert(&session.id, to(&prompts[1])).await.ok()?;
        world.ask(&session.id, "something else").await.ok()
    };
    ended.await;
    Some((session.id, prompts))
}

fn files(world: &World) -> Files {
    ["a.txt", "b.txt", "c.txt"].map(|name| read(world, name))
}

fn texts(a: &str, b: Option<&str>, c: Option<&str>) -> Files {
    [Some(a), b, c].map(|text| text.map(str::to_owned))
}

/// Whether an undo stood.
async fn check(world: &World, id: &SessionId, prompts: &[MessageId], plan: CrashPlan) -> bool {
    let record = world.engine.store().session(id).await.unwrap().unwrap();
    let session: Session = serde_json::from_str(&record).unwrap();
    oracle::check(&world.log(id).await).unwrap_or_else(|broken| panic!("{plan:?}: {broken}"));
    let notes = |name: &str| world.disk.data().join(name).read_dir().map_or(0, Iterator::count);
    assert_eq!(
        (notes("trees/pending"), notes("trees/acting")),
        (0, 0),
        "{plan:?}: something is left to settle"
    );
    let everything = texts("1\n", Some("1\n"), Some("2"));
    let Some(mark) = &session.revert else {
        if world.messages(id).await.len() == 6 {
            assert_eq!(files(world), everything, "{plan:?}: files went back, and nobody says so");
        }
        return false;
    };
    let undone = match prompts.iter().position(|prompt| *prompt == mark.message_id) {
        Some(0) => texts("0", None, None),
        Some(_) => texts("1\n", Some("1\n"), None),
        None => panic!("{plan:?}: cut at {mark:?}"),
    };
    assert_eq!(files(world), undone, "{plan:?}: the files are not as the session says");
    world.engine.unrevert(id).await.unwrap_or_else(|cause| panic!("{plan:?}: {cause}"));
    assert_eq!(files(world), everything, "{plan:?}: not everything came back");
    true
}

/// Whatever the first turns left, all of it goes back.
async fn check_all_goes_back(world: &World, id: &SessionId, prompts: &[MessageId], plan: CrashPlan) {
    let Some(first) = prompts.first() else { return };
    let listed = world.messages(id).await.iter().any(|one| one.info.id() == first);
    if !listed {
        return;
    }
    let request = RevertRequest { message: Some(first.clone()), ..RevertRequest::default() };
    let undone = world.engine.revert(id, request).await.unwrap_or_else(|cause| panic!("{plan:?}: {cause}"));
    assert_eq!(files(world), texts("0", None, None), "{plan:?}: {:?}", undone.revert);
}

async fn dies_at_every_commit(plan_at: fn(u64) -> CrashPlan) {
    let mut crashes = 0;
    let mut undone = 0;
    let mut survived = 0;
    for n in 1.. {
        let plan = plan_at(n);
        let disk = Disk::new();
        let made = Command::new("git").args(["init", "--quiet"]).current_dir(disk.project()).status();
        assert!(made.unwrap().success());
        let world = World::open(disk, Provider::start().await, plan).await;
        put(&world, "a.txt", "0");
        let played = play(&world).await;
        if !world.engine.store().was_crashed() {
            survived += 1;
            // Commits are gathered as they fall, so one run has a few more or less than the next.
            if survived == 6 {
                break;
            }
            continue;
        }
        crashes += 1;
        survived = 0;
        let world = world.reopen().await;
        world.provider.forget_answers();
        if let Some((id, prompts)) = played {
            undone += u32::from(check(&world, &id, &prompts, plan).await);
            check_all_goes_back(&world, &id, &prompts, plan).await;
        }
    }
    // How many commits an undo is gathered into depends on how busy the machine is.
    assert!(crashes >= 15 && undone >= 1, "only {crashes} crashes were tried, {undone} of them in an undo");
}

#[tokio::test]
async fn no_crash_before_a_commit_leaves_files_and_conversation_apart() {
    dies_at_every_commit(CrashPlan::BeforeCommit).await;
}

#[tokio::test]
async fn no_crash_after_a_commit_leaves_files_and_conversation_apart() {
    dies_at_every_commit(CrashPlan::AfterCommit).await;
}
