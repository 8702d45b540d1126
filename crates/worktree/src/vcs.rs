//! What git says of a checkout: its branch, what is changed in it, and taking a patch.
//!
//! Files that git does not know yet count as added. To see them in a diff they are announced in a
//! copy of the index; the user's own is not touched.
//!
//! A diff is asked for once: names, counts and patches come from the same run, so that a file that
//! changes meanwhile cannot mix them up.

mod parse;

use crate::git::{Git, GitError};
use crate::project::GitDirs;
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};

/// What the default branch is called where no remote says so.
const USUAL_DEFAULTS: [&str; 2] = ["main", "master"];

/// More than any person reads; beyond it the patches are left out.
const PATCH_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Neither the user's tools nor the repository's decide how a diff looks, and none is run for it.
const PLAIN: [&str; 7] = [
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
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

/// What a checkout is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The last commit.
    Commit,
    /// Where the branch left the default one.
    Branch,
}

#[derive(Debug, thiserror::Error)]
pub enum VcsError {
    #[error(transparent)]
    Git(#[from] GitError),

    #[error("the index cannot be copied")]
    Index(#[source] io::Error),
}

impl Checkout {
    fn git(&self) -> Git {
        Git::at(&self.top)
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
        let index = self.index_with_everything().await?;
        let base = self.last_commit().await?;
        self.listed(&index, &base).await
    }

    /// What differs, with patches of `context` lines around each change.
    pub async fn diff(&self, against: Against, context: u32) -> Result<Vec<FileDiff>, VcsError> {
        let base = match against {
            Against::Commit => Some(self.last_commit().await?),
            Against::Branch => self.where_it_left().await,
        };
        let Some(base) = base else { return Ok(Vec::new()) };
        let index = self.index_with_everything().await?;
        let lines = format!("-U{context}");
        let asked = PLAIN.iter().copied().chain(["--raw", "--numstat", "-z", "-p", &lines, &base, "--"]);
        let asked = self.git().args(asked).env("GIT_INDEX_FILE", index.path());
        match asked.stdout_bytes_max(PATCH_BYTES_MAX).run().await {
            Ok(answer) => Ok(parse::diff(&answer.stdout)),
            Err(GitError::TooLong { .. }) => self.listed(&index, &base).await,
            Err(cause) => Err(cause.into()),
        }
    }

    /// Everything that is not committed, as one patch that another checkout can take.
    pub async fn raw_diff(&self) -> Result<Vec<u8>, VcsError> {
        let index = self.index_with_everything().await?;
        let base = self.last_commit().await?;
        let asked = PLAIN.iter().copied().chain(["--binary", &base, "--"]);
        let asked = self.git().args(asked).env("GIT_INDEX_FILE", index.path());
        Ok(asked.stdout_bytes_max(PATCH_BYTES_MAX).run().await?.stdout)
    }

    /// Changes the files as the patch says, all of them or none. False when it does not fit.
    pub async fn apply(&self, patch: &str) -> Result<bool, VcsError> {
        let asked = self.git().args(["apply", "--whitespace=nowarn", "-"]).input(patch.as_bytes().to_vec());
        match asked.run().await {
            Ok(_) => Ok(true),
            Err(GitError::Refused { .. }) => Ok(false),
            Err(cause) => Err(cause.into()),
        }
    }

    async fn listed(&self, index: &Index, base: &str) -> Result<Vec<FileDiff>, VcsError> {
        let asked = PLAIN.iter().copied().chain(["--raw", "--numstat", "-z", base, "--"]);
        let asked = self.git().args(asked).env("GIT_INDEX_FILE", index.path());
        Ok(parse::diff(&asked.stdout_bytes_max(PATCH_BYTES_MAX).run().await?.stdout))
    }

    /// The last commit, or the empty tree before the first.
    async fn last_commit(&self) -> Result<String, VcsError> {
        if self.names("HEAD^{commit}").await {
            return Ok("HEAD".to_owned());
        }
        let empty = self.git().args(["hash-object", "-t", "tree", "--stdin"]).input(Vec::new()).run().await?;
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

    /// A copy of the index in which every file of the checkout is announced.
    async fn index_with_everything(&self) -> Result<Index, VcsError> {
        let index = Index::copy_of(&self.dirs.own.join("index")).await.map_err(VcsError::Index)?;
        let asked = self.git().args(["add", "--intent-to-add", "--all", "--", "."]);
        // A file that cannot be read is left out, not a reason to show nothing.
        asked.env("GIT_INDEX_FILE", index.path()).answer().await?;
        Ok(index)
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

/// An index of our own in the temporary directory; removed when dropped.
struct Index {
    directory: PathBuf,
}

impl Index {
    async fn copy_of(index: &Path) -> io::Result<Self> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("sturdy-index-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let copy = Self { directory: std::env::temp_dir().join(name) };
        // Made anew, for us alone: a name in a shared directory may be taken.
        let mut maker = tokio::fs::DirBuilder::new();
        maker.mode(0o700);
        if maker.create(&copy.directory).await.is_err() {
            tokio::fs::remove_dir_all(&copy.directory).await?;
            maker.create(&copy.directory).await?;
        }
        match tokio::fs::copy(index, copy.path()).await {
            Ok(_) => {
                // A file written in the same moment as the index is looked at again, because its time
                // says nothing. git knows the moment by the time of the index itself.
                let written = tokio::fs::metadata(index).await?.modified()?;
                let file = tokio::fs::OpenOptions::new().write(true).open(copy.path()).await?;
                file.into_std().await.set_modified(written)?;
                Ok(copy)
            }
            // Before the first file there is none.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(copy),
            Err(error) => Err(error),
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.join("index")
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        // At worst a small file stays in the temporary directory.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
