//! What git says of a checkout.

use std::path::Path;
use std::process::Command;
use sturdy_worktree::project::resolve;
use sturdy_worktree::vcs::{Checkout, DiffBase, FileDiff, Status, branch_of};

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

struct Bench {
    dir: tempfile::TempDir,
    checkout: Checkout,
}

impl Bench {
    /// A repository without a commit.
    async fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q"]);
        let project = resolve(dir.path()).await;
        Self { checkout: Checkout { top: project.worktree, dirs: project.git.unwrap() }, dir }
    }

    /// With these files in its first commit.
    async fn with(files: &[(&str, &str)]) -> Self {
        let bench = Self::empty().await;
        files.iter().for_each(|(name, text)| bench.write(name, text));
        git(bench.path(), &["add", "-A"]);
        git(bench.path(), &["commit", "-q", "--allow-empty", "-m", "first"]);
        bench
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Names, counts and states.
    async fn status(&self) -> Vec<(String, u64, u64, Status)> {
        let files = self.checkout.status().await.unwrap();
        assert!(files.iter().all(|file| file.patch.is_none()));
        files.into_iter().map(|file| (file.file, file.additions, file.deletions, file.status)).collect()
    }

    async fn diff(&self, against: DiffBase) -> Vec<FileDiff> {
        self.checkout.diff(against, 3).await.unwrap()
    }
}

fn row(file: &str, additions: u64, deletions: u64, status: Status) -> (String, u64, u64, Status) {
    (file.to_owned(), additions, deletions, status)
}

#[tokio::test]
async fn every_kind_of_change_is_listed_and_the_index_is_left_alone() {
    let bench = Bench::with(&[("a.txt", "one\ntwo\n"), ("gone.txt", "x\n"), (".gitignore", "*.log\n")]).await;
    bench.write("a.txt", "one\n2\nthree\n");
    bench.write("new/b \"quoted\" ä.txt", "b\n");
    bench.write("noise.log", "no\n");
    bench.write("staged.txt", "s\n");
    git(bench.path(), &["add", "staged.txt"]);
    std::fs::remove_file(bench.path().join("gone.txt")).unwrap();
    let index = std::fs::read(bench.path().join(".git/index")).unwrap();

    let expected = [
        row("a.txt", 2, 1, Status::Modified),
        row("gone.txt", 0, 1, Status::Deleted),
        row("new/b \"quoted\" ä.txt", 1, 0, Status::Added),
        row("staged.txt", 1, 0, Status::Added),
    ];
    assert_eq!(bench.status().await, expected);
    assert_eq!(std::fs::read(bench.path().join(".git/index")).unwrap(), index);
}

#[tokio::test]
async fn each_file_has_its_own_patch() {
    let bench = Bench::with(&[("a.txt", "one\ntwo\n"), ("b.txt", "x\n")]).await;
    bench.write("a.txt", "one\n2\n");
    bench.write("b.txt", "diff --git a/x b/x\n");
    bench.write("c.bin", "\0\0");

    let files = bench.diff(DiffBase::Commit).await;

    let names: Vec<&str> = files.iter().map(|file| file.file.as_str()).collect();
    assert_eq!(names, ["a.txt", "b.txt", "c.bin"]);
    for file in &files {
        let patch = file.patch.as_deref().unwrap();
        assert!(patch.starts_with(&format!("diff --git a/{0} b/{0}\n", file.file)), "{patch}");
        assert_eq!(patch.matches("\ndiff --git").count(), 0, "{patch}");
    }
    assert!(files[0].patch.as_ref().unwrap().ends_with("@@ -1,2 +1,2 @@\n one\n-two\n+2\n"));
    assert!(files[2].patch.as_ref().unwrap().contains("Binary files"));
    let bare = bench.checkout.diff(DiffBase::Commit, 0).await.unwrap();
    assert!(bare[0].patch.as_ref().unwrap().ends_with("@@ -2 +2 @@ one\n-two\n+2\n"), "{:?}", bare[0].patch);
}

#[tokio::test]
async fn a_file_that_becomes_a_link_is_one_file() {
    let bench = Bench::with(&[("a.txt", "one\n"), ("z.txt", "z\n")]).await;
    std::fs::remove_file(bench.path().join("a.txt")).unwrap();
    std::os::unix::fs::symlink("z.txt", bench.path().join("a.txt")).unwrap();
    bench.write("z.txt", "zz\n");

    let files = bench.diff(DiffBase::Commit).await;

    assert_eq!(files.len(), 2);
    assert!(files[1].patch.as_ref().unwrap().contains("+zz"));
}

#[tokio::test]
async fn a_repository_without_a_commit_has_only_new_files() {
    let bench = Bench::empty().await;
    bench.write("a.txt", "one\n");

    assert_eq!(bench.status().await, [row("a.txt", 1, 0, Status::Added)]);
    assert_eq!(bench.diff(DiffBase::Commit).await.len(), 1);
    assert_eq!(bench.diff(DiffBase::Branch).await, []);
}

#[tokio::test]
async fn a_branch_is_compared_with_where_it_left_the_default_one() {
    let bench = Bench::with(&[("a.txt", "one\n")]).await;
    assert_eq!(bench.checkout.branch().await.as_deref(), Some("main"));
    bench.write("a.txt", "two\n");
    assert_eq!(bench.diff(DiffBase::Branch).await, [], "on the default branch there is nothing to compare");
    git(bench.path(), &["checkout", "-q", "-b", "work"]);
    git(bench.path(), &["commit", "-q", "-am", "second"]);
    bench.write("b.txt", "b\n");

    let names: Vec<String> = bench.diff(DiffBase::Branch).await.into_iter().map(|file| file.file).collect();

    assert_eq!(names, ["a.txt", "b.txt"]);
    assert_eq!(bench.status().await, [row("b.txt", 1, 0, Status::Added)]);
    assert_eq!(
        (bench.checkout.branch().await.as_deref(), bench.checkout.default_branch().await.as_deref()),
        (Some("work"), Some("main"))
    );
}

#[tokio::test]
async fn a_raw_diff_is_taken_by_another_checkout_whole_or_not_at_all() {
    let files = [("a.txt", "one\n"), ("b.txt", "b\n")];
    let from = Bench::with(&files).await;
    let to = Bench::with(&files).await;
    from.write("a.txt", "two\n");
    from.write("new.bin", "\0\u{1}\u{2}");
    let patch = String::from_utf8(from.checkout.raw_diff().await.unwrap()).unwrap();

    assert!(to.checkout.apply(&patch).await.unwrap());
    assert_eq!(std::fs::read_to_string(to.path().join("a.txt")).unwrap(), "two\n");
    assert_eq!(std::fs::read(to.path().join("new.bin")).unwrap(), b"\0\x01\x02");

    assert!(!to.checkout.apply(&patch).await.unwrap(), "it was applied already");
    assert!(!to.checkout.apply("no patch").await.unwrap());
    let outside = "--- /dev/null\n+++ b/../escaped.txt\n@@ -0,0 +1 @@\n+x\n";
    assert!(!to.checkout.apply(outside).await.unwrap());
    assert!(!to.path().parent().unwrap().join("escaped.txt").exists());
}

#[test]
fn a_head_names_a_branch_or_a_commit() {
    assert_eq!(branch_of("ref: refs/heads/feature/x\n"), Some("feature/x"));
    assert_eq!(branch_of("4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"), None);
}

// Was: the copy of the index was newer than the file, so git believed the file's old time.
#[tokio::test]
async fn a_change_in_the_moment_of_the_commit_is_seen() {
    for _ in 0..10 {
        let bench = Bench::with(&[("a.txt", "one\n")]).await;
        bench.write("a.txt", "two\n");

        assert_eq!(bench.status().await, [row("a.txt", 1, 1, Status::Modified)]);
    }
}
