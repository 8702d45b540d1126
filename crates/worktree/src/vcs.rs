//! What git says of a checkout: its branch, what is changed in it, and taking a patch.
//!
//! Files that git does not know yet count as added. To see them in a diff they are announced in a
//! copy of the index, inside of a git directory of our own; the user's is only read, and nothing it
//! configures is run.
//!
//! A diff is asked for once: names, counts and patches come from the same run, so that a file that
//! changes meanwhile cannot mix them up.

mod parse;

use crate::git::{Git, GitError, OwnGitDir};
use crate::project::GitDirs;
use serde::Serialize;
use std::io;
use std::path::PathBuf;

/// What the default branch is called where no remote says so.
const USUAL_DEFAULTS: [&str; 2] = ["main", "master"];

/// More than any person reads; beyond it the patches are left out.
const PATCH_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Neither the user's tools nor the repository's decide how a diff looks, and none is run for it.
const PLAIN: [&str; 8] = [
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    // "dirty" would be found out by a run of git inside of the submodule, with its configuration.
    "--ignore-submodules=dirty",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// A checkout: its top, and where git keeps what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    pub top: PathBuf,
    pub dirs: GitDirs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Added,
    Deleted,
    Modified,
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// From the top of the checkout.
    pub file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    pub additions: u64,
    pub deletions: u64,
    pub status: Status,
}

/// What a checkout is compared with in a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffBase {
    /// The last commit.
    Commit,
    /// Where the branch left the default one.
    Branch,
}

#[derive(Debug, thiserror::Error)]
pub enum VcsError {
    #[error(transparent)]
    Git(#[from] GitError),

    #[error("no git directory can be made for the checkout")]
    OwnDir(#[source] io::Error),
}

impl Checkout {
    /// For questions about references; nothing of the content is read.
    fn git(&self) -> Git {
        Git::at(&self.top)
    }

    /// For everything that reads or writes content.
    async fn own_dir(&self) -> Result<OwnGitDir, VcsError> {
        OwnGitDir::of(&self.top, &self.dirs).await.map_err(VcsError::OwnDir)
    }

    /// The branch; none when no branch is checked out.
    pub async fn branch(&self) -> Option<String> {
        self.line(&["branch", "--show-current"]).await
    }

    /// The branch others start from.
    pub async fn default_branch(&self) -> Option<String> {
        let remote = self.line(&["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"]).await;
        if let Some(remote) = remote {
            return Some(remote.strip_prefix("origin/").unwrap_or(&remote).to_owned());
        }
        let known = self.line(&["config", "init.defaultBranch"]).await;
        for name in known.iter().map(String::as_str).chain(USUAL_DEFAULTS) {
            if self.names(&format!("refs/heads/{name}")).await {
                return Some(name.to_owned());
            }
        }
        None
    }

    /// What differs, without patches.
    pub async fn status(&self) -> Result<Vec<FileDiff>, VcsError> {
        let own = self.own_dir_with_everything().await?;
        let base = self.last_commit(&own).await?;
        self.listed(&own, &base).await
    }

    /// What differs, with patches of `context` lines around each change.
    pub async fn diff(&self, against: DiffBase, context: u32) -> Result<Vec<FileDiff>, VcsError> {
        let own = self.own_dir_with_everything().await?;
        let base = match against {
            DiffBase::Commit => Some(self.last_commit(&own).await?),
            DiffBase::Branch => self.where_it_left().await,
        };
        let Some(base) = base else { return Ok(Vec::new()) };
        let lines = format!("-U{context}");
        let asked = PLAIN.iter().copied().chain(["--raw", "--numstat", "-z", "-p", &lines, &base, "--"]);
        let asked = own.git().args(asked);
        match asked.stdout_bytes_max(PATCH_BYTES_MAX).run().await {
            Ok(answer) => Ok(parse::diff(&answer.stdout)),
            Err(GitError::TooLong { .. }) => self.listed(&own, &base).await,
            Err(cause) => Err(cause.into()),
        }
    }

    /// Everything that is not committed, as one patch that another checkout can take.
    pub async fn raw_diff(&self) -> Result<Vec<u8>, VcsError> {
        let own = self.own_dir_with_everything().await?;
        let base = self.last_commit(&own).await?;
        let asked = PLAIN.iter().copied().chain(["--binary", &base, "--"]);
        let asked = own.git().args(asked);
        Ok(asked.stdout_bytes_max(PATCH_BYTES_MAX).run().await?.stdout)
    }

    /// Changes the files as the patch says, all of them or none. False when it does not fit.
    pub async fn apply(&self, patch: &str) -> Result<bool, VcsError> {
        let own = self.own_dir().await?;
        let asked = own.git().args(["apply", "--whitespace=nowarn", "-"]).input(patch.as_bytes().to_vec());
        match asked.run().await {
            Ok(_) => Ok(true),
            Err(GitError::Refused { .. }) => Ok(false),
            Err(cause) => Err(cause.into()),
        }
    }

    async fn listed(&self, own: &OwnGitDir, base: &str) -> Result<Vec<FileDiff>, VcsError> {
        let asked = PLAIN.iter().copied().chain(["--raw", "--numstat", "-z", base, "--"]);
        let asked = own.git().args(asked);
        Ok(parse::diff(&asked.stdout_bytes_max(PATCH_BYTES_MAX).run().await?.stdout))
    }

    /// The last commit, or the empty tree before the first.
    async fn last_commit(&self, own: &OwnGitDir) -> Result<String, VcsError> {
        if let Some(commit) = self.line(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).await {
            return Ok(commit);
        }
        let empty = own.git().args(["hash-object", "-t", "tree", "--stdin"]).input(Vec::new()).run().await?;
        Ok(String::from_utf8_lossy(&empty.stdout).trim().to_owned())
    }

    /// The commit in which this branch and the default one still were the same.
    async fn where_it_left(&self) -> Option<String> {
        let (branch, default) = tokio::join!(self.branch(), self.default_branch());
        let default = default.filter(|default| branch.as_ref() != Some(default))?;
        for name in [format!("refs/remotes/origin/{default}"), format!("refs/heads/{default}")] {
            if let Some(commit) = self.line(&["merge-base", "HEAD", &name]).await {
                return Some(commit);
            }
        }
        None
    }

    /// With an index in which every file of the checkout is announced.
    async fn own_dir_with_everything(&self) -> Result<OwnGitDir, VcsError> {
        let own = self.own_dir().await?;
        let asked = own.git().args(["ls-files", "--others", "--exclude-standard", "-z"]);
        let unknown = asked.stdout_bytes_max(PATCH_BYTES_MAX).run().await?.stdout;
        if unknown.is_empty() {
            return Ok(own);
        }
        // Only these: for a submodule git would run itself in there, with its configuration. A file
        // that cannot be read is left out, not a reason to show nothing.
        let asked =
            ["add", "--intent-to-add", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul"];
        own.git().args(asked).env("GIT_LITERAL_PATHSPECS", "1").input(unknown).answer().await?;
        Ok(own)
    }

    async fn names(&self, reference: &str) -> bool {
        self.git().args(["rev-parse", "--verify", "--quiet", reference]).run().await.is_ok()
    }

    async fn line(&self, arguments: &[&str]) -> Option<String> {
        let answer = self.git().args(arguments).run().await.ok()?;
        let line = answer.lines().next().map(|line| String::from_utf8_lossy(line).into_owned());
        line.filter(|line| !line.is_empty())
    }
}

/// The branch as the file `HEAD` of a checkout names it; none when it names a commit.
#[must_use]
pub fn branch_of(head: &str) -> Option<&str> {
    head.trim().strip_prefix("ref: refs/heads/")
}
