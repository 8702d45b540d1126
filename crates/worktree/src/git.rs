//! Running the git program: arguments, environment, errors.
//!
//! The child sees a short list of variables and none of git's own, so that a server started
//! inside a hook or a rebase does not work on the wrong repository. Looking at a directory must not
//! run its code, so every run begins with [`quiet_command`]. What reads or writes *content* (diff,
//! add, apply) could still be made to run a filter of any name by the repository's configuration;
//! such runs use a git directory of our own ([`OwnGitDir`]), which has no such configuration.
//!
//! Output has a bound and a run has a time limit.
//!
//! Not here: what the answers mean (`project.rs`, `vcs.rs`).

mod own_dir;

pub use own_dir::OwnGitDir;
pub(crate) use own_dir::read_file;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// Where git keeps what belongs to a checkout, and what its linked worktrees share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitDirs {
    pub own: PathBuf,
    pub common: PathBuf,
}

/// Enough for every short answer; longer ones say so with [`Git::stdout_bytes_max`].
const STDOUT_BYTES_MAX: usize = 1024 * 1024;

/// What an error message keeps of git's own complaint.
const STDERR_BYTES_MAX: usize = 8 * 1024;

/// Longer than any local question takes on a cold disk.
const TIMEOUT: Duration = Duration::from_secs(60);

/// For one word from the user's settings, which a prompt waits for.
const EXCLUDES_TIMEOUT: Duration = Duration::from_secs(2);

/// The lowest priority.
const NICEST: i32 = 19;

/// What git needs to find itself, its configuration and its temporary files.
const PASSED_ON: [&str; 8] =
    ["PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "SYSTEMROOT", "GIT_EXEC_PATH"];

/// Settings with which a repository could make git run a program. They stand on the command line,
/// where no file overrides them. Each has a test with a hostile repository (`tests/it/git.rs`).
const CLOSED: [&str; 15] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=false",
    "core.sshCommand=false",
    "core.askPass=",
    "core.alternateRefsCommand=false",
    "credential.helper=",
    "diff.ignoreSubmodules=dirty",
    "submodule.recurse=false",
    "gpg.program=false",
    "log.showSignature=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.quotepath=false",
];

/// The same for variables. No transport is allowed, whatever the repository calls it: so neither
/// an object that is missing (a promisor remote) nor anything else makes git connect or start a
/// helper, an ssh command or an upload-pack program.
const CLOSED_VARIABLES: [(&str, &str); 10] = [
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("LC_ALL", "C"),
];

/// Whose settings a run may read besides those of its git directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserConfig {
    /// The user's and the machine's: for questions about names (which branch, which remote), and
    /// for `safe.directory`.
    Read,
    /// Nobody's: for runs that read or write content. Filters and diff programs that the user set
    /// up for every repository would otherwise be started by a `.gitattributes` file.
    Ignored,
}

/// The git program with everything closed that would make it run something else: hooks, the file
/// monitor, pager, editor, signing programs, credential helpers and askpass
/// programs, ssh commands, transports and remote helpers, lazy fetching of missing objects,
/// recursion into submodules, maintenance in the background. The environment holds nothing but
/// what git needs to find itself; a `GIT_DIR` is added by the caller.
///
/// What it cannot close: filters, textconv and diff programs of any name that the *repository's own*
/// configuration sets, because their names are not known in advance. Whoever reads or writes
/// content therefore works in a git directory of their own, with [`UserConfig::Ignored`], and
/// shows differences with `--no-ext-diff --no-textconv --ignore-submodules=dirty`.
#[must_use]
pub fn quiet_command(dir: &Path, user: UserConfig) -> Command {
    let mut command = Command::new("git");
    command.env_clear();
    for name in PASSED_ON {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.envs(CLOSED_VARIABLES);
    if user == UserConfig::Ignored {
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1");
    }
    // git enters the directory, and not the process that becomes git: whoever starts it waits until it has become git,
    // and would wait with a directory whose disk hangs.
    command.arg("-C").arg(dir);
    for setting in CLOSED {
        command.args(["-c", setting]);
    }
    command.current_dir("/").stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git program, or it cannot be started.
    #[error("git cannot be started")]
    Missing(#[source] std::io::Error),

    /// git ran and refused.
    #[error("git {command} ended with {code:?}: {stderr}")]
    Refused { command: String, code: Option<i32>, stderr: String },

    /// The answer is longer than the caller is ready to hold.
    #[error("git {command} printed more than {bytes_max} bytes")]
    TooLong { command: String, bytes_max: usize },

    #[error("git {command} took longer than {} s", limit.as_secs())]
    TimedOut { command: String, limit: Duration },

    #[error("git {command}: pipe broke")]
    Pipe {
        command: String,
        #[source]
        source: std::io::Error,
    },
}

/// What git printed and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Answer {
    /// The lines of the answer, without their ends.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
    }
}

/// One run of git, being put together.
#[derive(Clone, Debug)]
pub struct Git {
    dir: PathBuf,
    user: UserConfig,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    input: Option<Vec<u8>>,
    stdout_bytes_max: usize,
    timeout: Duration,
    priority: Priority,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Priority {
    Usual,
    Low,
}

impl Git {
    /// A run with `dir` as its working directory.
    #[must_use]
    pub fn at(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            user: UserConfig::Read,
            arguments: Vec::new(),
            variables: Vec::new(),
            input: None,
            stdout_bytes_max: STDOUT_BYTES_MAX,
            timeout: TIMEOUT,
            priority: Priority::Usual,
        }
    }

    /// Reads no configuration of the user: see [`UserConfig::Ignored`].
    #[must_use]
    pub fn without_user_config(mut self) -> Self {
        self.user = UserConfig::Ignored;
        self
    }

    #[must_use]
    pub fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(mut self, arguments: I) -> Self {
        self.arguments.extend(arguments.into_iter().map(|one| one.as_ref().to_owned()));
        self
    }

    /// A variable for this run only, such as `GIT_DIR`.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    #[must_use]
    pub fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = Some(bytes);
        self
    }

    #[must_use]
    pub fn stdout_bytes_max(mut self, bytes_max: usize) -> Self {
        self.stdout_bytes_max = bytes_max;
        self
    }

    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Everything else comes first.
    #[must_use]
    pub fn low_priority(mut self) -> Self {
        self.priority = Priority::Low;
        self
    }

    /// Looks for git in these directories instead of those of the `PATH` of this process.
    #[must_use]
    pub fn searched_in(self, path: Option<&OsStr>) -> Self {
        match path {
            Some(path) => self.env("PATH", path),
            None => self,
        }
    }

    /// Runs it; an exit code other than 0 is an error.
    pub async fn run(self) -> Result<Answer, GitError> {
        let command = self.name();
        let answer = self.answer().await?;
        if answer.code == Some(0) {
            return Ok(answer);
        }
        Err(GitError::Refused { command, code: answer.code, stderr: answer.stderr })
    }

    /// Runs it and reports whatever came, also from a run that was refused half-way.
    pub async fn answer(self) -> Result<Answer, GitError> {
        let command = self.name();
        let limit = self.timeout;
        // Dropping the future kills the child (`kill_on_drop`).
        match tokio::time::timeout(limit, self.spawn_and_read()).await {
            Ok(answer) => answer,
            Err(_) => Err(GitError::TimedOut { command, limit }),
        }
    }

    /// The subcommand alone: arguments may hold what a user wrote.
    fn name(&self) -> String {
        self.arguments.first().map(|one| one.to_string_lossy().into_owned()).unwrap_or_default()
    }

    async fn spawn_and_read(self) -> Result<Answer, GitError> {
        let command = self.name();
        let broke = |source| GitError::Pipe { command: command.clone(), source };

        let mut child = self.command().spawn().map_err(GitError::Missing)?;
        if self.priority == Priority::Low {
            step_back(child.id());
        }
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let input = self.input.unwrap_or_default();
        let write = async move {
            let Some(mut pipe) = stdin else { return };
            // A git that stops reading says why on stderr; that is the error worth reporting.
            let _ = pipe.write_all(&input).await;
        };
        let bytes_max = self.stdout_bytes_max;
        let ((), stdout, stderr) =
            tokio::join!(write, take(stdout, bytes_max + 1), take(stderr, STDERR_BYTES_MAX));
        let stdout = stdout.map_err(broke)?;
        let stderr = stderr.map_err(broke)?;
        if stdout.len() > bytes_max {
            return Err(GitError::TooLong { command, bytes_max });
        }

        let status = child.wait().await.map_err(broke)?;
        let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
        Ok(Answer { code: status.code(), stdout, stderr })
    }

    fn command(&self) -> Command {
        let mut command = quiet_command(&self.dir, self.user);
        command
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .args(&self.arguments)
            .stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// The list of ignored files that the user's settings name for every repository, if they name one.
pub async fn user_excludes_file(home: &Path, config: &Path, search_path: Option<&str>) -> Option<PathBuf> {
    let asked = ["config", "--type=path", "--null", "--get", "core.excludesFile"];
    // Of no repository: one that holds the home directory has no say.
    let git = Git::at(Path::new("/")).args(asked).env("HOME", home).env("XDG_CONFIG_HOME", config);
    let git = git.env("GIT_DIR", "/dev/null").searched_in(search_path.map(OsStr::new));
    let answer = git.timeout(EXCLUDES_TIMEOUT).run().await.ok()?;
    let name = answer.stdout.strip_suffix(b"\0").unwrap_or(&answer.stdout);
    let path = PathBuf::from(OsStr::from_bytes(name));
    path.is_absolute().then_some(path)
}

/// As `nice` does. A process that is gone already needs nothing.
fn step_back(process: Option<u32>) {
    let id = process.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    if let Some(id) = id {
        let _ = rustix::process::setpriority_process(Some(id), NICEST);
    }
}

/// Keeps the first `bytes_max` bytes and reads the rest away, so that the writer can end.
async fn take<R: AsyncRead + Unpin>(source: Option<R>, bytes_max: usize) -> std::io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let Some(mut source) = source else { return Ok(kept) };
    (&mut source).take(bytes_max as u64).read_to_end(&mut kept).await?;
    tokio::io::copy(&mut source, &mut tokio::io::sink()).await?;
    Ok(kept)
}
