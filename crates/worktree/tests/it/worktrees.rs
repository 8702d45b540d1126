//! Linked worktrees of real repositories, also of hostile ones.

use std::path::{Path, PathBuf};
use std::process::Command;
use sturdy_worktree::worktrees::{self, WorktreeError};
use tempfile::TempDir;

fn git(dir: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(arguments)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn repository() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let top = place.path().canonicalize().unwrap().join("top");
    std::fs::create_dir(&top).unwrap();
    git(&top, &["init", "-q", "-b", "main"]);
    std::fs::write(top.join("a.txt"), "one\n").unwrap();
    git(&top, &["add", "."]);
    git(&top, &["commit", "-qm", "one"]);
    (place, top)
}

#[tokio::test]
async fn a_worktree_is_made_listed_reset_and_removed_with_its_branch() {
    let (place, top) = repository();
    let below = place.path().canonicalize().unwrap().join("trees");

    let made = worktrees::create(&top, &below, "fix").await.unwrap();
    let second = worktrees::create(&top, &below, "fix").await.unwrap();

    assert_eq!((made.name.as_str(), made.branch.as_str()), ("fix", "sturdy/fix"));
    assert_eq!((second.name.as_str(), second.branch.as_str()), ("fix-2", "sturdy/fix-2"));
    assert_eq!(std::fs::read_to_string(made.directory.join("a.txt")).unwrap(), "one\n");
    assert_eq!(worktrees::list(&top).await.unwrap(), [made.directory.clone(), second.directory.clone()]);

    std::fs::write(made.directory.join("a.txt"), "changed\n").unwrap();
    std::fs::write(made.directory.join("new.txt"), "new\n").unwrap();
    worktrees::reset(&top, &made.directory).await.unwrap();
    assert_eq!(std::fs::read_to_string(made.directory.join("a.txt")).unwrap(), "one\n");
    assert!(!made.directory.join("new.txt").exists());

    worktrees::remove(&top, &made.directory).await.unwrap();
    assert!(!made.directory.exists());
    assert_eq!(git(&top, &["branch", "--list", "sturdy/*"]), "+ sturdy/fix-2");
}

#[tokio::test]
async fn what_is_not_a_worktree_of_the_repository_is_left_alone() {
    let (place, top) = repository();
    let stranger = place.path().join("stranger");
    std::fs::create_dir(&stranger).unwrap();

    assert!(matches!(worktrees::remove(&top, &stranger).await, Err(WorktreeError::Unknown(_))));
    assert!(matches!(worktrees::remove(&top, &top).await, Err(WorktreeError::Main(_))));
    assert!(matches!(worktrees::reset(&top, &top).await, Err(WorktreeError::Main(_))));
    for name in ["", "-x", "../up", "a b", "A", "a/b"] {
        let refused = worktrees::create(&top, place.path(), name).await;
        assert!(matches!(refused, Err(WorktreeError::Name(_))), "{name:?}");
    }
    assert!(stranger.exists() && top.join("a.txt").exists());
}

#[tokio::test]
async fn making_or_resetting_a_worktree_runs_nothing_that_the_repository_configures() {
    let (place, top) = repository();
    let proof = place.path().join("proof");
    let evil = format!("sh -c 'touch {}; cat'", proof.display());
    std::fs::write(top.join(".gitattributes"), "*.txt filter=evil\n").unwrap();
    git(&top, &["add", "."]);
    git(&top, &["commit", "-qm", "two"]);
    git(&top, &["config", "filter.evil.smudge", &evil]);
    git(&top, &["config", "filter.evil.clean", &evil]);
    git(&top, &["config", "filter.evil.required", "true"]);
    std::fs::write(top.join(".git/hooks/post-checkout"), format!("#!/bin/sh\ntouch {}\n", proof.display()))
        .unwrap();
    Command::new("chmod").arg("+x").arg(top.join(".git/hooks/post-checkout")).status().unwrap();

    let made = worktrees::create(&top, &place.path().join("trees"), "safe").await.unwrap();
    std::fs::write(made.directory.join("a.txt"), "changed\n").unwrap();
    worktrees::reset(&top, &made.directory).await.unwrap();

    assert_eq!(std::fs::read_to_string(made.directory.join("a.txt")).unwrap(), "one\n");
    assert!(!proof.exists());
}
