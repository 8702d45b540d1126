//! Hostile repositories: each has one door through which the plain git program runs a script of
//! the repository. Each test first sees that the door is open for plain git, then asks everything
//! we ask of a checkout and finds that the script was not run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use sturdy_worktree::git::{UserConfig, quiet_command};
use sturdy_worktree::project::resolve;
use sturdy_worktree::vcs::{Checkout, DiffBase};

struct Hostile {
    top: tempfile::TempDir,
    dir: PathBuf,
    marker: PathBuf,
    /// A script that leaves the marker.
    script: PathBuf,
}

impl Hostile {
    /// One commit with `a.txt`, which is changed since.
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let base = top.path().canonicalize().unwrap();
        let hostile = Self {
            dir: base.join("repository"),
            marker: base.join("marker"),
            script: base.join("script"),
            top,
        };
        std::fs::create_dir(&hostile.dir).unwrap();
        hostile.write_script(&hostile.script, "cat");
        hostile.git(&["init", "-q"]);
        hostile.write("a.txt", "one\n");
        hostile.git(&["add", "-A"]);
        hostile.git(&["commit", "-q", "-m", "first"]);
        hostile.write("a.txt", "two\n");
        hostile
    }

    fn write_script(&self, path: &Path, then: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("#!/bin/sh\ntouch '{}'\n{then}\n", self.marker.display())).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn set(&self, key: &str, value: &str) {
        self.git(&["config", key, value]);
    }

    fn set_script(&self, key: &str) {
        self.set(key, self.script.to_str().unwrap());
    }

    /// Plain git, in a world without the settings of whoever runs the tests.
    fn plain(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .args(["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .current_dir(&self.dir);
        command
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self.plain(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The door is open: plain git runs the script. It may fail afterwards.
    fn is_run_by_plain_git(&self, arguments: &[&str]) {
        let output = self.plain(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(self.marker.exists(), "the door is not open: git {arguments:?}: {said}");
        std::fs::remove_file(&self.marker).unwrap();
    }

    /// Asks everything; nothing may be run for it.
    async fn is_not_run_by_us(&self) {
        let project = resolve(&self.dir).await;
        let checkout = Checkout { top: project.worktree, dirs: project.git.unwrap() };
        let (_, _) = tokio::join!(checkout.branch(), checkout.default_branch());
        // Where an object is missing these fail; what counts is that nothing is run for it.
        let _ = checkout.status().await;
        let _ = checkout.diff(DiffBase::Commit, 3).await;
        let _ = checkout.diff(DiffBase::Branch, 3).await;
        let _ = checkout.raw_diff().await;
        let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+three\n";
        let _ = checkout.apply(patch).await;
        assert!(!self.marker.exists(), "the script was run");
    }

    /// The same for a subcommand we do not use ourselves, but whoever calls `quiet_command` might.
    async fn is_not_run_quietly(&self, arguments: &[&str]) {
        let mut command = quiet_command(&self.dir, UserConfig::Ignored);
        command.env("GIT_AUTHOR_NAME", "T").env("GIT_AUTHOR_EMAIL", "t@example.org");
        command.env("GIT_COMMITTER_NAME", "T").env("GIT_COMMITTER_EMAIL", "t@example.org");
        let _ = command.args(arguments).output().await.unwrap();
        assert!(!self.marker.exists(), "the script was run");
    }

    /// The content of the commit is missing and said to be with a remote.
    fn lose_an_object(&self) {
        self.write_script(&self.script, "exit 1");
        let blob = self.git(&["rev-parse", "HEAD:a.txt"]);
        std::fs::remove_file(self.dir.join(format!(".git/objects/{}/{}", &blob[..2], &blob[2..]))).unwrap();
        self.set("core.repositoryformatversion", "1");
        self.set("extensions.partialClone", "evil");
        self.set("remote.evil.promisor", "true");
    }

    fn base(&self) -> &Path {
        self.top.path()
    }
}

#[tokio::test]
async fn a_clean_filter_is_not_run() {
    let hostile = Hostile::new();
    hostile.write(".gitattributes", "* filter=evil\n");
    hostile.set_script("filter.evil.clean");

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
}

#[tokio::test]
async fn a_smudge_filter_is_not_run() {
    let hostile = Hostile::new();
    hostile.write(".gitattributes", "* filter=evil\n");
    hostile.set_script("filter.evil.smudge");

    hostile.is_run_by_plain_git(&["checkout", "-f", "--", "a.txt"]);
    hostile.write("a.txt", "two\n");
    hostile.is_not_run_by_us().await;
    assert_eq!(
        std::fs::read_to_string(hostile.dir.join("a.txt")).unwrap(),
        "three\n",
        "the patch was applied"
    );
}

#[tokio::test]
async fn a_filter_process_is_not_run() {
    let hostile = Hostile::new();
    hostile.write(".gitattributes", "* filter=evil\n");
    hostile.write_script(&hostile.script, "exit 1");
    hostile.set_script("filter.evil.process");

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
}

#[tokio::test]
async fn attributes_inside_of_the_git_directory_start_nothing() {
    let hostile = Hostile::new();
    hostile.write(".git/info/attributes", "* filter=evil\n");
    hostile.set_script("filter.evil.clean");

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
}

#[tokio::test]
async fn attributes_that_the_configuration_names_start_nothing() {
    let hostile = Hostile::new();
    hostile.write("attributes", "* filter=evil\n");
    hostile.set("core.attributesFile", hostile.dir.join("attributes").to_str().unwrap());
    hostile.set_script("filter.evil.clean");

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
}

#[tokio::test]
async fn a_file_that_the_configuration_includes_starts_nothing() {
    let hostile = Hostile::new();
    hostile.write(".gitattributes", "* filter=evil\n");
    hostile.write("settings", &format!("[filter \"evil\"]\n\tclean = {}\n", hostile.script.display()));
    hostile.set("include.path", "../settings");

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
}

#[tokio::test]
async fn a_file_that_is_included_on_a_condition_starts_nothing() {
    let hostile = Hostile::new();
    hostile.write(".gitattributes", "* filter=evil\n");
    hostile.write("settings", &format!("[filter \"evil\"]\n\tclean = {}\n", hostile.script.display()));
    hostile.set("includeIf.gitdir:/**.path", "../settings");

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
}

#[tokio::test]
async fn a_textconv_program_is_not_run() {
    let hostile = Hostile::new();
    hostile.write(".gitattributes", "* diff=evil\n");
    hostile.set_script("diff.evil.textconv");

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
}

#[tokio::test]
async fn a_diff_program_of_a_kind_of_files_is_not_run() {
    let hostile = Hostile::new();
    hostile.write(".gitattributes", "* diff=evil\n");
    hostile.set_script("diff.evil.command");

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
}

#[tokio::test]
async fn an_external_diff_program_is_not_run() {
    let hostile = Hostile::new();
    hostile.set_script("diff.external");

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
}

#[tokio::test]
async fn a_file_monitor_is_not_run() {
    let hostile = Hostile::new();
    hostile.set_script("core.fsmonitor");

    hostile.is_run_by_plain_git(&["status"]);
    hostile.is_not_run_by_us().await;
    hostile.is_not_run_quietly(&["status"]).await;
}

#[tokio::test]
async fn hooks_are_not_run() {
    for place in [".git/hooks", "hooks"] {
        let hostile = Hostile::new();
        for hook in ["post-index-change", "reference-transaction", "pre-commit", "post-checkout"] {
            hostile.write_script(&hostile.dir.join(place).join(hook), "");
        }
        hostile.set("core.hooksPath", hostile.dir.join(place).to_str().unwrap());

        hostile.is_run_by_plain_git(&["add", "-A"]);
        hostile.is_not_run_by_us().await;
        hostile.is_not_run_quietly(&["commit", "-q", "-m", "second"]).await;
    }
}

#[tokio::test]
async fn an_upload_pack_program_is_not_run_for_a_missing_object() {
    let hostile = Hostile::new();
    hostile.lose_an_object();
    hostile.set("remote.evil.url", hostile.base().to_str().unwrap());
    hostile.set_script("remote.evil.uploadpack");

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
    hostile.is_not_run_quietly(&["diff"]).await;
}

#[tokio::test]
async fn an_ssh_command_is_not_run_for_a_missing_object() {
    let hostile = Hostile::new();
    hostile.lose_an_object();
    hostile.set("remote.evil.url", "ssh://example.invalid/x");
    hostile.set_script("core.sshCommand");

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
    hostile.is_not_run_quietly(&["diff"]).await;
    hostile.is_not_run_quietly(&["fetch", "evil"]).await;
}

#[tokio::test]
async fn an_address_that_is_a_command_is_not_run_for_a_missing_object() {
    let hostile = Hostile::new();
    hostile.lose_an_object();
    hostile.set("remote.evil.url", &format!("ext::{}", hostile.script.display()));
    hostile.set("protocol.ext.allow", "always");

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
    hostile.is_not_run_quietly(&["fetch", "evil"]).await;
}

#[tokio::test]
async fn the_address_of_another_remote_is_not_rewritten_into_a_command() {
    let hostile = Hostile::new();
    hostile.lose_an_object();
    hostile.set("remote.evil.url", "https://example.invalid/x");
    hostile.set(&format!("url.ext::{} .insteadOf", hostile.script.display()), "https://example.invalid/");
    hostile.set("protocol.ext.allow", "always");

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
    hostile.is_not_run_quietly(&["fetch", "evil"]).await;
}

/// A submodule has a configuration of its own, and plain git runs itself in there.
fn with_submodule() -> (Hostile, PathBuf) {
    let hostile = Hostile::new();
    let inner = hostile.dir.join("inner");
    std::fs::create_dir(&inner).unwrap();
    let inside = |arguments: &[&str]| {
        let mut all = vec!["-C", "inner"];
        all.extend(arguments);
        hostile.git(&all)
    };
    inside(&["init", "-q"]);
    hostile.write("inner/b.txt", "one\n");
    inside(&["add", "-A"]);
    inside(&["commit", "-q", "-m", "inner"]);
    hostile.write(".gitmodules", "[submodule \"inner\"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n");
    hostile.git(&["add", "-A"]);
    hostile.git(&["commit", "-q", "-m", "with a submodule"]);
    hostile.write("a.txt", "two\n");
    hostile.write("inner/b.txt", "two\n");
    (hostile, inner)
}

#[tokio::test]
async fn a_file_monitor_of_a_submodule_is_not_run() {
    let (hostile, _) = with_submodule();
    hostile.git(&["-C", "inner", "config", "core.fsmonitor", hostile.script.to_str().unwrap()]);

    hostile.is_run_by_plain_git(&["status"]);
    hostile.is_not_run_by_us().await;
}

#[tokio::test]
async fn a_filter_of_a_submodule_is_not_run() {
    let (hostile, inner) = with_submodule();
    std::fs::write(inner.join(".gitattributes"), "* filter=evil\n").unwrap();
    hostile.git(&["-C", "inner", "config", "filter.evil.clean", hostile.script.to_str().unwrap()]);

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
}

#[tokio::test]
async fn a_linked_checkout_runs_nothing_either() {
    let hostile = Hostile::new();
    let linked = hostile.base().join("linked");
    hostile.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let hostile = Hostile { dir: linked, ..hostile };
    hostile.set("extensions.worktreeConfig", "true");
    hostile.git(&["config", "--worktree", "filter.evil.clean", hostile.script.to_str().unwrap()]);
    hostile.write(".gitattributes", "* filter=evil\n");
    hostile.write("a.txt", "two\n");

    hostile.is_run_by_plain_git(&["diff"]);
    hostile.is_not_run_by_us().await;
}

#[tokio::test]
async fn an_editor_is_not_run() {
    let hostile = Hostile::new();
    hostile.set_script("core.editor");

    hostile.is_run_by_plain_git(&["commit", "-a"]);
    hostile.is_not_run_quietly(&["commit", "-a", "--amend"]).await;
}

// Git starts a pager only in a terminal, which our runs do not have; so it is asked which one it would start.
#[tokio::test]
async fn a_pager_of_the_repository_is_not_the_one_that_is_used() {
    let hostile = Hostile::new();
    hostile.set_script("core.pager");

    assert_eq!(hostile.git(&["var", "GIT_PAGER"]), hostile.script.to_str().unwrap(), "the door is not open");
    let mut quiet = quiet_command(&hostile.dir, UserConfig::Ignored);
    // Also where somebody takes the variable away.
    let said = quiet.env_remove("GIT_PAGER").args(["var", "GIT_PAGER"]).output().await.unwrap();
    assert_eq!(String::from_utf8(said.stdout).unwrap(), "cat\n");
    hostile.is_not_run_by_us().await;
}

#[tokio::test]
async fn a_command_that_lists_references_of_another_repository_is_not_run() {
    let hostile = Hostile::new();
    let other = hostile.base().join("other");
    hostile.git(&["clone", "-q", "--bare", ".", other.to_str().unwrap()]);
    let alternates = hostile.dir.join(".git/objects/info/alternates");
    std::fs::create_dir_all(alternates.parent().unwrap()).unwrap();
    std::fs::write(alternates, format!("{}\n", other.join("objects").display())).unwrap();
    hostile.set_script("core.alternateRefsCommand");
    let arguments = ["rev-list", "--alternate-refs", "-n1"];

    hostile.is_run_by_plain_git(&arguments);
    hostile.is_not_run_by_us().await;
    hostile.is_not_run_quietly(&arguments).await;
}

#[tokio::test]
async fn loose_objects_are_not_packed_on_the_occasion() {
    let hostile = Hostile::new();
    hostile.set("gc.auto", "1");
    hostile.set("gc.autoDetach", "false");
    hostile.set("maintenance.autoDetach", "false");
    // Git counts the objects whose names begin with 17, as these two do, and takes them for one of 256 parts.
    for text in ["263\n", "410\n"] {
        hostile.write("noise", text);
        assert!(hostile.git(&["hash-object", "-w", "noise"]).starts_with("17"));
    }
    // Runs before the objects are packed, and forbids it.
    hostile.write_script(&hostile.dir.join(".git/hooks/pre-auto-gc"), "exit 1");

    hostile.is_run_by_plain_git(&["gc", "--auto", "--quiet"]);
    hostile.is_not_run_by_us().await;
    let with_hooks = ["-c", "core.hooksPath=.git/hooks", "gc", "--auto", "--quiet"];
    hostile.is_not_run_quietly(&with_hooks).await;
}

#[tokio::test]
async fn maintenance_is_not_started_in_the_background() {
    let hostile = Hostile::new();
    hostile.set("maintenance.commit-graph.enabled", "true");
    hostile.set("maintenance.commit-graph.auto", "-1");
    hostile.set("maintenance.autoDetach", "false");
    hostile.set("gc.autoDetach", "false");
    let written = hostile.dir.join(".git/objects/info/commit-graphs");

    hostile.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    assert!(written.exists(), "the door is not open");
    std::fs::remove_dir_all(&written).unwrap();

    hostile.is_not_run_by_us().await;
    hostile.is_not_run_quietly(&["commit", "-q", "--allow-empty", "-m", "third"]).await;
    assert_eq!(hostile.git(&["log", "-1", "--format=%s"]), "third");
    assert!(!written.exists());
}

#[tokio::test]
async fn a_credential_helper_is_not_run() {
    let hostile = Hostile::new();
    hostile.set_script("credential.helper");
    hostile.set_script("core.askPass");
    let asked = "protocol=https\nhost=example.invalid\n\n";
    let with_input = |mut command: Command| {
        use std::io::Write as _;
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
        let mut child = command.env("GIT_TERMINAL_PROMPT", "0").spawn().unwrap();
        child.stdin.take().unwrap().write_all(asked.as_bytes()).unwrap();
        child.wait().unwrap();
    };

    with_input(hostile.plain(&["credential", "fill"]));
    assert!(hostile.marker.exists(), "the door is not open");
    std::fs::remove_file(&hostile.marker).unwrap();
    let mut quiet = quiet_command(&hostile.dir, UserConfig::Ignored).into_std();
    quiet.args(["credential", "fill"]);
    with_input(quiet);
    assert!(!hostile.marker.exists());
}

#[tokio::test]
async fn a_program_that_asks_for_passwords_is_not_run() {
    let hostile = Hostile::new();
    hostile.write_script(&hostile.script, "echo secret");
    hostile.set_script("core.askPass");
    let asked = "protocol=https\nhost=example.invalid\n\n";
    let fill = |mut command: Command| {
        use std::io::Write as _;
        command.args(["credential", "fill"]).env_remove("GIT_ASKPASS").env_remove("SSH_ASKPASS");
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
        let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(asked.as_bytes()).unwrap();
        child.wait().unwrap();
    };

    fill(hostile.plain(&[]));
    assert!(hostile.marker.exists(), "the door is not open");
    std::fs::remove_file(&hostile.marker).unwrap();
    // Also where somebody takes the variables away.
    fill(quiet_command(&hostile.dir, UserConfig::Ignored).into_std());
    assert!(!hostile.marker.exists());
}

#[tokio::test]
async fn an_alias_is_not_run_in_place_of_what_we_ask_git_for() {
    let hostile = Hostile::new();
    let script = format!("!{}", hostile.script.display());
    for name in [
        "evil",
        "apply",
        "add",
        "config",
        "diff",
        "diff-files",
        "diff-index",
        "hash-object",
        "ls-files",
        "merge-base",
        "read-tree",
        "remote",
        "rev-list",
        "rev-parse",
        "show-ref",
        "status",
        "symbolic-ref",
        "update-index",
        "write-tree",
    ] {
        hostile.set(&format!("alias.{name}"), &script);
    }

    hostile.is_run_by_plain_git(&["evil"]);
    hostile.is_not_run_by_us().await;
}

#[tokio::test]
async fn a_signature_program_is_not_run() {
    let hostile = Hostile::new();
    let tree = hostile.git(&["rev-parse", "HEAD^{tree}"]);
    let commit = format!(
        "tree {tree}\nauthor T <t@e> 1 +0000\ncommitter T <t@e> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n"
    );
    let file = hostile.base().join("commit");
    std::fs::write(&file, commit).unwrap();
    let id = hostile.git(&["hash-object", "-t", "commit", "-w", file.to_str().unwrap()]);
    hostile.git(&["update-ref", "HEAD", &id]);
    hostile.set("log.showSignature", "true");
    hostile.set_script("gpg.program");

    hostile.is_run_by_plain_git(&["log"]);
    hostile.is_not_run_by_us().await;
    hostile.is_not_run_quietly(&["log"]).await;
}

/// Filters that the user set up for every repository belong to the user; a repository still may not
/// start them, because what they do with its files is not ours to judge.
#[tokio::test]
async fn a_filter_of_the_user_is_not_started_by_a_repository() {
    let hostile = Hostile::new();
    hostile.write(".gitattributes", "* filter=users\n");
    let home = hostile.base().join("home");
    std::fs::create_dir(&home).unwrap();
    let settings = format!("[filter \"users\"]\n\tclean = {}\n", hostile.script.display());
    std::fs::write(home.join(".gitconfig"), settings).unwrap();
    let run = |mut command: Command| command.env("HOME", &home).args(["diff"]).output().unwrap();

    let mut plain = Command::new("git");
    plain.current_dir(&hostile.dir).env_remove("GIT_CONFIG_GLOBAL");
    run(plain);
    assert!(hostile.marker.exists(), "the door is not open");
    std::fs::remove_file(&hostile.marker).unwrap();
    run(quiet_command(&hostile.dir, UserConfig::Ignored).into_std());
    assert!(!hostile.marker.exists());
}

#[tokio::test]
async fn what_the_repository_says_about_its_files_still_counts() {
    let hostile = Hostile::new();
    hostile.write(".git/info/exclude", "*.log\n");
    hostile.write("noise.log", "no\n");
    hostile.set("core.autocrlf", "true");
    hostile.set("core.fileMode", "false");
    hostile.write("a.txt", "one\r\n");
    std::fs::set_permissions(hostile.dir.join("a.txt"), std::fs::Permissions::from_mode(0o755)).unwrap();
    hostile.git(&["update-index", "--split-index"]);
    let objects = std::fs::read_dir(hostile.dir.join(".git/objects")).unwrap().count();

    let project = resolve(&hostile.dir).await;
    let checkout = Checkout { top: project.worktree, dirs: project.git.unwrap() };

    assert_eq!(checkout.status().await.unwrap(), []);
    let after = std::fs::read_dir(hostile.dir.join(".git/objects")).unwrap().count();
    assert_eq!(after, objects, "the repository is only read");
}
