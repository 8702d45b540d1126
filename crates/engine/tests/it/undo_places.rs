//! Undo wherever a session works: in a linked worktree, in a sub-directory, in a checkout that was moved, in a directory
//! that has become a repository; and what the user's own settings leave out.

use crate::approvals::{git, make_repository, session_in};
use crate::tools::runs;
use crate::undo::{init, read, repository, revert, turn, writes};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use sturdy_engine::{Environment, RevertRequest};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_testkit::World;

/// A place for checkouts beside the project of a world, which lends them its configuration.
fn place(world: &World) -> (tempfile::TempDir, PathBuf) {
    let top = tempfile::tempdir().unwrap();
    let here = top.path().canonicalize().unwrap().join("here");
    fs::create_dir(&here).unwrap();
    fs::copy(world.disk.project().join("opencode.json"), here.join("opencode.json")).unwrap();
    (top, here)
}

fn text(at: &Path) -> Option<String> {
    fs::read_to_string(at).ok()
}

/// Every undo and redo of two turns gives back what was there.
async fn undo_and_redo(world: &World, session: &SessionId, prompt: &MessageId, file: &Path) {
    revert(world, session, prompt).await;
    assert_eq!(text(file).as_deref(), Some("0\n"));
    assert_eq!(world.engine.unrevert(session).await.unwrap().conflicts, []);
    assert_eq!(text(file).as_deref(), Some("1\n"));
}

#[tokio::test]
async fn a_session_in_a_linked_worktree_undoes_its_own_checkout_only() {
    let world = World::new().await;
    let (_top, here) = place(&world);
    fs::write(here.join("a.txt"), "0\n").unwrap();
    make_repository(&here);
    git(&here, &["add", "."]);
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    git(&here, &[&who[..], &["commit", "--quiet", "-m", "second"]].concat());
    let linked = here.with_file_name("linked");
    git(&here, &["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    let session = session_in(&world, &linked).await.id;

    let prompt = turn(&world, &session, runs("echo 1 > a.txt")).await;

    undo_and_redo(&world, &session, &prompt, &linked.join("a.txt")).await;
    assert_eq!(text(&here.join("a.txt")).as_deref(), Some("0\n"));
}

#[tokio::test]
async fn a_session_in_a_sub_directory_undoes_what_its_commands_did_above_it() {
    let world = World::new().await;
    let (_top, here) = place(&world);
    fs::create_dir(here.join("below")).unwrap();
    fs::write(here.join("a.txt"), "0\n").unwrap();
    fs::write(here.join("below/b.txt"), "0\n").unwrap();
    make_repository(&here);
    let session = session_in(&world, &here.join("below")).await.id;

    let prompt = turn(&world, &session, runs("echo 1 > b.txt; cd .. && echo 1 > a.txt")).await;

    for file in ["a.txt", "below/b.txt"] {
        undo_and_redo(&world, &session, &prompt, &here.join(file)).await;
    }
}

#[tokio::test]
async fn what_was_done_before_a_checkout_was_moved_can_be_undone_after() {
    let world = World::new().await;
    let (_top, here) = place(&world);
    fs::write(here.join("a.txt"), "0\n").unwrap();
    make_repository(&here);
    let session = session_in(&world, &here).await.id;
    let prompt = turn(&world, &session, runs("echo 1 > a.txt")).await;

    let there = here.with_file_name("there");
    fs::rename(&here, &there).unwrap();
    world.engine.dispose_all();
    session_in(&world, &there).await;

    // Was: captured trees were looked for under the new path, where there were none.
    undo_and_redo(&world, &session, &prompt, &there.join("a.txt")).await;
    assert!(!here.exists());
}

#[tokio::test]
async fn what_was_done_before_a_directory_became_a_repository_can_be_undone_after() {
    let world = World::new().await;
    let project = world.disk.project();
    fs::write(project.join("a.txt"), "0\n").unwrap();
    let session = world.session().await.id;
    let prompt = turn(&world, &session, runs("echo 1 > a.txt")).await;

    init(&world);
    git(&project, &["remote", "add", "origin", "https://example.org/a/b.git"]);
    let world = world.reopen().await;
    session_in(&world, &project).await;

    undo_and_redo(&world, &session, &prompt, &project.join("a.txt")).await;
}

#[tokio::test]
async fn what_the_users_own_list_ignores_everywhere_is_not_captured() {
    let world = repository().await;
    let home = world.disk.home();
    fs::write(home.join("everywhere"), "*.mine\n").unwrap();
    fs::write(home.join(".gitconfig"), "[core]\n\texcludesFile = ~/everywhere\n").unwrap();
    let session = world.session().await.id;

    let prompt = turn(&world, &session, runs("echo 1 > a.txt; echo 1 > notes.mine")).await;
    revert(&world, &session, &prompt).await;

    assert_eq!(read(&world, "a.txt"), None);
    // Was: only the list at its usual place was known.
    assert_eq!(read(&world, "notes.mine").as_deref(), Some("1\n"));
}

#[tokio::test]
async fn the_plan_names_what_is_not_captured_and_the_limit_is_a_setting() {
    let world = World::with(|options| {
        let home = options.environment.home.to_string_lossy().into_owned();
        let path = std::env::var("PATH").unwrap();
        let limit = ("STURDY_CAPTURE_FILE_MAX_MB".to_owned(), "1".to_owned());
        let variables = [("HOME".to_owned(), home), ("PATH".to_owned(), path), limit];
        options.environment = Environment::new(HashMap::from(variables)).trusting_all();
    })
    .await;
    init(&world);
    let session = world.session().await.id;
    let prompt = turn(&world, &session, runs("head -c 2000000 /dev/zero > large; echo 1 > small")).await;

    let request = RevertRequest { message: Some(prompt.clone()), ..RevertRequest::default() };
    let plan = world.engine.revert_plan(&session, request).await.unwrap();
    revert(&world, &session, &prompt).await;

    let left_out: Vec<_> = plan.left_out.iter().map(|one| (one.file.as_str(), one.why)).collect();
    assert_eq!(left_out, [("large", "too large to be captured")]);
    assert_eq!(read(&world, "small"), None);
    assert!(world.disk.project().join("large").exists(), "what was not captured is not removed");
}

#[tokio::test]
async fn a_private_file_that_a_tool_removed_comes_back_private() {
    let world = repository().await;
    let secret = world.disk.project().join("secret");
    fs::write(&secret, "0").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let session = world.session().await.id;

    let prompt = turn(&world, &session, runs("rm secret")).await;
    revert(&world, &session, &prompt).await;

    assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn the_turns_between_two_prompts_are_compared_together() {
    let world = repository().await;
    let session = world.session().await.id;
    let first = turn(&world, &session, writes("a.txt", "1\n")).await;
    let second = turn(&world, &session, writes("b.txt", "1\n")).await;
    let third = turn(&world, &session, runs("echo 2 >> a.txt; rm b.txt")).await;
    let files = async |from: &MessageId, to: &MessageId| {
        let diffs = world.engine.range_diff(&session, from, to).await.unwrap();
        let short = diffs.into_iter().map(|diff| (diff.file.unwrap(), diff.additions.0, diff.deletions.0));
        short.collect::<Vec<_>>()
    };

    let file = |name: &str, added: f64, removed: f64| (name.to_owned(), added, removed);
    assert_eq!(files(&first, &second).await, [file("a.txt", 1.0, 0.0), file("b.txt", 1.0, 0.0)]);
    assert_eq!(files(&second, &third).await, [file("a.txt", 1.0, 0.0)], "b.txt came and went");
    assert_eq!(files(&first, &third).await, [file("a.txt", 2.0, 0.0)]);
    assert_eq!(files(&third, &first).await, []);
}

#[tokio::test]
async fn a_private_directory_that_a_command_removed_comes_back_private() {
    let world = repository().await;
    let session = world.session().await;
    turn(&world, &session.id, runs("mkdir -m 700 private; echo 1 > private/a.txt")).await;
    let second = turn(&world, &session.id, runs("rm -r private")).await;
    let first = world.messages(&session.id).await[0].info.id().clone();
    let mode = || {
        let found = world.disk.project().join("private").metadata().ok()?;
        Some(found.permissions().mode() & 0o777)
    };
    assert_eq!(mode(), None);

    revert(&world, &session.id, &second).await;
    assert_eq!(mode(), Some(0o700));
    revert(&world, &session.id, &first).await;
    assert_eq!(mode(), None);
    revert(&world, &session.id, &second).await;
    assert_eq!((mode(), read(&world, "private/a.txt").as_deref()), (Some(0o700), Some("1\n")));
}
