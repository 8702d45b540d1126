//! What captured trees take, and when it is given back.

use crate::tools::runs;
use crate::undo::{put, read, repository, revert, turn};
use std::path::PathBuf;
use sturdy_engine::{Garbage, trees_usage};
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_testkit::{Seen, World};
use sturdy_worktree::snapshot::stores_below;

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

/// Objects of the first store that are not in a pack.
fn loose(world: &World) -> usize {
    stores_below(&world.disk.data().join("trees")).unwrap()[0].loose
}

#[tokio::test]
async fn a_round_of_the_upkeep_releases_removed_sessions_and_packs_what_has_grown() {
    let world = repository().await;
    let ours = world.session().await;
    let theirs = world.session().await;
    for number in 0..9_000 {
        put(&world, &format!("f{number}"), &number.to_string());
    }
    turn(&world, &theirs.id, runs("echo 1 > b.txt")).await;
    let prompt = turn(&world, &ours.id, runs("echo 1 > a.txt; rm f1")).await;
    assert!(loose(&world) > 6_000);

    world.engine.tidy_trees().await;
    assert_eq!(loose(&world), 0, "many small files become one pack");
    assert_eq!(trees_usage(&world.disk.data()).unwrap()[0].sessions, 2);

    world.engine.remove_session(&theirs.id).await.unwrap();
    world.engine.tidy_trees().await;
    assert_eq!(trees_usage(&world.disk.data()).unwrap()[0].sessions, 1);
    turn(&world, &ours.id, runs("echo 2 > a.txt")).await;
    revert(&world, &ours.id, &prompt).await;
    assert_eq!((read(&world, "a.txt"), read(&world, "f1").as_deref()), (None, Some("1")));
}

#[tokio::test]
async fn a_tree_that_another_session_captured_is_kept_when_that_session_is_gone() {
    let world = repository().await;
    let ours = world.session().await;
    let theirs = world.session().await;
    put(&world, "a.txt", "0");
    // While our turn runs, the other session ends one, so the newest tree is of its making.
    let gate = sturdy_testkit::script::Gate::new();
    let looks = sturdy_testkit::answer().gate(&gate).call(0, "c", "glob", r#"{"pattern":"*"}"#);
    world.provider.will(looks.finish("tool_calls"));
    let prompt = world.prompt(&ours.id, "go").await.unwrap();
    world.provider.wait_for_requests(1).await;
    turn(&world, &theirs.id, runs("echo theirs > b.txt")).await;
    world.provider.will(runs("echo 1 > a.txt"));
    world.provider.will(crate::undo::says("Done."));
    gate.open();
    world.engine.answer(&ours.id, &prompt).await.unwrap();

    world.engine.remove_session(&theirs.id).await.unwrap();
    let world = world.reopen().await;
    world.engine.collect_garbage(Garbage::Remove).await.unwrap();

    let findings = sturdy_engine::verify::trees(world.engine.store(), &world.disk.data(), &[]).await.unwrap();
    assert!(findings.is_empty(), "{findings:?}");
    revert(&world, &ours.id, &prompt).await;
    assert_eq!(read(&world, "a.txt").as_deref(), Some("0"));
    assert_eq!(read(&world, "b.txt").as_deref(), Some("theirs\n"));
}

#[tokio::test]
async fn diffs_that_are_stored_apart_go_with_their_session() {
    let world = repository().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    turn(&world, &session.id, runs("seq 40000 > long.txt")).await;
    seen.until(|record| record.facts.iter().any(|fact| matches!(fact, Fact::TurnDiffed { .. }))).await;
    let store = world.engine.store();
    assert!(store.sizes().await.unwrap().blobs > 0, "a diff of 200 KB is no entry of the log");

    world.engine.remove_session(&session.id).await.unwrap();
    let mut after = Some(String::new());
    while let Some(from) = after {
        after = store.collect_blobs(&from).await.unwrap().next;
    }

    assert_eq!(store.sizes().await.unwrap().blobs, 0);
}

/// The directory of the only store of trees.
fn store_dir(world: &World) -> PathBuf {
    stores_below(&world.disk.data().join("trees")).unwrap().remove(0).dir
}

async fn files_changed(world: &World, session: &SessionId) -> Vec<(String, f64)> {
    let diff = world.engine.session_diff(session).await.unwrap();
    diff.into_iter().map(|one| (one.file.unwrap(), one.additions.0)).collect()
}

#[tokio::test]
async fn the_diff_of_a_session_is_answered_without_its_trees_while_nothing_has_changed() {
    let world = repository().await;
    let session = world.session().await;
    let mut seen = Seen::from_now(world.engine.feed());
    let prompt = turn(&world, &session.id, runs("echo 1 > a.txt; printf '1\\n2\\n' > b.txt")).await;
    let is_it = |fact: &Fact| matches!(fact, Fact::TurnDiffed { diffed, .. } if diffed.prompt.id == prompt);
    seen.until(|record| record.facts.iter().any(is_it)).await;

    // Was: every request compared the trees of every step. Nothing can be compared without them.
    let world = world.reopen().await;
    std::fs::remove_dir_all(store_dir(&world).join("objects")).unwrap();

    let expected = [("a.txt".to_owned(), 1.0), ("b.txt".to_owned(), 2.0)];
    assert_eq!(files_changed(&world, &session.id).await, expected);
}

#[tokio::test]
async fn the_diff_of_a_range_of_messages_is_compared_once() {
    let world = repository().await;
    let session = world.session().await;
    let first = turn(&world, &session.id, runs("echo 1 > a.txt")).await;
    let second = turn(&world, &session.id, runs("echo 1 > b.txt")).await;
    turn(&world, &session.id, runs("echo 1 > c.txt")).await;
    let range = async |world: &World| {
        let diff = world.engine.range_diff(&session.id, &first, &second).await.unwrap();
        diff.into_iter().map(|one| one.file.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(range(&world).await, ["a.txt", "b.txt"]);

    // Was: every request compared the trees again. Nothing can be compared without them.
    let world = world.reopen().await;
    std::fs::remove_dir_all(store_dir(&world).join("objects")).unwrap();

    assert_eq!(range(&world).await, ["a.txt", "b.txt"]);
}

#[tokio::test]
async fn the_diff_of_a_session_follows_what_its_turns_and_undos_change() {
    let world = repository().await;
    let session = world.session().await;
    turn(&world, &session.id, runs("echo 1 > a.txt")).await;
    let a = ("a.txt".to_owned(), 1.0);
    assert_eq!(files_changed(&world, &session.id).await, std::slice::from_ref(&a));

    let second = turn(&world, &session.id, runs("echo 1 > b.txt")).await;
    let b = ("b.txt".to_owned(), 1.0);
    assert_eq!(files_changed(&world, &session.id).await, [a.clone(), b.clone()]);
    revert(&world, &session.id, &second).await;
    assert_eq!(files_changed(&world, &session.id).await, std::slice::from_ref(&a));
    world.engine.unrevert(&session.id).await.unwrap();
    assert_eq!(files_changed(&world, &session.id).await, [a, b]);
}

#[tokio::test]
async fn the_kept_diffs_of_a_removed_session_are_given_back_with_its_trees() {
    let world = repository().await;
    let session = world.session().await;
    let prompt = turn(&world, &session.id, runs("echo 1 > a.txt")).await;
    assert_eq!(files_changed(&world, &session.id).await.len(), 1);
    assert_eq!(world.engine.range_diff(&session.id, &prompt, &prompt).await.unwrap().len(), 1);
    let kept = || store_dir(&world).join("sturdy-diffs").read_dir().unwrap().count();
    assert_eq!(kept(), 2, "one of the session, and a directory of ranges");

    world.engine.remove_session(&session.id).await.unwrap();
    world.engine.tidy_trees().await;

    assert_eq!(kept(), 0);
}
