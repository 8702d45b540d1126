//! Linked worktrees of a repository: list, create, remove, reset.
//!
//! A new one has a branch of its own that begins where the repository stands. Checking files out could run filters that
//! the repository configures, whatever their names; so their names are asked for first, and each is switched off.
//!
//! Only worktrees that git itself lists are removed or reset, and never the main one.

use crate::git::{Git, GitError};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A large repository takes minutes to check out.
const CHECKOUT_TIMEOUT: Duration = Duration::from_secs(600);
/// Names in front of the branches made here.
const BRANCHES: &str = "sturdy";
const NAME_CHARS_MAX: usize = 64;
/// Names that are tried before giving up.
const TRIES_MAX: u32 = 20;

#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error("{0} is not a name for a worktree: use small letters, digits and dashes")]
    Name(String),
    #[error("{} is not a worktree of this repository", .0.display())]
    Unknown(PathBuf),
    #[error("{} is the main worktree", .0.display())]
    Main(PathBuf),
    #[error("every name like {0} is taken")]
    Taken(String),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A worktree that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWorktree {
    pub name: String,
    pub branch: String,
    pub directory: PathBuf,
}

/// One that git lists.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Linked {
    directory: PathBuf,
    branch: Option<String>,
}

/// The linked worktrees, without the main one.
pub async fn list(top: &Path) -> Result<Vec<PathBuf>, WorktreeError> {
    Ok(linked(top).await?.into_iter().skip(1).map(|linked| linked.directory).collect())
}

/// Makes a worktree below `place`. A name that is taken gets a number.
pub async fn create(top: &Path, place: &Path, wanted: &str) -> Result<NewWorktree, WorktreeError> {
    let is_name_char = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_name = !wanted.is_empty()
        && wanted.len() <= NAME_CHARS_MAX
        && !wanted.starts_with('-')
        && wanted.chars().all(is_name_char);
    if !is_name {
        return Err(WorktreeError::Name(wanted.to_owned()));
    }
    for number in 1..=TRIES_MAX {
        let name = if number == 1 { wanted.to_owned() } else { format!("{wanted}-{number}") };
        let directory = place.join(&name);
        let branch = format!("{BRANCHES}/{name}");
        if branch_exists(top, &branch).await? || tokio::fs::try_exists(&directory).await.unwrap_or(false) {
            continue;
        }
        let arguments = [OsStr::new("worktree"), OsStr::new("add"), OsStr::new("-b"), OsStr::new(&branch)];
        let git =
            without_filters(top).await?.args(arguments).args([directory.as_os_str(), OsStr::new("HEAD")]);
        git.timeout(CHECKOUT_TIMEOUT).run().await?;
        return Ok(NewWorktree { name, branch, directory });
    }
    Err(WorktreeError::Taken(wanted.to_owned()))
}

/// Removes a worktree with everything in it, and the branch that was made for it.
pub async fn remove(top: &Path, directory: &Path) -> Result<(), WorktreeError> {
    let linked = find(top, directory).await?;
    let arguments =
        [OsStr::new("worktree"), OsStr::new("remove"), OsStr::new("--force"), OsStr::new("--force")];
    Git::at(top).args(arguments).args([linked.directory.as_os_str()]).run().await?;
    // A branch that somebody else named is theirs.
    if let Some(branch) = linked.branch.filter(|branch| branch.starts_with(&format!("{BRANCHES}/"))) {
        Git::at(top).args(["branch", "-D", &branch]).run().await?;
    }
    Ok(())
}

/// Resets a worktree to the commit of the main one. Uncommitted changes in it are lost.
pub async fn reset(top: &Path, directory: &Path) -> Result<(), WorktreeError> {
    let linked = find(top, directory).await?;
    let head = Git::at(top).args(["rev-parse", "HEAD"]).run().await?;
    let head = String::from_utf8_lossy(head.lines().next().unwrap_or_default()).into_owned();
    let git = without_filters(&linked.directory).await?;
    git.args(["reset", "--hard", &head]).timeout(CHECKOUT_TIMEOUT).run().await?;
    Git::at(&linked.directory).args(["clean", "-ffdx"]).timeout(CHECKOUT_TIMEOUT).run().await?;
    Ok(())
}

async fn find(top: &Path, directory: &Path) -> Result<Linked, WorktreeError> {
    let all = linked(top).await?;
    let wanted = tokio::fs::canonicalize(directory).await.unwrap_or_else(|_| directory.to_owned());
    let index = all.iter().position(|linked| linked.directory == wanted);
    match index {
        None => Err(WorktreeError::Unknown(directory.to_owned())),
        Some(0) => Err(WorktreeError::Main(wanted)),
        Some(index) => Ok(all[index].clone()),
    }
}

/// All worktrees, the main one first.
async fn linked(top: &Path) -> Result<Vec<Linked>, WorktreeError> {
    let answer = Git::at(top).args(["worktree", "list", "--porcelain", "-z"]).run().await?;
    let mut all: Vec<Linked> = Vec::new();
    for line in answer.stdout.split(|byte| *byte == 0) {
        if let Some(path) = line.strip_prefix(b"worktree ") {
            all.push(Linked { directory: PathBuf::from(OsStr::from_bytes(path)), branch: None });
        } else if let (Some(name), Some(last)) = (line.strip_prefix(b"branch refs/heads/"), all.last_mut()) {
            last.branch = Some(String::from_utf8_lossy(name).into_owned());
        }
    }
    Ok(all)
}

async fn branch_exists(top: &Path, branch: &str) -> Result<bool, WorktreeError> {
    let name = format!("refs/heads/{branch}");
    let answer = Git::at(top).args(["show-ref", "--verify", "--quiet", &name]).answer().await?;
    Ok(answer.code == Some(0))
}

/// A run that writes files and starts no filter.
async fn without_filters(dir: &Path) -> Result<Git, WorktreeError> {
    let asked = ["config", "--name-only", "-z", "--get-regexp", r"^filter\."];
    // Code 1: there is none.
    let answer = Git::at(dir).without_user_config().args(asked).answer().await?;
    let names = answer.stdout.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    let settings: Vec<(&str, &str)> = names.filter_map(closed).collect();
    let mut git = Git::at(dir).without_user_config().env("GIT_CONFIG_COUNT", settings.len().to_string());
    for (index, (name, value)) in settings.iter().enumerate() {
        git =
            git.env(format!("GIT_CONFIG_KEY_{index}"), name).env(format!("GIT_CONFIG_VALUE_{index}"), value);
    }
    Ok(git)
}

/// What a setting of a filter has to be so that it does nothing.
fn closed(name: &str) -> Option<(&str, &str)> {
    match name.rsplit_once('.')?.1 {
        "required" => Some((name, "false")),
        "clean" | "smudge" | "process" => Some((name, "")),
        _ => None,
    }
}
