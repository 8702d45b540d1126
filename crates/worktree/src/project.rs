//! Directory → project.
//!
//! Several directories are one project when they belong to one repository: the same `origin`,
//! or the same first commit. The id is remembered in a file in the common git directory, so that
//! it survives a changed remote. Without a `.git` entry above the directory nothing is spawned.
//!
//! Not here: the stored project record and moving sessions to a new id.

use crate::git::Git;
pub use crate::git::GitDirs;
use rustix::fs::OFlags;
use sha1::{Digest, Sha1};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use sturdy_session::types::project::{GLOBAL, Vcs};

/// The file in the common git directory that remembers the id; the name is shared with OpenCode.
const ID_FILE: &str = "opencode";

/// An id has 40 letters; a much longer text is not a project id.
const ID_BYTES_MAX: u64 = 256;

/// What a directory belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub id: String,
    /// Top of the checkout; `/` without version control.
    pub worktree: PathBuf,
    pub vcs: Option<Vcs>,
    pub git: Option<GitDirs>,
    /// Git directories outside of the worktree that name it as theirs: of a linked worktree, or of a submodule.
    /// One that is only named *by* the worktree's `.git` file is not among them: anybody can write such a file.
    pub outer_git: Vec<PathBuf>,
    /// The id remembered from before, when it was another one: what is stored under it moves.
    pub former_id: Option<String>,
}

impl Project {
    fn global() -> Self {
        Self {
            id: GLOBAL.to_owned(),
            worktree: PathBuf::from("/"),
            vcs: None,
            git: None,
            outer_git: Vec::new(),
            former_id: None,
        }
    }

    /// The path of `dir` below the worktree, `/` between names, `""` when they are the same.
    #[must_use]
    pub fn path_of(&self, dir: &Path) -> String {
        dir.strip_prefix(&self.worktree)
            .map(|below| below.to_string_lossy().replace('\\', "/"))
            .unwrap_or_default()
    }
}

/// Finds the project of a directory. Whatever goes wrong on the way, the answer is a project:
/// in the worst case the global one.
///
/// Files are read on the way, and they may hang: for a thread that nobody else waits for.
pub async fn resolve(dir: &Path) -> Project {
    let Some(holder) = dot_git_above(dir) else { return Project::global() };
    let Some((top, dirs)) = ask_git(&holder).await else { return Project::global() };

    let cached = read_id(&dirs.common);
    let id = match origin_id(&holder).await {
        Some(id) => Some(id),
        None => match cached.clone() {
            Some(id) => Some(id),
            None => root_commit(&holder).await,
        },
    };
    let id = id.unwrap_or_else(|| GLOBAL.to_owned());

    let former_id = cached.filter(|cached| *cached != id && cached != GLOBAL && id != GLOBAL);
    if id != GLOBAL
        && let Err(error) = remember_id(&dirs.common, &id)
    {
        tracing::debug!(%error, "project id is not remembered");
    }
    let outer_git = outer_git(&holder, &dirs).await;
    let worktree = checked_top(top, holder);
    Project { id, worktree, vcs: Some(Vcs::Git), git: Some(dirs), outer_git, former_id }
}

/// The nearest directory, from `dir` upwards, that holds a `.git` entry of any kind.
fn dot_git_above(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|one| one.join(".git").symlink_metadata().is_ok()).map(Path::to_owned)
}

/// Top level (none for a bare repository), git directory and common git directory.
async fn ask_git(holder: &Path) -> Option<(Option<PathBuf>, GitDirs)> {
    // The top level comes last: in a bare repository git refuses at that word, after it has
    // printed the other two.
    let asked = ["rev-parse", "--git-dir", "--git-common-dir", "--show-toplevel"];
    let answer = Git::at(holder).args(asked).answer().await.ok()?;
    let mut lines = answer.lines().map(|line| holder.join(OsStr::from_bytes(line)));
    let own = lines.next()?;
    let common = lines.next()?;
    let top = lines.next();
    // A fourth line, or none where success was reported: a path with a line feed in it.
    if lines.next().is_some() || (answer.code == Some(0)) != top.is_some() {
        return None;
    }
    Some((top, GitDirs { own: tidy(own), common: tidy(common) }))
}

/// The top that git names, if it is the directory that holds `.git`; else that directory. A repository says by
/// `core.worktree` where its top is, and one from a stranger may say `../..`: settings would be read and files
/// written there.
fn checked_top(top: Option<PathBuf>, holder: PathBuf) -> PathBuf {
    let Some(top) = top else { return holder };
    let real = tidy(holder);
    if tidy(top.clone()) == real { top } else { real }
}

/// See [`Project::outer_git`].
async fn outer_git(holder: &Path, dirs: &GitDirs) -> Vec<PathBuf> {
    let top = tidy(holder.to_owned());
    let mut outside: Vec<PathBuf> =
        [&dirs.own, &dirs.common].into_iter().filter(|dir| !dir.starts_with(&top)).cloned().collect();
    outside.dedup();
    let is_theirs = match () {
        () if outside.is_empty() => true,
        () if dirs.own.parent() == Some(&dirs.common.join("worktrees")) => {
            let named = std::fs::read_to_string(dirs.own.join("gitdir")).unwrap_or_default();
            dirs.own.join(named.trim_end()).canonicalize().ok() == top.join(".git").canonicalize().ok()
        }
        () => {
            let file = dirs.own.join("config");
            let asked =
                Git::at(holder).args(["config", "--file"]).args([&file]).args(["--get", "core.worktree"]);
            let answer = asked.run().await.ok();
            let named = answer.as_ref().and_then(|answer| answer.lines().next());
            dirs.own == dirs.common
                && named.is_some_and(|named| tidy(dirs.own.join(OsStr::from_bytes(named))) == top)
        }
    };
    if is_theirs { outside } else { Vec::new() }
}

/// `/a/./.git` and `/a/b/../.git` as `/a/.git`, without asking the disk when it cannot be asked.
fn tidy(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}

async fn origin_id(holder: &Path) -> Option<String> {
    let answer = Git::at(holder).args(["remote", "get-url", "origin"]).run().await.ok()?;
    remote_id(std::str::from_utf8(answer.lines().next()?).ok()?)
}

async fn root_commit(holder: &Path) -> Option<String> {
    let answer = Git::at(holder).args(["rev-list", "--max-parents=0", "HEAD"]).run().await.ok()?;
    let first = answer.lines().min()?.to_vec();
    String::from_utf8(first).ok().map(|id| id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// The id of a remote: a hash of host and path, so that neither the protocol nor a credential
/// in the address makes it another project.
#[must_use]
pub fn remote_id(remote: &str) -> Option<String> {
    let (host, path) = host_and_path(remote.trim())?;
    let host = host.to_lowercase();
    let path = path.trim_start_matches('/');
    let path = path.strip_suffix(".git").or_else(|| path.strip_suffix(".git/")).unwrap_or(path);
    let path = path.trim_end_matches('/');
    if host.is_empty() || path.is_empty() {
        return None;
    }
    let digest = Sha1::digest(format!("git-remote:{host}/{path}"));
    Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn host_and_path(remote: &str) -> Option<(String, String)> {
    if let Ok(url) = url::Url::parse(remote) {
        if url.scheme() == "file" {
            return None;
        }
        return Some((url.host_str().unwrap_or_default().to_owned(), url.path().to_owned()));
    }
    // The form of scp: `[user@]host:path`.
    let (place, path) = remote.split_once(':')?;
    if place.contains('/') {
        return None;
    }
    let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
    Some((host.to_owned(), path.to_owned()))
}

fn read_id(common: &Path) -> Option<String> {
    // Not through a link and not from a pipe: the repository may be somebody else's.
    let mut options = std::fs::OpenOptions::new();
    options.read(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    let file = options.open(common.join(ID_FILE)).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(ID_BYTES_MAX + 1).read_to_string(&mut text).ok()?;
    let id = text.trim();
    let fits = !id.is_empty() && text.len() as u64 <= ID_BYTES_MAX && !id.contains(char::is_control);
    fits.then(|| id.to_owned())
}

fn remember_id(common: &Path, id: &str) -> std::io::Result<()> {
    if read_id(common).as_deref() == Some(id) {
        return Ok(());
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    options.open(common.join(ID_FILE))?.write_all(id.as_bytes())
}
