//! What captured trees take, and when it is given back.

use crate::tools::runs;
use crate::undo::{put, read, repository, revert, turn};
use sturdy_engine::{Garbage, trees_usage};

#[tokio::test]
async fn trees_of_a_removed_session_are_given_back_and_those_of_another_stay() {
    let world = repository().await;
    let ours = world.session().await;
    let theirs = world.session().await;
    put(&world, "a.txt", "0");
    turn(&world, &theirs.id, runs("head -c 300000 /dev/urandom > b.bin")).await;
    std::fs::remove_file(world.disk.project().join("b.bin")).unwrap();
    let prompt = turn(&world, &ours.id, runs("echo 1 > a.txt")).await;
    let usage = trees_usage(&world.disk.data()).unwrap();
    assert_eq!(usage.iter().map(|one| one.sessions).collect::<Vec<_>>(), [2]);
    assert_eq!(usage[0].worktree, world.disk.project().canonicalize().unwrap());

    world.engine.remove_session(&theirs.id).await.unwrap();
    let world = world.reopen().await;
    let shown = world.engine.collect_garbage(Garbage::Show).await.unwrap();
    assert_eq!((shown.released, shown.bytes_after), (1, None));
    assert_eq!(trees_usage(&world.disk.data()).unwrap()[0].sessions, 2, "showing does nothing");

    let done = world.engine.collect_garbage(Garbage::Remove).await.unwrap();
    assert_eq!(done.released, 1);
    assert!(done.bytes_after.unwrap() + 250_000 < done.bytes_before, "{done:?}");
    assert_eq!(trees_usage(&world.disk.data()).unwrap()[0].sessions, 1);
    revert(&world, &ours.id, &prompt).await;
    assert_eq!(read(&world, "a.txt").as_deref(), Some("0"));
}

#[tokio::test]
async fn a_copy_of_a_session_can_be_undone_when_the_origin_is_gone() {
    let world = repository().await;
    let origin = world.session().await;
    put(&world, "a.txt", "0");
    turn(&world, &origin.id, runs("echo 1 > a.txt")).await;
    let copy = world.engine.fork(&origin.id, None).await.unwrap();
    world.engine.remove_session(&origin.id).await.unwrap();
    let world = world.reopen().await;
    world.engine.collect_garbage(Garbage::Remove).await.unwrap();

    let prompt = world.messages(&copy.id).await[0].info.id().clone();
    revert(&world, &copy.id, &prompt).await;

    assert_eq!(read(&world, "a.txt").as_deref(), Some("0"));
}
