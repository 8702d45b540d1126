//! Which project a directory belongs to.

use std::path::Path;
use std::process::Command;
use sturdy_session::types::project::Vcs;
use sturdy_worktree::project::{remote_id, resolve};

fn git(dir: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn repository() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]);
    git(dir.path(), &["commit", "-q", "--allow-empty", "-m", "first"]);
    dir
}

const FOO_BAR: &str = "97c1d40db7d2a370dc4fbc2b4e99e4347980c7c2";

#[test]
fn a_remote_is_host_and_path_whatever_the_protocol() {
    for remote in [
        "git@GitHub.com:Foo/Bar.git",
        "https://user:pw@github.com/Foo/Bar.git/",
        "ssh://git@github.com:2222/Foo/Bar",
        " https://github.com/Foo/Bar/ \n",
        "git@github.com:/Foo/Bar.git",
    ] {
        assert_eq!(remote_id(remote).as_deref(), Some(FOO_BAR), "{remote}");
    }
    assert_ne!(remote_id("https://github.com/foo/Bar").as_deref(), Some(FOO_BAR), "the path keeps its case");
}

#[test]
fn a_remote_on_the_same_machine_has_no_id() {
    for remote in
        ["file:///srv/x.git", "/srv/x.git", "../x.git", "", "https://github.com/", "git@host:", "./a:b"]
    {
        assert_eq!(remote_id(remote), None, "{remote}");
    }
}

#[tokio::test]
async fn a_directory_without_git_is_global() {
    let dir = tempfile::tempdir().unwrap();

    let project = resolve(dir.path()).await;

    assert_eq!(
        (project.id.as_str(), project.worktree.as_path(), project.vcs),
        ("global", Path::new("/"), None)
    );
    assert_eq!(project.path_of(Path::new("/home/u/x")), "home/u/x");
}

#[tokio::test]
async fn a_directory_that_does_not_exist_is_global() {
    assert_eq!(resolve(Path::new("/nonexistent/for/sure")).await.id, "global");
}

#[tokio::test]
async fn without_a_remote_the_first_commit_is_the_project_and_is_remembered() {
    let dir = repository();
    let root = git(dir.path(), &["rev-list", "--max-parents=0", "HEAD"]);
    let below = dir.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();

    let project = resolve(&below).await;

    assert_eq!(project.id, root);
    assert_eq!(project.vcs, Some(Vcs::Git));
    assert_eq!(project.worktree.canonicalize().unwrap(), dir.path().canonicalize().unwrap());
    assert_eq!(std::fs::read_to_string(dir.path().join(".git/opencode")).unwrap(), root);
    assert_eq!(project.former_id, None);
}

#[tokio::test]
async fn a_remote_wins_over_the_remembered_id_and_names_the_former_one() {
    let dir = repository();
    let before = resolve(dir.path()).await;
    git(dir.path(), &["remote", "add", "origin", "git@GitHub.com:Foo/Bar.git"]);

    let after = resolve(dir.path()).await;

    assert_eq!(after.id, FOO_BAR);
    assert_eq!(after.former_id, Some(before.id));
    assert_eq!(resolve(dir.path()).await.former_id, None, "told once");
}

#[tokio::test]
async fn the_remembered_id_survives_the_loss_of_the_remote() {
    let dir = repository();
    git(dir.path(), &["remote", "add", "origin", "https://github.com/Foo/Bar"]);
    resolve(dir.path()).await;
    git(dir.path(), &["remote", "remove", "origin"]);

    assert_eq!(resolve(dir.path()).await.id, FOO_BAR);
}

#[tokio::test]
async fn a_linked_worktree_is_the_same_project_with_its_own_top() {
    let dir = repository();
    let other = tempfile::tempdir().unwrap();
    let linked = other.path().join("linked");
    git(dir.path(), &["worktree", "add", "-q", linked.to_str().unwrap(), "-b", "side"]);

    let first = resolve(dir.path()).await;
    let second = resolve(&linked).await;

    assert_eq!(first.id, second.id);
    assert_eq!(second.worktree.canonicalize().unwrap(), linked.canonicalize().unwrap());
    assert_eq!(first.git.unwrap().common, second.git.unwrap().common);
}

#[tokio::test]
async fn a_repository_does_not_make_its_worktree_larger_than_where_it_stands() {
    // Was: `core.worktree` was believed, so an unpacked archive was worked in as if it were its parents.
    let around = tempfile::tempdir().unwrap();
    let around = around.path().canonicalize().unwrap();
    let dir = around.join("a/archive");
    std::fs::create_dir_all(&dir).unwrap();
    git(&dir, &["init", "-q"]);
    git(&dir, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&dir, &["config", "core.worktree", "../../.."]);
    assert_eq!(Path::new(&git(&dir, &["rev-parse", "--show-toplevel"])), around, "the door is open");

    let project = resolve(&dir).await;

    assert_eq!(project.worktree, dir);
    assert_eq!(project.vcs, Some(Vcs::Git));
}

#[tokio::test]
async fn a_submodule_keeps_its_own_top_and_its_git_directory() {
    let inner = repository();
    let dir = repository();
    let inner = inner.path().to_str().unwrap();
    git(dir.path(), &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "sub"]);

    let project = resolve(&dir.path().join("sub")).await;

    let top = dir.path().canonicalize().unwrap();
    assert_eq!(project.worktree, top.join("sub"));
    assert_eq!(project.outer_git, [top.join(".git/modules/sub")]);
}

#[tokio::test]
async fn git_directories_elsewhere_count_only_if_they_know_the_worktree() {
    let dir = repository();
    let real = dir.path().canonicalize().unwrap();
    let other = tempfile::tempdir().unwrap();
    let linked = other.path().join("linked");
    git(dir.path(), &["worktree", "add", "-q", linked.to_str().unwrap(), "-b", "side"]);
    let stranger = other.path().join("stranger");
    std::fs::create_dir(&stranger).unwrap();
    std::fs::write(stranger.join(".git"), format!("gitdir: {}\n", real.join(".git").display())).unwrap();
    let copied = other.path().join("copied");
    std::fs::create_dir(&copied).unwrap();
    std::fs::copy(linked.join(".git"), copied.join(".git")).unwrap();

    assert_eq!(resolve(dir.path()).await.outer_git, Vec::<std::path::PathBuf>::new());
    assert_eq!(resolve(&linked).await.outer_git, [real.join(".git/worktrees/linked"), real.join(".git")]);
    assert_eq!(resolve(&stranger).await.outer_git, Vec::<std::path::PathBuf>::new());
    assert_eq!(resolve(&copied).await.outer_git, Vec::<std::path::PathBuf>::new());
}

#[tokio::test]
async fn an_empty_repository_is_global_with_git() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]);

    let project = resolve(dir.path()).await;

    assert_eq!((project.id.as_str(), project.vcs), ("global", Some(Vcs::Git)));
    assert!(!dir.path().join(".git/opencode").exists());
}

#[tokio::test]
async fn a_broken_git_entry_is_global() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(".git"), "gitdir: /nowhere").unwrap();

    assert_eq!(resolve(dir.path()).await.vcs, None);
}

#[tokio::test]
async fn the_id_is_not_written_through_a_link() {
    let dir = repository();
    let victim = tempfile::NamedTempFile::new().unwrap();
    std::os::unix::fs::symlink(victim.path(), dir.path().join(".git/opencode")).unwrap();

    resolve(dir.path()).await;

    assert_eq!(std::fs::read_to_string(victim.path()).unwrap(), "");
}
