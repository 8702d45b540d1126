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

#[tokio::test]
async fn outside_a_repository_nothing_is_changed() {
    let world = World::new().await;

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
