//! The checkout of a directory over HTTP.

use crate::stream::Stream;
use crate::world::World;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use sturdy_server::ServerOptions;

fn git(dir: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A world whose project is a repository with one file that was changed since.
async fn repository() -> World {
    let world = World::new().await;
    let project = world.project();
    std::fs::write(project.join("a.txt"), "one\n").unwrap();
    git(&project, &["init", "-q"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "first"]);
    std::fs::write(project.join("a.txt"), "two\n").unwrap();
    world
}

const PATCH: &str = "diff --git a/a.txt b/a.txt\nindex 5626abf..f719efd 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n";

// Was: the answer, and the event for every client, had the record of when the directory was first looked at.
#[tokio::test]
async fn git_init_of_a_repository_tells_the_project_as_it_is_now() {
    let world = repository().await;
    let project = world.get("/project/current").await.json()["id"].as_str().unwrap().to_owned();
    world.send("PATCH", &format!("/project/{project}"), &json!({ "name": "Clock" })).await;

    let told = world.call("POST", "/project/git/init").await;

    assert_eq!(told.both(), (200, world.get("/project/current").await.json()));
    assert_eq!(told.json()["name"], "Clock");
}

// Was: the record that all directories outside of repositories share named the first such repository as its place, and
// one that was made later was not told as one.
#[tokio::test]
async fn a_repository_without_a_commit_is_one_and_the_others_know_nothing_of_it() {
    let world = World::new().await;
    let elsewhere = format!("/project/current?directory={}", world.other().display());
    let shared = |answer: Value| (answer["id"].clone(), answer["worktree"].clone(), answer["vcs"].clone());

    let made = world.call("POST", "/project/git/init").await.json();

    assert_eq!(world.get("/project/current").await.json()["worktree"], made["worktree"]);
    let top = world.project().canonicalize().unwrap();
    assert_eq!(shared(made.clone()), (json!("global"), json!(top), json!("git")));
    assert_eq!(made["sandboxes"], json!([]));
    assert_eq!(shared(world.get(&elsewhere).await.json()), (json!("global"), json!("/"), Value::Null));
    assert_eq!(world.get("/project").await.json()[0]["worktree"], "/");
}

#[tokio::test]
async fn outside_a_repository_nothing_is_changed() {
    let world = World::new().await;
    assert_eq!(world.get("/experimental/worktree").await.both(), (200, json!([])));

    assert_eq!(world.get("/vcs").await.both(), (200, json!({ "branch": null, "default_branch": null })));
    assert_eq!(world.get("/vcs/status").await.both(), (200, json!([])));
    assert_eq!(world.get("/vcs/diff?mode=git").await.both(), (200, json!([])));
    let raw = world.get("/vcs/diff/raw").await;
    assert_eq!((raw.status, raw.text.as_str()), (200, ""));
    let applied = world.send("POST", "/vcs/apply", &json!({ "patch": PATCH })).await;
    let data = json!({ "message": "Patch can't be applied", "reason": "non-git" });
    assert_eq!(applied.both(), (400, json!({ "name": "VcsApplyError", "data": data })));
}

#[tokio::test]
async fn changed_files_are_listed_diffed_and_patched() {
    let world = repository().await;
    let listed = json!({ "file": "a.txt", "additions": 1, "deletions": 1, "status": "modified" });
    let mut shown = listed.clone();
    shown["patch"] = json!(PATCH);

    assert_eq!(world.get("/vcs").await.both(), (200, json!({ "branch": "main", "default_branch": "main" })));
    assert_eq!(world.get("/vcs/status").await.both(), (200, json!([listed])));
    assert_eq!(world.get("/vcs/diff?mode=git").await.both(), (200, json!([shown])));
    assert_eq!(world.get("/vcs/diff?mode=branch").await.both(), (200, json!([])));
    let raw = world.get("/vcs/diff/raw").await;
    assert_eq!(
        (raw.status, raw.header("content-type"), raw.text.as_str()),
        (200, Some("text/x-diff; charset=utf-8"), PATCH)
    );

    git(&world.project(), &["checkout", "-q", "--", "a.txt"]);
    let applied = world.send("POST", "/vcs/apply", &json!({ "patch": PATCH })).await;
    assert_eq!(applied.both(), (200, json!({ "applied": true })));
    let again = world.send("POST", "/vcs/apply", &json!({ "patch": PATCH })).await;
    assert_eq!((again.status, &again.json()["data"]["reason"]), (400, &json!("not-clean")));
}

#[tokio::test]
async fn a_diff_wants_a_mode_it_knows() {
    let world = repository().await;

    for path in ["/vcs/diff", "/vcs/diff?mode=other", "/vcs/diff?mode=git&context=-1"] {
        let answer = world.get(path).await;
        assert_eq!((answer.status, &answer.json()["name"]), (400, &json!("BadRequest")), "{path}");
    }
}

#[tokio::test]
async fn another_branch_is_told_to_who_listens() {
    let world = repository().await;
    world.get("/vcs").await;
    let mut stream = Stream::open(&world, "/event").await;

    git(&world.project(), &["checkout", "-q", "-b", "work"]);
    let frames = stream.until(|frame| frame.kind() == "vcs.branch.updated").await;
    let told = frames.last().unwrap().json();
    assert_eq!(told["properties"], json!({ "branch": "work" }));

    git(&world.project(), &["checkout", "-q", "--detach"]);
    let frames = stream.until(|frame| frame.kind() == "vcs.branch.updated").await;
    assert_eq!(frames.last().unwrap().json()["properties"].get("branch"), None::<&Value>);
}

/// Whoever reads the rules of what to ignore waits for somebody to write them into a pipe.
async fn hanging_repository() -> World {
    let git_patience = Duration::from_millis(300);
    let world = World::with(ServerOptions { git_patience, ..ServerOptions::default() }).await;
    let project = world.project();
    git(&project, &["init", "-q"]);
    std::fs::write(project.join("a.txt"), "one\n").unwrap();
    assert!(Command::new("mkfifo").arg(project.join(".gitignore")).status().unwrap().success());
    world
}

// Was: whoever asked waited as long as git did, for ever.
#[tokio::test]
async fn a_git_that_does_not_answer_is_not_waited_for() {
    let world = hanging_repository().await;

    for path in ["/vcs/status", "/vcs/diff?mode=git", "/vcs/diff?mode=branch", "/vcs/diff/raw"] {
        let answer = world.get(path).await;

        let message = "git gave no answer within 0.3 s. A large file that it does not know may be why: list it in .gitignore.";
        let expected = json!({ "name": "TimeoutError", "data": { "message": message } });
        assert_eq!(answer.both(), (504, expected), "{path}");
    }
    // What needs no look at the files is still answered.
    assert_eq!(world.get("/global/health").await.status, 200);
    assert_eq!(world.get("/vcs").await.status, 200);
}
